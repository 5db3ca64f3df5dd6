"""A conditional-independence test made from decoupling, for any method that asks for one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from dcd.independence.association import PartialAssociation, Test, WeightedAssociation
from dcd.independence.testwise import bind
from dcd.runtime.errors import InputError, check_number, check_strategy
from dcd.runtime.threads import one_blas_thread
from dcd.table.columns import Kind
from dcd.table.dataset import Dataset, Missing, TableOptions
from dcd.table.reading import read_table

Column = str | int


class IndependenceTest:
    """`test(x, y, given)`: the p-value that x and y are independent given other columns of a table.

    What two calls have in common is computed once, so keep the object for many tests of one table.

    Parameters
    ----------
    data : any table that the estimators take.
    test : PartialAssociation, WeightedAssociation or None
        None is `PartialAssociation()`.
    level : float, default=1.0
        A p-value above this is not looked at again under decoupling weights, which can only raise it. With
        the level that the p-values will be held against, the answer is the same and sooner there.
    kinds, missing, sample_weight : as of `RobustDCD` and its `fit`. With missing="testwise" the p-value is
        NaN where the rows that are complete in all columns concerned cannot tell.

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
        test: Test | None = None,
        level: float = 1.0,
        kinds: Mapping[str, Kind] | None = None,
        missing: Missing = "refuse",
        sample_weight: Any = None,
    ) -> None:
        strategy = PartialAssociation() if test is None else test
        check_strategy("test", strategy, (PartialAssociation, WeightedAssociation))
        check_number("level", level, above=0, at_most=1, suggestion=0.05)
        options = TableOptions(kinds=kinds, missing=missing)
        options.check()
        self._given: Dataset = read_table(data, options=options, sample_weight=sample_weight)
        dataset = self._given.in_canonical_order()
        # The order of the columns must not matter, so the test sees them in an order of its own.
        self._places = [dataset.names.index(name) for name in self._given.names]
        with one_blas_thread():
            self._bound = bind(strategy, dataset, level, sample_first=False)

    def __call__(self, x: Column, y: Column, given: Collection[Column] = ()) -> float:
        """The p-value; columns are names or positions."""
        if isinstance(given, str) or not isinstance(given, Collection):
            raise InputError("parameter 'given'", f"is no list of columns: {given!r}", "Pass a list.")
        first, second = self._place(x), self._place(y)
        others = {self._place(column) for column in given}
        if first == second or {first, second} & others:
            raise InputError(
                "parameter 'given'",
                f"x, y and the columns in given must differ, got {x!r}, {y!r} given {list(given)!r}",
                "Leave the two out of given.",
            )
        with one_blas_thread():
            return float(np.exp(self._bound.log_pvalue(first, second, others)))

    def _place(self, column: Column) -> int:
        return self._places[self._given.position(column)]
