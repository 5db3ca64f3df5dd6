"""Ray, where it is installed (make test-ray): same graph, data sent once, a process killed."""

import os
from pathlib import Path

import pytest
from joblib import parallel_config
from support.cluster_work import Counted, add_up, departures, die_once, fail
from support.tables import table

import dcd
from dcd.runtime import parallel as engine
from dcd.runtime.parallel import Shared, as_done

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # it warns of itself


@pytest.fixture(scope="module", autouse=True)
def on_ray():
    from ray.util.joblib import register_ray

    path = os.pathsep.join([str(Path(dcd.__file__).parents[1]), str(Path(__file__).parents[1])])
    register_ray()
    environment = {"env_vars": {"PYTHONPATH": path}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=environment)
    with parallel_config(backend="ray", n_jobs=-1):
        yield
    ray.shutdown()


@pytest.mark.parametrize("method", [dcd.RobustDCD, dcd.DCD])
def test_same_graph(method):
    alone, together = method(n_jobs=1).fit(table()), method().fit(table())
    assert together.cpdag_ == alone.cpdag_
    assert str(together.diagnostics_) == str(alone.diagnostics_)


def test_stability_is_the_same():
    alone, together = (dcd.stability(dcd.RobustDCD(), table(), n_resamples=4, n_jobs=n) for n in (1, None))
    assert together == alone


def test_data_are_sent_once():
    departures.clear()
    shared = Shared(Counted())
    found = [found for _ in range(2) for _, found in as_done(add_up, range(20), shared=shared)]
    assert sorted(number for number, *_ in found) == sorted([*range(20)] * 2)
    assert departures == [os.getpid()] * 2  # once to see how large it is
    assert {n_arrivals for _, _, n_arrivals, _ in found} == {1}
    assert os.getpid() not in {pid for _, pid, _, _ in found}


@pytest.mark.parametrize(
    "lost",
    [
        lambda: ray.exceptions.ActorDiedError(),
        lambda: ray.exceptions.ActorUnavailableError("no answer", None),
        lambda: ray.exceptions.NodeDiedError("a machine"),
        lambda: ray.exceptions.OwnerDiedError("00" * 28, None, ""),
        lambda: ray.exceptions.OutOfMemoryError("of a machine"),
        lambda: ray.exceptions.WorkerCrashedError(),
    ],
)
def test_what_ray_says_of_a_loss_does_not_end_the_run(lost, monkeypatch):
    real, losses = engine._spread, []

    def lost_once(*arguments):
        if not losses:
            losses.append(lost())
            raise losses[0]
        return real(*arguments)

    monkeypatch.setattr(engine, "_spread", lost_once)
    found = dict(as_done(add_up, range(4), shared=Shared(Counted())))
    assert sorted(found) == [0, 1, 2, 3]
    assert losses


def test_an_error_of_the_work_does(tmp_path):
    with pytest.raises(ZeroDivisionError):
        list(as_done(fail, range(4), shared=Shared(tmp_path)))
    assert len((tmp_path / "attempts").read_text().split()) <= 4


def test_a_killed_process_does_not_end_the_run(tmp_path):
    assert dict(as_done(die_once, range(12), shared=Shared(tmp_path))) == {i: i * i for i in range(12)}
    assert (tmp_path / "died").exists()
