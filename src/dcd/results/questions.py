"""Questions that a reader may be able to answer: columns that may be roots, directions that are in doubt.

Every answer is offered as a line of a knowledge file. Nothing is assumed: questions do not change the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dcd.results.model import AnswerKey, Edge, Question, Result, Statement
from dcd.results.origin import given_in
from dcd.runtime.text import counted, percent, toml_entry, words_of

_SURE = 0.95  # smallest probability of an arrow that raises no question; "firm" in the report
# Words in the names of columns that are fixed before all others, or set from outside. In the 109 public
# tables of `experiments/exogenous` for the report, they match 144 of the 187 columns that cannot be effects,
# and 37 of the 927 others.
# fmt: off
_FIXED = frozenset([
    "age", "aged", "ages", "sex", "gender", "male", "female", "race", "ethnicity", "birth", "birthday",
    "birthdate", "birthyear", "birthplace", "born", "dob", "year", "yr", "month", "quarter", "season", "date",
    "day", "weekday", "treat", "treated", "treatment", "arm", "group", "randomised", "randomized", "assigned",
    "assignment", "allocation", "placebo", "rx", "black", "hispanic", "hispan", "ethnic",
])
# fmt: on


def questions_of(result: Result, dates: Iterable[str] = ()) -> tuple[Question, ...]:
    """The questions about a result: those about roots first, then about directions; `dates` are columns."""
    return (*_roots(result, frozenset(dates)), *_directions(result))


def doubts(result: Result) -> str:
    """How many directions are in doubt, and of which edges; empty if none is."""
    asked = {question.variables for question in result.questions if question.kind == "direction"}
    n_arrows = sum(edge.type == "->" and (edge.first, edge.second) in asked for edge in result.edges)
    if not asked:
        return ""
    text = f"{counted(len(asked), 'direction')} {'is' if len(asked) == 1 else 'are'} in doubt"
    if not n_arrows:
        return text
    arrows = f"{counted(n_arrows, 'arrow')} below {percent(_SURE)}"
    n_lines = len(asked) - n_arrows
    return f"{text} ({counted(n_lines, 'line')} and {arrows})" if n_lines else f"{text} ({arrows})"


def _roots(result: Result, dates: frozenset[str]) -> Iterator[Question]:
    """Columns that seem to be fixed before others or set from outside, but may be effects in the graph."""
    may_be_effects = {edge.second for edge in result.edges}
    may_be_effects |= {edge.first for edge in result.edges if edge.type == "-"}
    for name in result.names:
        if name in may_be_effects and (name in dates or _FIXED & set(words_of(name))) and _is_text(name):
            text = f"Is {name} a root (caused by no other column)?"
            yield Question("root", (name,), text, (_statement("roots", (name,), f"{name} is a root"),))


def _directions(result: Result) -> Iterator[Question]:
    """Lines, then uncertain arrows, the least probable first; without those that knowledge decides."""
    given = given_in(result)
    for edge in sorted(result.edges, key=_probability):
        if given.drew(edge) or given.directed(edge) or not _is_in_doubt(edge):
            continue
        if _is_text(edge.first) and _is_text(edge.second):
            answers = (
                _not_reversed(edge.first, edge.second),
                _not_reversed(edge.second, edge.first),
                _statement("no_edge", (edge.first, edge.second), "neither is a direct cause of the other"),
            )
            text = f"{edge.first} {edge.type} {edge.second}{_likelier(edge)}: which is the cause?"
            yield Question("direction", (edge.first, edge.second), text, answers)


def _is_in_doubt(edge: Edge) -> bool:
    if edge.type == "-":
        return True
    return edge.probabilities is not None and edge.probabilities.forward < _SURE


def _probability(edge: Edge) -> float:
    """The probability of the direction as drawn; 0 for a line."""
    return edge.probabilities.forward if edge.probabilities and edge.type == "->" else 0.0


def _likelier(edge: Edge) -> str:
    found = edge.probabilities
    if found is None or (edge.type == "-" and not edge.uncertain):
        return ""
    arrow = f"{edge.first} -> {edge.second} " if edge.uncertain else ""
    return f" ({arrow}{percent(found.forward)})"


def _not_reversed(cause: str, effect: str) -> Statement:
    """An answer that leaves open whether there is an edge at all: it forbids the reversed arrow."""
    return _statement("forbidden", (effect, cause), f"{cause} causes {effect}, not the reverse")


def _statement(key: AnswerKey, names: tuple[str, ...], meaning: str) -> Statement:
    return Statement(key, names, meaning, f"{key} = [{toml_entry(names)}]")


def _is_text(name: str) -> bool:
    """Whether a name can be written to a text file; half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in name)
