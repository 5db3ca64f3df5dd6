"""The bars of the whole-graph search: the same tables for all, rows that are kept, graphs in our encoding."""

import time

import numpy as np
import pandas as pd
import pytest

import dcd
from dcd.graph.adjacency import topological_order

pytest.importorskip("flopsearch", reason="pip install --group benchmark")
from benchmarks import whole_graph, whole_graph_speed
from benchmarks.whole_graph_cells import CELLS, FirstRows, Linear
from benchmarks.whole_graph_methods import METHODS, Method, OutOfTimeError, timed

SEED = whole_graph.FIRST_SEED


def table_of(dag, seed=0, n=2000):
    """Linear data with weights 1."""
    values = np.random.default_rng(seed).standard_normal((n, len(dag)))
    for node in topological_order(dag):
        values[:, node] += values @ dag[:, node]
    return pd.DataFrame(values, columns=[f"x{index}" for index in range(len(dag))])


@pytest.mark.parametrize(
    "arrows",
    [
        [(0, 2), (1, 2)],  # a collider: both arrows can be told
        [(0, 1), (1, 2)],  # a chain: neither can
        [(0, 2), (1, 2), (2, 3)],  # a collider, and an arrow that follows from it
    ],
)
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_flop_answers_in_our_encoding(arrows, order):
    dag = np.zeros((4, 4), dtype=np.int8)
    for cause, effect in arrows:
        dag[order[cause], order[effect]] = 1
    assert (METHODS["FLOP"].find(table_of(dag)) == dcd.graph.dag_to_cpdag(dag)).all()


@pytest.mark.parametrize(
    "name", [name for name, cell in CELLS.items() if not isinstance(cell.setting, FirstRows)]
)
def test_a_cell_draws_what_it_says(name):
    setting = CELLS[name].setting
    problem = CELLS[name].draw(SEED)
    assert problem.table.shape == (setting.n, setting.d)
    assert list(problem.table.columns) == list(problem.cpdag.names)
    numeric = [pd.api.types.is_numeric_dtype(column) for column in problem.table.dtypes]
    assert any(numeric) != setting.discrete
    pd.testing.assert_frame_equal(problem.table, CELLS[name].draw(SEED).table)


@pytest.mark.parametrize("seed", range(3))
def test_linear_tables_follow_their_graph(seed):
    """Given all others, two variables are correlated only if they are adjacent or have a common child."""
    n = 50_000
    problem = Linear(n=n).draw(seed)
    dag = dcd.graph.consistent_extension(problem.cpdag.adjacency).astype(int)
    connected = dag + dag.T + dag @ dag.T + np.eye(10) > 0
    precision = np.linalg.inv(np.corrcoef(problem.table.to_numpy(), rowvar=False))
    scale = np.sqrt(np.diag(precision))
    partial = np.abs(precision / np.outer(scale, scale))
    assert partial[~connected].max(initial=0.0) < 5 / np.sqrt(n)
    assert np.median(partial[connected]) > 0.1
    assert problem.table.std().to_numpy() == pytest.approx(1.0)


def test_larger_tables_begin_with_the_smaller_ones():
    small, large = (FirstRows(CELLS["er2-mlp-n500"].setting.whole, n).draw(SEED) for n in (500, 2000))
    pd.testing.assert_frame_equal(small.table, large.table.head(500))
    assert small.cpdag == large.cpdag


def test_rows_that_are_there_are_not_run_again(tmp_path):
    rows = tmp_path / "rows.csv"
    command = ["--cells", "er2-func", "er4-linear", "--methods", "PC", "GES", "--graphs", "1"]
    whole_graph.main([*command, "--rows", str(rows)])
    first = whole_graph.read_rows(rows)
    assert len(first) == 4
    assert (first["status"] == "ok").all()
    rows.write_text(rows.read_text() + "er2-func,FL", encoding="utf-8")  # cut by a kill
    whole_graph.main([*command, "--rows", str(rows)])
    pd.testing.assert_frame_equal(whole_graph.read_rows(rows), first)
    whole_graph.main([*command, "--rows", str(rows), "--redo"])
    again = whole_graph.read_rows(rows)
    same = [*whole_graph.KEY, "shd_c", "f1", "skeleton_shd"]
    pd.testing.assert_frame_equal(
        *(frame[same].sort_values(whole_graph.KEY, ignore_index=True) for frame in (first, again))
    )
    assert "| Erdős-Rényi degree 4, linear Gaussian | PC | 1 |" in rows.with_suffix(".md").read_text()


def test_methods_run_on_the_tables_that_they_can_take():
    tasks = whole_graph.tasks_of(["er2-func", "asia-2000"], list(METHODS), 1)
    own = ["Robust DCD", "Robust DCD one graph"]
    assert [method for cell, method, _ in tasks if cell == "asia-2000"] == [*own, "GES-BDeu"]
    assert [method for cell, method, _ in tasks if cell == "er2-func"] == [*own, "FLOP", "PC", "GES"]


def test_a_constant_column_has_no_edges():
    problem = CELLS["asia-2000"].draw(SEED)
    names = list(problem.cpdag.names)
    without = pd.DataFrame(problem.cpdag.adjacency, index=names, columns=names)
    touching = int(((without + without.T)["either"] > 0).sum())
    kept = [name for name in names if name != "either"]
    part = type(problem)(problem.table[kept], problem.cpdag)
    found = dcd.graph.to_cpdag(without.loc[kept, kept].to_numpy())
    assert whole_graph.scored(part, found)["skeleton_shd"] == touching


def test_time_is_taken_and_limited(monkeypatch):
    def busy(table):
        stop = time.process_time() + 0.02
        while time.process_time() < stop:
            pass

    def endless(table):
        while True:
            pass

    monkeypatch.setitem(METHODS, "busy", Method(busy, "dcd"))
    monkeypatch.setitem(METHODS, "endless", Method(endless, "dcd"))
    assert timed("busy", pd.DataFrame(), 10.0)[1] == pytest.approx(0.02, abs=0.005)
    with pytest.raises(OutOfTimeError, match=r"more than 0\.1 s"):
        timed("endless", pd.DataFrame(), 0.1)
    times = whole_graph_speed.measured(pd.DataFrame(), ["busy", "endless"], 3, 0.1)
    assert times["busy"] == pytest.approx(0.02, abs=0.005)
    assert times["endless"] == "more than 0.1 s of processor time"


def test_tables_of_the_speed_part_have_no_constant_columns():
    tables = whole_graph_speed.tables(SEED)
    shapes = {name: tables[name]().shape for name in ("breast-cancer", "diabetes", "randhie", "digits")}
    assert shapes == {
        "breast-cancer": (569, 30), "diabetes": (442, 10), "randhie": (20_190, 10), "digits": (1797, 61),
    }  # fmt: skip
    assert all(tables[name]().nunique().min() > 1 for name in shapes)
