"""One thread for linear algebra while any caller requires it."""

import threading

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from dcd.runtime.threads import one_blas_thread


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_limited_within_and_restored_after():
    with threadpool_limits(2):
        with one_blas_thread():
            with one_blas_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_restored_after_an_error():
    with threadpool_limits(2):
        try:
            with one_blas_thread():
                raise KeyError
        except KeyError:
            pass
        assert blas_threads() == {2}


def test_the_first_thread_to_leave_does_not_lift_it_for_the_others():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(10)

    with threadpool_limits(2):
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait(10)
        with one_blas_thread():
            leave.set()
            thread.join()
            assert blas_threads() == {1}
        assert blas_threads() == {2}
