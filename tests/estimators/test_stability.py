import json
import signal
import subprocess
import sys
import time
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils.validation import check_is_fitted
from support.known_graphs import random_dag

import dcd
from dcd import CPDAG, InputError, RobustDCD
from dcd.estimators.base import Discovery
from dcd.graph.adjacency import skeleton_of
from dcd.results import Stability
from dcd.runtime.errors import FailedResamplesWarning


def chain_table(n=150, seed=0):
    """A -> b -> c, and d by itself."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    b = a + rng.standard_normal(n)
    c = b + rng.standard_normal(n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": rng.standard_normal(n)})


class Correlated(Discovery):
    """A quick stand-in: an edge where the correlation is above a bound; it keeps what it was given."""

    def __init__(
        self,
        *,
        bound=0.3,
        kinds=None,
        missing="refuse",
        drop_degenerate=False,
        n_jobs=None,
        progress=True,
        random_state=None,
    ):
        self.bound = bound
        self.kinds, self.missing, self.drop_degenerate = kinds, missing, drop_degenerate
        self.n_jobs, self.progress, self.random_state = n_jobs, progress, random_state

    def _check_parameters(self):
        pass

    def fit(self, X, y=None, sample_weight=None):
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
        covariance = np.cov(X.to_numpy().T, aweights=weights)
        scale = np.sqrt(np.diag(covariance))
        dag = np.triu(np.abs(covariance / np.outer(scale, scale)) > self.bound, k=1)
        self.cpdag_ = CPDAG.from_dag(list(X.columns), dag)
        return self


# --- resampling ------------------------------------------------------------------------------------------


def test_strong_edges_are_frequent_and_absent_ones_rare():
    result = dcd.stability(RobustDCD(), chain_table(400), n_resamples=20)
    assert result.names == ("a", "b", "c", "d")
    assert (result.n_resamples, result.n_failed, result.scheme) == (20, 0, "subsample")
    assert result.frequencies("a", "b")["none"] < 0.1
    assert result.frequencies("b", "d")["none"] > 0.8
    assert "subsamples of 50% of the rows" in str(result)


@pytest.mark.parametrize("scheme", ["subsample", "bootstrap"])
def test_the_result_does_not_depend_on_the_number_of_processes(scheme):
    table = chain_table()
    one, two = (
        dcd.stability(RobustDCD(), table, n_resamples=8, scheme=scheme, n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    assert one.to_dict() == two.to_dict()
    assert one != dcd.stability(RobustDCD(), table, n_resamples=8, scheme=scheme, random_state=1)


def test_kinds_of_table_and_order_of_columns_decide_nothing():
    table = chain_table()
    wanted = dcd.stability(RobustDCD(), table, n_resamples=5)
    assert dcd.stability(RobustDCD(), pl.DataFrame(table.to_dict("list")), n_resamples=5) == wanted
    assert np.array_equal(dcd.stability(RobustDCD(), table.to_numpy(), n_resamples=5).edge, wanted.edge)
    turned = dcd.stability(RobustDCD(), table[["c", "d", "a", "b"]], n_resamples=5)
    for a, b in combinations("abcd", 2):
        assert turned.frequencies(a, b) == wanted.frequencies(a, b)


def test_resamples_are_drawn_as_said(monkeypatch):
    seen = []
    original = Correlated.fit

    def fit(self, X, y=None, sample_weight=None):
        seen.append((X, self.random_state))
        return original(self, X, y, sample_weight)

    monkeypatch.setattr(Correlated, "fit", fit)
    table = chain_table(101)
    dcd.stability(Correlated(), table, n_resamples=6, fraction=0.3)
    assert {len(part) for part, _ in seen} == {30}
    assert all(part.index.is_unique for part, _ in seen)
    assert len({seed for _, seed in seen}) == 6
    assert len({tuple(part.index) for part, _ in seen}) == 6
    seen.clear()
    dcd.stability(Correlated(), table, n_resamples=6, scheme="bootstrap")
    assert {len(part) for part, _ in seen} == {101}
    distinct = np.mean([part.index.nunique() / 101 for part, _ in seen])
    assert distinct == pytest.approx(1 - np.exp(-1), abs=0.06)


def test_the_model_is_left_as_it_was_and_may_be_fitted():
    model = RobustDCD(n_jobs=2, random_state=3).fit(chain_table())
    graph = model.cpdag_
    dcd.stability(model, chain_table(), n_resamples=2)
    assert model.cpdag_ is graph
    assert (model.n_jobs, model.random_state) == (2, 3)
    unfitted = Correlated()
    dcd.stability(unfitted, chain_table(), n_resamples=2)
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(unfitted)


def test_weights_follow_their_rows(monkeypatch):
    table = chain_table()
    weights = np.where(table["a"] > 0, 2.0, 1.0)
    given = []
    original = Correlated.fit

    def fit(self, X, y=None, sample_weight=None):
        given.append((X["a"], sample_weight))
        return original(self, X, y, sample_weight)

    monkeypatch.setattr(Correlated, "fit", fit)
    dcd.stability(Correlated(), table, n_resamples=3, sample_weight=weights)
    assert all(np.array_equal(np.where(a > 0, 2.0, 1.0), w) for a, w in given)
    with pytest.raises(InputError, match=r"'sample_weight': has 3 values for 150 rows"):
        dcd.stability(Correlated(), table, sample_weight=[1, 1, 1])


def test_level_subsamples_keep_it_and_bootstrap_samples_do_not():
    """Why "subsample" is the default: repeated rows look like evidence."""
    shares = {"subsample": [], "bootstrap": []}
    for seed in range(12):
        table = np.random.default_rng(seed).standard_normal((200, 5))
        for scheme, found in shares.items():
            result = dcd.stability(RobustDCD(), table, n_resamples=5, scheme=scheme, random_state=seed)
            found.append(result.edge[np.triu_indices(5, 1)].mean())
    assert np.mean(shares["subsample"]) < 0.05
    assert np.mean(shares["bootstrap"]) > 0.1


# --- failures --------------------------------------------------------------------------------------------


def rare_event_table(n=40):
    table = chain_table(n)
    table["event"] = 0.0
    table.loc[:1, "event"] = 1.0  # two rows of 40: about a quarter of the half samples have none
    return table


def test_failed_resamples_are_counted_with_their_reason():
    with pytest.warns(FailedResamplesWarning, match=r"of 40 resamples failed\. .* times: column 'event'"):
        result = dcd.stability(RobustDCD(), rare_event_table(), n_resamples=40)
    assert 3 <= result.n_failed <= 20
    assert result.n_resamples + result.n_failed == 40
    (reason,) = result.failures
    assert "has the same value in every row" in reason
    assert "resamples failed" in str(result)
    assert sum(result.frequencies("a", "b").values()) == pytest.approx(1)


def test_a_column_left_out_of_a_resample_is_no_vote_against_its_edges():
    with pytest.warns(FailedResamplesWarning, match="column 'event': it has the same value in every row"):
        result = dcd.stability(
            RobustDCD(drop_degenerate=True), rare_event_table().assign(one=1), n_resamples=40
        )
    assert result.names == ("a", "b", "c", "d", "event")
    assert 3 <= result.n_failed <= 20


def test_columns_keep_the_kind_that_they_have_in_the_table(monkeypatch):
    given = []
    original = RobustDCD.fit

    def fit(self, X, y=None, sample_weight=None):
        given.append(original(self, X, y, sample_weight).table_.kinds)
        return self

    monkeypatch.setattr(RobustDCD, "fit", fit)
    table = chain_table(120).assign(group=np.resize(list("xyz"), 120), rare=np.arange(120) % 60 // 29)
    assert set(table["rare"]) == {0, 1, 2}  # in many half samples one value is absent: two would be nominal
    dcd.stability(RobustDCD(), table, n_resamples=10)
    assert len({tuple(kinds.items()) for kinds in given}) == 1
    assert (given[0]["group"], given[0]["rare"]) == ("nominal", "ordinal")


def test_missing_values_are_left_to_the_model():
    table = chain_table()
    table.loc[::7, "a"] = np.nan
    result = dcd.stability(RobustDCD(missing="complete-rows"), table, n_resamples=4)
    assert result.n_resamples == 4


def test_only_if_all_resamples_fail_is_it_an_error():
    table = chain_table(40)
    with pytest.raises(InputError, match=r"all 3 failed, 3 of them with: .* Fit the model to the table"):
        dcd.stability(RobustDCD(), table, n_resamples=3, fraction=0.01)


def test_bad_input_is_refused_before_any_work():
    table = chain_table()
    with pytest.raises(InputError, match="must be an estimator of graphs, got MarkovBoundary"):
        dcd.stability(dcd.MarkovBoundary(target="a"), table)
    with pytest.raises(InputError, match="got RobustDCD"):
        dcd.stability(RobustDCD, table)
    with pytest.raises(InputError, match="'alpha'"):
        dcd.stability(RobustDCD(alpha=3), table)
    with pytest.raises(InputError, match=r"Did you mean 'subsample'"):
        dcd.stability(RobustDCD(), table, scheme="subsamples")
    for wrong in ({"n_resamples": 0}, {"fraction": 1.0}, {"n_jobs": 0}, {"random_state": -1}):
        with pytest.raises(InputError, match=f"'{next(iter(wrong))}'"):
            dcd.stability(RobustDCD(), table, **wrong)
    with pytest.raises(InputError, match=r"column 'a': missing"):
        dcd.stability(RobustDCD(), table.assign(a=table["a"].where(table["a"] > 0)))


# --- checkpoints -----------------------------------------------------------------------------------------


def test_more_resamples_extend_fewer(tmp_path):
    path, table = tmp_path / "run.jsonl", chain_table()
    dcd.stability(RobustDCD(), table, n_resamples=4, checkpoint=path)
    before = path.read_bytes()
    more = dcd.stability(RobustDCD(), table, n_resamples=9, checkpoint=path)
    assert path.read_bytes().startswith(before)
    assert more == dcd.stability(RobustDCD(), table, n_resamples=9)
    fewer = dcd.stability(RobustDCD(), table, n_resamples=4, checkpoint=path)
    assert fewer == dcd.stability(RobustDCD(), table, n_resamples=4)


def test_finished_resamples_are_not_done_again(tmp_path, monkeypatch):
    path, table = tmp_path / "run.jsonl", chain_table()
    wanted = dcd.stability(Correlated(), table, n_resamples=5, checkpoint=path)
    monkeypatch.setattr(Correlated, "fit", None)  # any refit would count as a failure
    assert dcd.stability(Correlated(), table, n_resamples=5, checkpoint=path) == wanted


def test_a_line_cut_off_is_done_again(tmp_path):
    path, table = tmp_path / "run.jsonl", chain_table()
    wanted = dcd.stability(RobustDCD(), table, n_resamples=6, checkpoint=path)
    whole = path.read_bytes()
    last_line = whole[:-1].rfind(b"\n") + 1
    for cut in (last_line + 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert dcd.stability(RobustDCD(), table, n_resamples=6, checkpoint=path) == wanted
        assert path.read_bytes() == whole


def test_failures_are_kept_too(tmp_path):
    path, table = tmp_path / "run.jsonl", rare_event_table()
    with pytest.warns(FailedResamplesWarning):
        first = dcd.stability(RobustDCD(), table, n_resamples=20, checkpoint=path)
    with pytest.warns(FailedResamplesWarning):
        assert dcd.stability(RobustDCD(), table, n_resamples=20, checkpoint=path) == first


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"X": chain_table(seed=1)}, "data was"),
        ({"X": chain_table(149)}, "rows was 150, is 149"),
        ({"X": chain_table().rename(columns={"d": "e"})}, "data was"),
        ({"model": RobustDCD(alpha=0.1)}, r"model parameter 'alpha' was '0.05', is '0.1'"),
        ({"model": dcd.DCD()}, "model was 'RobustDCD', is 'DCD'"),
        ({"random_state": 1}, "random_state was 0, is 1"),
        ({"scheme": "bootstrap"}, "scheme was 'subsample', is 'bootstrap'"),
        ({"fraction": 0.6}, "fraction was 0.5, is 0.6"),
        ({"sample_weight": np.ones(150)}, "sample_weight was None"),
    ],
)
def test_other_runs_are_refused_with_what_differs(tmp_path, change, named):
    path = tmp_path / "run.jsonl"
    settings = {"model": RobustDCD(), "X": chain_table(), "n_resamples": 2, "checkpoint": path}
    dcd.stability(**settings)
    before = path.read_bytes()
    with pytest.raises(InputError, match=named):
        dcd.stability(**{**settings, **change})
    assert path.read_bytes() == before


def test_n_jobs_and_progress_do_not_make_another_run(tmp_path):
    path, table = tmp_path / "run.jsonl", chain_table()
    first = dcd.stability(RobustDCD(n_jobs=2, random_state=8), table, n_resamples=2, checkpoint=path)
    lines = path.read_bytes()
    assert dcd.stability(RobustDCD(progress=False), table, n_resamples=2, n_jobs=2, checkpoint=path) == first
    assert path.read_bytes() == lines


def test_files_that_are_no_checkpoints_are_left_alone(tmp_path):
    table = chain_table()
    other = tmp_path / "thesis.txt"
    for content in ("Once upon a time\n", "no line end", '{"kind": "other"}\n'):
        other.write_text(content)
        with pytest.raises(InputError, match="is not a checkpoint"):
            dcd.stability(RobustDCD(), table, checkpoint=other)
        assert other.read_text() == content
    with pytest.raises(InputError, match="no file can be created there"):
        dcd.stability(RobustDCD(), table, checkpoint=tmp_path / "no folder" / "run.jsonl")
    with pytest.raises(InputError, match="'random_state': must be a whole number with a checkpoint"):
        dcd.stability(RobustDCD(), table, checkpoint=tmp_path / "run.jsonl", random_state=None)


def test_damaged_lines_are_refused(tmp_path):
    path, table = tmp_path / "run.jsonl", chain_table()
    dcd.stability(RobustDCD(), table, n_resamples=3, checkpoint=path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-5], *lines[2:]]) + "\n")
    with pytest.raises(InputError, match="line 2 is damaged"):
        dcd.stability(RobustDCD(), table, n_resamples=3, checkpoint=path)


@pytest.mark.parametrize(
    "line",
    [
        {"key": -1},
        {"key": True},
        {"key": None},
        {"stage": 3},
        {"result": None},
        {"result": {"failure": 3}},
        {"result": {}},
        {"result": {"directed": []}},
        {"result": {"directed": 3, "undirected": []}},
        {"result": {"directed": [["a", "nobody"]], "undirected": []}},
        {"result": {"directed": [["a", ["b"]]], "undirected": []}},
        {"result": {"directed": [["a"]], "undirected": []}},
        {"result": {"directed": [["a", "a"]], "undirected": []}},
        {"result": {"directed": [["a", "b"]], "undirected": [["b", "a"]]}},
    ],
)
def test_lines_that_no_resample_can_have_written_are_refused(tmp_path, line):
    path, table = tmp_path / "run.jsonl", chain_table()
    dcd.stability(RobustDCD(), table, n_resamples=1, checkpoint=path)
    good = {"stage": "resamples", "key": 1, "result": {"failure": "x"}}
    content = path.read_text() + json.dumps(good | line) + "\n"
    path.write_text(content)
    with pytest.raises(InputError, match="line 3 is damaged"):
        dcd.stability(RobustDCD(), table, n_resamples=3, checkpoint=path)
    assert path.read_text() == content


RUN = """
import sys
import numpy as np, pandas as pd, dcd
table = pd.read_csv(sys.argv[1])
dcd.stability(dcd.RobustDCD(), table, n_resamples=400, n_jobs=int(sys.argv[3]), checkpoint=sys.argv[2])
"""


@pytest.mark.parametrize(("end", "n_jobs"), [(signal.SIGKILL, 1), (signal.SIGKILL, 2), (signal.SIGINT, 1)])
def test_a_killed_run_goes_on(tmp_path, end, n_jobs):
    path, csv = tmp_path / "run.jsonl", tmp_path / "table.csv"
    chain_table().to_csv(csv, index=False)
    arguments = [sys.executable, "-c", RUN, str(csv), str(path), str(n_jobs)]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < 4):
            time.sleep(0.01)
        process.send_signal(end)
        process.wait()
    lines = path.read_bytes().splitlines()
    assert 4 <= len(lines) < 401
    assert all(json.loads(line) for line in lines[:-1])
    n_resamples = len(lines) + 3
    table = pd.read_csv(csv)
    resumed = dcd.stability(RobustDCD(), table, n_resamples=n_resamples, checkpoint=path)
    assert resumed == dcd.stability(RobustDCD(), table, n_resamples=n_resamples)


# --- the result ------------------------------------------------------------------------------------------


def stability_of(graphs):
    """What resamples with these graphs would give."""
    names = graphs[0].names
    directed = np.mean([g.adjacency & ~g.adjacency.T & 1 for g in graphs], axis=0)
    undirected = np.mean([g.adjacency & g.adjacency.T for g in graphs], axis=0)
    return Stability(names, directed, undirected, len(graphs), "subsample", 0.5)


def random_graphs(rng, n_graphs, n_variables=6):
    names = [f"v{i}" for i in range(n_variables)]
    return [CPDAG.from_dag(names, random_dag(n_variables, rng)) for _ in range(n_graphs)]


def test_frequencies_count_the_graphs():
    rng = np.random.default_rng(0)
    graphs = random_graphs(rng, 7)
    result = stability_of(graphs)
    for a, b in combinations(result.names, 2):
        roles = [graph.role(a, b) for graph in graphs]
        counted = [roles.count(role) / 7 for role in ("parent", "child", "neighbour", None)]
        assert list(result.frequencies(a, b).values()) == pytest.approx(counted)
        assert sum(result.frequencies(a, b).values()) == pytest.approx(1)
        swapped = result.frequencies(b, a)
        assert swapped["->"] == result.frequencies(a, b)["<-"]
    with pytest.raises(InputError, match="'v9'"):
        result.frequencies("v0", "v9")


def test_the_frame_has_the_pairs_that_ever_had_an_edge():
    graphs = random_graphs(np.random.default_rng(1), 5)
    result = stability_of(graphs)
    frame = result.to_frame()
    assert len(frame) == np.triu(sum(skeleton_of(g.adjacency).astype(int) for g in graphs)).astype(bool).sum()
    assert frame["edge"].is_monotonic_decreasing
    assert np.allclose(frame[["->", "<-", "-"]].sum(axis=1), frame["edge"])
    assert (frame["->"] >= frame["<-"]).all()


def test_consensus_of_equal_graphs_is_that_graph():
    rng = np.random.default_rng(2)
    for graph in random_graphs(rng, 40, 7):
        assert stability_of([graph] * 3).consensus(0.9) == graph


def test_consensus_of_any_graphs_is_a_graph_with_the_frequent_edges():
    rng = np.random.default_rng(3)
    for _ in range(60):
        result = stability_of(random_graphs(rng, 5, 6))
        for threshold in (0.0, 0.3, 0.5, 0.7):
            graph = result.consensus(threshold)  # CPDAG refuses to be made of anything else
            assert np.array_equal(skeleton_of(graph.adjacency), result.edge > threshold + 1e-9)


def test_consensus_of_a_ring_has_a_collider_though_none_was_frequent():
    ring = np.zeros((4, 4))
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 0)):
        ring[i, j] = ring[j, i] = 1
    graph = Stability(tuple("abcd"), np.zeros((4, 4)), ring, 10, "subsample").consensus()
    assert len(graph.directed_edges) + len(graph.undirected_edges) == 4
    assert graph.directed_edges


def test_consensus_keeps_the_stronger_of_two_colliders():
    """b is a collider in most resamples, c in fewer: both together would close no valid graph."""
    names, b_collides = "abcd", [[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    c_collides = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
    graphs = [CPDAG.from_dag(names, b_collides)] * 6 + [CPDAG.from_dag(names, c_collides)] * 4
    assert stability_of(graphs).consensus() == graphs[0]


def test_consensus_does_not_depend_on_the_order_of_the_columns():
    rng = np.random.default_rng(4)
    for _ in range(20):
        graphs = random_graphs(rng, 5, 6)
        order = [graphs[0].names[i] for i in rng.permutation(6)]
        turned = stability_of([graph.reorder(order) for graph in graphs])
        one, other = stability_of(graphs).consensus(0.4), turned.consensus(0.4)
        assert np.array_equal(skeleton_of(one.reorder(order).adjacency), skeleton_of(other.adjacency))


def test_round_trip_through_json():
    with pytest.warns(FailedResamplesWarning):
        result = dcd.stability(RobustDCD(), rare_event_table(), n_resamples=12)
    again = Stability.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again == result
    assert again.to_dict() == result.to_dict()
    with pytest.raises(InputError, match="format 99"):
        Stability.from_dict({**result.to_dict(), "format": 99})
    assert again.seed == 0
    names = list(result.names)
    ones = np.ones((len(names), len(names)))
    half = np.triu(ones, 1)
    for change, problem in [
        ({"names": ["a"]}, "shape"),
        ({"names": [names[0]] * len(names)}, "'names'"),
        ({"n_resamples": -3}, "has -3 for 'n_resamples'"),
        ({"n_resamples": 2.5}, "'n_resamples'"),
        ({"scheme": "guess"}, "'scheme'"),
        ({"fraction": 7.0}, "'fraction'"),
        ({"failures": {"why": -1}}, "'failures'"),
        ({"failures": 3}, "'failures'"),
        ({"seed": "text"}, "'seed'"),
        ({"directed": ones.tolist()}, "itself"),
        ({"directed": (-half).tolist()}, "outside 0 to 1"),
        ({"directed": (half * np.nan).tolist()}, "outside 0 to 1"),
        ({"directed": "text"}, "no matrix"),
        ({"directed": (7 * half).tolist()}, "outside 0 to 1"),
        ({"directed": (0.6 * (half + half.T)).tolist()}, "sum to more than 1 or are not symmetric"),
        ({"undirected": (0.1 * half).tolist()}, "sum to more than 1 or are not symmetric"),
    ]:
        with pytest.raises(InputError, match=problem):
            Stability.from_dict({**result.to_dict(), **change})
    for lacking in result.to_dict():
        with pytest.raises(InputError, match=lacking):
            Stability.from_dict({key: v for key, v in result.to_dict().items() if key != lacking})
    with pytest.raises(InputError, match="format None"):
        Stability.from_dict([])


@pytest.mark.slow
def test_frequent_edges_are_true_more_often():
    found = []
    for seed in range(8):
        truth = dcd.simulate.random_dag(8, degree=4, graph="erdos-renyi", random_state=seed)
        table = dcd.simulate.sample(truth, 300, noise_std=1.0, random_state=seed)
        edge = dcd.stability(RobustDCD(), table, n_resamples=20, random_state=seed).edge
        found += [(edge[i, j], skeleton_of(truth)[i, j]) for i, j in combinations(range(8), 2)]
    frequency, true = np.array(found, dtype=float).T
    often, at_times = true[frequency > 0.9], true[(frequency > 0.05) & (frequency < 0.5)]
    assert min(len(often), len(at_times)) > 20
    assert often.mean() > 0.95
    assert often.mean() > at_times.mean()
