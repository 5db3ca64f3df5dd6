"""`IndependenceTest`: the conditional independence test on a table, for use in other methods."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from dcd.independence.association import PartialAssociation
from dcd.independence.base import CITest, check_test
from dcd.independence.binding import bind_test
from dcd.runtime.errors import InputError, check_number
from dcd.runtime.threads import one_blas_thread
from dcd.table.columns import Kind
from dcd.table.dataset import Dataset, Missing, TableOptions
from dcd.table.reading import read_table
from dcd.table.row_weights import repeated

Column = str | int


class IndependenceTest:
    """`test(x, y, given)`: the p-value for the independence of x and y given other columns of a table.

    Calls share intermediate results, so keep the object for many tests of one table.

    Parameters
    ----------
    data : any table that the estimators accept.
    test : PartialAssociation, WeightedAssociation, a test of your own or None
        By default `PartialAssociation()`.
    level : float, default=1.0
        A p-value above this is not recomputed under decoupling weights, which can only raise it. If you
        pass the level that p-values will be compared with, decisions are the same and take less time.
    kinds, missing, sample_weight, counts, groups : as for `RobustDCD` and its `fit`. With missing="testwise"
        the p-value is NaN if too few rows are complete in these columns.

    Examples
    --------
    >>> import dcd
    >>> test = dcd.IndependenceTest(dcd.datasets.load_sachs().frame)
    >>> test("Raf", "Mek", ["PKC"]) < 0.001
    True
    """

    def __init__(
        self,
        data: Any,
        *,
        test: CITest | None = None,
        level: float = 1.0,
        kinds: Mapping[str, Kind] | None = None,
        missing: Missing = "refuse",
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
    ) -> None:
        strategy = PartialAssociation() if test is None else test
        check_test("test", strategy)
        check_number("level", level, above=0, at_most=1, suggestion=0.05)
        options = TableOptions(kinds=kinds, missing=missing)
        options.check()
        data, _ = repeated(data, counts, sample_weight, groups)
        self._table: Dataset = read_table(data, options=options, sample_weight=sample_weight, groups=groups)
        dataset = self._table.in_canonical_order()
        # The order of the columns must not matter, so the test sees them in a canonical order.
        self._positions = [dataset.names.index(name) for name in self._table.names]
        with one_blas_thread():
            self._bound = bind_test(strategy, dataset, level, sample_first=False)

    def __call__(self, x: Column, y: Column, given: Collection[Column] = ()) -> float:
        """The p-value; columns are names or positions."""
        if isinstance(given, str) or not isinstance(given, Collection):
            raise InputError("parameter 'given'", f"is not a list of columns: {given!r}", "Pass a list.")
        first, second = self._position(x), self._position(y)
        others = {self._position(column) for column in given}
        if first == second or {first, second} & others:
            raise InputError(
                "parameter 'given'",
                f"x, y and the columns in given must differ, got {x!r}, {y!r} given {list(given)!r}",
                "Leave the two out of given.",
            )
        with one_blas_thread():
            return float(np.exp(self._bound.log_pvalue(first, second, others)))

    def _position(self, column: Column) -> int:
        return self._positions[self._table.position(column)]
