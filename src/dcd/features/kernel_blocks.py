r"""Kernel features of a table with many rows, in blocks of rows and single precision.

The columns of a `kernels.FeatureMap` are principal components, with variances that decrease geometrically.
Most entries of their covariance are therefore negligible: a squared entry, which is a term of the loss, is at
most the product of two variances (under equal weights), and entries whose product is at most `NEGLIGIBLE` are
left out. With the columns of all variables in order of decreasing variance, the remaining entries form a
staircase: the smaller the variances of a panel of columns, the fewer other columns it meets.

Work is split into fixed tasks of rows, done on threads. Sums over a block are in single precision, sums of
blocks in double and in order, so that no result depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dcd.features.kernels import FeatureMap, IndicatorMap, feature_map, kernel_features
from dcd.features.rank_scores import Scores
from dcd.runtime.array_types import Float32Array, FloatArray
from dcd.runtime.memory import Memory
from dcd.runtime.rows import DENSE_ROWS
from dcd.table.dataset import Dataset

NEGLIGIBLE = 1e-5
BLOCK_ROWS = 2048  # the features of a block then fit into the cache
_BLOCKS_A_TASK = 8
_PANEL = 48  # columns; fewer follow the staircase more closely, with slower products

_LARGEST_VARIANCE = 0.5  # of a principal component of a kernel: two clusters far apart

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class FeatureBlocks:
    """Kernel features of some variables of a table.

    Attributes
    ----------
    values : (blocks, R, rows) features of all variables of the table; the last block is not full.
    owner : (R,) the variable that a feature belongs to.
    variances : (R,) of the features.
    n_samples : number of rows.
    members : the selected variables.
    threads : how many tasks run at the same time.
    """

    values: Float32Array = field(repr=False)
    owner: npt.NDArray[np.intp] = field(repr=False)
    variances: FloatArray = field(repr=False)
    n_samples: int
    members: tuple[int, ...]
    threads: int

    @classmethod
    def of(
        cls,
        values: FloatArray,
        maps: Sequence[FeatureMap | IndicatorMap],
        *,
        threads: int = 1,
        memory: Memory | None = None,
    ) -> FeatureBlocks:
        """The features that `maps` compute from the columns of `values` (n, d)."""
        n_samples = len(values)
        edges = np.cumsum([0, *(len(one.variances) for one in maps)])
        shape = (BLOCK_ROWS, int(edges[-1]), -(-n_samples // BLOCK_ROWS))
        blocks = (memory or Memory()).array(shape, np.float32).T  # which makes it C-ordered

        def fill(task: range) -> None:
            for block in task:
                rows = values[block * BLOCK_ROWS : (block + 1) * BLOCK_ROWS]
                for column, one in enumerate(maps):
                    blocks[block, edges[column] : edges[column + 1], : len(rows)] = one(rows[:, column])

        for _ in in_order(fill, _tasks(len(blocks)), threads):
            pass
        owner = np.repeat(np.arange(len(maps)), np.diff(edges))
        variances = np.concatenate([one.variances for one in maps])
        return cls(blocks, owner, variances, n_samples, tuple(range(len(maps))), threads)

    def select(self, members: Sequence[int]) -> FeatureBlocks:
        """Some of the variables, in the given order; the features are shared."""
        return replace(self, members=tuple(self.members[member] for member in members))

    def columns(self) -> npt.NDArray[np.intp]:
        """Positions of the features of the members, member by member."""
        return np.concatenate([np.flatnonzero(self.owner == member) for member in self.members])

    def tasks(self) -> list[range]:
        """The blocks, a task at a time."""
        return _tasks(len(self.values))

    def each(self, task: range, columns: npt.NDArray[np.intp]) -> Iterator[tuple[slice, Float32Array]]:
        """The rows of every block of a task, and their features, which the caller may overwrite."""
        scratch = np.empty((len(columns), BLOCK_ROWS), dtype=np.float32)
        for block in task:
            start = block * BLOCK_ROWS
            stop = min(start + BLOCK_ROWS, self.n_samples)
            np.take(self.values[block], columns, axis=0, out=scratch, mode="clip")
            yield slice(start, stop), scratch[:, : stop - start]

    def covariance(self, probabilities: FloatArray) -> FloatArray:
        """Weighted covariance (R, R) of all features of the members, member by member."""
        columns = self.columns()

        def moments(task: range) -> tuple[FloatArray, FloatArray]:
            products, sums = np.zeros((len(columns), len(columns))), np.zeros(len(columns))
            for rows, features in self.each(task, columns):
                root = np.sqrt(probabilities[rows]).astype(np.float32)
                features *= root
                products += features @ features.T
                sums += features @ root
            return products, sums

        products, means = total(in_order(moments, self.tasks(), self.threads))
        return products - np.outer(means, means)


Features = Sequence[FloatArray] | FeatureBlocks  # one (n, r) array for each variable, or blocks of rows


def features_of(
    table: Dataset | Scores, variables: Sequence[int] | None = None, *, threads: int = 1
) -> Features:
    """Kernel features of some or all variables of a table, in blocks of rows if there are many."""
    everything = list(range(len(table.kinds)))
    variables = everything if variables is None else list(variables)
    columns = [(table.values[:, v], table.kinds[v]) for v in variables]
    shares = table.probabilities if table.surveyed else None
    if len(table.values) <= DENSE_ROWS:
        return [kernel_features(column, kind, shares) for column, kind in columns]
    least = NEGLIGIBLE / _LARGEST_VARIANCE
    maps = in_order(lambda column: feature_map(*column, least, shares), columns, threads)
    values = table.values if variables == everything else table.values[:, variables]
    return FeatureBlocks.of(values, list(maps), threads=threads, memory=table.memory)


def features_among(features: Features, members: Sequence[int]) -> Features:
    """The features of some variables."""
    if isinstance(features, FeatureBlocks):
        return features.select(members)
    return [features[member] for member in members]


@dataclass(frozen=True)
class Staircase:
    """The entries below the diagonal of a covariance of features that are not negligible.

    Attributes
    ----------
    columns : (R,) positions of the features, in order of decreasing variance.
    panels : columns of the covariance and the rows that are kept for them, as slices.
    kept : (R, R) 1 for the entries that are kept, each standing for itself and its mirror image.
    """

    columns: npt.NDArray[np.intp]
    panels: list[tuple[slice, slice]]
    kept: FloatArray = field(repr=False)

    @classmethod
    def of(cls, features: FeatureBlocks) -> Staircase:
        """The staircase of the members of `features`."""
        columns = features.columns()
        columns = columns[np.argsort(-features.variances[columns], kind="stable")]
        variances, owner = features.variances[columns], features.owner[columns]
        products = np.outer(variances, variances)
        kept = np.tril((products > NEGLIGIBLE) & (owner[:, None] != owner[None, :]))
        panels = []
        for start in range(0, len(columns), _PANEL):
            panel = slice(start, min(start + _PANEL, len(columns)))
            met = np.flatnonzero(kept[:, panel].any(axis=1))
            if met.size:
                panels.append((panel, slice(int(met[0]), int(met[-1]) + 1)))
        return cls(columns, panels, kept.astype(np.float64))

    def add_products(self, features: Float32Array, products: FloatArray) -> None:
        """Add the sums over rows of products of features (R, rows) to the entries that are kept."""
        for panel, met in self.panels:
            products[met, panel] += features[met] @ features[panel].T

    def quadratic_form(self, features: Float32Array, matrix: Float32Array) -> Float32Array:
        """The form f' M f of the features f of every row, with the kept entries of M."""
        form = np.zeros(features.shape[1], dtype=np.float32)
        for panel, met in self.panels:
            form += np.einsum("rk,rk->k", matrix[met, panel].T @ features[met], features[panel])
        return form


def total(parts: Iterable[tuple[FloatArray, ...]]) -> tuple[FloatArray, ...]:
    """Sums over tuples of arrays, in order."""
    parts = iter(parts)
    sums = next(parts)
    for part in parts:
        for whole, term in zip(sums, part, strict=True):
            whole += term
    return sums


def in_order(function: Callable[[Task], Result], tasks: Sequence[Task], threads: int) -> Iterator[Result]:
    """Results of all tasks in their order, computed on several threads."""
    if threads == 1 or len(tasks) == 1:
        yield from map(function, tasks)
        return
    with ThreadPoolExecutor(min(threads, len(tasks))) as pool:
        yield from pool.map(function, tasks)


def _tasks(n_blocks: int) -> list[range]:
    return [
        range(start, min(start + _BLOCKS_A_TASK, n_blocks)) for start in range(0, n_blocks, _BLOCKS_A_TASK)
    ]
