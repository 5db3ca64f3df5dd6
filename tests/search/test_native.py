"""How arrays reach the compiled part of the search."""

import ctypes
import shutil
from typing import NamedTuple

import numpy as np
import pytest
from support.score_models import counted_model, model_of, score_of

from dcd.runtime.errors import MissingLibraryError
from dcd.search import native
from dcd.search.family_score import ScoreModel, native_model
from dcd.search.graph_chain import Plan, chain_state, preferred_curves, run_chain
from dcd.search.order_search import OrderSearch


class Record(NamedTuple):
    curves: np.ndarray
    pairs: np.ndarray
    log_prior: np.ndarray
    oriented: np.ndarray
    temper: float


FIELDS = {
    "curves": np.bool_,
    "pairs": np.int64,
    "log_prior": np.float64,
    "oriented": np.bool_,
    "temper": ctypes.c_double,
}
SIZES = {"n_pairs": 1, "n_prior": 3, "n_steps": 0, "n_kept": 1}
LAYOUT = native.Layout("Plan", FIELDS, tuple(SIZES), written=["log_prior"])


def record(prior):
    nothing = np.zeros((1, 1), dtype=bool)
    return Record(nothing, np.zeros((1, 2), np.int64), prior, nothing, 0.25)


@pytest.mark.parametrize(
    "array",
    [np.zeros(3, np.float32), np.zeros((4, 3)).T, np.zeros(6)[::2], np.zeros(3, np.int64)],
    ids=["single precision", "by columns", "every other", "whole numbers"],
)
def test_arrays_of_another_type_or_layout_are_refused(array):
    """Compiled code would read something else."""
    with pytest.raises(TypeError, match="contiguous array of float64"):
        LAYOUT.fill(record(array), **SIZES)


def test_what_is_written_to_may_not_be_read_only():
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(TypeError, match="can be written to"):
        LAYOUT.fill(record(fixed), **SIZES)


def test_a_structure_points_to_the_arrays_themselves():
    values = np.arange(3.0)
    filled = LAYOUT.fill(record(values), **SIZES)
    seen = ctypes.cast(filled.log_prior, ctypes.POINTER(ctypes.c_double))
    values[1] = 7.0
    assert seen[:3] == [0.0, 7.0, 2.0]
    assert (filled.temper, filled.n_prior) == (0.25, 3)


def test_every_part_of_a_model_is_laid_out():
    model = model_of(np.random.default_rng(0).standard_normal((50, 3)))
    laid_out = [name for name, _ in native_model(model)._fields_]
    assert laid_out[: len(ScoreModel._fields)] == list(ScoreModel._fields)


def test_a_library_of_other_sources_is_refused():
    """One whose structures have another size."""
    with pytest.raises(MissingLibraryError, match="built from different sources"):
        native.Layout("Plan", FIELDS, ("n_pairs",)).fill(record(np.zeros(3)), n_pairs=1)


@pytest.mark.parametrize("found", [False, True])
def test_a_library_that_is_missing_or_broken_says_how_to_get_one(tmp_path, monkeypatch, found):
    monkeypatch.setattr(native, "__file__", str(tmp_path / "__init__.py"))
    if found:
        shutil.copy(__file__, tmp_path / f"_search{native._SUFFIX}")
    problem = "cannot be loaded" if found else "was not built"
    with pytest.raises(MissingLibraryError, match=rf"compiled part {problem}.*Install it again"):
        native.library.__wrapped__()


def test_a_failed_call_is_an_error():
    native.check(0)
    with pytest.raises(MemoryError, match="ran out of memory"):
        native.check(1)


@pytest.mark.parametrize("counted", [False, True])
def test_a_model_may_be_read_only_but_for_its_cache(counted):
    """As those of other processes are; the answers are the same."""
    values = np.random.default_rng(0).standard_normal((60, 4))
    values[:, 1] += values[:, 0]
    model = counted_model((values > 0).astype(np.int64)) if counted else model_of(values)
    expected = answers(model)
    for name, part in model._asdict().items():
        if isinstance(part, np.ndarray) and name not in ("keys", "known"):
            part.flags.writeable = False
    np.testing.assert_array_equal(answers(model), expected)


def answers(model):
    """The best total score, a score, and the counts of a chain."""
    plan = Plan(
        preferred_curves(model), np.array([[0, 1], [1, 2]]), np.zeros((7, 7)), np.zeros((4, 4), bool), 1.5
    )
    counts = run_chain(model, chain_state(np.zeros((4, 4), np.int8)), plan, 200, 50, np.random.default_rng(0))
    total = OrderSearch(4, model.required, np.random.default_rng(0)).run(model, 1)
    return np.array([total, score_of(model, 1, [0]), *counts.ravel()])


def test_whole_numbers_of_32_bits_by_default_do_not_matter(monkeypatch):
    """NumPy 1 has them on Windows."""
    full, values = np.full, np.random.default_rng(0).standard_normal((60, 4))
    expected = answers(model_of(values))

    def narrow(shape, value, dtype=None, **options):
        return full(shape, value, np.int32 if dtype is None and isinstance(value, int) else dtype, **options)

    monkeypatch.setattr(np, "full", narrow)
    np.testing.assert_array_equal(answers(model_of(values)), expected)
