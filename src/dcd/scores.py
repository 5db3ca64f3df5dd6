r"""One variable to a few smooth functions of its ranks, the features of the robust test.

With ranks :math:`r_k` and :math:`u_k = (r_k - 1/2) / n`, the columns of a variable are, in this order,

* its normal scores :math:`z = \Phi^{-1}(u)`: straight lines, as efficient as Pearson on Gaussian data;
* the Hermite polynomials :math:`z^2 - 1` and :math:`z^3 - 3z`: what happens in the tails;
* the Legendre polynomials of :math:`2u - 1` from degree 2 on: what happens in the bulk.

Ranks make the columns free of the units and of the marginal distribution of a variable. Every column has
mean 0 and variance 1; columns that ties make superfluous (a binary variable has one function of its ranks,
not twenty) are left out of `adjusters`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.polynomial import hermite_e, legendre
from scipy.special import ndtri
from scipy.stats import rankdata

from dcd.arrays import FloatArray

LINEAR, SQUARE, CUBE, BULK_SQUARE, BULK_CUBE = range(5)
_N_HERMITE = 3
N_TESTED, _MOST = 5, 20
_DEPENDENT = 1e-8  # share of its variance that a column must have beyond the columns before it


@dataclass(frozen=True)
class Scores:
    """Columns of all variables.

    Attributes
    ----------
    columns : (n, d, k) array, mean 0 and variance 1 along n; a column that ties make constant is 0.
    gram : (d k, d k) array of the means of products of columns.
    adjusters : for each variable its linearly independent columns.
    """

    columns: FloatArray = field(repr=False)
    gram: FloatArray = field(repr=False)
    adjusters: tuple[tuple[int, ...], ...] = field(repr=False)

    @property
    def n_variables(self) -> int:
        """Number of variables, d."""
        return self.columns.shape[1]

    @property
    def n_samples(self) -> int:
        """Number of samples, n."""
        return self.columns.shape[0]

    @property
    def flat(self) -> FloatArray:
        """All columns side by side, (n, d k), in the order of the rows of `gram`."""
        return self.columns.reshape(self.n_samples, -1)

    def positions(self, variables: Sequence[int], columns: Sequence[int]) -> list[int]:
        """Rows of `gram` that hold the given columns of the given variables, variable by variable."""
        width = self.columns.shape[2]
        return [variable * width + column for variable in variables for column in columns]


def make_scores(values: FloatArray) -> Scores:
    """Scores of the columns of `values` (n, d), as many of each as n affords."""
    columns = score_columns(values, default_n_columns(len(values)))
    flat = columns.reshape(len(values), -1)
    adjusters = tuple(tuple(_independent(columns[:, variable])) for variable in range(values.shape[1]))
    return Scores(columns, flat.T @ flat / len(values), adjusters)


def default_n_columns(n_samples: int) -> int:
    """The square root of n, between 5 and 20."""
    return int(np.clip(np.sqrt(n_samples), N_TESTED, _MOST))


def score_columns(values: FloatArray, n_columns: int = N_TESTED) -> FloatArray:
    """The first columns of every variable, shape (n, d, n_columns)."""
    u = (rankdata(values, axis=0) - 0.5) / len(values)
    z = ndtri(u)
    hermite = [hermite_e.hermeval(z, _unit(degree)) for degree in range(1, _N_HERMITE + 1)]
    degrees = range(2, n_columns - _N_HERMITE + 2)
    polynomials = [legendre.legval(2.0 * u - 1.0, _unit(degree)) for degree in degrees]
    columns = np.stack([*hermite, *polynomials], axis=2)
    columns = columns - columns.mean(axis=0)
    scale = np.sqrt(np.square(columns).mean(axis=0))
    return columns / np.where(scale > 1e-8, scale, np.inf)


def _unit(degree: int) -> list[float]:
    return [0.0] * degree + [1.0]


def _independent(columns: FloatArray) -> list[int]:
    """Columns that those before them do not make superfluous."""
    triangle = np.linalg.qr(columns, mode="r")
    return np.flatnonzero(np.square(np.diag(triangle)) > _DEPENDENT * len(columns)).tolist()
