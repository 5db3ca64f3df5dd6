"""Caveats of effects: one of each kind, rows counted once, and what knowledge decides."""

import re
import tomllib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.patients import PATIENTS, patients

import dcd
from dcd import CPDAG, Knowledge
from dcd.estimators.effect_answers import Effect, EffectAnswer
from dcd.estimators.effect_cautions import cautions_of_dependence, cautions_of_fit, cautions_of_graphs
from dcd.estimators.effect_columns import EffectTable
from dcd.estimators.effects import Context, EffectOptions, FittedGraphs, estimated
from dcd.graph.adjustment_sets import Adjustments


def test_caveats_of_the_same_kind_are_one():
    rng = np.random.default_rng(9)
    table = patients().assign(copy=lambda t: t["dose"] + 0.05 * rng.standard_normal(600))
    adjustments = Adjustments({(4,): 0.4, (0, 4): 0.3, (0,): 0.3}, counted=True, complete=True)
    found = estimated(list(table.columns), adjustments, EffectTable(table), ("dose", "response"), "posterior",
                      EffectOptions(estimator="linear"), Context())  # fmt: skip
    assert len(found.cautions) == 1
    assert re.match(r"The variables of 2 answers explain (> 99|9\d|100) % of the variance of dose:",
                    found.cautions[0])  # fmt: skip
    assert [answer.caution.partition(" explain")[0] for answer in found.answers] == \
        ["copy", "copy and severity", ""]  # fmt: skip


@pytest.mark.parametrize("groups", [None, np.arange(600) // 2])
def test_dependent_rows_are_a_short_caveat_of_the_model_and_its_result(groups):
    walks = np.cumsum(np.random.default_rng(0).standard_normal((600, 3)), axis=0)
    table = pd.DataFrame(walks, columns=list("abc"))
    model = dcd.RobustDCD(search=dcd.WholeGraph(chains=0), progress=False).fit(table, groups=groups)
    found = model.effect("a", "b", estimator="linear")
    note = found.cautions[-1]
    assert note.startswith("Rows appear" if groups is None else "Groups of rows appear")
    assert ("name the rows that belong together" if groups is None else "name larger groups") in note
    assert len(note.split()) < 45
    saved = dcd.summarise(model)
    assert dcd.effect(saved, table, "a", "b", estimator="linear", groups=groups).cautions[-1] == note
    subject = [(("patient",), "Pass patient as groups.")]
    assert cautions_of_dependence(subject, in_groups=False) == ("Pass patient as groups.",)
    assert cautions_of_dependence((), in_groups=False) == ()


X, Y, Z = np.random.default_rng(0).standard_normal((3, 400))
CONTRADICTED = (
    "In {} the data alone suggest something other than the background knowledge of the fit does "
    "(dcd discover shows where)."
)


@pytest.mark.parametrize(
    ("columns", "knowledge", "told"),
    [
        ((X, X + Y, Z), {"required": [("z", "y")], "no_edge": [("x", "y")]}, "2 places"),
        ((X, Y, X + Y + Z), {"roots": ["z"]}, "one place"),
        ((X, Y, X + Y + Z), {"roots": ["x"]}, None),
    ],
    ids=["edges", "collider", "agrees"],
)
def test_knowledge_that_the_data_contradict_is_a_caveat_of_the_model_and_its_result(columns, knowledge, told):
    table = pd.DataFrame(dict(zip("xyz", columns, strict=True)))
    model = dcd.RobustDCD(knowledge=dcd.Knowledge(**knowledge), progress=False, random_state=0).fit(table)
    saved = dcd.summarise(model)
    found = [
        model.effect("x", "z", estimator="linear"),
        dcd.effect(saved, table, "x", "z", estimator="linear"),
    ]
    assert [CONTRADICTED.format(told) in one.cautions for one in found] == 2 * [told is not None]
    assert any("the data alone suggest" in text for one in found for text in one.cautions) == (
        told is not None
    )


def test_other_knowledge_is_not_that_which_the_data_contradict():
    table = pd.DataFrame({"x": X, "y": X + Y, "z": Z})
    knowledge = dcd.Knowledge(required=[("z", "y")])
    saved = dcd.summarise(dcd.RobustDCD(knowledge=knowledge, progress=False, random_state=0).fit(table))
    assert any(
        "the data alone suggest" in one
        for one in dcd.effect(saved, table, "z", "y", estimator="linear").cautions
    )
    other = dcd.Knowledge(roots=["z"])
    answer = dcd.effect(saved, table, "z", "y", estimator="linear", knowledge=other)
    assert not any("the data alone suggest" in one for one in answer.cautions)


def test_chains_that_have_not_converged_are_a_caveat_where_graphs_are_counted():
    (caution,) = cautions_of_fit(0, 0.17)
    assert caution.startswith("The chains have not converged: probabilities differ by up to 0.17")
    assert not [*cautions_of_fit(0, 0.1), *cautions_of_fit(0, None)]
    table = pd.DataFrame({"x": X, "y": Y, "z": X + Y + Z})
    model = dcd.RobustDCD(progress=False, random_state=0).fit(table)
    model.posterior_ = replace(model.posterior_, drift=0.17)
    for over, expected in (("posterior", True), ("class", False)):
        assert (caution in model.effect("x", "z", over=over, estimator="linear").cautions) == expected


def test_rows_are_counted_in_one_caveat():
    table = patients()
    table.loc[:99, "severity"] = np.nan
    adjustments = Adjustments({(0,): 0.6, (): 0.4}, counted=True, complete=True)

    def rows(n_complete):
        linear, context = EffectOptions(estimator="linear"), Context(n_complete=n_complete)
        data, pair = EffectTable(table), ("dose", "response")
        return estimated(list(table.columns), adjustments, data, pair, "posterior", linear, context).cautions

    reason = "they lack a value in a column that is used, or have weight 0."
    assert rows(None) == (f"Up to 100 of 600 rows were left out: {reason}",)
    of_graph = "The graph was found on the 450 rows that are complete in all columns."
    assert rows(450) == (f"Up to 100 of 600 rows were left out of the estimates: {reason} {of_graph}",)


@pytest.mark.parametrize(
    "knowledge",
    [
        Knowledge(forbidden=[("response", "clinic")]),
        Knowledge(forbidden=[("clinic", "response")]),
        Knowledge(roots=["clinic"]),
        Knowledge(required=[("response", "dose"), ("dose", "clinic")]),
    ],
)
def test_knowledge_decides_the_order(knowledge):
    cpdag = CPDAG.from_dag(PATIENTS.columns, PATIENTS.to_numpy())
    for pair in [("clinic", "response"), ("response", "clinic")]:
        assert FittedGraphs(cpdag, knowledge=knowledge).order_is_known(*pair)
        assert not FittedGraphs(cpdag).order_is_known(*pair)
        other = Knowledge(required=[("severity", "dose")])
        assert not FittedGraphs(cpdag, knowledge=other).order_is_known(*pair)
        apart = Knowledge(no_edge=[pair])
        assert not FittedGraphs(cpdag, knowledge=apart).order_is_known(*pair)


def test_names_are_escaped_in_the_line_of_knowledge_that_is_suggested():
    names = ('a"b', "c\\d")
    answer = EffectAnswer(None, 0.0, 0.0, (0.0, 0.0), 1.0, 0)
    settings = {
        "over": "posterior",
        "confidence": 0.95,
        "estimator": "flexible",
        "left_out": 0.0,
        "n_rows": 9,
    }
    result = Effect(*names, levels=None, outcome_level=None, answers=(answer,), **settings)
    adjustments = Adjustments({None: 1.0}, counted=True, complete=True)
    (caution,) = cautions_of_graphs(result, adjustments, order_is_known=False)
    line = re.search(r"tiers = \[\[.*?\]\](?=\. Better)", caution)[0]
    assert tomllib.loads(line) == {"tiers": [[names[0]], [names[1]]]}
