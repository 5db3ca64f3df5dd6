"""Work over processes of this machine; tests/runtime/test_cluster.py has clusters."""

import os
import pickle
import time
from concurrent.futures import BrokenExecutor

import pytest
from joblib import parallel_config, register_parallel_backend
from joblib._parallel_backends import ThreadingBackend
from support.cluster_work import Counted, add_up, array_and_list, departures, die, die_once, fail
from support.tables import table

import dcd
from dcd.runtime import parallel as engine
from dcd.runtime.parallel import Shared, as_done, n_processes


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_every_item_is_done_once(n_jobs):
    done = dict(as_done(add_up, range(9), shared=Shared(Counted()), n_jobs=n_jobs))
    assert [done[item][0] for item in range(9)] == list(range(9))
    assert len(done) == 9
    here = {pid for _, pid, _, _ in done.values()} == {os.getpid()}
    assert here == (n_jobs != 2)


def test_nothing_to_do():
    assert list(as_done(add_up, [], shared=Shared(Counted()), n_jobs=2)) == []


def test_a_process_keeps_what_it_was_sent_over_several_runs():
    shared = Shared(Counted())
    results = [found for _ in range(2) for _, found in as_done(add_up, range(8), shared=shared, n_jobs=2)]
    processes = {pid for _, pid, _, _ in results}
    for process in processes:
        uses = sorted(used for _, pid, _, used in results if pid == process)
        assert uses == list(range(1, len(uses) + 1))
    other = [found for _, found in as_done(add_up, range(8), shared=Shared(Counted()), n_jobs=2)]
    assert min(used for *_, used in other) == 1


def test_what_was_sent_is_let_go_when_nothing_comes(monkeypatch):
    monkeypatch.setattr(engine, "_IDLE_SECONDS", 0.05)
    monkeypatch.setattr(engine, "_received", {})
    arrived = pickle.loads(pickle.dumps(Shared(Counted())))
    assert list(engine._received.values()) == [arrived]
    engine._numbered(add_up, arrived, 0, 1)
    assert engine._received  # there may be more to do
    until = time.monotonic() + 10
    while engine._received and time.monotonic() < until:
        time.sleep(0.01)
    assert not engine._received


def test_threads_have_the_same_arrays_and_nothing_else():
    shared = Shared(Counted())
    with parallel_config(backend="threading", n_jobs=3):
        found = [found for _, found in as_done(array_and_list, range(12), shared=shared)]
    arrays, lists = (set(part) for part in zip(*found, strict=True))
    assert arrays == {id(shared.value().numbers)}
    assert 2 <= len(lists) <= 3
    assert shared.value().seen == []


def test_a_killed_process_does_not_end_the_run(tmp_path):
    done = dict(as_done(die_once, range(12), shared=Shared(tmp_path), n_jobs=2))
    assert done == {item: item * item for item in range(12)}
    assert (tmp_path / "died").exists()


def test_nor_does_it_with_multiprocessing_which_would_wait_forever(tmp_path):
    with parallel_config(backend="multiprocessing", n_jobs=2):
        done = dict(as_done(die_once, range(12), shared=Shared(tmp_path)))
    assert done == {item: item * item for item in range(12)}
    assert (tmp_path / "died").exists()


def test_work_that_always_kills_its_process_does(tmp_path):
    with pytest.raises(BrokenExecutor):
        list(as_done(die, [3, 3, 3], shared=Shared(tmp_path), n_jobs=2))


def test_work_that_fails_is_not_tried_again(tmp_path):
    with pytest.raises(ZeroDivisionError):
        list(as_done(fail, range(2), shared=Shared(tmp_path), n_jobs=2))
    tried = (tmp_path / "attempts").read_text().split()
    assert len(set(tried)) == len(tried)


# --- the context of joblib decides -----------------------------------------------------------------------


class Counting(ThreadingBackend):
    submitted = 0
    supports_inner_max_num_threads = True

    def submit(self, func, callback=None):
        type(self).submitted += 1
        return super().submit(func, callback)


FITS = {
    "RobustDCD": lambda: dcd.RobustDCD().fit(table()).cpdag_,
    "DCD": lambda: dcd.DCD().fit(table()).cpdag_,
    "stability": lambda: dcd.stability(dcd.RobustDCD(), table(), n_resamples=3),
}


class AllAtOnce(Counting):
    supports_return_generator = False


@pytest.mark.parametrize("backend", [Counting, AllAtOnce])
@pytest.mark.parametrize("name", FITS)
def test_the_context_decides_where_work_is_done(name, backend):
    register_parallel_backend("counting", backend)
    alone = FITS[name]()
    Counting.submitted = AllAtOnce.submitted = 0
    with parallel_config(backend="counting", n_jobs=2):
        assert n_processes(None) == 2
        assert FITS[name]() == alone
    assert backend.submitted >= 3


def test_one_process_is_this_one():
    register_parallel_backend("counting", Counting)
    Counting.submitted = 0
    with parallel_config(backend="counting", n_jobs=2):
        dcd.RobustDCD(n_jobs=1).fit(table())
    assert Counting.submitted == 0


def test_small_data_are_packed_once_and_large_arrays_stay_in_one_file(monkeypatch):
    for size, most in ((2**25, 1), (0, 9)):  # joblib pickles everything but large arrays with every task
        monkeypatch.setattr(engine, "_SMALL", size)
        departures.clear()
        done = dict(as_done(add_up, range(9), shared=Shared(Counted()), n_jobs=2))
        assert [done[item][0] for item in range(9)] == list(range(9))
        assert departures.count(os.getpid()) <= most + 1  # and once to see how large it is


def test_those_with_most_to_do_begin_first(monkeypatch):
    begun = []
    spread = engine._spread
    monkeypatch.setattr(
        engine, "_spread", lambda work, pending, *rest: begun.extend(pending) or spread(work, pending, *rest)
    )
    done = dict(as_done(add_up, [3, 1, 4, 1, 5], shared=Shared(Counted()), n_jobs=2, effort=float))
    assert begun == [4, 2, 0, 1, 3]
    assert [done[position][0] for position in range(5)] == [3, 1, 4, 1, 5]
