"""A real Dask scheduler with workers in separate processes: same graph, data sent once, lost workers."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from joblib import parallel_config
from support.cluster_work import Counted, add_up, arrivals, departures
from support.tables import table

import dcd
from dcd.runtime import parallel as engine
from dcd.runtime.parallel import Shared, as_done

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

PATIENCE = 120  # seconds; a machine for tests can be slow


class Cluster:
    def __init__(self, folder):
        self._folder = folder
        self._environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(Path(file).parents[1]) for file in (dcd.__file__, __file__)),
            "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "False",
        }
        self._processes, self.workers = [], []
        place = folder / "scheduler.json"
        self._start("scheduler", "--port", "0", "--scheduler-file", str(place))
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                self._address = json.loads(place.read_text())["address"]
                break
            except (FileNotFoundError, ValueError):
                time.sleep(0.05)
        self.client = distributed.Client(self._address, timeout=PATIENCE)

    def add_worker(self, n_threads):
        options = ["--nthreads", str(n_threads), "--no-nanny", "--local-directory", str(self._folder)]
        self.workers.append(self._start("worker", self._address, *options))

    def wait(self):
        self.client.wait_for_workers(len(self.workers), timeout=PATIENCE)

    def kill(self, worker):
        self.workers.remove(worker)
        worker.send_signal(signal.SIGKILL)
        worker.wait(PATIENCE)

    def close(self):
        self.client.close()
        for process in self._processes:
            process.kill()
            process.wait(PATIENCE)

    def _start(self, *arguments):
        command = [sys.executable, "-m", "dask", *arguments, "--host", "127.0.0.1", "--no-dashboard"]
        with (self._folder / f"{len(self._processes)}.log").open("w") as log:
            process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        self._processes.append(process)
        return process


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        started.add_worker(1)
        started.add_worker(2)  # threads of one process have data in common
        started.wait()
        yield started
    finally:
        started.close()


@pytest.mark.parametrize("method", [dcd.RobustDCD, dcd.DCD])
def test_same_graph_and_the_data_leave_once(cluster, monkeypatch, method):
    sent = []
    packed = Shared.__reduce__
    monkeypatch.setattr(Shared, "__reduce__", lambda shared: sent.append(shared) or packed(shared))
    alone = method(n_jobs=1).fit(table())
    assert not sent
    with parallel_config(backend="dask"):
        together = method().fit(table())
    assert len(sent) == (2 if method is dcd.RobustDCD else 1)  # tests of edges; chains over graphs
    assert together.cpdag_ == alone.cpdag_
    assert len(alone.cpdag_.directed_edges) > 0
    assert str(together.diagnostics_) == str(alone.diagnostics_)


def test_data_arrive_at_a_worker_once(cluster):
    """Over two runs, with many more tasks than workers."""
    shared = Shared(Counted())
    arrivals.clear()
    departures.clear()
    with parallel_config(backend="dask"):
        found = [found for _ in range(2) for _, found in as_done(add_up, range(20), shared=shared)]
    assert sorted(number for number, *_ in found) == sorted([*range(20)] * 2)
    assert departures == [os.getpid()]
    assert not arrivals
    assert {pid for _, pid, _, _ in found} <= {worker.pid for worker in cluster.workers}  # or one of them
    # At most once per run: between two runs Dask may drop copies that are no longer referenced.
    assert max(n_arrivals for _, _, n_arrivals, _ in found) <= 2


def test_stability_is_the_same(cluster):
    alone = dcd.stability(dcd.RobustDCD(), table(), n_resamples=4)
    with parallel_config(backend="dask"):
        assert dcd.stability(dcd.RobustDCD(), table(), n_resamples=4) == alone


def after_some_results(monkeypatch, happens):
    """Call a function once two results have arrived."""
    spread, count = engine._spread, []

    def watched(*arguments):
        for result in spread(*arguments):
            yield result
            count.append(result)
            if len(count) == 2:
                happens()

    monkeypatch.setattr(engine, "_spread", watched)


@pytest.mark.parametrize("method", [dcd.RobustDCD, dcd.DCD])
def test_a_worker_killed_half_way(cluster, monkeypatch, method):
    alone = method(n_jobs=1).fit(table(seed=1))
    victim = cluster.workers[0]
    after_some_results(monkeypatch, lambda: cluster.kill(victim))
    with parallel_config(backend="dask"):
        together = method().fit(table(seed=1))
    assert victim not in cluster.workers
    assert together.cpdag_ == alone.cpdag_
    cluster.add_worker(2)
    cluster.wait()


def test_all_workers_killed_and_others_come(cluster, monkeypatch):
    """The data are lost with them and have to be sent again."""

    def replace():
        for worker in list(cluster.workers):
            cluster.kill(worker)
        cluster.add_worker(2)

    after_some_results(monkeypatch, replace)
    departures.clear()
    with parallel_config(backend="dask", wait_for_workers_timeout=PATIENCE):
        found = dict(as_done(add_up, range(20), shared=Shared(Counted())))
    assert [found[item][0] for item in range(20)] == list(range(20))
    assert departures == [os.getpid()] * 2
    assert {pid for _, pid, _, _ in found.values()} >= {worker.pid for worker in cluster.workers}


NO_WORKERS = r"no worker for 3 seconds\. Start workers and run it again"


def test_a_cluster_that_has_lost_its_workers_ends_the_run(cluster, monkeypatch):
    """Every wait has a limit; workers that join later do the next run."""
    monkeypatch.setattr(engine, "_WORKER_SECONDS", 3.0)

    def lose_all():
        for worker in list(cluster.workers):
            cluster.kill(worker)

    after_some_results(monkeypatch, lose_all)
    begun = time.monotonic()
    waiting = parallel_config(backend="dask", wait_for_workers_timeout=1)
    try:
        with waiting, pytest.raises(TimeoutError, match=NO_WORKERS):
            list(as_done(add_up, range(40), shared=Shared(Counted())))
        assert time.monotonic() - begun < PATIENCE / 4
    finally:
        cluster.add_worker(2)
        cluster.wait()
    with parallel_config(backend="dask"):
        assert len(list(as_done(add_up, range(4), shared=Shared(Counted())))) == 4


def test_waiting_for_results_has_a_limit(cluster, monkeypatch):
    """If no result arrives and the scheduler has no worker, whatever the state of the tasks."""
    monkeypatch.setattr(engine, "_WORKER_SECONDS", 3.0)
    monkeypatch.setattr(engine, "_WATCH_SECONDS", 0.1)
    after_some_results(monkeypatch, lambda: monkeypatch.setattr(cluster.client, "ncores", lambda **_: {}))
    waiting = parallel_config(backend="dask", wait_for_workers_timeout=1)
    with waiting, pytest.raises(TimeoutError, match=NO_WORKERS):
        list(as_done(add_up, range(2000), shared=Shared(Counted())))


def test_a_task_that_lost_several_workers_is_done_by_another(cluster, monkeypatch):
    """Dask gives up on a task after losing four workers with it; the run does not."""
    spread, count = engine._spread, []

    def killed_once(*arguments):
        if not count:
            count.append(1)
            raise distributed.scheduler.KilledWorker("task", [], 3)
        yield from spread(*arguments)

    monkeypatch.setattr(engine, "_spread", killed_once)
    with parallel_config(backend="dask"):
        assert len(list(as_done(add_up, range(6), shared=Shared(Counted())))) == 6
