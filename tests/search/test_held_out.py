"""The choice among graphs by how well they predict held-out rows, with many rows."""

import numpy as np
import pandas as pd
import pytest

import dcd
from dcd.features.gram_columns import categories, columns_of
from dcd.features.rank_scores import scores_of
from dcd.search import whole_graph
from dcd.search.held_out import HeldOutRows, can_hold_out
from dcd.table.dataset import TableOptions
from dcd.table.reading import read_table


def columns(table, **options):
    dataset = read_table(table, **options)
    return columns_of(dataset, scores_of(dataset))


def rows_of(table):
    return HeldOutRows(columns(table))


def dag_of(d, *arrows):
    dag = np.zeros((d, d), dtype=int)
    for cause, effect in arrows:
        dag[cause, effect] = 1
    return dag


def product_table(seed, n=3000):
    """y = sin(2 a) b + noise; c is independent of all."""
    rng = np.random.default_rng(seed)
    a, b, c, e = rng.standard_normal((4, n))
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": np.sin(2 * a) * b + 0.5 * e})


BOTH, ONE, USELESS = dag_of(4, (0, 3), (1, 3)), dag_of(4, (1, 3)), dag_of(4, (0, 3), (1, 3), (2, 3))


@pytest.mark.parametrize("seed", range(5))
def test_causes_that_act_together_predict_best_and_a_useless_one_costs(seed):
    rows = rows_of(product_table(seed))
    candidates = [dag_of(4), ONE, USELESS, BOTH]
    assert rows.best_of(candidates) == 3
    assert rows.best_of([BOTH, *candidates]) == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_gain_of_a_family_is_the_mutual_information_of_normal_variables(seed):
    """Closed form: -n/2 log(1 - rho²), and 8 less for the parent."""
    rng = np.random.default_rng(seed)
    x, e = rng.standard_normal((2, 6000))
    rows = rows_of(np.column_stack([x, 0.6 * x + 0.8 * e]))
    rho = np.corrcoef(x, 0.6 * x + 0.8 * e)[0, 1]
    for child in (0, 1):
        gain = rows._gain(child, np.array([1 - child]))
        assert gain == pytest.approx(-3000 * np.log(1 - rho**2) - 8.0, abs=40)


@pytest.mark.parametrize("seed", range(5))
def test_the_scale_of_the_columns_does_not_matter(seed):
    table = product_table(seed)
    assert rows_of(np.exp(table)).best_of([ONE, USELESS, dag_of(4), BOTH]) == 3
    same = rows_of(table * 1e9 + 5.0)
    assert same._gain(3, np.array([0, 1])) == pytest.approx(
        rows_of(table)._gain(3, np.array([0, 1])), abs=1e-3
    )


def test_equal_graphs_are_a_tie_that_the_first_wins():
    rows = rows_of(product_table(0))
    assert rows.best_of([ONE, ONE, ONE]) == 0
    assert rows.best_of([dag_of(4), BOTH, BOTH]) == 1
    assert not rows_of(product_table(0))._gain(0, np.array([], dtype=int))


def test_the_order_of_few_rows_does_not_matter():
    table = product_table(1)
    shuffled = table.sample(frac=1.0, random_state=3)
    family = 3, np.array([0, 1])
    assert rows_of(table)._gain(*family) == pytest.approx(rows_of(shuffled)._gain(*family), rel=1e-9)


def test_rounded_rare_and_determined_values_give_finite_gains():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 30_000))
    rare = np.zeros(30_000)
    rare[:2] = 1.0, 2.0  # none of the two is in a sample of 8,000 rows, most likely
    rows = rows_of(np.column_stack([x, np.round(x + y, 1), rare, x + y]))
    for child in range(4):
        for parents in ([0], [2], [0, 1]):
            if child not in parents:
                assert np.isfinite(rows._gain(child, np.array(parents)))
    assert rows.best_of([dag_of(4), dag_of(4, (0, 1))]) == 1


TIED = {
    "rounded": lambda y, rng: np.round(y),
    "counts": lambda y, rng: rng.poisson(np.exp(0.5 * y)),
    "many zeros": lambda y, rng: np.where(rng.random(len(y)) < 0.5, 0.0, y),
    "censored": lambda y, rng: np.minimum(y, 0.5),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", TIED)
def test_a_useless_parent_of_a_child_with_equal_values_gains_nothing(kind, seed):
    """Any regression separates equal values, which is not information on them.

    Beside a useful parent, chance alone gives it up to 30 nats; spacings would give it thousands.
    """
    rng = np.random.default_rng(seed)
    x, useless, e = rng.standard_normal((3, 6000))
    rows = rows_of(np.column_stack([x, useless, TIED[kind](x + e, rng)]))
    useful = rows._gain(2, np.array([0]))
    assert rows._gain(2, np.array([1])) < 30 < useful
    assert rows._gain(2, np.array([0, 1])) < useful + 100


def test_tables_that_are_not_compared():
    table = product_table(0, n=200)
    assert can_hold_out(columns(table), None)
    assert not can_hold_out(None, None)
    assert not can_hold_out(columns(table, sample_weight=np.arange(1.0, 201)), None)
    assert not can_hold_out(columns(table, groups=np.arange(200) // 4), None)
    mixed = read_table(table.assign(c=np.where(table["c"] > 0, "high", "low")))
    assert not can_hold_out(columns_of(mixed, scores_of(mixed)), categories(scores_of(mixed)))
    table.iloc[0, 0] = np.nan
    assert not can_hold_out(columns(table, options=TableOptions(missing="testwise")), None)
    assert not can_hold_out(columns(np.random.default_rng(0).standard_normal((200, 41))), None)


# --- in a fit --------------------------------------------------------------------------------------------


def watch(monkeypatch, winner=None):
    """The graphs that were compared, one list for each comparison; `winner` decides it."""
    seen = []

    class Watched(HeldOutRows):
        def best_of(self, dags):
            seen.append(list(dags))
            return super().best_of(dags) if winner is None else winner

    monkeypatch.setattr(whole_graph, "HeldOutRows", Watched)
    return seen


def fit(table, **options):
    return dcd.RobustDCD(search=dcd.WholeGraph(chains=0), progress=False).fit(table, **options)


def curved(seed, n):
    dag = dcd.simulate.random_dag(6, graph="erdos-renyi", degree=2, random_state=seed)
    return dcd.simulate.sample(dag, n, mechanism="bounded", noise_std=1.0, random_state=seed)


@pytest.mark.parametrize(("n", "n_searches"), [(2000, []), (4000, [2]), (6000, [3]), (12_000, [4])])
def test_with_many_rows_and_curves_several_searches_compete(n, n_searches, monkeypatch):
    seen = watch(monkeypatch)
    fit(curved(0, n))
    assert [len(dags) for dags in seen] == n_searches


def test_lines_categories_and_weighted_rows_have_one_search(monkeypatch):
    seen = watch(monkeypatch)
    rng = np.random.default_rng(0)
    x, e = rng.standard_normal((2, 3000))
    fit(np.column_stack([x, x + e]))
    table = pd.DataFrame({"x": x, "y": np.cos(2 * x) + 0.3 * e})
    fit(table.assign(group=np.where(rng.random(3000) > 0.5, "a", "b")))
    fit(table, sample_weight=1.0 + rng.random(3000))
    assert not seen
    fit(table)
    assert len(seen) == 1


@pytest.mark.parametrize("winner", [0, 1])
def test_the_fit_is_that_of_the_graph_that_predicts_best(winner, monkeypatch):
    """A graph with an arrow less stands in for the second search, whose graph is mostly the same."""
    confirmed = whole_graph.WholeGraph._confirmed
    searches, names = [], []

    def with_less(self, task, search, known):
        dag, tested = confirmed(self, task, search, known)
        searches.append(search)
        names[:] = task.names  # in canonical order
        if len(searches) == 2:
            dag = dag.copy()
            dag[tuple(np.argwhere(dag)[0])] = 0
        return dag, tested

    monkeypatch.setattr(whole_graph.WholeGraph, "_confirmed", with_less)
    seen = watch(monkeypatch, winner)
    model = fit(curved(1, 3000))
    assert searches[1].model.n_samples == 1250
    chosen = dcd.CPDAG.from_dag(names, seen[0][winner])
    assert dcd.metrics.compare(chosen, model.cpdag_).shd_c == 0
    assert seen[0][1].sum() == seen[0][0].sum() - 1
    neighbours = sum(len(of.neighbours) for of in model.diagnostics_.searches)
    assert neighbours == 2 * seen[0][winner].sum()
