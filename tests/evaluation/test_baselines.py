"""Every adapter on a problem with a known answer, and on input that it does not accept."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from support.workers import shared_worker

import dcd
from dcd.evaluation.baselines import METHODS, installed, isolation, registry
from dcd.evaluation.baselines.worker import solve
from dcd.runtime.errors import BaselineError, MissingLibraryError

NAMES = ["a", "b", "c", "e"]
# a -> c <- b, c -> e: data can determine the direction of every edge.
TRUTH = dcd.CPDAG.from_dag(NAMES, [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])


def linear(rng, n=1000):
    noise = rng.uniform(-1.7, 1.7, size=(4, n))
    a, b = noise[:2]
    c = a - b + noise[2]
    return a, b, c, 0.7 * c + noise[3]


def gentle(rng, n=3000):
    """Dependence that weights alone can remove."""
    noise = rng.uniform(-1.7, 1.7, size=(4, n))
    a, b = noise[:2]
    c = 0.5 * a - 0.5 * b + noise[2]
    return a, b, c, 0.4 * c + noise[3]


def nonlinear(rng, n=1000):
    a, b = rng.standard_normal((2, n))
    c = 2 * np.sin(1.5 * a) - b**2 + 0.5 * rng.standard_normal(n)
    return a, b, c, 3 * np.tanh(c) + 0.5 * rng.standard_normal(n)


def numbers_and_a_category(rng, n=1000):
    a, noise = rng.integers(0, 2, n), rng.standard_normal((3, n))
    c = 1.5 * a - noise[0] + noise[1]
    return a, noise[0], c, 0.7 * c + noise[2]


def categories(rng, n=1500):
    def often(state):
        return np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), state)

    a, b = rng.integers(0, 2, size=(2, n))
    c = often(a + b)
    return a, b, c, often(c)


def table(kind, seed):
    columns = kind(np.random.default_rng(seed))
    return pd.DataFrame(np.column_stack(columns).astype(float), columns=NAMES)


# method: data, options, seeds
KNOWN = {
    "dcd": (linear, {"alpha": 0.001}, 3),
    "pc-fisherz": (linear, {"alpha": 0.001}, 3),
    "pc-e-fisherz": (linear, {"alpha": 0.001}, 3),
    "pc-kcit": (linear, {"alpha": 0.001}, 3),
    "pc-e-kcit": (linear, {"alpha": 0.001}, 3),
    "ges": (linear, {}, 3),
    "icalingam": (linear, {}, 3),
    "directlingam": (linear, {}, 3),
    "notears": (linear, {"standardise": False}, 3),
    "golem": (linear, {"iterations": 3000}, 1),
    "grandag": (nonlinear, {"iterations": 4000}, 1),
    "robust-dcd": (linear, {"alpha": 0.001}, 3),
    "robust-dcd-equal": (linear, {}, 2),
    "robust-dcd-always": (linear, {}, 2),
    "robust-dcd-unadjusted": (gentle, {}, 3),
    "pc-dcd": (linear, {"alpha": 0.001}, 3),
    "rsl-dcd": (linear, {"alpha": 0.001}, 3),
    "marvel-dcd": (linear, {"alpha": 0.001}, 3),
    "pc-gsq": (categories, {"alpha": 0.001}, 3),
    "ges-bdeu": (categories, {}, 3),
    "ges-cg": (numbers_and_a_category, {}, 3),
    "boss": (linear, {}, 3),
    "grasp": (linear, {}, 3),
    "flop": (linear, {}, 3),
    "dagma": (linear, {"standardise": False}, 1),
}
ON_ITS_OWN = {"ges-general"}
CONTROLS = {"empty", "spanning-tree", "sort-variance", "sort-r2", "sort-falling-r2"}  # test_controls.py


@pytest.fixture(scope="module", autouse=True)
def worker():
    """Also of `dcd.baselines.run`, whose own process runs in the example of its module."""
    with shared_worker(isolation) as worker:
        yield worker


def test_every_method_is_tried():
    assert sorted([*KNOWN, *ON_ITS_OWN, *CONTROLS]) == sorted(METHODS)


LONG = (
    "dagma", "directlingam", "ges-general", "golem", "grandag", "icalingam", "notears", "marvel-dcd",
    "pc-dcd", "pc-e-fisherz", "pc-e-kcit", "pc-kcit", "robust-dcd-always", "rsl-dcd",
)  # fmt: skip


BY_COST = [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in METHODS]


@pytest.mark.parametrize("method", [name for name in BY_COST if name.values[0] in KNOWN])
def test_known_answer(method, worker):
    kind, options, n_seeds = KNOWN[method]
    for seed in range(n_seeds):
        outcome = worker.solve(method, table(kind, seed), seed=seed, time_limit=300, options=options)
        assert outcome.status == "ok", outcome.reason
        assert outcome.cpdag == TRUTH
        assert outcome.seconds > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_ges_with_a_generalised_score_sees_a_curve_that_no_line_shows(seed, worker):
    """Its optimum depends on rounding, so graphs of more than one edge differ between machines."""
    a, b, c, e = np.random.default_rng(seed).standard_normal((4, 150))
    columns = pd.DataFrame({"a": a, "b": np.cos(2 * a) + 0.3 * b, "c": c, "e": e})
    outcome = worker.solve("ges-general", columns, seed=seed, time_limit=300, options={})
    assert outcome.status == "ok", outcome.reason
    assert outcome.cpdag.role("a", "b") is not None
    assert len(outcome.cpdag.directed_edges) + len(outcome.cpdag.undirected_edges) <= 2


def test_ges_takes_categories_as_such(worker):
    """The middle one of three categories differs from the others, which no line through codes can show."""
    rng = np.random.default_rng(4)
    a, noise = rng.integers(0, 3, 1000), rng.standard_normal((3, 1000))
    c = 2.0 * (a == 1) - noise[0] + noise[1]
    numbers = pd.DataFrame({"a": a.astype(float), "b": noise[0], "c": c, "e": 0.7 * c + noise[2]})
    assert worker.solve("ges-cg", numbers.assign(a=np.array(list("pqr"))[a])).cpdag == TRUTH
    assert not worker.solve("ges", numbers).cpdag.adjacency[0].any()


@pytest.mark.parametrize("method", METHODS)
def test_bad_tables_are_refused_by_name_before_any_work(method):
    good = table(linear, 0)
    for column, bad in {"b": np.nan, "c": 1.0, "e": 2 * good["b"] - 1}.items():
        with pytest.raises(dcd.InputError, match=f"'{column}'"):
            dcd.baselines.run(method, good.assign(**{column: bad}))


@pytest.mark.parametrize("method", BY_COST)
def test_linear_combinations_are_refused_or_coped_with(method, worker):
    """A sum of two columns, as in the network asia: kernels, counts and gradient descent accept it. For our
    own methods these are categories, which have no sum.
    """
    frame = table(categories, 0).head(150 if method == "ges-general" else 1500)
    frame["e"] = frame["a"] + frame["b"]
    if METHODS[method].combinations or METHODS[method].takes_kinds:
        options = {"iterations": 50} if METHODS[method].cost == "network" else {}
        assert worker.solve(method, frame, options=options).status == "ok"
    else:
        with pytest.raises(dcd.InputError, match="linear combination"):
            dcd.baselines.run(method, frame)


@pytest.mark.parametrize("method", ["pc-fisherz", "pc-e-fisherz", "ges", "boss", "grasp"])
def test_more_variables_than_rows_bear_are_refused(method, worker):
    values = np.random.default_rng(0).standard_normal((14, 12))
    with pytest.raises(dcd.InputError, match="rows"):
        worker.solve(method, values)


@pytest.mark.parametrize("method", METHODS)
def test_an_unknown_option_is_named(method, worker):
    made = categories if METHODS[method].discrete else linear
    with pytest.raises(dcd.InputError, match="alhpa"):
        worker.solve(method, table(made, 0), options={"alhpa": 0.1})


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("dcd", {"alpha": 2}),
        ("pc-fisherz", {"alpha": 2}),
        ("pc-gsq", {"alpha": 0}),
        ("pc-e-kcit", {"stable_index": -1}),
        ("notears", {"threshold": -1}),
        ("golem", {"iterations": 0}),
        ("flop", {"restarts": -1}),
        ("boss", {"penalty": 0}),
        ("dagma", {"penalty": -1}),
        ("grandag", {"iterations": 0.5}),
    ],
)
def test_a_bad_option_is_named(method, options, worker):
    made = categories if METHODS[method].discrete else linear
    with pytest.raises(dcd.InputError, match=next(iter(options))):
        worker.solve(method, table(made, 0), options=options)


def test_unknown_methods_and_limits_are_named():
    with pytest.raises(dcd.InputError, match="pc-fisherz or pc-e-fisherz"):
        dcd.baselines.run("pc", table(linear, 0))
    with pytest.raises(dcd.InputError, match="'golm'"):
        installed("golm")
    with pytest.raises(dcd.InputError, match="time_limit"):
        dcd.baselines.run("ges", table(linear, 0), time_limit=0)
    with pytest.raises(dcd.InputError, match="random_state"):
        dcd.baselines.run("ges", table(linear, 0), random_state=-1)


def test_a_missing_library_says_what_to_install(monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda module: None)
    assert not installed("golem")
    assert installed("dcd")
    with pytest.raises(MissingLibraryError, match=r"pip install 'causal-dcd\[gcastle\]'"):
        dcd.baselines.run("golem", table(linear, 0))


@pytest.mark.slow
def test_a_run_that_takes_too_long_is_stopped_and_the_next_one_works(worker):
    dataset = table(linear, 0)
    started = time.perf_counter()
    outcome = worker.solve("golem", dataset, time_limit=1.0, options={"iterations": 10**7})
    assert outcome.status == "timeout"
    assert "1 s" in outcome.reason
    assert time.perf_counter() - started < 30
    assert worker.solve("ges", dataset).cpdag == TRUTH
    with pytest.raises(BaselineError, match=r"stopped after 0\.5 s"):
        dcd.baselines.run("golem", table(linear, 0), time_limit=0.5)


@pytest.mark.slow
def test_a_process_that_dies_is_a_failure_with_a_reason(worker):
    dataset = table(linear, 0)
    worker.solve("ges", dataset)
    killer = threading.Timer(0.5, lambda: os.killpg(worker._process.pid, signal.SIGKILL))
    killer.start()
    outcome = worker.solve("golem", dataset, options={"iterations": 10**7})
    assert outcome.status == "failed"
    assert "died" in outcome.reason
    assert worker.solve("ges", dataset).status == "ok"
    os.killpg(worker._process.pid, signal.SIGKILL)  # between two runs
    worker._process.wait()
    assert worker.solve("ges", dataset).status == "ok"


def test_an_error_within_a_library_is_a_failure_with_its_message(monkeypatch):
    def adapter(values, *, seed):
        raise RuntimeError("no convergence")

    monkeypatch.setattr(registry.Method, "load", lambda self: adapter)
    answer = solve({"method": "ges", "seed": 0, "options": {}}, np.zeros((10, 2)))
    assert answer == {"status": "failed", "reason": "RuntimeError: no convergence"}


@pytest.mark.slow
def test_nothing_of_a_library_is_left_behind():
    dcd.baselines.run("icalingam", table(linear, 0))
    assert "castle" not in sys.modules


def test_names_come_back_and_any_table_goes(worker):
    frame = table(linear, 0).rename(columns={"a": "<b>", "e": "e e"})
    assert dcd.baselines.run("ges", frame).names == ("<b>", "b", "c", "e e")
    assert worker.solve("ges", frame.to_numpy()).cpdag.names == ("x0", "x1", "x2", "x3")


def test_the_seed_reaches_the_method(monkeypatch):
    seeds = []

    def adapter(values, *, seed):
        seeds.append(seed)
        return np.zeros((2, 2), dtype=np.int8)

    monkeypatch.setattr(registry.Method, "load", lambda self: adapter)
    assert solve({"method": "ges", "seed": 5, "options": {}}, np.zeros((10, 2)))["status"] == "ok"
    assert seeds == [5]


@pytest.mark.parametrize(
    "method",
    [pytest.param(name, marks=pytest.mark.slow) for name in ("icalingam", "grandag", "pc-e-fisherz")]
    + ["dcd"],
)
def test_the_same_seed_gives_the_same_graph(method, worker):
    options = {"iterations": 50} if method == "grandag" else {}
    runs = [worker.solve(method, table(nonlinear, 0), seed=3, options=options) for _ in range(2)]
    assert [run.status for run in runs] == ["ok", "ok"]
    assert runs[0].cpdag == runs[1].cpdag


@pytest.mark.parametrize("returned", [np.full((2, 2), 0.7), np.eye(2), np.zeros((2, 3)), None])
def test_what_is_no_graph_is_a_failure(monkeypatch, returned):
    monkeypatch.setattr(registry.Method, "load", lambda self: lambda values, *, seed: returned)
    answer = solve({"method": "ges", "seed": 0, "options": {}}, np.zeros((10, 2)))
    assert answer["status"] == "failed"


@pytest.mark.slow
def test_weights_that_diverge_are_a_failure_not_an_empty_graph():
    script = (
        "import numpy as np\n"
        "from types import SimpleNamespace\n"
        "from dcd.evaluation.baselines.gcastle_methods import _learned\n"
        "model = SimpleNamespace(learn=lambda values: None, weight_causal_matrix=np.full((3, 3), np.nan))\n"
        "try:\n    _learned(model, np.zeros((9, 3)), 0.3)\n"
        "except ArithmeticError as error:\n    print(error)\n"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "not finite" in output


def test_numbers_of_numpy_are_numbers_and_other_options_are_refused(worker):
    options = {"alpha": np.float64(0.001)}
    assert worker.solve("pc-fisherz", table(linear, 0), options=options).cpdag == TRUTH
    with pytest.raises(dcd.InputError, match="'alpha'"):
        worker.solve("pc-fisherz", table(linear, 0), options={"alpha": [0.05]})
    with pytest.raises(dcd.InputError, match="'seed'"):
        worker.solve("dcd", table(linear, 0), options={"seed": 1})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_pc_with_our_kernel_test_is_pc_with_causal_learns(seed, worker):
    rng = np.random.default_rng(seed)
    values = dcd.simulate.sample(dcd.simulate.random_dag(6, random_state=rng), 200, random_state=rng)
    dataset = values
    ours, theirs = (
        worker.solve("pc-kcit", dataset, options={"original": original}) for original in (False, True)
    )
    assert ours.cpdag == theirs.cpdag


def test_marks_of_causal_learn():
    causal_learn = pytest.importorskip("dcd.evaluation.baselines.causal_learn_methods")
    # 0 -> 1, 1 - 2, 0 <-> 2 in causal-learn's encoding: the mark is at the row.
    graph = np.array([[0, -1, 1], [1, 0, -1], [1, -1, 0]])
    expected = [[0, 1, 1], [0, 0, 1], [1, 1, 0]]
    assert causal_learn.from_causal_learn(graph).tolist() == expected


def test_categories_reach_those_who_can_take_them(worker):
    frame = mixed_table()
    found = dcd.baselines.run("robust-dcd", frame)
    assert found == dcd.RobustDCD(progress=False).fit(frame).cpdag_
    with pytest.raises(dcd.InputError, match="column 'group': unordered categories"):
        dcd.baselines.run("ges", frame)
    assert worker.solve("ges", frame.drop(columns="group")).cpdag.names == ("size", "passed")
    with pytest.raises(dcd.InputError, match="column 'size': measurements, which 'pc-gsq' would take"):
        dcd.baselines.run("pc-gsq", frame)
    codes = frame[["group"]].assign(passed=frame["passed"], half=np.arange(len(frame)) % 2)
    assert worker.solve("pc-gsq", codes).cpdag.names == ("group", "passed", "half")


def test_missing_values_can_cost_rows_but_nothing_else():
    frame = mixed_table()[["size", "passed"]]
    frame.loc[:10, "size"] = np.nan
    with pytest.raises(dcd.InputError, match="missing values"):
        dcd.baselines.run("ges", frame)
    assert dcd.baselines.run("ges", frame, missing="complete-rows").names == ("size", "passed")
    with pytest.raises(dcd.InputError, match="parameter 'missing'"):
        dcd.baselines.run("ges", frame, missing="testwise")


def mixed_table():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 400)
    size = np.array([0.0, 2.0, -1.0])[group] + rng.standard_normal(400)
    passed = size + rng.logistic(size=400) > 0.5
    return pd.DataFrame({"group": np.array(list("abc"))[group], "size": size, "passed": passed})
