"""The experiments: rows that survive interruptions, correct data, correct tables."""

import csv
import gzip
import importlib.resources
import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from support.workers import shared_worker

import dcd
from dcd.evaluation.baselines import METHODS, registry
from experiments import networks, runner, store
from experiments.__main__ import main
from experiments.forecast import Forecast
from experiments.plan import Experiment, Task, experiment_names, grid, load_experiment, tasks
from experiments.runner import run_task, run_tasks
from experiments.settings import Network, Simulated
from experiments.summary import Cell, Spread, cells_of, paper_cell
from experiments.tables import Table, agreement, tables_of, to_latex, to_markdown

ROOT = Path(__file__).parent.parent
SMALL = Simulated(d=5, n=100)
QUICK = "robust-dcd-equal"  # it loads no other library
pytestmark = pytest.mark.slow  # of the experiments beside the package: many processes, and libraries to load


@pytest.fixture(scope="module", autouse=True)
def worker():
    with shared_worker(runner) as worker:
        yield worker


def rows_in(folder, name):
    with store.path_of(name, folder).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def scores(rows):
    return {(row["d"], row["mechanism"], row["method"], row["seed"]): row["shd_c"] for row in rows}


# --- plan ------------------------------------------------------------------------------------------------


def test_the_papers_experiments_are_there():
    wanted = {"table1", "noise", "noise_in_mechanism", "topology", "samples", "networks"}
    assert wanted <= set(experiment_names())


@pytest.mark.parametrize("name", experiment_names())
def test_every_config_is_whole(name):
    experiment = load_experiment(name)
    assert set(experiment.methods) <= set(METHODS)
    planned = list(tasks(experiment))
    assert len({store.key_of(task) for task in planned}) == len(planned)
    assert len(experiment.settings) == len(set(experiment.settings))


def test_all_eleven_methods_are_compared():
    labels = {METHODS[method].label for method in load_experiment("table1").methods}
    paper = (ROOT / "experiments" / "paper_table1.csv").read_text(encoding="utf-8").splitlines()
    assert labels >= {row["method"] for row in csv.DictReader(paper)}


def test_one_graph_of_every_cell_comes_before_the_next():
    experiment = Experiment("", grid(d=[5, 10]), methods=("dcd", "ges"))
    first = [(task.setting.d, task.method, task.seed) for task in list(tasks(experiment, graphs=2))[:4]]
    assert first == [(5, "dcd", 10000), (5, "ges", 10000), (10, "dcd", 10000), (10, "ges", 10000)]


def test_measured_data_are_drawn_once():
    experiment = Experiment("", (Network("sachs", 853),), methods=("ges",))
    assert len(list(tasks(experiment, graphs=50))) == 1


# --- data ------------------------------------------------------------------------------------------------


def test_a_simulated_problem_is_the_same_for_every_method():
    first, second = SMALL.draw(3), SMALL.draw(3)
    assert first.table.equals(second.table)
    assert first.cpdag == second.cpdag
    assert not first.table.equals(SMALL.draw(4).table)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # pgmpy's own, on import
@pytest.mark.parametrize("name", networks.GAUSSIAN)
def test_gaussian_networks_have_the_moments_that_pgmpy_computes(name):
    from pgmpy.models import LinearGaussianBayesianNetwork

    reference = LinearGaussianBayesianNetwork.load(io.BytesIO(shipped(f"{name}.json")))
    mean, covariance = reference.to_joint_gaussian()
    model = networks.load(name)
    sample = model.sample(20_000, np.random.default_rng(0))
    order = list(nx.topological_sort(reference))
    deviation = np.sqrt(np.diag(covariance))
    z = (sample[order].mean().to_numpy() - np.ravel(mean)) / deviation * np.sqrt(20_000)
    assert np.abs(z).max() < 5
    assert np.allclose(sample[order].std().to_numpy() / deviation, 1, atol=0.05)
    assert model.dag.shape == (networks.SIZES[name],) * 2


@pytest.mark.filterwarnings("ignore::FutureWarning")  # pgmpy's own, on import
@pytest.mark.parametrize("name", networks.DISCRETE)
def test_discrete_networks_have_the_marginals_that_pgmpy_infers(name):
    from pgmpy.inference import VariableElimination

    model = networks.load(name)
    sample = model.sample(20_000, np.random.default_rng(0)).astype(int)
    assert model.dag.shape == (networks.SIZES[name],) * 2
    assert sample.shape == (20_000, networks.SIZES[name])
    inference = VariableElimination(pgmpy_model(name))
    for node in list(sample.columns)[::4]:
        expected = inference.query([node], show_progress=False).values
        found = np.bincount(sample[node], minlength=len(expected)) / len(sample)
        assert np.abs(found - expected).max() < 5 * np.sqrt(0.25 / 20_000)


def pgmpy_model(name):
    from pgmpy.readwrite import BIFReader

    return BIFReader(string=gzip.decompress(shipped(f"{name}.bif.gz")).decode()).get_model()


def shipped(file):
    return (importlib.resources.files("pgmpy") / "utils" / "example_models" / file).read_bytes()


def test_asia_follows_its_logic():
    """The node `either` is tub or lung; state 0 is yes."""
    sample = networks.load("asia").sample(5000, np.random.default_rng(1))
    assert ((sample["either"] == 0) == ((sample["tub"] == 0) | (sample["lung"] == 0))).all()


# --- store ------------------------------------------------------------------------------------------------


def test_a_row_cut_in_the_middle_is_dropped_and_made_again(tmp_path):
    wanted = [Task(SMALL, QUICK, seed) for seed in range(3)]
    run_tasks("x", wanted[:2], jobs=1, time_limit=60, folder=tmp_path)
    path = store.path_of("x", tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert len(store.read_rows(tmp_path)) == 1
    assert run_tasks("x", wanted, jobs=1, time_limit=60, folder=tmp_path) == 2
    rows = rows_in(tmp_path, "x")
    assert [row["seed"] for row in rows] == ["0", "1", "2"]
    assert all(row["status"] == "ok" for row in rows)
    assert run_tasks("x", wanted, jobs=1, time_limit=60, folder=tmp_path) == 0


def test_a_setting_of_two_experiments_is_run_once(tmp_path):
    wanted = [Task(SMALL, QUICK, 0)]
    assert run_tasks("x", wanted, jobs=1, time_limit=60, folder=tmp_path) == 1
    assert run_tasks("y", wanted, jobs=1, time_limit=60, folder=tmp_path) == 0


def test_a_killed_run_goes_on_without_losing_or_repeating_a_row(tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    options = ["table1", "--methods", "pc-fisherz,ges", "--graphs", "1", "--jobs", "2", "--results"]
    command = [sys.executable, "-m", "experiments", "run", *options]
    for n_rows in (2, 6):
        process = subprocess.Popen([*command, str(killed)], cwd=ROOT, stderr=subprocess.DEVNULL)
        path = store.path_of("table1", killed)
        deadline = time.time() + 120
        while not path.exists() or path.read_bytes().count(b"\n") <= n_rows:
            assert time.time() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert_workers_end()
    assert main(["run", *options, str(killed)]) == 0
    assert main(["run", *options, str(whole)]) == 0
    rows = rows_in(killed, "table1")
    assert len(rows) == 6 * 2
    assert len(scores(rows)) == len(rows)
    assert scores(rows) == scores(rows_in(whole, "table1"))


def assert_workers_end():
    """Processes started by a killed run notice that it is gone and stop."""
    deadline = time.time() + 30
    while time.time() < deadline:
        orphans = [
            pid
            for pid in Path("/proc").glob("[0-9]*")
            if b"dcd.evaluation.baselines.worker" in read_bytes(pid / "cmdline")
            and b"PPid:\t1\n" in read_bytes(pid / "status")
        ]
        if not orphans:
            return
        time.sleep(0.2)
    raise AssertionError(f"still running: {orphans}")


def read_bytes(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_two_runs_do_not_write_the_same_file(tmp_path):
    path = store.path_of("x", tmp_path)
    with (
        store.appending(path),
        pytest.raises(dcd.InputError, match="another run"),
        store.appending(path),
    ):
        pass


def test_rows_of_another_form_are_not_mixed_in(tmp_path, capsys):
    (tmp_path / "older.csv").write_text("a,b\n1,2\n")
    assert main(["run", "table1", "--methods", "ges", "--results", str(tmp_path)]) == 2
    assert "older.csv: has other columns" in capsys.readouterr().err


def test_a_header_cut_in_the_middle_is_written_again(tmp_path):
    path = store.path_of("x", tmp_path)
    path.write_text("network,n,d")
    assert run_tasks("x", [Task(SMALL, QUICK, 0)], jobs=1, time_limit=60, folder=tmp_path) == 1
    assert rows_in(tmp_path, "x")[0]["status"] == "ok"


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_a_graph_counts_before_a_failure_in_any_file(tmp_path, order):
    wanted = [Task(SMALL, QUICK, 0)]
    run_tasks(order[0], wanted, jobs=1, time_limit=60, folder=tmp_path)
    path = store.path_of(order[0], tmp_path)
    path.write_text(path.read_text().replace(",ok,", ",timeout,"))
    assert run_tasks(order[1], wanted, jobs=1, time_limit=60, folder=tmp_path, retry=True) == 1
    assert run_tasks(order[1], wanted, jobs=1, time_limit=60, folder=tmp_path, retry=True) == 0
    assert [row["status"] for row in store.read_rows(tmp_path).values()] == ["ok"]


def test_one_setting_has_one_key():
    assert store.setting_key(Simulated(noise_std=2)) == store.setting_key(Simulated())


# --- runner -----------------------------------------------------------------------------------------------


def test_a_row_says_all_about_itself(worker):
    row = run_task(Task(SMALL, "ges", 7), worker, time_limit=60)
    problem = SMALL.draw(7)
    found = worker.solve("ges", problem.table).cpdag
    assert set(row) <= set(store.COLUMNS)
    assert row["shd_c"] == dcd.metrics.compare(problem.cpdag, found).shd_c
    assert (row["status"], row["method"], row["seed"], row["d"]) == ("ok", "ges", 7, 5)
    assert row["seconds"] > 0
    assert row["peak_mb"] > 10
    assert "causal-learn 0.1.4.8" in row["versions"]
    assert re.fullmatch(r"([0-9a-f]{10}\+?)?", row["commit"])


def test_failures_are_rows_with_their_reason(tmp_path):
    wanted = [Task(SMALL, QUICK, 0), Task(Simulated(d=10, n=12), "ges", 0)]
    run_tasks("x", wanted[:1], jobs=1, time_limit=0.001, folder=tmp_path)
    run_tasks("x", wanted, jobs=2, time_limit=60, folder=tmp_path)
    by_method = {row["method"]: row for row in rows_in(tmp_path, "x")}
    assert by_method[QUICK]["status"] == "timeout"
    assert by_method["ges"]["status"] == "refused"
    assert "rows" in by_method["ges"]["reason"]
    assert run_tasks("x", wanted, jobs=1, time_limit=60, folder=tmp_path) == 0
    assert run_tasks("x", wanted[1:], jobs=1, time_limit=60, folder=tmp_path, retry=True) == 1
    assert len(rows_in(tmp_path, "x")) == 2


def test_the_forecast_learns():
    wanted = [Task(SMALL, "ges", seed) for seed in range(11)]
    forecast = Forecast([], wanted, jobs=2)
    assert "not timed yet" in forecast.time_left()
    forecast.finished(wanted[0], 60.0)
    assert forecast.time_left() == "about 5 min left"


def test_arguments_are_checked(capsys):
    assert main(["run", "tabel1"]) == 2
    assert "table1" in capsys.readouterr().err
    assert main(["run", "table1", "--methods", "pc"]) == 2
    assert main(["run", "table1", "--jobs", "0"]) == 2
    assert main(["run", "table1", "--time-limit", "-1"]) == 2
    assert "--time-limit" in capsys.readouterr().err


def test_nothing_to_show_is_said(tmp_path, capsys):
    assert main(["show", "noise", "--results", str(tmp_path)]) == 2
    assert "experiments run noise" in capsys.readouterr().err


# --- tables and figures -----------------------------------------------------------------------------------


def test_difference_in_standard_errors():
    ours, paper = Spread(5.0, 2.0, 25), Spread(6.0, 3.0, 36)
    assert ours.difference(paper) == pytest.approx(-1.0 / np.sqrt(4 / 25 + 9 / 36))


def test_the_papers_numbers_stand_beside_its_settings_only():
    assert paper_cell(Simulated(), "ges")["shd_c"] == Spread(8.5, 2.7, 50)
    assert paper_cell(Simulated(d=20, mechanism="mlp"), "golem")["f1"] == Spread(0.36, 0.18, 25)
    assert paper_cell(Simulated(n=400), "ges") == {}
    assert paper_cell(Network("asia", 500), "ges") == {}


def test_latex_is_escaped():
    text = to_latex(Table("a_b & 5 %", ["PC (G²)", "SHD_c"], [["x_1", "1 ± 2"]]))
    assert r"a\_b \& 5 \%" in text
    assert r"PC (G$^2$) & SHD$_c$ \\" in text
    assert r"x\_1 & 1 $\pm$ 2 \\" in text
    assert text.count("{") == text.count("}")


@pytest.fixture(scope="module")
def fast_rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    options = ["--methods", "pc-fisherz,ges", "--graphs", "3", "--results", str(folder)]
    assert main(["run", "topology", "samples", *options]) == 0
    return folder


def test_show_writes_what_the_rows_say(fast_rows, capsys):
    for name in ("topology", "samples"):
        assert main(["show", name, "--results", str(fast_rows)]) == 0
        for suffix in ("md", "tex", "svg", "png"):
            assert (fast_rows / f"{name}.{suffix}").stat().st_size > 200
    printed = capsys.readouterr().out
    experiment = load_experiment("samples")
    cell = next(cell for cell in cells_of(experiment, fast_rows) if cell.method == "ges")
    values = [
        float(row["shd_c"])
        for row in store.read_rows(fast_rows).values()
        if row["method"] == "ges" and row["n"] == "100"
    ]
    assert cell.count == 3
    assert cell.ours["shd_c"].mean == pytest.approx(np.mean(values))
    assert f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f} (3)" in printed
    svg = (fast_rows / "samples.svg").read_text(encoding="utf-8")
    assert ">GES<" in svg


def test_pictures_of_the_same_rows_are_the_same(fast_rows):
    pictures = []
    for _ in range(2):
        main(["show", "samples", "--results", str(fast_rows)])
        pictures.append((fast_rows / "samples.svg").read_bytes())
    assert pictures[0] == pictures[1]


def cell(method, ours, paper, count=20, missing=None):
    spreads = {"f1": Spread(ours, 0.2, count)} if count else {}
    return Cell(
        Simulated(),
        method,
        {**spreads, **({"shd_c": Spread(5.0, 1.0, count)} if count else {})},
        {"f1": Spread(paper, 0.2, 20)},
        missing or {},
        1.0,
        100.0,
    )


def test_agreement_counts_the_numbers_near_the_papers():
    error = 0.2 * np.sqrt(2 / 20)
    cells = [
        cell("ges", 0.5, 0.5 + 1.9 * error),  # near
        cell("golem", 0.5, 0.5 + 2.1 * error),  # far
        cell("notears", 0.5, 0.9, count=3),  # too few graphs to judge
        cell("dcd", 0.5, 0.9),  # our own
        cell("grandag", 0.5, 0.9, count=0, missing={"timeout": 3}),
    ]
    assert "1 of 2 (50%)" in agreement(cells)
    assert agreement(cells[2:]) == ""


def test_runs_without_a_graph_are_counted_not_averaged(tmp_path):
    experiment = load_experiment("samples")
    run_tasks("samples", [Task(Simulated(n=400), QUICK, 0)], jobs=1, time_limit=60, folder=tmp_path)
    path = store.path_of("samples", tmp_path)
    header, row = path.read_text().splitlines()
    failed = row.replace(f",{QUICK},0,ok,", f",{QUICK},1,timeout,")
    path.write_text(
        "\n".join([header, row, re.sub(r"(timeout,),.*?(,dcd )", r"\1" + "," * 14 + r"\2", failed), ""])
    )
    (found,) = cells_of(experiment, tmp_path)
    assert (found.count, found.missing) == (1, {"timeout": 1})
    table = tables_of(experiment, [found])[0]
    assert to_markdown(table).count("(1, 1 timeout)") == 1


def test_a_figure_of_methods_that_the_paper_omits_is_drawn_all_the_same(tmp_path):
    run_tasks("topology", [Task(Simulated(), QUICK, 0)], jobs=1, time_limit=60, folder=tmp_path)
    assert main(["show", "topology", "--results", str(tmp_path)]) == 0
    assert (tmp_path / "topology.svg").exists()


def test_redo_replaces_rows_and_keeps_the_others(tmp_path):
    wanted = [Task(SMALL, method, 0) for method in (QUICK, "robust-dcd")]
    run_tasks("x", wanted, jobs=1, time_limit=60, folder=tmp_path)
    path = store.path_of("x", tmp_path)
    path.write_text(path.read_text().replace(",ok,", ",ok,old"))
    assert run_tasks("x", wanted[:1], jobs=1, time_limit=60, folder=tmp_path, redo=True) == 1
    reasons = {row["method"]: row["reason"] for row in rows_in(tmp_path, "x")}
    assert reasons == {QUICK: "", "robust-dcd": "old"}


def test_configs_are_checked_before_hours_of_fits():
    with pytest.raises(dcd.InputError, match="d varies too"):
        Experiment("", grid(d=[5, 10], n=[100, 200]), axis="n")
    with pytest.raises(dcd.InputError, match="axis"):
        Experiment("", grid(d=[5]), axis="noise")
    with pytest.raises(dcd.InputError, match="gse"):
        Experiment("", grid(d=[5]), methods=("gse",))
    discrete_only = Experiment("", (Simulated(), Network("asia", 500)), methods=("pc-gsq",))
    assert {task.setting for task in tasks(discrete_only)} == {Network("asia", 500)}


def test_a_missing_library_stops_a_run_before_it_starts(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(registry, "find_spec", lambda module: None)
    assert main(["run", "table1", "--methods", "golem", "--results", str(tmp_path)]) == 2
    assert "causal-dcd[gcastle]" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_command_prints_help():
    output = subprocess.run(
        [sys.executable, "-m", "experiments", "run", "--help"], cwd=ROOT, capture_output=True, text=True
    ).stdout
    assert "--jobs" in output
    assert "table1" in output
    assert os.linesep in output
