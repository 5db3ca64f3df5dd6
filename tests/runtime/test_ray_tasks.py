"""Waits for a cluster of Ray have limits; a stand-in for Ray loses machines at will."""

from types import ModuleType

import pytest

from dcd.runtime import ray_tasks
from dcd.runtime.parallel import _is_loss
from dcd.runtime.ray_tasks import results_on_ray


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause):
        super().__init__("a traceback")
        self.cause = cause


class GetTimeoutError(RayError, TimeoutError):
    pass


GetTimeoutError.__module__ = "ray.exceptions"


class Ray(ModuleType):
    """The part of Ray that is used: a task is done as soon as there is a core; some never finish."""

    def __init__(self, cores=(2,), stuck=()):
        super().__init__("ray")
        self.exceptions = ModuleType("exceptions")
        self.exceptions.RayError, self.exceptions.RayTaskError = RayError, RayTaskError
        self.cores, self.stuck = list(cores), set(stuck)
        self.running, self.most, self.canceled, self.options = set(), 0, [], {}

    def remote(self, **options):
        self.options = options

        def of_function(function):
            def submit(item):
                self.running.add(item)
                self.most = max(self.most, len(self.running))
                return function, item

            function.remote = submit
            return function

        return of_function

    def nodes(self):
        n_cores = self.cores.pop(0) if len(self.cores) > 1 else self.cores[0]
        if n_cores is None:
            raise ConnectionError("the head node does not answer")
        return [{"Alive": True, "Resources": {"memory": 9.0, **({"CPU": n_cores} if n_cores else {})}}]

    def wait(self, references, timeout):
        assert timeout is not None
        able = self.cores[0] not in (0, None)
        done = [pair for pair in references if able and pair[1] not in self.stuck][:1]
        return done, [pair for pair in references if pair not in done]

    def get(self, reference, timeout):
        assert timeout is not None
        function, item = reference
        self.running.discard(item)
        try:
            return function(item)
        except GetTimeoutError:
            raise
        except Exception as error:
            raise RayTaskError(error) from error

    def cancel(self, reference, *, force):
        assert force
        self.canceled.append(reference[1])


def double(item):
    return 2 * item


@pytest.fixture
def clock(monkeypatch):
    """Every reading of the clock is ten seconds later."""
    seconds = iter(range(0, 100_000, 10))
    monkeypatch.setattr(ray_tasks.time, "monotonic", lambda: next(seconds))


def results(ray, function=double, n_items=6, **how):
    how = {"n_at_once": 2, "limit": 60.0, "options": {}, **how}
    return results_on_ray(ray, function, [(item,) for item in range(n_items)], **how)


def test_every_result_once_and_no_more_tasks_at_once_than_allowed():
    ray = Ray()
    assert sorted(results(ray, options={"num_cpus": 2})) == [0, 2, 4, 6, 8, 10]
    assert ray.most <= 3  # one is done and not yet fetched
    assert ray.options == {"max_retries": 3, "num_cpus": 2}
    assert ray.canceled == []


@pytest.mark.parametrize("lost", [0, None])
def test_a_cluster_without_machines_ends_the_wait(lost, clock):
    ray = Ray(cores=[lost])
    with pytest.raises(TimeoutError, match=r"no machine with a core for 60 seconds.*checkpoint"):
        list(results(ray))
    assert ray.canceled == [0, 1]


def test_machines_that_come_back_in_time(clock):
    assert len(list(results(Ray(cores=[0, 0, None, 2])))) == 6


def test_a_long_task_is_waited_for_while_there_are_machines(monkeypatch, clock):
    ray = Ray(stuck=[1])
    waiting = results(ray, n_items=2)
    assert next(waiting) == 0
    looks = []
    monkeypatch.setattr(
        ray,
        "nodes",
        lambda: looks.append(1) or (ray.stuck.clear() if len(looks) > 50 else 0) or Ray.nodes(ray),
    )
    assert list(waiting) == [2]
    assert len(looks) > 50


def test_what_is_not_wanted_any_more_is_canceled():
    ray = Ray()
    some = results(ray)
    next(some)
    some.close()
    assert len(ray.canceled) == 2


def test_an_error_of_the_work_is_raised_as_it_was():
    def divide(item):
        return 1 // item

    with pytest.raises(ZeroDivisionError):
        list(results(Ray(), divide))


def test_data_that_do_not_arrive_are_a_loss():
    def late(item):
        raise GetTimeoutError("no data")

    with pytest.raises(GetTimeoutError) as caught:
        list(results(Ray(), late))
    assert _is_loss(caught.value)
