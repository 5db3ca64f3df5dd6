"""Testing a graph: the level over all statements, violations of a wrong graph, and bad input."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from support.brute_force import random_dag

import dcd
from dcd import InputError
from dcd.evaluation.falsification.testing import holm
from dcd.graph import dag_to_cpdag

NAMES = list("abcde")
# a -> c <- b, c -> e, d -> e
ARROWS = [("a", "c"), ("b", "c"), ("c", "e"), ("d", "e")]


def frame_of(arrows, names=NAMES):
    matrix = pd.DataFrame(0, index=names, columns=names)
    for cause, effect in arrows:
        matrix.loc[cause, effect] = 1
    return matrix


TRUTH = frame_of(ARROWS)


def table(seed, n=500):
    """Relations that a correlation does not show."""
    rng = np.random.default_rng(seed)
    a, b, d = rng.standard_normal((3, n))
    c = a**2 + np.sin(2 * b) + 0.5 * rng.standard_normal(n)
    e = np.abs(c) + d * c / 2 + 0.5 * rng.standard_normal(n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e})


def quick(graph, data, **options):
    return dcd.falsify(graph, data, **{"n_permutations": 0, "progress": False, **options})


# --- Holm's method ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_holm_rejects_what_its_steps_reject(seed):
    """By its definition: while the k-th smallest is at most alpha / (m - k + 1)."""
    rng = np.random.default_rng(seed)
    pvalues = rng.random(12) ** 6
    for alpha in (0.01, 0.05, 0.3):
        rejected = np.zeros(12, dtype=bool)
        for k, at in enumerate(np.argsort(pvalues)):
            if pvalues[at] > alpha / (12 - k):
                break
            rejected[at] = True
        np.testing.assert_array_equal(holm(pvalues) <= alpha, rejected)


def test_holm_leaves_out_what_was_not_tested():
    adjusted = holm(np.array([0.01, np.nan, 0.04]))
    np.testing.assert_allclose(adjusted, [0.02, np.nan, 0.04])
    assert holm(np.array([0.9, 0.8])).max() <= 1
    assert len(holm(np.array([]))) == 0


# --- right and wrong graphs ------------------------------------------------------------------------------


def test_the_true_graph_passes_and_its_edges_are_needed():
    n_violated = [len(quick(TRUTH, table(seed)).violated) for seed in range(8)]
    assert n_violated.count(0) >= 6  # 95 % each: fewer happens once in 1,500
    checked = quick(TRUTH, table(0))
    assert [edge for edge in checked.edges if not edge.needed] == []
    assert "contradict none of the 7 independences" in str(checked)


@pytest.mark.parametrize("seed", range(4))
def test_a_missing_edge_is_a_violated_statement(seed):
    """Of a and c: curved, without any correlation."""
    checked = quick(frame_of(ARROWS[1:]), table(seed))
    assert ("a", "c") in {(one.first, one.second) for one in checked.violated}
    clearest = checked.violated[0]
    assert str(clearest).startswith("a is independent of ")
    assert clearest.adjusted <= checked.alpha


@pytest.mark.parametrize("seed", range(4))
def test_a_wrong_direction_is_refused(seed):
    reversed_collider = frame_of([("c", "a"), ("c", "b"), ("c", "e"), ("d", "e")])
    checked = quick(reversed_collider, table(seed))
    assert ("a", "b", ("c",)) in {(one.first, one.second, one.given) for one in checked.violated}


def test_an_edge_too_many_is_not_needed():
    found = [
        [(edge.first, edge.second) for edge in quick(frame_of([*ARROWS, ("a", "d")]), table(seed)).unneeded]
        for seed in range(6)
    ]
    assert found.count([("a", "d")]) >= 4  # an edge counts as needed at its own level, 5 %


def test_relabelled_graphs_do_worse_and_are_the_same_for_any_order_of_the_columns():
    data = table(1)
    checked = dcd.falsify(TRUTH, data, n_permutations=30, progress=False)
    assert len(checked.permuted) + checked.n_equivalent == 30
    assert checked.n_no_worse <= 1
    assert checked.permutation_pvalue == (1 + checked.n_no_worse) / (1 + len(checked.permuted))
    mixed = list("dbeca")
    graph, columns = TRUTH.loc[mixed, mixed], data[list("edcba")]
    again = dcd.falsify(graph, columns, n_permutations=30, n_jobs=2, progress=False)
    assert again.permuted == checked.permuted
    by_name = {(one.first, one.second, one.given): one.pvalue for one in checked.independences}
    assert {(one.first, one.second, one.given): one.pvalue for one in again.independences} == by_name
    other = dcd.falsify(TRUTH, data, n_permutations=30, random_state=1, progress=False)
    assert other.permuted != checked.permuted
    few = dcd.falsify(TRUTH, data, n_permutations=4, progress=False)
    assert few.permuted == checked.permuted[: len(few.permuted)]
    assert "at least 20 are needed to distinguish that from chance" in str(few)


def test_a_graph_that_says_nothing_cannot_fail():
    order = {name: at for at, name in enumerate(NAMES)}
    full = frame_of([(a, b) for a in NAMES for b in NAMES if order[a] < order[b]])
    checked = dcd.falsify(full, table(0), n_permutations=10, progress=False)
    assert (checked.independences, checked.violated) == ((), ())
    assert "implies no independence" in str(checked)
    assert len(checked.unneeded) >= 3
    symmetric = dcd.falsify(frame_of([]), table(0), n_permutations=10, progress=False)
    assert (symmetric.n_equivalent, symmetric.permuted) == (10, ())
    assert "Shuffled names imply the same independences" in str(symmetric)


# --- graphs of every kind --------------------------------------------------------------------------------


def pairs(checked):
    return {(one.first, one.second) for one in checked.independences}


def test_a_dag_a_class_and_a_networkx_graph_say_the_same():
    import networkx as nx

    data = table(2)
    expected = quick(TRUTH, data)
    cpdag = dcd.CPDAG.from_dag(NAMES, TRUTH)
    for graph in (cpdag, cpdag.to_dag(), cpdag.to_frame(), nx.DiGraph(ARROWS), TRUTH.to_numpy()):
        assert pairs(quick(graph, data)) == pairs(expected)
    assert quick(nx.DiGraph(ARROWS), data).independences == expected.independences


@pytest.mark.parametrize("seed", range(3))
def test_an_undirected_graph_is_tested_as_a_dag_of_its_class(seed):
    """b <- a -> c as a class: two lines, whose DAGs all imply that b and c are independent given a."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(400)
    data = pd.DataFrame(
        {"a": a, "b": a**3 + rng.standard_normal(400), "c": np.cos(a) + rng.standard_normal(400)}
    )
    lines = pd.DataFrame([[0, 1, 1], [1, 0, 0], [1, 0, 0]], index=list("abc"), columns=list("abc"))
    checked = quick(lines, data)
    assert [(one.first, one.second, one.given) for one in checked.independences] == [("b", "c", ("a",))]
    assert {edge.type for edge in checked.edges} == {"-"}
    np.testing.assert_array_equal(checked.cpdag.adjacency, lines)


def test_the_dag_of_a_class_does_not_depend_on_the_order_of_its_names():
    rng = np.random.default_rng(0)
    for seed in range(5):
        names = [f"v{i}" for i in range(6)]
        cpdag = dcd.CPDAG.from_dag(names, random_dag(6, rng, share=0.4).astype(int))
        data = pd.DataFrame(rng.standard_normal((60, 6)), columns=names)
        mixed = [names[i] for i in rng.permutation(6)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one, other = quick(cpdag, data), quick(cpdag.reorder(mixed), data[mixed])
        assert {str(statement) for statement in one.independences} == {str(s) for s in other.independences}, (
            seed
        )


# --- real tables -----------------------------------------------------------------------------------------


def mixed_table(seed, n=600):
    rng = np.random.default_rng(seed)
    group = rng.choice(["red", "green", "blue"], n)
    dose = (group == "red") * 1.5 + rng.standard_normal(n)
    grade = np.clip(np.round(dose + rng.standard_normal(n)), -2, 2)
    healed = rng.random(n) < 1 / (1 + np.exp(-2 * grade))
    return pd.DataFrame({"group": group, "dose": dose, "grade": grade, "healed": healed})


MIXED = [("group", "dose"), ("dose", "grade"), ("grade", "healed")]


def test_mixed_kinds_and_pictures_of_categories():
    names = ["group", "dose", "grade", "healed"]
    passed = [len(quick(frame_of(MIXED, names), mixed_table(seed)).violated) for seed in range(6)]
    assert passed.count(0) >= 4
    wrong = quick(frame_of([("group", "healed"), ("dose", "grade")], names), mixed_table(0))
    assert ("dose", "group") in {(one.first, one.second) for one in wrong.violated}
    assert wrong.pictures
    levels = [shown.levels for picture in wrong.pictures for shown in picture.measured]
    assert ("blue", "green", "red") in levels
    assert 0 < wrong.violated[0].correlation <= 1
    assert "<svg" in wrong.to_html()


def test_missing_values_are_deleted_test_by_test():
    data = table(3)
    data.loc[:99, "a"] = np.nan
    data.loc[300:, "d"] = np.nan
    with pytest.raises(InputError, match="missing"):
        quick(TRUTH, data)
    checked = quick(TRUTH, data, missing="testwise")
    rows = {(one.first, one.second, one.given): one.n_rows for one in checked.independences}
    assert rows["a", "b", ()] == 400
    assert rows["a", "d", ()] == 200
    wrong = quick(frame_of(ARROWS[1:]), data, missing="testwise")
    assert "a" in {wrong.violated[0].first, wrong.violated[0].second}
    data.loc[:494, "a"] = np.nan
    few = quick(TRUTH, data, missing="testwise")
    assert few.n_untested > 0
    assert f"({few.n_untested} more could not be tested)" in str(few)
    assert {one.n_rows for one in few.independences if one.pvalue is None} <= set(range(10))


def test_survey_weights_and_counts():
    data = table(4, n=300)
    counts = np.arange(300) % 3
    counted = quick(TRUTH, data, counts=counts)
    assert counted.n_rows == 300
    assert counted.independences == quick(TRUTH, data.iloc[np.repeat(np.arange(300), counts)]).independences
    assert quick(TRUTH, data, sample_weight=np.ones(300)).independences == quick(TRUTH, data).independences


def test_columns_outside_the_graph_are_ignored_whatever_they_hold():
    data = table(5).assign(same=1.0, note="x", gap=np.nan)
    checked = quick(TRUTH, data, kinds={"a": "continuous", "note": "nominal"})
    assert checked.ignored == ("same", "note", "gap")
    assert checked.independences == quick(TRUTH, table(5)).independences


def test_many_rows_are_sampled():
    checked = quick(TRUTH, table(6, n=900), max_rows=300)
    assert (checked.n_rows, checked.n_rows_tested) == (900, 300)


# --- the account -----------------------------------------------------------------------------------------


def test_the_account_in_a_frame_and_as_json(tmp_path):
    checked = dcd.falsify(frame_of(ARROWS[1:]), table(0), n_permutations=5, title="Mine", progress=False)
    frame = checked.to_frame()
    assert len(frame) == len(checked.independences) + len(checked.edges)
    assert (frame["verdict"] == "violated").sum() == len(checked.violated)
    assert (frame["verdict"] == "no need").sum() == len(checked.unneeded)
    checked.save(tmp_path / "checked.json")
    document = json.loads((tmp_path / "checked.json").read_text())
    assert document == checked.to_dict()
    assert document["violated"] == len(checked.violated)
    assert len(document["permuted"]) == 5
    assert document["findings"] == checked.findings()
    with pytest.raises(AttributeError):
        checked.alpha = 0.1


def test_without_rows_no_row_is_kept():
    checked = quick(frame_of(ARROWS[1:]), table(0), rows=False)
    assert checked.violated
    assert checked.pictures == ()
    assert checked.to_html().count('class="scatter"') == 0


# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (frame_of([("a", "b"), ("b", "c"), ("c", "a")]), "form a directed cycle"),
        (frame_of([("a", "dose")], ["a", "dose"]), "'dose': is in the graph, but not in the table"),
        (frame_of([("a", "C")], ["a", "C"]), "Did you mean 'c'"),
        (np.zeros((3, 3)), "has 3 variables without names, but the table has 5 columns"),
        (np.eye(5), "square matrix of 0 and 1 with an empty diagonal"),
        (pd.DataFrame([[0, 2], [0, 0]], index=["a", "b"], columns=["a", "b"]), "0 and 1"),
        (frame_of([], ["a"]), "has 1 variables"),
        ("graph.dot", "must be a graph over named variables, got str"),
        (None, "got NoneType"),
    ],
)
def test_graphs_that_cannot_be_tested(graph, words):
    with pytest.raises(InputError, match=words):
        quick(graph, table(0, n=120))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 0}, "'alpha': must be a number above 0"),
        ({"n_permutations": -1}, "'n_permutations': must be a whole number at least 0"),
        ({"max_rows": 5}, "'max_rows': must be a whole number at least 10"),
        ({"test": "fisher"}, "'test': must be None or an object with bind"),
        ({"n_jobs": 0}, "'n_jobs': must not be 0"),
        ({"rows": "yes"}, "'rows': must be True or False"),
        ({"title": 3}, "'title': must be text or None, got int"),
        ({"random_state": "x"}, "'random_state'"),
        ({"kinds": {"z": "nominal"}}, "column 'z': is not in the table"),
        ({"missing": "fill"}, "'missing': must be one of"),
    ],
)
def test_parameters_out_of_range(options, words):
    with pytest.raises(InputError, match=words):
        quick(TRUTH, table(0, n=120), **options)


def test_too_few_rows_and_constant_columns():
    with pytest.raises(InputError, match="rows"):
        quick(TRUTH, table(0, n=8))
    with pytest.raises(InputError, match="same value in every row"):
        quick(TRUTH, table(0, n=120).assign(a=1.0))


# --- the level -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["func", "mlp", "product"])
def test_a_true_graph_has_any_violation_as_often_as_the_level_says(mechanism):
    """Measured over 840 graphs of seven settings: .044 ± .007. More than .09 of 150 at .05 is rare: .02."""
    n_graphs, n_violated = 150, 0
    for seed in range(n_graphs):
        dag = dcd.simulate.random_dag(6, graph="erdos-renyi", degree=2, random_state=3000 + seed)
        data = dcd.simulate.sample(dag, 500, mechanism=mechanism, noise_std=1.0, random_state=7000 + seed)
        n_violated += bool(quick(dag, data, rows=False).violated)
    assert n_violated / n_graphs <= 0.09


@pytest.mark.slow
def test_power_against_one_missing_edge():
    """Of the edges of random graphs with curved relations, one is left out at random; measured: 40 of 40."""
    n_found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        dag = dcd.simulate.random_dag(8, graph="erdos-renyi", degree=2, random_state=seed)
        data = dcd.simulate.sample(dag, 800, mechanism="mlp", noise_std=1.0, biases=True, random_state=seed)
        edges = np.argwhere(dag)
        cause, effect = edges[rng.integers(len(edges))]
        without = dag.copy()
        without[cause, effect] = 0
        n_found += bool(quick(without, data, rows=False).violated)
    assert n_found >= 36


def test_the_class_of_the_graph_is_told():
    checked = quick(TRUTH, table(0, n=120))
    np.testing.assert_array_equal(checked.cpdag.adjacency, dag_to_cpdag(TRUTH))
