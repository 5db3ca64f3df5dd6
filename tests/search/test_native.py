"""How arrays reach the compiled part of the search."""

import ctypes
from typing import NamedTuple

import numpy as np
import pytest
from support.score_models import model_of

import dcd
from dcd.runtime.errors import MissingLibraryError
from dcd.search import native
from dcd.search.family_score import ScoreModel, native_model


class Record(NamedTuple):
    values: np.ndarray
    share: float


LAYOUT = native.Layout({"values": np.float64, "share": ctypes.c_double}, sizes=("n",))


@pytest.mark.parametrize(
    "array",
    [np.zeros(3, np.float32), np.zeros((4, 3)).T, np.zeros(6)[::2], np.zeros(3, np.int64)],
    ids=["single precision", "by columns", "every other", "whole numbers"],
)
def test_arrays_of_another_type_or_layout_are_refused(array):
    """Compiled code would read something else."""
    with pytest.raises(TypeError, match="contiguous array of float64"):
        LAYOUT.fill(Record(array, 0.5), n=3)


def test_a_structure_points_to_the_arrays_themselves():
    values = np.arange(3.0)
    filled = LAYOUT.fill(Record(values, 0.25), n=3)
    seen = ctypes.cast(filled.values, ctypes.POINTER(ctypes.c_double))
    values[1] = 7.0
    assert seen[:3] == [0.0, 7.0, 2.0]
    assert (filled.share, filled.n) == (0.25, 3)


def test_every_part_of_a_model_is_laid_out():
    model = model_of(np.random.default_rng(0).standard_normal((50, 3)))
    laid_out = [name for name, _ in native_model(model)._fields_]
    assert laid_out[: len(ScoreModel._fields)] == list(ScoreModel._fields)


def test_a_missing_library_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(native, "_SUFFIXES", (".nothing",))
    with pytest.raises(MissingLibraryError, match=r"compiled part was not built\. Install it again"):
        native.library.__wrapped__()


def test_a_failed_call_is_an_error():
    native.check(0)
    with pytest.raises(MemoryError, match="ran out of memory"):
        native.check(1)


def test_read_only_tables_can_be_searched():
    """Those of other processes are."""
    values = np.random.default_rng(0).standard_normal((120, 3))
    values.flags.writeable = False
    assert dcd.RobustDCD(progress=False).fit(values).cpdag_ is not None
