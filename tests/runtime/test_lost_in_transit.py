"""A worker of a cluster lost while data are sent: sent again, within a limit of time."""

import os
import random
import threading
import time
from concurrent.futures import BrokenExecutor

import pytest
from joblib import parallel_config
from support.cluster_work import Counted, add_up

from dcd.runtime import parallel as engine
from dcd.runtime.parallel import Shared, as_done


class Client:
    """Sends data as Dask does, after an event."""

    def __init__(self, *happens):
        self.happens, self.n_sent = list(happens), 0

    def scatter(self, shared, *, hash):  # noqa: A002
        self.n_sent += 1
        if self.happens:
            self.happens.pop(0)()
        return shared


def broken(error):
    def happens():
        raise error

    return happens


def sent_until_it_arrives(client, monkeypatch):
    """The results of a run whose data are sent by this client."""
    monkeypatch.setattr(engine, "_SEND_SECONDS", 0.5)
    shared = Shared(Counted())

    def spread(work, pending, shared, n_jobs):
        ticket = shared._put(client)
        yield from ((position, work(ticket.value(), item)) for position, item in list(pending.items()))

    monkeypatch.setattr(engine, "_spread", spread)
    return dict(as_done(add_up, range(4), shared=shared, n_jobs=2))


LOSSES = [
    KeyError("tcp://127.0.0.1:1"),
    ConnectionError("closed"),
    TimeoutError(),
    OSError("in <TCP>: closed"),
]


@pytest.mark.parametrize("loss", LOSSES)
def test_data_that_were_lost_are_sent_again(loss, monkeypatch):
    client = Client(broken(loss), broken(loss))
    found = sent_until_it_arrives(client, monkeypatch)
    assert [found[item][0] for item in range(4)] == [0, 1, 2, 3]
    assert client.n_sent == 3


def test_no_wait_is_without_a_limit(monkeypatch):
    forever = threading.Event()
    client = Client(forever.wait)
    begun = time.monotonic()
    found = sent_until_it_arrives(client, monkeypatch)
    forever.set()
    assert len(found) == 4
    assert client.n_sent == 2
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("error", [TypeError("cannot pickle"), AttributeError("no such function")])
def test_other_errors_are_raised_at_once(error, monkeypatch):
    client = Client(broken(error))
    with pytest.raises(type(error)):
        sent_until_it_arrives(client, monkeypatch)
    assert client.n_sent == 1


def test_a_cluster_that_loses_everything_ends_the_run(monkeypatch):
    client = Client(*[broken(KeyError("tcp"))] * 9)
    with pytest.raises(BrokenExecutor):
        sent_until_it_arrives(client, monkeypatch)
    assert client.n_sent == 4


@pytest.mark.slow
def test_workers_killed_while_data_are_sent(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    from runtime.test_cluster import Cluster

    cluster, rng = Cluster(tmp_path), random.Random(0)
    data = Counted()
    data.numbers = data.numbers.repeat(200)  # takes long enough to be killed in transit
    try:
        for _ in range(3):
            cluster.add_worker(1)
        for _ in range(8):
            cluster.wait()
            scatter, armed = type(cluster.client).scatter, [True]

            def scatter_and_kill(*given, scatter=scatter, armed=armed, **how):
                if armed:
                    armed.clear()
                    victim = rng.choice(cluster.workers)
                    threading.Timer(rng.uniform(0, 0.4), cluster.kill, [victim]).start()
                return scatter(cluster.client, *given, **how)

            monkeypatch.setattr(cluster.client, "scatter", scatter_and_kill)
            with parallel_config(backend="dask", wait_for_workers_timeout=60):
                found = dict(as_done(add_up, range(12), shared=Shared(data)))
            assert [found[item][0] for item in range(12)] == [0] * 12
            assert os.getpid() not in {pid for _, pid, *_ in found.values()}
            cluster.add_worker(1)
    finally:
        cluster.close()
