"""Effects with their range: from graphs and a table to the estimate, its description, and bad input."""

import json
import pickle
import re
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from support.brute_force import members_of_class, random_dag
from support.patients import PATIENTS, patients

import dcd
from dcd import CPDAG, InputError, Knowledge
from dcd.estimators import effect_estimates
from dcd.estimators.effect_answers import EffectAnswer
from dcd.estimators.effect_columns import EffectTable
from dcd.estimators.effects import (
    Context,
    EffectOptions,
    estimated,
    with_knowledge,
)
from dcd.graph.adjustment_sets import Adjustments
from dcd.graph.equivalence import dag_to_cpdag

NAMES = list("abcdef")


def linear_table(dag, seed, n=600):
    """A linear table of a DAG, and the matrix of total effects."""
    rng = np.random.default_rng(seed)
    d = len(dag)
    weights = dag * rng.uniform(0.5, 1.2, size=(d, d)) * rng.choice([-1, 1], size=(d, d))
    total = np.linalg.inv(np.eye(d) - weights)
    return pd.DataFrame(rng.standard_normal((n, d)) @ total, columns=NAMES[:d]), total


@pytest.fixture(scope="module")
def fitted():
    table = patients()
    return dcd.RobustDCD(progress=False).fit(table), table


@pytest.fixture(scope="module")
def answered(fitted):
    """The effect that the model gives by default."""
    return fitted[0].effect("dose", "response")


@pytest.fixture
def one_split(monkeypatch):
    """One split of the rows into folds, the same for all estimates that are compared."""
    monkeypatch.setattr(effect_estimates, "_SPLITS", 1)


# --- the range -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_range_is_that_of_all_dags_of_the_class(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(5, rng, share=0.5).astype(np.int8)
    table, _ = linear_table(dag, seed)
    cpdag = CPDAG.from_dag(table.columns, dag)
    members = members_of_class(dag_to_cpdag(dag))
    for x, y in np.argwhere(~np.eye(5, dtype=bool)):
        found = dcd.effect(cpdag, table, NAMES[x], NAMES[y], adjustment="parents", estimator="linear")
        expected = []
        for member in members:
            causes = [x, *np.flatnonzero(member[:, x])]
            design = np.column_stack([table.iloc[:, causes], np.ones(len(table))])
            slope = np.linalg.lstsq(design, table.iloc[:, y], rcond=None)[0][0]
            below = np.linalg.matrix_power(np.eye(5) + member, 5)[x, y] > 0
            expected.append(slope if below else 0.0)
        assert (found.low, found.high) == pytest.approx((min(expected), max(expected)))
        assert sum(answer.share for answer in found.answers) == pytest.approx(1)


def test_the_true_effect_is_in_the_interval_of_the_true_graph():
    held = total = 0
    for seed in range(40):
        rng = np.random.default_rng([1, seed])
        dag = random_dag(6, rng, share=0.4).astype(np.int8)
        table, effects = linear_table(dag, seed)
        for x, y in np.argwhere(np.abs(effects - np.eye(6)) > 1e-9)[:4]:
            graph = pd.DataFrame(dag, index=NAMES, columns=NAMES)
            found = dcd.effect(graph, table, NAMES[x], NAMES[y], estimator="linear", confidence=0.9)
            assert len(found.answers) == 1  # all arrows of a matrix are known
            total += 1
            held += found.interval[0] <= effects[x, y] <= found.interval[1]
    assert total > 100
    assert abs(held / total - 0.9) < 4 * np.sqrt(0.09 / total)


def test_the_optimal_set_has_smaller_errors_than_the_parents():
    errors = {
        rule: dcd.effect(PATIENTS, patients(), "dose", "response", adjustment=rule, estimator="linear")
        for rule in ("optimal", "parents")
    }
    assert errors["optimal"].answers[0].adjustment == ("severity",)
    assert errors["parents"].answers[0].adjustment == ("clinic", "severity")
    assert errors["optimal"].answers[0].standard_error < errors["parents"].answers[0].standard_error


def test_an_open_direction_is_a_range_from_zero():
    chain = CPDAG.from_dag("ab", [[0, 1], [0, 0]])
    rng = np.random.default_rng(0)
    a = rng.standard_normal(300)
    table = pd.DataFrame({"a": a, "b": 2 * a + rng.standard_normal(300)})
    found = dcd.effect(chain, table, "a", "b", estimator="linear")
    assert found.low == 0
    assert found.high == pytest.approx(2, abs=0.2)
    assert [answer.adjustment for answer in found.answers] == [(), None]
    assert "between 0 and" in found.sentence
    assert 'state it as knowledge: tiers = [["a"], ["b"]]' in found.cautions[0]
    known = dcd.effect(chain, table, "a", "b", estimator="linear", knowledge=Knowledge(tiers=[["a"], ["b"]]))
    assert [answer.adjustment for answer in known.answers] == [()]
    other = dcd.effect(chain, table, "a", "b", knowledge=Knowledge(required=[("b", "a")]))
    assert (other.low, other.high, other.interval) == (0, 0, (0, 0))
    assert "a does not cause b in any graph of the class" in other.sentence


# --- fitted models ---------------------------------------------------------------------------------------


def test_a_fitted_model_has_effects_by_probability(fitted, answered):
    model, found = fitted[0], answered
    assert found.over == "posterior"
    assert found.answers[0].adjustment == ("severity",)
    assert found.answers[0].interval[0] < 0.7 < found.answers[0].interval[1]
    assert sum(answer.share for answer in found.answers) + found.left_out == pytest.approx(1)
    graphs = model.posterior_.graphs_of(model.cpdag_.names)
    assert graphs.shape[1:] == (4, 4)
    shares = [graphs[:, i, j].mean() + graphs[:, j, i].mean() for i, j in [(0, 2), (2, 3)]]
    assert min(shares) > 0.9  # both edges are certain


def test_a_fitted_model_has_effects_of_its_class(fitted, one_split):
    model, table = fitted
    by_class = model.effect("dose", "response", over="class")
    assert by_class.over == "class"
    assert dcd.effect(model.cpdag_, table, "dose", "response") == by_class


def test_the_answer_is_the_same_for_any_order_of_columns(one_split):
    table = patients()
    turned = dcd.effect(PATIENTS, table[table.columns[::-1]], "dose", "response")
    assert turned == dcd.effect(PATIENTS, table, "dose", "response")


def test_other_rows_and_a_saved_model(fitted, answered):
    model, table = fitted
    how = {"estimator": "linear"}
    assert model.effect("dose", "response", patients(seed=1), **how) != model.effect(
        "dose", "response", **how
    )
    for name in ("sample_weight", "groups"):
        with pytest.raises(InputError, match=f"parameter '{name}': was given without the table of its rows"):
            model.effect("dose", "response", **{name: np.arange(len(table))})
    copied = pickle.loads(pickle.dumps(model))
    with pytest.raises(InputError, match="not part of a saved or copied model"):
        copied.effect("dose", "response")
    assert copied.effect("dose", "response", table) == answered  # and the same again
    changed = table.copy()
    again = dcd.RobustDCD(search=dcd.WholeGraph(chains=0), progress=False).fit(changed)
    assert again.effect("dose", "response", estimator="linear").over == "class"
    with pytest.raises(InputError, match="this fit has no posterior"):
        again.effect("dose", "response", over="posterior")
    changed.loc[0, "dose"] = 99.0
    with pytest.raises(InputError, match="has changed since"):
        again.effect("dose", "response")


def test_the_published_method_has_effects_too():
    found = dcd.DCD(progress=False).fit(patients(300)).effect("clinic", "dose", estimator="linear")
    assert found.over == "class"


# --- kinds of columns ------------------------------------------------------------------------------------


def categories(n=800, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.standard_normal(n)
    arm = np.array(["placebo", "low", "high"])[np.digitize(age + rng.standard_normal(n), [-0.5, 0.8])]
    gain = {"placebo": 0.0, "low": 0.5, "high": 2.0}
    score = age + np.array([gain[one] for one in arm]) + rng.standard_normal(n)
    return pd.DataFrame({"age": age, "arm": arm, "score": score, "cured": score > 1})


def arms(outcome):
    names = ["age", "arm", outcome]
    return pd.DataFrame([[0, 1, 1], [0, 0, 1], [0, 0, 0]], index=names, columns=names)


def test_two_levels_of_several_are_compared():
    found = dcd.effect(arms("score"), categories(), "arm", "score", levels=("placebo", "high"))
    low, high = found.interval
    assert low < 2 < high
    assert found.levels == ("placebo", "high")
    assert "The effect of arm (high instead of placebo) on score is" in found.sentence
    with pytest.raises(InputError, match=r"has 3 categories .*levels=\('high', 'low'\)"):
        dcd.effect(arms("score"), categories(), "arm", "score")


def test_an_outcome_of_two_levels_is_a_difference_of_probabilities(one_split):
    table = categories()
    found = dcd.effect(arms("cured"), table, "arm", "cured", levels=["placebo", "high"])
    assert found.outcome_level == "True"
    assert 0 < found.low < 1
    assert "P(cured = True)" in found.sentence
    with pytest.raises(InputError, match="has 3 categories, which have no mean"):
        dcd.effect(pd.DataFrame(arms("x").to_numpy(), index=["age", "score", "arm"],
                                columns=["age", "score", "arm"]), table, "score", "arm")  # fmt: skip


def test_levels_of_numbers_and_the_kinds_that_are_told(one_split):
    table = categories()
    table["dose"] = table["arm"].map({"placebo": 0, "low": 1, "high": 2})
    names = ["age", "dose", "score"]
    graph = pd.DataFrame([[0, 1, 1], [0, 0, 1], [0, 0, 0]], index=names, columns=names)
    per_unit = dcd.effect(graph, table, "dose", "score", estimator="linear")
    assert "per unit of dose" in per_unit.sentence
    assert dcd.effect(graph, table, "dose", "score", levels=(0, 2)).levels == ("0", "2")
    with pytest.raises(InputError, match="has 3 categories"):
        dcd.effect(graph, table, "dose", "score", kinds={"dose": "nominal"})


# --- rows ------------------------------------------------------------------------------------------------


def test_rows_with_gaps_are_left_out_and_counted():
    table = patients()
    table.loc[:99, "severity"] = np.nan
    table.loc[:299, "clinic"] = np.nan  # not used
    found = dcd.effect(PATIENTS, table, "dose", "response", estimator="linear")
    assert found.answers[0].n_rows == 500
    assert any("100 of 600 rows were left out" in caution for caution in found.cautions)
    complete = dcd.effect(PATIENTS, table.iloc[100:], "dose", "response", estimator="linear")
    assert complete.answers == found.answers


def test_counts_repeat_rows_and_weights_of_zero_leave_them_out():
    table = patients()
    counts = np.random.default_rng(0).integers(1, 3, size=600)
    longer = table.loc[table.index.repeat(counts)]
    how = {"estimator": "linear"}
    expected = dcd.effect(PATIENTS, longer, "dose", "response", **how)
    assert dcd.effect(PATIENTS, table, "dose", "response", counts=counts, **how) == expected
    weights = (np.arange(600) < 300).astype(float)
    half = dcd.effect(PATIENTS, table, "dose", "response", sample_weight=weights, **how)
    assert half.answers == dcd.effect(PATIENTS, table[:300], "dose", "response", **how).answers


# --- as text, data and a picture -------------------------------------------------------------------------


def test_the_answer_shows_itself(fitted):
    model, _ = fitted
    found = model.effect("clinic", "response", estimator="linear")
    document = json.loads(json.dumps(found.to_dict()))
    assert document["low"] == found.low
    assert document["sentence"] in str(found)
    frame = found.to_frame()
    assert len(frame) == len(found.answers)
    assert frame["estimate"].max() == found.high
    page = found._repr_html_()
    assert page.count("<tr>") == len(found.answers) + 1
    assert "<th>sampled graphs</th>" in page
    ax = found.plot()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(labels) == len(found.answers)
    plt.close("all")
    assert re.match(r"The effect of clinic on response is .* per unit of clinic", found.sentence)


def test_names_cannot_break_the_page():
    table = patients().rename(columns={"dose": "<b>dose", "severity": "$x_{"})
    graph = pd.DataFrame(PATIENTS.to_numpy(), index=table.columns, columns=table.columns)
    found = dcd.effect(graph, table, "<b>dose", "response", estimator="linear")
    assert "<b>" not in found._repr_html_()
    found.plot().figure.canvas.draw()
    plt.close("all")


def test_many_answers_are_summed_up(fitted):
    model, _ = fitted
    answer = model.effect("dose", "response", estimator="linear").answers[0]
    many = dcd.results.Effect(
        "dose", "response", None, None, (answer,) * 11, "posterior", 0.95, "linear", 0.04, 600
    )
    assert len(many.reasons) == 10
    assert "3 other adjustments" in many.reasons[-2]
    assert "4 % of the sampled graphs: adjustment sets too rare" in many.reasons[-1]


def made(*shares_and_estimates, left_out=0.0, **changes):
    """An effect with made-up shares and estimates; None stands for "no effect"."""
    answers = []
    for at, (share, value) in enumerate(shares_and_estimates):
        if value is None:
            answers.append(EffectAnswer(None, 0.0, 0.0, (0.0, 0.0), share, 0))
        else:
            answers.append(EffectAnswer((f"z{at}",), value, 0.1, (value - 0.2, value + 0.2), share, 100))
    shown = {"over": "posterior", "confidence": 0.95, "estimator": "linear", "n_rows": 100, **changes}
    return dcd.results.Effect(
        "dose", "response", None, None, answers=tuple(answers), left_out=left_out, **shown
    )


@pytest.mark.parametrize("seed", range(30))
def test_the_range_of_most_graphs_is_the_shortest_of_all_sets_of_answers(seed):
    rng = np.random.default_rng(seed)
    n_answers = int(rng.integers(1, 7))
    shares = -np.sort(-rng.dirichlet(np.full(n_answers, 0.5)))
    estimates = rng.integers(-4, 5, size=n_answers).astype(float)  # with ties
    covered = rng.uniform(0.7, 1.0)
    found = made(*zip(shares * covered, estimates, strict=True), left_out=1 - covered)
    sets = [
        list(chosen)
        for size in range(1, n_answers + 1)
        for chosen in combinations(range(n_answers), size)
        if shares[list(chosen)].sum() >= 0.9 - 1e-9
    ]
    low, high = found.range_90
    assert high - low == min(np.ptp(estimates[chosen]) for chosen in sets)
    assert shares[(estimates >= low) & (estimates <= high)].sum() >= 0.9 - 1e-9
    assert found.low <= low <= high <= found.high
    assert found.most_frequent == found.answers[0]


def test_the_sentence_says_what_most_graphs_say():
    often, rarely = made((0.55, None), (0.45, -2.0)), made((0.93, -2.0), (0.07, None))
    assert (often.low, often.high) == (rarely.low, rarely.high) == (-2, 0)
    assert often.range_90 == (-2, 0)
    assert often.sentence.endswith("The most frequent answer is no effect (55 % of the sampled graphs).")
    assert rarely.range_90 == (-2, -2)
    assert rarely.sentence.endswith(
        "The most frequent answer is -2 (93 % of the sampled graphs). "
        "7 % of the sampled graphs have no effect."
    )
    spread = made((0.5, -2.0), (0.42, -1.0), (0.08, None))
    assert (
        "In at least 90 % of the graphs with an answer, the effect is between -2 and -1." in spread.sentence
    )
    document = json.loads(json.dumps(rarely.to_dict()))
    assert document["range_90"] == [-2, -2]
    assert document["most_frequent"] == document["answers"][0]
    tied = made((0.5, -2.0), (0.5, None), over="class")
    assert tied.most_frequent is None
    assert tied.sentence.endswith("50 % of the graphs of the class have no effect.")
    uncounted = made((None, -2.0), (None, None), over="class")
    assert (uncounted.most_frequent, uncounted.range_90) == (None, None)


def test_no_effect_has_its_own_line():
    shares = [0.2, 0.15, 0.12, 0.1, 0.09, 0.08, 0.07, 0.06, 0.04, 0.03, 0.02]
    found = made(*((share, None if at == 9 else 1.0 + at) for at, share in enumerate(shares)), left_out=0.04)
    assert found.reasons[8] == "3 % of the sampled graphs: no effect, dose does not cause response"
    assert found.reasons[9] == "6 % of the sampled graphs: 9 to 11, 2 other adjustments"
    assert found.reasons[10].startswith("4 % of the sampled graphs: adjustment sets too rare to be estimated")
    rare = made((0.96, 1.0), left_out=0.04, no_effect_left_out=0.03)
    assert rare.reasons[1].startswith(
        "3 % of the sampled graphs: no effect, dose does not cause response, too"
    )
    assert rare.reasons[2].startswith("1 % of the sampled graphs: adjustment sets too rare to be estimated")


def test_a_rare_no_effect_is_left_out_with_its_share():
    adjustments = Adjustments({(0,): 0.96, None: 0.03, (): 0.01}, counted=True, complete=True)
    pair = ("dose", "response")
    found = estimated(list(patients().columns), adjustments, EffectTable(patients()), pair, "posterior",
                      EffectOptions(estimator="linear"), Context())  # fmt: skip
    assert found.left_out == pytest.approx(0.04)
    assert found.no_effect_left_out == pytest.approx(0.03)


def test_shares_are_said_not_to_be_calibrated(fitted, answered):
    first = answered.answers[0]
    assert 0 < first.share_error < 0.2
    note = "Shares count sampled graphs and, unlike the probabilities of arrows, are not calibrated"
    assert f"\n{note}; ± is their Monte Carlo standard error." in str(answered)
    assert f"{first.share_words} of the sampled graphs: " in answered.reasons[0]
    assert f"<td>{first.share_words}</td>" in answered._repr_html_()
    assert f"<p>{note}" in answered._repr_html_()
    assert answered.to_frame()["share_error"][0] == first.share_error
    drawn = [text.get_text() for text in answered.plot().texts]
    assert first.share_words in drawn
    assert "sampled graphs\n(not calibrated,\n± Monte Carlo error)" in drawn
    plt.close("all")
    assert "calibrated" not in str(fitted[0].effect("dose", "response", over="class"))


def test_long_names_stay_inside_the_picture():
    names = [f"measurement_{k}_of_the_blood_pressure_at_the_first_visit" for k in range(7)]
    answers = [
        EffectAnswer(tuple(names[:k]), 1.0, 0.1, (0.8, 1.2), 0.25, 90, share_error=0.01) for k in (0, 1, 2, 7)
    ]
    of_graphs = {"over": "posterior", "confidence": 0.95, "estimator": "linear", "left_out": 0.0}
    found = dcd.results.Effect(names[0], names[1], None, None, tuple(answers), n_rows=90, **of_graphs)
    figure = found.plot().figure
    figure.canvas.draw()
    ax, page = figure.axes[0], figure.bbox
    for text in [ax.xaxis.label, *ax.get_yticklabels(), *ax.texts]:
        box = text.get_window_extent()
        assert box.x0 >= 4, text.get_text()
        assert box.x1 <= page.x1 - 4, text.get_text()
        assert 0 <= box.y0 < box.y1 <= page.y1, text.get_text()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[0] == "nothing"
    assert labels[3].endswith("more")
    assert max(label.count("\n") for label in labels) == 1
    plt.close("all")


# --- what is refused -------------------------------------------------------------------------------------


CYCLE = PATIENTS.copy()
CYCLE.loc["response", "clinic"] = 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"treatment": "dosis"},
            "parameter 'treatment': is 'dosis', which is not in the graph. Did you mean",
        ),
        ({"outcome": "dose"}, "parameter 'outcome': is the treatment"),
        ({"outcome": None}, "parameter 'outcome': is None, which is not in the graph"),
        ({"estimator": "magic"}, "parameter 'estimator': must be one of"),
        ({"adjustment": "all"}, "parameter 'adjustment': must be one of"),
        ({"confidence": 95}, "parameter 'confidence': must be a number above 0 and below 1"),
        ({"levels": (1, 1)}, "parameter 'levels': must be two different levels"),
        ({"levels": "ab"}, "parameter 'levels': must be a list"),
        ({"levels": (98, 99)}, "parameter 'levels': '98' is not a level of 'dose'"),
        ({"graph": "graph.csv"}, "must be a CPDAG, a labelled adjacency matrix or a result, got str"),
        ({"graph": CYCLE}, "fits no directed acyclic graph"),
        (
            {"X": patients(30)},
            "the table: needs 50 rows that are complete in 'dose', 'response', 'severity' for this effect, "
            "got 30",
        ),
        ({"X": patients().drop(columns="severity")}, "column 'severity': is not in the table"),
        ({"X": patients().assign(dose=1.0)}, "column 'dose': has the same value in every row"),
        ({"X": patients().assign(response=1.0)}, "column 'response': has the same value in every row"),
        ({"X": patients().assign(dose=np.inf)}, "column 'dose': infinite values"),
        ({"knowledge": Knowledge(forbidden=[("dose", "response")])}, "dose -> response is forbidden"),
        (
            {"knowledge": Knowledge(no_edge=[("severity", "dose")])},
            "severity and dose: no edge between",
        ),
        ({"sample_weight": [1, 2]}, "parameter 'sample_weight': has 2 values for 600 rows"),
    ],
)
def test_bad_input_is_refused_in_words(change, message):
    asked = {"graph": PATIENTS, "X": patients(), "treatment": "dose", "outcome": "response", **change}
    with pytest.raises(InputError, match=re.escape(message)):
        dcd.effect(**asked)


def test_what_cannot_be_told_from_these_rows_is_refused():
    table = patients()
    twice = table.assign(severity=2 * table["dose"])
    with pytest.raises(InputError, match="'dose': is determined by severity"):
        dcd.effect(PATIENTS, twice, "dose", "response", estimator="linear")
    rare = table.assign(dose=np.where(np.arange(600) < 7, "a", "b"))
    with pytest.raises(InputError, match="has 7 rows with one of the two levels, fewer than 20"):
        dcd.effect(PATIENTS, rare, "dose", "response")
    gaps = table.assign(dose=np.where(np.arange(600) % 2, "a", "b"))
    gaps.loc[gaps["dose"] == "a", "severity"] = np.nan
    with pytest.raises(InputError, match="'dose': has the same value in the 300 complete rows"):
        dcd.effect(PATIENTS, gaps, "dose", "response")


def test_knowledge_restricts_a_graph():
    chain = CPDAG.from_dag("abc", [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    known = with_knowledge(chain, Knowledge(required=[("a", "b")]))
    assert known.directed_edges == (("a", "b"), ("b", "c"))
    with pytest.raises(InputError, match="allows no graph of the class"):
        with_knowledge(chain, Knowledge(required=[("a", "b"), ("c", "b")]))
    collider = CPDAG.from_dag("abc", [[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    with pytest.raises(InputError, match="contradicts the graph about c and a"):
        with_knowledge(collider, Knowledge(required=[("c", "a")]))
    doubtful = CPDAG("abc", collider.adjacency, uncertain=[("a", "c"), ("b", "c")])
    settled = with_knowledge(doubtful, Knowledge(required=[("c", "a")]))
    assert settled.directed_edges == (("c", "a"),)
    assert settled.uncertain == (("b", "c"),)
    assert with_knowledge(doubtful, Knowledge(required=[("a", "c")])).uncertain == (("b", "c"),)
