r"""Conditional independence tests on parts of the sample, with combined p-values.

The rows are split at random into K parts with p-values :math:`p_k`, and

.. math:: T = \frac1K \sum_k F_a^{-1}(p_k), \qquad p = F_a(T / K^{1/a - 1})

with :math:`F_a` the symmetric stable law of index a: the mean of K independent draws from it is a draw
scaled by :math:`K^{1/a-1}`, so p is uniform if the :math:`p_k` are. With a = 2 (normal) this is Stouffer's
combination, with a = 1 Cauchy's. A test whose cost grows as n³ becomes K² times as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import check_number

Test = Callable[[int, int, Sequence[int]], float]  # (x, y, given) -> p-value

ROWS_A_PART = 400
_CLIP = 1e-15


def combine_pvalues(pvalues: FloatArray, *, stable_index: float = 2.0) -> float:
    """One p-value from those of independent samples, by the symmetric stable law of index `stable_index`."""
    if not np.isfinite(pvalues).all():
        raise ValueError(f"p-values must be numbers, got {pvalues}")
    check_number("stable_index", stable_index, above=0, at_most=2, suggestion=2.0)
    closed_forms = {1.0: stats.cauchy, 2.0: stats.norm}  # SciPy has slow quadrature for the others
    law = closed_forms.get(stable_index) or stats.levy_stable(stable_index, 0.0)
    clipped = np.clip(pvalues, _CLIP, 1 - _CLIP)
    scale = len(clipped) ** (1 / stable_index - 1)
    return float(law.cdf(law.ppf(clipped).mean() / scale))


def n_parts(n_samples: int) -> int:
    """How many parts: about 400 rows each, at least two."""
    return max(2, round(n_samples / ROWS_A_PART))


class EnsembleTest:
    """An ensemble of any conditional independence test over parts of the rows.

    Parts in which `x` or `y` is constant are skipped; conditions that are constant in a part are dropped.

    Parameters
    ----------
    make_test : from a table (rows, d) to a test, `test(x, y, given) -> p`.
    values : the whole table.
    seed : of the permutation of the rows.
    """

    def __init__(
        self,
        make_test: Callable[[FloatArray], Test],
        values: FloatArray,
        *,
        seed: int,
        stable_index: float = 2.0,
    ) -> None:
        rows = np.random.default_rng(seed).permutation(len(values))
        parts = [values[part] for part in np.array_split(rows, n_parts(len(values)))]
        self.tests = [make_test(part) for part in parts]
        self.varying = [np.ptp(part, axis=0) > 0 for part in parts]
        self.stable_index = stable_index

    def __call__(self, x: int, y: int, given: Sequence[int] = ()) -> float:
        """The combined p-value."""
        pvalues = [
            test(x, y, [column for column in given if varies[column]])
            for test, varies in zip(self.tests, self.varying, strict=True)
            if varies[x] and varies[y]
        ]
        return combine_pvalues(np.array(pvalues), stable_index=self.stable_index) if pvalues else 1.0
