"""One process for other methods, where it is not the process that is tested."""

from contextlib import contextmanager
from threading import Lock

import pytest

from dcd.evaluation.baselines import Worker


@contextmanager
def shared_worker(*modules):
    """A worker that everything in these modules uses; each would start, and load libraries, in seconds."""
    lock = Lock()
    with Worker() as worker, pytest.MonkeyPatch.context() as patch:

        class Shared(Worker):
            def solve(self, *arguments, **options):
                with lock:
                    return worker.solve(*arguments, **options)

        for module in modules:
            patch.setattr(module, "Worker", Shared)
        yield worker
