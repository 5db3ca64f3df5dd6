r"""Joint dependence of groups of variables, as a function of the weights.

With probabilities :math:`p`, a kernel :math:`K_g` for each group of variables, :math:`u_g = K_g p` and
:math:`a_g = p^\top u_g`, the squared distance between the embeddings of the joint distribution and of the
product of its marginals (dHSIC; Pfister et al., 2018) is

.. math:: \mathrm{dHSIC}_w = p^\top (K_1 \circ \dots \circ K_m) p + \prod_g a_g
          - 2 \sum_k p_k \prod_g u_{gk} .

With every variable as its own group, it measures mutual dependence ("joint"). With two groups, a variable x
and a set S with the product of the kernels of its members, it measures dependence of x on S jointly
("from-set") and is the HSIC of x and S. For independent groups its mean is, to first order in 1 / ESS,

.. math:: |p|^2 \Big( 1 - \prod_g a_g - \sum_g (1 - a_g) \prod_{h \neq g} a_h \Big) ,

the chance level. There are four forms:

* `DenseJointObjective`, exact, O(m n²) per step, for few rows;
* `DenseSetObjective`, two groups and few rows, the same in single precision: with f the features of x and
  :math:`q_k = p_k (f_k - \sum_m p_m f_m)`, HSIC is :math:`\mathrm{tr}(q^\top K_S\, q)`, in which nothing
  cancels, and a step reads one matrix once;
* `CovarianceObjective`, two groups and many rows, O(n r s) per step: the squared norm of the weighted
  covariance of r features of x and s of S, from a pivoted Cholesky factor of bounded rank;
* `FrequencyObjective`, any number of groups and many rows, O(n m D) per step: the mean squared distance of
  the characteristic functions at D random frequencies.

All but the first are never negative, whereas a difference of two approximated kernels could be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsymv

from dcd.features.kernels import kernel_features, median_bandwidth, pivoted_cholesky
from dcd.runtime.array_types import FloatArray
from dcd.runtime.memory import Memory
from dcd.table.columns import Kind

# Kernel of a member of a set that x is decoupled from: exp(-|d| / 4 medians). On the true null "x and y are
# sign(A·B) with noise" at n = 500 the weighted correlation test rejects .03 with it and .63 with the RBF
# kernel at the median, which misses jumps; Matérn 3/2 and mixtures of RBF kernels cost more power.
_SET_BANDWIDTH = 4.0
DENSE_ROWS = 3_000  # beyond it, features take less time than the (n, n) matrices
# At n = 2000 weights learned with this rank would leave .025 of chance instead of .017 (sign(A·B)) and .11
# instead of .06 (four linear causes); with a rank of 128, .07 and .22.
_SET_RANK = 512
_SET_TOLERANCE = 1e-3
_LEAST_VARIANCE = 1e-3  # of a component of x, as a share of all
_LEAST_EXACT_VARIANCE = 1e-7  # the same for few rows
_FARTHEST = 1e30  # in units of the median distance; no kernel reaches this far
_N_FREQUENCIES, _SEED = 512, 2_018
_BLOCK_ROWS = 2_048
_KERNEL_ROWS = 32  # whose part of a matrix stays in the cache while it is computed

Complex = npt.NDArray[np.complexfloating[Any, Any]]


@dataclass(frozen=True)
class Group:
    """Variables that are to be independent of those of other groups, not of each other.

    Attributes
    ----------
    columns : (n, k) their values; codes for nominal ones.
    kinds : of the variables.
    is_set : whether it is the set that a variable is decoupled from, with a rougher kernel, which detects
        jumps.
    shares : (n,) initial shares of the rows; equal by default.
    """

    columns: FloatArray
    kinds: tuple[Kind, ...]
    is_set: bool = False
    shares: FloatArray | None = None

    def kernel(self, dtype: npt.DTypeLike = np.float64) -> FloatArray:
        """(n, n) product of the kernels of the variables."""
        scaled = [
            (np.clip(column - np.median(column), -_FARTHEST, _FARTHEST).astype(dtype), kind)
            for column, kind in self._scaled()
        ]
        exponent = np.zeros((len(self.columns),) * 2, dtype)
        for rows in Memory().blocks(len(exponent), bytes_per_row=0, most=_KERNEL_ROWS):
            part = exponent[rows]
            for near, kind in scaled:
                part += self._exponent(near[rows, None] - near, kind)
            np.exp(part, out=part)
        return exponent

    def factor(self, rank: int, memory: Memory) -> FloatArray:
        """Rows of features (r, n) whose products are the kernel, at most `rank`."""
        columns, n_samples = list(self._scaled()), len(self.columns)

        def kernel(pivot: int) -> FloatArray:
            exponent = np.zeros(n_samples)
            for column, kind in columns:
                exponent += self._exponent(column - column[pivot], kind)
            return np.exp(exponent)

        return pivoted_cholesky(kernel, memory.array((n_samples, rank)).T, _SET_TOLERANCE, rank)[0]

    def _scaled(self) -> Iterator[tuple[FloatArray, Kind]]:
        for column, kind in zip(self.columns.T, self.kinds, strict=True):
            unit = 1.0 if kind == "nominal" else median_bandwidth(column, self.shares)
            yield np.clip(column / unit, -1e100, 1e100), kind

    def _exponent(self, apart: FloatArray, kind: Kind) -> FloatArray:
        """The log of the kernel of one variable at distances in units of its median."""
        if kind == "nominal":
            return np.where(apart == 0, apart.dtype.type(0.0), apart.dtype.type(-np.inf))
        if not self.is_set:
            return -0.5 * np.square(apart)
        exponent: FloatArray = np.abs(apart, out=apart)
        exponent *= -1.0 / _SET_BANDWIDTH
        return exponent


class JointObjective(Protocol):
    """A loss of the probabilities (n,) of the rows."""

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """Loss, and its gradient up to a constant vector (which the softmax cancels)."""
        ...

    def chance(self, probabilities: FloatArray) -> float:
        """The mean of the loss for independent groups."""
        ...


def choose_joint_objective(groups: Sequence[Group], memory: Memory | None = None) -> JointObjective:
    """The exact form for few rows; for many, the form of linear cost that suits the groups."""
    memory = memory or Memory()
    n_samples = len(groups[0].columns)
    if len(groups) == 2 and groups[1].is_set:
        if n_samples <= DENSE_ROWS and memory.fits(8 * n_samples**2):
            return DenseSetObjective(groups[0], groups[1])
        return CovarianceObjective(groups[0], groups[1], memory)
    if n_samples <= DENSE_ROWS and memory.fits(8 * n_samples**2 * (len(groups) + 1)):
        return DenseJointObjective(groups)
    return FrequencyObjective(groups, memory)


class DenseJointObjective:
    """dHSIC through the kernel matrices of all groups and their product."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._kernels = [group.kernel() for group in groups]
        self._product = self._kernels[0].copy()
        for kernel in self._kernels[1:]:
            self._product *= kernel

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """See `JointObjective`."""
        p = probabilities
        joint = _times(self._product, p)
        u = np.array([_times(kernel, p) for kernel in self._kernels])
        norms, all_of_u, others = u @ p, u.prod(axis=0), products_of_others(u)
        value = float(p @ joint + norms.prod() - 2.0 * (p @ all_of_u))
        gradient = joint - all_of_u + products_of_others(norms) @ u
        for kernel, rest in zip(self._kernels, others, strict=True):
            gradient -= _times(kernel, p * rest)
        return value, 2.0 * gradient

    def chance(self, probabilities: FloatArray) -> float:
        """See `JointObjective`."""
        norms = [probabilities @ _times(kernel, probabilities) for kernel in self._kernels]
        return _chance_level(np.array(norms), probabilities)


class DenseSetObjective:
    """HSIC of a variable and a set through features of the one and the kernel matrix of the other."""

    def __init__(self, one: Group, others: Group) -> None:
        features = kernel_features(one.columns[:, 0], one.kinds[0], one.shares)
        self._one = _components(features, _LEAST_EXACT_VARIANCE).T
        self._kernel = others.kernel(np.float32)

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """See `JointObjective`."""
        centred = self._one - probabilities @ self._one
        apart = probabilities[:, None] * centred
        towards = (self._kernel @ apart.astype(np.float32)).astype(np.float64)
        gradient = np.einsum("kr,kr->k", towards, centred) - self._one @ (probabilities @ towards)
        return max(float(np.einsum("kr,kr->", apart, towards)), 0.0), 2.0 * gradient

    def chance(self, probabilities: FloatArray) -> float:
        """See `JointObjective`."""
        centred = self._one - probabilities @ self._one
        spread = float(probabilities @ np.square(centred).sum(axis=1))
        norm = float(probabilities @ (self._kernel @ probabilities.astype(np.float32)))
        return spread * (1.0 - norm) * float(probabilities @ probabilities)


def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    product: FloatArray = dsymv(1.0, matrix.T, vector)  # reads half of the symmetric matrix
    return product


def products_of_others(factors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """For each row of (m, ...) the product of all others, without division because factors may be zero."""
    before, after = np.ones_like(factors), np.ones_like(factors)
    np.cumprod(factors[:-1], axis=0, out=before[1:])
    after[:-1] = np.cumprod(factors[:0:-1], axis=0)[::-1]
    return before * after


def _chance_level(norms: FloatArray, probabilities: FloatArray) -> float:
    """The mean of dHSIC for independent groups whose mean embeddings have squared `norms` (m,)."""
    share = 1.0 - np.prod(norms) - (1.0 - norms) @ products_of_others(norms)
    return float(share * (probabilities @ probabilities))


def _blocks(n_samples: int) -> list[slice]:
    """Rows whose features stay in the cache."""
    return Memory().blocks(n_samples, bytes_per_row=0, most=_BLOCK_ROWS)


class CovarianceObjective:
    """HSIC of a variable and a set through the weighted covariance of their features."""

    def __init__(self, one: Group, others: Group, memory: Memory) -> None:
        self._one = _components(kernel_features(one.columns[:, 0], one.kinds[0], one.shares))
        self._others = others.factor(_SET_RANK, memory)
        self._others -= self._others.mean(axis=1, keepdims=True)  # changes only rounding

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """See `JointObjective`."""
        mean, means = np.zeros(len(self._one)), np.zeros(len(self._others))
        covariance = np.zeros((len(mean), len(means)))
        for rows in _blocks(len(probabilities)):
            weighted = self._one[:, rows] * probabilities[rows]
            covariance += weighted @ self._others[:, rows].T
            mean += weighted.sum(axis=1)
            means += self._others[:, rows] @ probabilities[rows]
        covariance -= np.outer(mean, means)
        gradient = np.empty_like(probabilities)
        for rows in _blocks(len(probabilities)):
            one, others = self._one[:, rows], self._others[:, rows]
            towards = covariance @ others - (covariance @ means)[:, None]
            gradient[rows] = np.einsum("rk,rk->k", towards, one) - mean @ covariance @ others
        return float(np.square(covariance).sum()), 2.0 * gradient

    def chance(self, probabilities: FloatArray) -> float:
        """See `JointObjective`; the product of the total variances of the features, over the ESS."""
        spreads = [
            float(probabilities @ np.square(features).sum(axis=0) - np.square(features @ probabilities).sum())
            for features in (self._one, self._others)
        ]
        return spreads[0] * spreads[1] * float(probabilities @ probabilities)


def _components(features: FloatArray, least: float = _LEAST_VARIANCE) -> FloatArray:
    """Principal components (r, n) of features (n, k), those with a variance that can matter."""
    centred = features - features.mean(axis=0)
    variances, directions = np.linalg.eigh(centred.T @ centred)
    kept = variances > least * variances.sum()
    components: FloatArray = np.ascontiguousarray((centred @ directions[:, kept]).T)
    return components


class FrequencyObjective:
    """dHSIC of single variables through their characteristic functions at random frequencies.

    Frequencies of an RBF kernel are normal; a random sign for every category stands for a nominal variable.
    They are the same in every run.
    """

    def __init__(self, groups: Sequence[Group], memory: Memory, n_frequencies: int = _N_FREQUENCIES) -> None:
        rng = np.random.default_rng(_SEED)
        self._waves = [_waves(group, rng, n_frequencies, memory) for group in groups]
        self._n_frequencies = n_frequencies

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """See `JointObjective`."""
        means, joint = self._means(probabilities)
        distance = joint - means.prod(axis=0)
        towards = np.conj(distance) / self._n_frequencies
        others = (towards * products_of_others(means)).astype(np.complex64)
        gradient = np.empty_like(probabilities)
        for rows in _blocks(len(probabilities)):
            parts = [waves[rows] for waves in self._waves]
            product = np.prod(parts, axis=0) @ towards.astype(np.complex64)
            for part, other in zip(parts, others, strict=True):
                product -= part @ other
            gradient[rows] = product.real
        return float(np.square(np.abs(distance)).mean()), 2.0 * gradient

    def chance(self, probabilities: FloatArray) -> float:
        """See `JointObjective`."""
        norms = np.square(np.abs(self._means(probabilities)[0])).mean(axis=1)
        return _chance_level(norms, probabilities)

    def _means(self, probabilities: FloatArray) -> tuple[Complex, Complex]:
        """Weighted means (m, D) of the waves of the groups, and (D,) of their products."""
        means = np.zeros((len(self._waves), self._n_frequencies), dtype=np.complex128)
        joint = np.zeros(self._n_frequencies, dtype=np.complex128)
        for rows in _blocks(len(probabilities)):
            parts = [waves[rows] for waves in self._waves]
            weights = probabilities[rows].astype(np.complex64)
            means += [weights @ part for part in parts]
            joint += weights @ np.prod(parts, axis=0)
        return means, joint


def _waves(group: Group, rng: np.random.Generator, n_waves: int, memory: Memory) -> Complex:
    """(n, D) functions of one variable whose mean products are its kernel."""
    column = group.columns[:, 0]
    waves: Complex = memory.array((n_waves, len(column)), np.complex64).T
    if group.kinds[0] == "nominal":
        codes = np.unique(column, return_inverse=True)[1].reshape(-1)
        waves[:] = rng.choice(np.array([-1.0, 1.0]), (codes.max() + 1, n_waves))[codes]
        return waves
    scaled = (column - np.median(column)) / median_bandwidth(column, group.shares)
    frequencies = rng.standard_normal(n_waves)
    for rows in _blocks(len(column)):
        waves[rows] = np.exp(1j * np.outer(scaled[rows], frequencies))
    return waves
