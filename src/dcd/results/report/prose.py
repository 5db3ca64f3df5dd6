"""Sentences that are the same in every report."""

from __future__ import annotations

TERMS = (
    (
        "An arrow a → b",
        "Every causal graph that fits these data has a as a direct cause of b: changing a would change b, "
        "even if all other variables in the table were held fixed.",
    ),
    (
        "A line a — b",
        "The two are directly related, but graphs with either direction fit equally well. Only other "
        "knowledge or an experiment can tell.",
    ),
    (
        "No edge",
        "No direct relation was seen. A weak one may have been missed, and the two may be related by way of "
        "others.",
    ),
    (
        "A collider a → c ← b",
        "Two causes meet in an effect. This is where directions come from: a and b, which do not go along "
        "otherwise, do so once c is known.",
    ),
)
BY_KNOWLEDGE = (
    "An arrow with K",
    "Its direction, or the edge itself, follows from knowledge that was given. The data alone leave it open "
    "or show no edge: such an arrow is as sure as that knowledge.",
)
ASSUMPTIONS = (
    (
        "No hidden common causes.",
        "If something that was not measured acts on two variables, an edge between them may be its shadow.",
    ),
    ("No feedback.", "No variable acts on itself by way of others."),
    ("Some noise everywhere.", "If a variable is nearly a function of others, causes cannot be told apart."),
    ("Rows alike and independent.", "All come from the same process, and none depends on another."),
)
HYPOTHESIS = (
    "A graph is not a size of effect: it does not say how much b changes with a. It is a hypothesis, best "
    "confirmed by an experiment."
)
PVALUE = (
    "The p-value is the probability of an association at least this strong if the two were independent given "
    "other variables. It says how sure the edge is, not how strong its effect."
)
EVIDENCE = (
    "The evidence of a direction is by how much, in the log posterior, the best graph without it is worse; "
    "from 4 on it is firm."
)
