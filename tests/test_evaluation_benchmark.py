"""The evaluation: the same tables for all methods, rows that survive, graphs in our encoding."""

import re
import time

import numpy as np
import pandas as pd
import pytest

import dcd
from dcd.graph.adjacency import topological_order

pytest.importorskip("flopsearch", reason="pip install --group benchmark")
from benchmarks.calibration import standard_error
from benchmarks.evaluation import __main__ as evaluation
from benchmarks.evaluation import running, speed, tables
from benchmarks.evaluation.cells import CELLS, FirstRows, Linear
from benchmarks.evaluation.methods import METHODS, Method, timed
from experiments.timing import OutOfTimeError

SEED = running.FIRST_SEED


def table_of(dag, seed=0, n=2000):
    """Linear data with weights 1."""
    values = np.random.default_rng(seed).standard_normal((n, len(dag)))
    for node in topological_order(dag):
        values[:, node] += values @ dag[:, node]
    return pd.DataFrame(values, columns=[f"x{index}" for index in range(len(dag))])


@pytest.mark.parametrize(
    "arrows",
    [
        [(0, 2), (1, 2)],  # a collider: both arrows can be determined
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
    constant = set(problem.cpdag.names) - set(problem.table.columns)
    assert len(problem.table) == setting.n
    assert len(problem.table.columns) + len(constant) == setting.d
    assert not constant or name.startswith(("hepar2", "asia"))
    if problem.dag is not None:
        assert (dcd.graph.dag_to_cpdag(problem.dag) == problem.cpdag.adjacency).all()
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
    small, large = (FirstRows(CELLS["er2-bounded-n500"].setting.whole, n).draw(SEED) for n in (500, 2000))
    pd.testing.assert_frame_equal(small.table, large.table.head(500))
    assert small.cpdag == large.cpdag


def test_rows_that_are_there_are_not_run_again(tmp_path):
    rows = tmp_path / "rows.csv"
    command = ["run", "--cells", "er2-func", "er4-linear", "--methods", "PC", "GES", "--graphs", "1"]
    evaluation.main([*command, "--rows", str(rows)])
    first = running.read_rows(rows)
    assert len(first) == 4
    assert (first["status"] == "ok").all()
    rows.write_text(rows.read_text() + "er2-func,FL", encoding="utf-8")  # cut by a kill
    evaluation.main([*command, "--rows", str(rows)])
    pd.testing.assert_frame_equal(running.read_rows(rows), first)
    evaluation.main([*command, "--rows", str(rows), "--redo"])
    again = running.read_rows(rows)
    same = [*running.KEY, *running.SCORES, *running.EFFECTS, *running.SORTING, "edges"]
    pd.testing.assert_frame_equal(
        *(frame[same].sort_values(running.KEY, ignore_index=True) for frame in (first, again))
    )
    text = rows.with_suffix(".md").read_text()
    assert "## degree 4, linear Gaussian\n" in text
    assert "| PC | 1 |" in text


def test_methods_run_on_the_tables_that_they_can_take():
    tasks = running.tasks_of(["er2-func", "hepar2-500"], list(METHODS), 1)
    discrete = {label for cell, label, _ in tasks if cell == "hepar2-500"}
    assert {"Robust DCD", "PC, G²", "Spanning tree"} <= discrete
    assert not {"FLOP", "GES, BDeu", "Sorted by R²"} & discrete
    numbers = {label for cell, label, _ in tasks if cell == "er2-func"}
    assert numbers == {
        label for label, method in METHODS.items() if "numbers" in method.tables and method.most_rows > 200
    }


def test_methods_are_told_which_columns_are_categories(monkeypatch):
    problem = CELLS["er4-mixed-4"].draw(SEED)
    asked = {}

    def adapter(values, *, seed, kinds=None):
        asked[name] = values, kinds
        return np.zeros((10, 10), dtype=np.int8)

    monkeypatch.setattr(type(dcd.baselines.METHODS["flop"]), "load", lambda entry: adapter)
    for name in ("FLOP", "GES, conditional Gaussian"):
        METHODS[name].find(problem.table, "mixed")
    (codes, unknown), (same, kinds) = asked.values()
    np.testing.assert_array_equal(codes, same)
    assert unknown is None
    categories = [3, 7]
    assert [at for at, kind in enumerate(kinds) if kind == "nominal"] == categories
    for at in categories:
        assert (np.array(list("pqr"))[codes[:, at].astype(int)] == problem.table.iloc[:, at]).all()


def test_every_method_gets_all_graphs_of_a_cell():
    tasks = running.tasks_of(["er2-func", "sachs", "alarm-500"], ["FLOP", "No edges"], 50)
    counted = pd.DataFrame(tasks, columns=running.KEY).groupby(["cell", "method"]).size()
    assert counted.to_dict() == {
        ("er2-func", "FLOP"): 30, ("er2-func", "No edges"): 30, ("alarm-500", "No edges"): 30,
        ("sachs", "FLOP"): 1, ("sachs", "No edges"): 1,
    }  # fmt: skip


def test_a_row_has_the_scores_of_its_graph():
    problem = CELLS["er4-func"].draw(SEED)
    row = running.scored(problem, problem.dag)
    assert (row["shd_c"], row["f1"], row["ancestor_aid"], row["optimal_aid"]) == (0, 1.0, 0.0, 0.0)
    arrows = int((problem.cpdag.adjacency != problem.cpdag.adjacency.T).sum() // 2)
    assert row["shd_c_no_arrows"] == arrows > 0
    assert len(row["edges"].split()) == 20
    empty = running.scored(problem, np.zeros((10, 10), dtype=np.int8))
    assert (empty["shd_c"], empty["f1"], empty["edges"]) == (20, 0.0, "")


@pytest.mark.parametrize("cell", ["er2-linear", "er4-func", "sf-func-d20", "ecoli70-500", "asia-500"])
def test_scores_of_the_rows_are_those_of_their_graphs(cell):
    rows = running.read_rows()
    seed = int(rows.loc[rows["cell"] == cell, "seed"].max())
    problem = CELLS[cell].draw(seed)
    measured = [list(problem.cpdag.names).index(name) for name in problem.table]
    chosen = rows[(rows["cell"] == cell) & (rows["seed"] == seed) & (rows["status"] == "ok")]
    assert len(chosen) >= 2
    for row in chosen.fillna({"edges": ""}).itertuples():
        found = np.zeros((len(problem.cpdag.names),) * 2, dtype=np.int8)
        for edge in row.edges.split():
            i, mark, j = re.fullmatch(r"(\d+)([>-])(\d+)", edge).groups()
            found[int(i), int(j)] = 1
            found[int(j), int(i)] |= mark == "-"
        again = running.scored(problem, found[np.ix_(measured, measured)])
        for name in (*running.SCORES, *running.EFFECTS):
            assert getattr(row, name) == pytest.approx(again[name]), (row.method, name)


def test_differences_are_of_the_same_graphs():
    shds = {"Robust DCD": {0: 1, 1: 5}, "FLOP": {0: 4, 1: 6, 2: 90}}
    rows = [
        {"cell": "er2-func", "method": method, "seed": seed, "shd_c": shd, "status": "ok"}
        for method, values in shds.items()
        for seed, shd in values.items()
    ]
    assert "| degree 2, curves, noise 2 | 2 | +2.0 ± 1.0 |" in tables.paired(
        pd.DataFrame(rows), ["er2-func"], ["FLOP"]
    )


def test_tables_have_means_errors_and_counts():
    scores = {"f1": 0.5, "ancestor_aid": 0.1, "status": "ok", "var_sortability": 0.5, "r2_sortability": 0.4}
    rows = [
        {"cell": "er2-func", "method": "FLOP", "seed": seed, "shd_c": shd, "cpu_seconds": 0.01, **scores}
        for seed, shd in enumerate([2, 4, 6])
    ]
    rows += [{**rows[0], "method": "GES", "shd_c": 1}, {**rows[1], "method": "GES", "status": "failed: x"}]
    frame = pd.DataFrame(rows)
    lines = tables.wide(frame, ["er2-func", "er4-func"], ["FLOP", "BOSS", "GES"], ["shd_c"]).splitlines()
    assert lines == [
        "| data | graphs | FLOP | GES |",
        "| --- | --- | --- | --- |",
        "| degree 2, curves, noise 2 | 3 | 4.0 ± 1.2 | 1.0 (1) |",
    ]
    assert "| GES | 1 | 1.0 | 0.50 | 0.10 | 0.010 | 1 |" in tables.one_cell(frame, "er2-func")
    assert "| 3 | 0.50 ± 0.00 | 0.40 ± 0.00 |" in tables.sortabilities(frame, ["er2-func"])


def test_a_constant_column_has_no_edges():
    problem = CELLS["asia-2000"].draw(SEED)
    names = list(problem.cpdag.names)
    without = pd.DataFrame(problem.cpdag.adjacency, index=names, columns=names)
    touching = int(((without + without.T)["either"] > 0).sum())
    kept = [name for name in names if name != "either"]
    part = type(problem)(problem.table[kept], problem.cpdag)
    found = dcd.graph.to_cpdag(without.loc[kept, kept].to_numpy())
    assert running.scored(part, found)["skeleton_shd"] == touching


def test_time_is_taken_and_limited(monkeypatch):
    def busy(table):
        stop = time.process_time() + 0.02
        while time.process_time() < stop:
            pass

    def endless(table):
        while True:
            pass

    for label, find in {"busy": busy, "endless": endless}.items():
        method = Method("empty")
        object.__setattr__(method, "find", lambda table, content="numbers", find=find: find(table))
        monkeypatch.setitem(METHODS, label, method)
    assert timed(METHODS["busy"], pd.DataFrame(), 10.0)[1] == pytest.approx(0.02, abs=0.005)
    with pytest.raises(OutOfTimeError, match=r"more than 0\.1 s"):
        timed(METHODS["endless"], pd.DataFrame(), 0.1)
    times = speed.measured(pd.DataFrame(), ["busy", "endless"], 3, 0.1)
    assert times["busy"] == pytest.approx(0.02, abs=0.005)
    assert times["endless"] == "more than 0.1 s of processor time"


def test_times_are_kept_for_the_pages(tmp_path):
    path, table = tmp_path / "cost.csv", pd.DataFrame(np.zeros((1500, 3)))
    times = {"Robust DCD": 2.345, "Robust DCD, one graph": 0.25, "PC": "more than 9 s", "FLOP": 0.0123}
    speed.write("digits", table, {**times, "PC": 1.0}, path)
    speed.write("diabetes", table, times, path)
    speed.write("digits", table, {**times, "PC": 123.4}, path)  # in place of the first
    lines = speed.costs(pd.read_csv(path)).splitlines()[2:]
    assert lines == [
        "| diabetes (scikit-learn) | 1,500 | 3 | 2.35 | 0.25 | more than 9 s | 0.012 |",
        "| digits, the pixels that vary (scikit-learn) | 1,500 | 3 | 2.35 | 0.25 | 123 | 0.012 |",
    ]
    assert speed.TITLES.keys() == speed.tables(SEED).keys()


def test_tables_of_the_speed_part_have_no_constant_columns():
    sources = speed.tables(SEED)
    shapes = {name: sources[name]().shape for name in ("breast-cancer", "diabetes", "randhie", "digits")}
    assert shapes == {
        "breast-cancer": (569, 30), "diabetes": (442, 10), "randhie": (20_190, 10), "digits": (1797, 61),
    }  # fmt: skip
    assert all(sources[name]().nunique().min() > 1 for name in shapes)


def calibrated_rows(n_graphs, n_pairs, rng, *, alike):
    """Pairs told at 0.7; those of a graph are all right or all wrong, or each on its own."""
    right = rng.random((n_graphs, 1 if alike else n_pairs)) < 0.7
    right = np.broadcast_to(right, (n_graphs, n_pairs))
    seeds = np.repeat(np.arange(n_graphs), n_pairs)
    return pd.DataFrame(
        {
            "family": "curves",
            "degree": 2,
            "n": 300,
            "d": 8,
            "seed": seeds,
            "told": 0.7,
            "right": right.ravel() * 1,
        }
    )


@pytest.mark.parametrize("alike", [False, True])
def test_the_error_of_a_share_counts_graphs_that_are_right_as_a_whole_once(alike):
    """Against the spread of the share over many samples."""
    rng = np.random.default_rng(0)
    samples = [calibrated_rows(40, 10, rng, alike=alike) for _ in range(300)]
    spread = np.std([sample["right"].mean() for sample in samples])
    typical = np.mean([standard_error(sample) for sample in samples])
    assert typical == pytest.approx(spread, rel=0.15)
