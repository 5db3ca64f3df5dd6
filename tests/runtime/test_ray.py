"""Ray, where it is installed (make test-ray): same graph, data sent once, a process killed."""

import os
from pathlib import Path

import pytest
from joblib import parallel_config
from support.cluster_work import Counted, add_up, departures, die_once
from support.tables import table

import dcd
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
    assert departures == [os.getpid()]
    assert {n_arrivals for _, _, n_arrivals, _ in found} == {1}
    assert os.getpid() not in {pid for _, pid, _, _ in found}


def test_a_killed_process_does_not_end_the_run(tmp_path):
    assert dict(as_done(die_once, range(12), shared=Shared(tmp_path))) == {i: i * i for i in range(12)}
    assert (tmp_path / "died").exists()
