"""Column order, categories by the rows that share them, and correlations, all in blocks of rows."""

import numpy as np
import pandas as pd
import pytest

from dcd.runtime.memory import Memory
from dcd.table.columns import ColumnKey, Partition
from dcd.table.correlations import correlations, correlations_with_gaps


def partition_of(values):
    """Which rows share a category, all at once."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True, equal_nan=True)
    return np.argsort(np.argsort(first))[inverse.reshape(-1)].astype(np.int32).tobytes()


@pytest.mark.parametrize("seed", range(20))
def test_columns_are_sorted_as_their_bytes_are(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 100, 257, 40_000]))
    common = rng.standard_normal(n)
    common[rng.random(n) < 0.1] = np.nan
    columns = []
    for _ in range(8):  # columns that share their beginning with others
        column = common.copy()
        column[rng.integers(0, n) :] += rng.integers(-1, 2)
        columns.append(column)
    columns += [rng.integers(0, 4, n) * 1.5 for _ in range(4)]
    kinds = ["continuous"] * 6 + ["ordinal"] * 2 + ["nominal"] * 4
    keys = [
        (kind, partition_of(c) if kind == "nominal" else c.tobytes())
        for c, kind in zip(columns, kinds, strict=True)
    ]
    contents = [ColumnKey(c, kind) for c, kind in zip(columns, kinds, strict=True)]
    places = range(len(columns))
    assert sorted(places, key=contents.__getitem__) == sorted(places, key=keys.__getitem__)


@pytest.mark.parametrize("seed", range(10))
def test_partitions_are_the_same_whatever_categories_are_called(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, 40_000).astype(float)
    codes[rng.random(len(codes)) < 0.1] = np.nan
    renamed = np.append(rng.permutation(6) * 3.5, np.nan)[np.nan_to_num(codes, nan=6).astype(int)]
    assert Partition(codes).digest() == Partition(renamed).digest()
    assert Partition(codes)[slice(None)].tobytes() == partition_of(codes)
    renamed[rng.choice(np.flatnonzero(~np.isnan(codes)))] += 1.0
    assert Partition(codes).digest() != Partition(renamed).digest()


@pytest.mark.parametrize("memory", [Memory(), Memory(10**5)])
@pytest.mark.parametrize("seed", range(5))
def test_correlations_are_those_of_numpy_and_pandas(seed, memory):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((3000, 6)) @ rng.standard_normal((6, 6)) + 50
    units = 10.0 ** rng.integers(-280, 280, 6)
    found = correlations(list((values * units).T), memory)
    np.testing.assert_allclose(found, np.corrcoef(values.T), atol=1e-11)
    rows = rng.random(3000) < 0.5
    some = correlations(list((values * units).T), memory, rows)
    np.testing.assert_allclose(some, np.corrcoef(values[rows].T), atol=1e-11)
    values[rng.random(values.shape) < 0.3] = np.nan
    values[5:, 0] = np.nan
    found = correlations_with_gaps(list((values * units).T), memory, 10)
    expected = np.nan_to_num(pd.DataFrame(values).corr(min_periods=10).to_numpy())
    np.testing.assert_allclose(found[1:, 1:], expected[1:, 1:], atol=1e-9)
    assert (found[0, 1:] == 0).all()
    assert correlations([values[:, 1], np.ones(3000)], memory) is None


def test_correlations_of_rows_that_are_far_from_the_others():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 2000))
    x[:30] += 1e9  # y is known only there, where x varies by a part in a thousand million
    y[30:] = np.nan
    found = correlations_with_gaps([x, y], Memory(), 10)
    assert found[0, 1] == pytest.approx(np.corrcoef(x[:30], y[:30])[0, 1], abs=1e-6)
