"""Probabilities of edges and arrows in a fit: their form, invariances, knowledge and calibration."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from support.tables import collider_with_bystanders, mixed_table, simulated

import dcd
from dcd import InputError, Knowledge, RobustDCD, WholeGraph
from dcd.graph.adjacency import directed_part

TYPES = ["forward", "backward", "undirected", "absent"]


def fitted(table, *, chains=6, **parameters):
    return RobustDCD(search=WholeGraph(chains=chains), progress=False, **parameters).fit(table)


def of_pair(model, first, second):
    """The probabilities of `TYPES` of a pair, in this order."""
    frame = model.probabilities_.set_index(["first", "second"])
    if (first, second) in frame.index:
        return frame.loc[(first, second), TYPES].to_numpy(dtype=float)
    return frame.loc[(second, first), ["backward", "forward", "undirected", "absent"]].to_numpy(dtype=float)


def assert_well_formed(model, names):
    frame = model.probabilities_
    assert list(frame.columns) == ["first", "second", *TYPES]
    assert list(zip(frame["first"], frame["second"], strict=True)) == list(combinations(names, 2))
    np.testing.assert_allclose(frame[TYPES].sum(axis=1), 1.0)
    assert frame[TYPES].min().min() >= 0.0


# --- form ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_each_pair_has_a_row_in_the_order_of_the_columns(seed):
    table = collider_with_bystanders(400, seed)
    assert_well_formed(fitted(table), "abcde")
    assert_well_formed(fitted(table[list("ecabd")]), "ecabd")


def test_a_plain_collider_has_likely_arrows_sure_edges_and_a_bystander():
    """Arrows are at 0.7 to 0.85: a triangle fits as well, and has six DAGs where the collider has one."""
    for seed in range(3):
        model = fitted(collider_with_bystanders(1000, seed), chains=16)
        for cause in "ab":
            forward, backward, undirected, absent = of_pair(model, cause, "c")
            assert forward > 0.6
            assert backward < 0.1
            assert undirected < 0.4
            assert absent < 0.02
            assert of_pair(model, cause, "e")[3] > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_two_columns_have_one_row_and_no_direction_where_lines_fit(seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(300)
    model = fitted(pd.DataFrame({"a": a, "b": a + rng.standard_normal(300)}))
    assert_well_formed(model, "ab")
    assert model.probabilities_.loc[0, "undirected"] > 0.99


def test_two_independent_columns_probably_have_no_edge():
    """On average: by chance, some samples suggest a weak edge."""
    absent = []
    for seed in range(8):
        independent = np.random.default_rng(seed).standard_normal((300, 2))
        absent.append(fitted(pd.DataFrame(independent, columns=["a", "b"])).probabilities_.loc[0, "absent"])
    assert np.mean(absent) > 0.8
    assert np.median(absent) > 0.85


@pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")
@pytest.mark.parametrize("n", [10, 12, 21])
def test_few_rows_are_enough_for_probabilities_that_settle_little(n):
    for seed in range(3):
        model = fitted(np.random.default_rng(seed).standard_normal((n, 4)))
        assert_well_formed(model, ["x0", "x1", "x2", "x3"])
        assert model.probabilities_["absent"].mean() > 0.4


@pytest.mark.parametrize("gaps", [False, True])
def test_mixed_tables_with_and_without_missing_values(gaps):
    table = mixed_table(300, gaps=gaps)
    model = fitted(table, missing="testwise" if gaps else "refuse")
    assert_well_formed(model, list(table.columns))
    assert of_pair(model, "a", "sum")[3] < 0.05
    assert of_pair(model, "size", "grade")[3] > 0.5


def test_weights_of_a_survey():
    table = collider_with_bystanders(400, 0)
    model = RobustDCD(search=WholeGraph(chains=4), progress=False)
    assert_well_formed(model.fit(table, sample_weight=np.random.default_rng(0).uniform(0.2, 3, 400)), "abcde")
    equal = model.fit(table, sample_weight=np.full(400, 3.0)).probabilities_
    pd.testing.assert_frame_equal(equal, fitted(table, chains=4).probabilities_)


def test_there_are_none_without_chains_nor_of_the_published_method():
    table = collider_with_bystanders(300, 0)
    model = fitted(table, chains=0)
    assert model.probabilities_ is None
    assert model.cpdag_.uncertain == ()
    assert dcd.DCD(progress=False).fit(table).probabilities_ is None


# --- what they do not depend on --------------------------------------------------------------------------


def test_the_number_of_processes_and_the_order_of_the_columns_make_no_difference():
    for seed in range(2):
        table = simulated(seed, d=5)
        model = fitted(table)
        pd.testing.assert_frame_equal(fitted(table, n_jobs=2).probabilities_, model.probabilities_)
        order = np.random.default_rng(seed).permutation(table.columns)
        other = fitted(table[order])
        for first, second in combinations(table.columns, 2):
            np.testing.assert_array_equal(of_pair(other, first, second), of_pair(model, first, second))


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_the_rows_makes_none_beyond_rounding_where_that_of_the_columns_stays(seed):
    """The first rows determine the internal order of the columns, so the first row stays first."""
    table = simulated(seed, d=4, n=200)
    shuffle = np.concatenate([[0], 1 + np.random.default_rng(seed).permutation(199)])
    first, second = fitted(table), fitted(table.iloc[shuffle])
    # A proposal that rounding decides differently changes the rest of one chain of six.
    difference = np.abs(first.probabilities_[TYPES] - second.probabilities_[TYPES])
    assert difference.to_numpy().max() < 0.1
    assert (difference.to_numpy() < 1e-9).mean() > 0.6
    any_order = fitted(table.sample(frac=1.0, random_state=seed), chains=16)
    same_chains = fitted(table, chains=16)
    difference = np.abs(any_order.probabilities_[TYPES] - same_chains.probabilities_[TYPES])
    assert difference.to_numpy().mean() < 0.06


def test_another_seed_changes_little():
    table = simulated(3, d=5)
    first, second = (fitted(table, chains=16, random_state=seed).probabilities_[TYPES] for seed in (0, 1))
    assert 0 < np.abs(first - second).to_numpy().max() < 0.4


def test_a_resumed_fit_tells_the_same(tmp_path):
    """From the file truncated after some of its lines, and in the middle of a line."""
    table = simulated(1, d=4)
    path = tmp_path / "run.jsonl"
    model = RobustDCD(search=WholeGraph(chains=5), progress=False).fit(table, checkpoint=path)
    lines = path.read_bytes().splitlines(keepends=True)
    of_chains = [at for at, line in enumerate(lines) if b'"stage": "chains"' in line]
    assert len(of_chains) == 5
    for keep in (of_chains[0], of_chains[2], of_chains[4]):
        path.write_bytes(b"".join(lines[:keep]) + lines[keep][:20])
        again = RobustDCD(search=WholeGraph(chains=5), progress=False).fit(table, checkpoint=path)
        pd.testing.assert_frame_equal(again.probabilities_, model.probabilities_)
        assert again.cpdag_ == model.cpdag_
        assert sorted(path.read_bytes().splitlines()) == sorted(b"".join(lines).splitlines())


@pytest.mark.parametrize("result", ['["AAAA"]', '"AAAA"', "[1, 2]", '["", ""]', '["####", ""]', "null"])
def test_a_chain_that_no_fit_can_have_written_is_refused(result, tmp_path):
    table, path = simulated(1, d=4), tmp_path / "run.jsonl"
    model = RobustDCD(search=WholeGraph(chains=1), progress=False).fit(table, checkpoint=path)
    lines = path.read_text().splitlines()
    at = next(at for at, line in enumerate(lines) if '"stage": "chains"' in line)
    lines[at] = f'{{"stage": "chains", "key": 0, "result": {result}}}'
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=f"line {at + 1} is damaged"):
        model.fit(table, checkpoint=path)


# --- knowledge -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_knowledge_is_certain(seed):
    """Whatever the data suggest: c causes a, b and d are not adjacent, e is a root and d a leaf."""
    knowledge = Knowledge(required=[("c", "a")], no_edge=[("b", "d")], roots=["e"], leaves=["d"])
    model = fitted(collider_with_bystanders(300, seed), knowledge=knowledge)
    assert_well_formed(model, "abcde")
    assert of_pair(model, "c", "a").tolist() == [1, 0, 0, 0]
    assert of_pair(model, "b", "d").tolist() == [0, 0, 0, 1]
    for other in "abcd":
        assert of_pair(model, other, "e")[[0, 2]].tolist() == [0, 0]
    for other in "abce":
        assert of_pair(model, "d", other)[[0, 2]].tolist() == [0, 0]
    assert model.cpdag_.adjacency[list("abcde").index("c"), 0] == 1


def test_an_arrow_that_knowledge_directs_is_never_uncertain():
    """A weak edge with one direction forbidden: the edge is uncertain, its direction is not."""
    directed = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        values = rng.standard_normal((200, 4))
        values[:, 1] += 0.25 * values[:, 0]
        values[:, 2] += values[:, 1]
        table = pd.DataFrame(values, columns=list("abcd"))
        tiers = [["a"], ["b"], ["c"], ["d"]]
        model = fitted(table, knowledge=Knowledge(tiers=tiers), arrow_probability=1.0)
        assert model.cpdag_.uncertain == ()
        assert model.cpdag_.undirected_edges == ()
        directed += ("a", "b") in model.cpdag_.directed_edges and of_pair(model, "a", "b")[0] < 1
    assert directed > 0


# --- the least probability of an arrow -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_arrows_below_the_least_probability_are_drawn_as_lines(seed):
    table = simulated(seed, d=6, n=150)
    graphs = {least: fitted(table, arrow_probability=least) for least in (0, 0.75, 1)}
    sure = graphs[0].cpdag_
    assert sure.uncertain == ()
    names = sure.names
    for least, model in graphs.items():
        graph = model.cpdag_
        pd.testing.assert_frame_equal(model.probabilities_, graphs[0].probabilities_)
        np.testing.assert_array_equal(graph.adjacency, sure.adjacency)
        arrows = {(names[i], names[j]) for i, j in np.argwhere(directed_part(graph.adjacency))}
        weak = {arrow for arrow in arrows if of_pair(model, *arrow)[0] < least}
        assert set(graph.uncertain) == weak
        assert set(graph.directed_edges) == arrows - weak
        drawn = {frozenset(edge) for edge in graph.undirected_edges}
        assert {frozenset(edge) for edge in weak} <= drawn
        np.testing.assert_array_equal(graph.drawn, model.adjacency_matrix_)
        for cause, effect in weak:
            assert graph.role(cause, effect) == graph.role(effect, cause) == "neighbour"
            assert model.markov_boundaries_[effect][cause] == "neighbour"


def test_uncertain_arrows_are_arrows_of_the_graph_each_once():
    collider = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    graph = dcd.CPDAG(tuple("abc"), collider, (), (("b", "c"), ("b", "c")))
    assert graph.uncertain == (("b", "c"),)
    assert str(graph) == "a -> c\nb - c"
    assert graph.reorder("cba").uncertain == (("b", "c"),)
    assert graph != dcd.CPDAG(tuple("abc"), collider)
    with pytest.raises(InputError, match="parameter 'uncertain': has c -> b, which is not in the graph"):
        dcd.CPDAG(tuple("abc"), collider, (), (("c", "b"),))


@pytest.mark.parametrize("value", [-0.1, 1.01, np.nan, "often", None, True])
def test_a_bad_arrow_probability_is_refused(value):
    with pytest.raises(InputError, match=r"parameter 'arrow_probability'.*0.75") as refused:
        RobustDCD(arrow_probability=value).fit(collider_with_bystanders(100, 0))
    assert str(value) in str(refused.value)


@pytest.mark.parametrize("value", [-1, 1.5, 10_001, "many", None])
def test_a_bad_number_of_chains_is_refused(value):
    with pytest.raises(InputError, match=r"parameter 'chains'.*32") as refused:
        RobustDCD(search=WholeGraph(chains=value)).fit(collider_with_bystanders(100, 0))
    assert str(value) in str(refused.value)


# --- calibration -----------------------------------------------------------------------------------------


def told_and_true(seeds):
    """For simulated graphs: whether each edge above 95 % exists, and each arrow above 90 % is right."""
    edges, arrows = [], []
    for seed in seeds:
        rng = np.random.default_rng([seed, 7])
        graph = ("scale-free", "erdos-renyi")[seed % 2]
        dag = dcd.simulate.random_dag(6, graph=graph, random_state=seed)
        if seed % 3:
            mechanism = ("func", "mlp")[seed % 3 - 1]
            values = dcd.simulate.sample(dag, 400, mechanism=mechanism, noise_std=1.0, random_state=seed)
        else:
            weights = dag * rng.choice([-1, 1], dag.shape) * rng.uniform(0.4, 1.2, dag.shape)
            values = rng.standard_normal((400, 6)) @ np.linalg.inv(np.eye(6) - weights)
        truth = dcd.graph.dag_to_cpdag(dag)
        frame = fitted(values, chains=16).probabilities_
        for row in frame.itertuples():
            i, j = int(row.first[1:]), int(row.second[1:])
            if row.absent < 0.05:
                edges.append(bool(truth[i, j] or truth[j, i]))
            for told, cause, effect in ((row.forward, i, j), (row.backward, j, i)):
                if told > 0.9:
                    arrows.append(bool(truth[cause, effect] and not truth[effect, cause]))
    return edges, arrows


@pytest.mark.slow
def test_what_is_told_as_nearly_certain_is_nearly_always_so():
    edges, arrows = told_and_true(range(30))
    assert len(edges) > 60
    assert len(arrows) > 10
    assert np.mean(edges) >= 0.93
    assert np.mean(arrows) >= 0.75
