r"""The average effect of a treatment on an outcome with some variables Z held fixed, and its standard error.

**Two levels a and b of the treatment T.** The difference between the means that the outcome Y would have if
all rows had b and if all had a, by augmented inverse probability weighting: with :math:`\mu_l(Z) =
E[Y|T=l,Z]` and :math:`e_l(Z) = P(T=l|Z)`, the mean of :math:`\mu_b - \mu_a + 1_{T=b}(Y-\mu_b)/e_b -
1_{T=a}(Y-\mu_a)/e_a`. It is consistent if either model is right (Robins, Rotnitzky and Zhao 1994).

**A numeric treatment.** The coefficient of T in the partially linear model :math:`Y = \theta T + g(Z) +
\varepsilon` (Robinson 1988): the change of Y per unit of T. With V and U the residuals of T and Y given Z,
:math:`\theta = E[UV] / E[V^2]`. If the slope differs between rows, θ is its average with weights V².

**Nuisance functions** are cross-fitted (Chernozhukov et al. 2018): predictions for a row come from models
that have not seen it. Linear and additive models, products, kernel regression and boosted trees are combined
with the non-negative weights that predict best (short-stacking, Ahrens et al. 2025). The linear estimator is
least squares.

Both estimates are means of influence functions, and the standard error is that of this mean. With groups of
rows, all rows of a group are in the same fold, and the standard error comes from the jackknife over groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
from scipy.optimize import nnls

from dcd.runtime.array_types import BoolArray, FloatArray, Positions
from dcd.runtime.rows import group_sums
from dcd.runtime.threads import one_blas_thread

Method = Literal["flexible", "linear"]
METHODS: tuple[Method, ...] = get_args(Method)

FEWEST_ROWS = 50
FEWEST_IN_A_LEVEL = 20
FEWEST_GROUPS = _FOLDS = 5
# With 500 rows, one split moved an estimate by a standard error, so predictions are averaged over three.
_SPLITS, _FEW_ROWS = 3, 2000
_LEAST_PROBABILITY = 0.01  # of a level; below it, a single row would decide the answer
_RARE, _MANY_ROWS = 0.05, 0.05  # probability of a level, and share of rows, from which overlap is a caveat
_EXPLAINED = 0.9  # share of the variance of a treatment that the others may explain without a caveat
_NOTHING_LEFT = 1e-8
_MOST_PRODUCTS = 20  # columns whose products are used
_KNOTS = 5
_KERNEL_COLUMNS = 150
_ALPHAS = np.logspace(-2, 4, 7)


@dataclass(frozen=True)
class Sample:
    """The rows of an estimate, complete in all of its columns.

    Attributes
    ----------
    treatment, outcome, weights : (n,); weights have mean 1.
    numbers : (n, p) numeric variables to hold fixed.
    categories : (n, q) categorical variables to hold fixed, as codes.
    levels : the two values of the treatment that are compared; None for the change per unit.
    groups : (n,) the group of each row, numbered from 0; None without groups.
    """

    treatment: FloatArray
    outcome: FloatArray
    numbers: FloatArray
    categories: FloatArray
    weights: FloatArray
    levels: tuple[float, float] | None
    groups: Positions | None = None

    @cached_property
    def plain(self) -> FloatArray:
        """(n, c) standardised numbers, and an indicator of each category but the first."""
        columns = [_standardised(column) for column in self.numbers.T]
        for codes in self.categories.T:
            columns += [(codes == level).astype(float) for level in np.unique(codes)[1:]]
        return np.column_stack(columns) if columns else np.empty((len(self.outcome), 0))

    @property
    def fixed(self) -> bool:
        """Whether anything is held fixed."""
        return self.plain.shape[1] > 0


@dataclass(frozen=True)
class Estimate:
    """An estimated effect, its standard error, and a caveat if the data carry little information about it."""

    value: float
    standard_error: float
    caution: Literal["", "overlap", "explained"] = ""
    share: float = 0.0  # of rows without overlap, or of the variance that is explained


def estimate(sample: Sample, method: Method, rng: np.random.Generator) -> Estimate:
    """The effect by one of the methods."""
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # optimisers that stop a little early
        if method == "linear":
            return _least_squares(sample)
        if sample.levels is None:
            return _partially_linear(sample, rng)
        return _doubly_robust(sample, sample.levels, rng)


def _standardised(column: FloatArray) -> FloatArray:
    spread = column.std()
    return (column - column.mean()) / (spread if spread > 0 else 1.0)


# --- estimates -------------------------------------------------------------------------------------------


def _doubly_robust(sample: Sample, levels: tuple[float, float], rng: np.random.Generator) -> Estimate:
    folds = _folds(sample, rng)
    means, rare = [], np.zeros(len(sample.outcome), dtype=bool)
    two_valued = bool(np.isin(sample.treatment, levels).all())
    probability = np.empty(0)
    for level in levels:
        has_level = sample.treatment == level
        if two_valued and len(probability):
            probability = 1.0 - probability
        else:
            probability = _predicted(sample, has_level.astype(float), folds)
        rare |= probability < _RARE
        bounded = np.maximum(probability, _LEAST_PROBABILITY)
        mean = _predicted(sample, sample.outcome, folds, has_level)
        means.append(mean + has_level * (sample.outcome - mean) / bounded)
    difference = means[1] - means[0]
    value = float(np.average(difference, weights=sample.weights))
    share = float(np.average(rare, weights=sample.weights))
    caution: Any = "overlap" if share > _MANY_ROWS else ""
    return Estimate(
        value, _standard_error(difference - value, sample, np.ones_like(difference)), caution, share
    )


def _partially_linear(sample: Sample, rng: np.random.Generator) -> Estimate:
    folds = _folds(sample, rng)
    left = sample.treatment - _predicted(sample, sample.treatment, folds)
    return _of_residuals(sample, left, sample.outcome - _predicted(sample, sample.outcome, folds))


def _least_squares(sample: Sample) -> Estimate:
    """Least squares by residuals (Frisch, Waugh and Lovell), with a heteroscedasticity-robust error."""
    treatment, others = sample.treatment, [np.ones(len(sample.outcome)), *sample.plain.T]
    if sample.levels is not None:
        low, high = sample.levels
        treatment = (sample.treatment == high).astype(float)
        rest = [level for level in np.unique(sample.treatment) if level not in (low, high)]
        others += [(sample.treatment == level).astype(float) for level in rest]
    root = np.sqrt(sample.weights)
    design = np.column_stack(others) * root[:, None]
    both = np.column_stack([treatment, sample.outcome]) * root[:, None]
    both = (both - design @ np.linalg.lstsq(design, both, rcond=None)[0]) / root[:, None]
    n_parameters = np.linalg.matrix_rank(design) + 1
    return _of_residuals(sample, both[:, 0], both[:, 1], treatment, int(n_parameters))


def _of_residuals(
    sample: Sample,
    left: FloatArray,
    outcome: FloatArray,
    treatment: FloatArray | None = None,
    n_parameters: int = 1,
) -> Estimate:
    """The slope of the residuals of the outcome on those of the treatment."""
    treatment = sample.treatment if treatment is None else treatment
    weights, n_rows = sample.weights, len(left)
    moment = float(np.average(left**2, weights=weights))
    centred = treatment - np.average(treatment, weights=weights)
    explained = 1.0 - moment / float(np.average(centred**2, weights=weights))
    if 1.0 - explained < _NOTHING_LEFT:
        return Estimate(np.nan, np.nan, "explained", 1.0)
    value = float(np.average(left * outcome, weights=weights)) / moment
    error = _standard_error(left * (outcome - value * left) / moment, sample, left**2)
    error *= np.sqrt(n_rows / max(n_rows - n_parameters, 1))
    caution: Any = "explained" if explained > _EXPLAINED else ""
    return Estimate(value, float(error), caution, explained)


def _standard_error(influence: FloatArray, sample: Sample, leverage: FloatArray) -> float:
    """The standard error of the mean influence; with groups, by the jackknife with the leverage of each."""
    parts = sample.weights * influence
    if sample.groups is not None:
        both = group_sums(np.column_stack([parts, sample.weights * leverage]), sample.groups)
        n_groups, shares = len(both), both[:, 1] / both[:, 1].sum()
        parts = both[:, 0] / np.maximum(1.0 - shares, 1.0 / n_groups) * np.sqrt(1.0 - 1.0 / n_groups)
    return float(np.sqrt(np.sum(parts**2)) / sample.weights.sum())


# --- nuisance functions ----------------------------------------------------------------------------------


def _folds(sample: Sample, rng: np.random.Generator) -> Positions:
    """(k, n) the fold of each row, stratified by level; several splits if there are few rows."""
    n_rows = len(sample.outcome)
    folds = np.empty((_SPLITS if n_rows <= _FEW_ROWS else 1, n_rows), dtype=np.intp)
    stratum = np.zeros(n_rows) if sample.levels is None else sample.treatment
    for split in folds:
        if sample.groups is not None:
            split[:] = _group_folds(sample, sample.groups, rng)
            continue
        for level in np.unique(stratum):
            rows = rng.permutation(np.flatnonzero(stratum == level))
            split[rows] = np.arange(len(rows)) % _FOLDS
    return folds


def _group_folds(sample: Sample, groups: Positions, rng: np.random.Generator) -> Positions:
    """(n,) folds of whole groups; those with the rarer of two levels are dealt first, so no fold has all."""
    n_groups = int(groups.max()) + 1
    order = rng.permutation(n_groups)
    if sample.levels is not None:
        has = [np.bincount(groups, sample.treatment == level, n_groups) > 0 for level in sample.levels]
        rarer, other = sorted(has, key=np.sum)
        order = order[np.argsort(np.where(rarer, 0, np.where(other, 1, 2))[order], kind="stable")]
    fold = np.empty(n_groups, dtype=np.intp)
    fold[order] = np.arange(n_groups) % _FOLDS
    return fold[groups]


def _predicted(
    sample: Sample, target: FloatArray, folds: Positions, among: BoolArray | None = None
) -> FloatArray:
    """(n,) cross-fitted predictions of a target from Z, by models fitted to the rows `among`."""
    among = np.ones(len(target), dtype=bool) if among is None else among
    if not sample.fixed:
        return np.full(len(target), np.average(target[among], weights=sample.weights[among]))
    learners = _learners(sample, bool(np.isin(target[among], (0.0, 1.0)).all()))
    predictions = np.zeros((len(target), 1 + len(learners)))
    for split, fold in product(folds, range(_FOLDS)):
        train, test = among & (split != fold), split == fold
        mean = np.average(target[train], weights=sample.weights[train])
        predictions[test] += mean / len(folds)
        for position, (columns, make) in enumerate(learners, start=1):
            if np.ptp(target[train]) > 0:
                # Equal weights are omitted, because weighted binning is slow.
                weights = sample.weights[train] if np.ptp(sample.weights) else None
                model = make().fit(columns[train], target[train], sample_weight=weights)
                predictions[test, position] += (_values(model, columns[test]) - mean) / len(folds)
    shares = _stacked(predictions[among], target[among], sample.weights[among])
    return predictions @ shares


def _values(model: Any, columns: FloatArray) -> FloatArray:
    return np.asarray(
        model.predict_proba(columns)[:, 1] if hasattr(model, "predict_proba") else model.predict(columns)
    )


def _stacked(predictions: FloatArray, target: FloatArray, weights: FloatArray) -> FloatArray:
    """The shares of several predictions, non-negative and summing to 1, with the least squared error."""
    root = np.sqrt(weights)
    centre = np.average(target, weights=weights)
    scale = max(float(np.std(target)), np.finfo(float).tiny)
    sum_to_one = np.full(predictions.shape[1], 1e3 * np.sqrt(weights.sum()))
    shares = nnls(
        np.vstack([(predictions - centre) / scale * root[:, None], sum_to_one]),
        np.append((target - centre) / scale * root, sum_to_one[0]),
    )[0]
    return np.asarray(shares / shares.sum())


def _learners(sample: Sample, indicator: bool) -> Sequence[tuple[FloatArray, Callable[[], Any]]]:
    """The columns and the model of each learner; models of an indicator predict its probability."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, RidgeCV

    trees = {"max_iter": 100, "learning_rate": 0.06, "max_leaf_nodes": 8, "max_bins": 63, "random_state": 0}
    boosted = HistGradientBoostingClassifier if indicator else HistGradientBoostingRegressor
    linear = partial(LogisticRegression, max_iter=200) if indicator else partial(RidgeCV, _ALPHAS)
    return [*((columns, linear) for columns in _designs(sample)), (sample.plain, partial(boosted, **trees))]


def _designs(sample: Sample) -> list[FloatArray]:
    """The columns of linear models, additive models, products of two variables, and kernel regression."""
    from sklearn.preprocessing import PolynomialFeatures

    plain, n_numbers = sample.plain, sample.numbers.shape[1]
    designs = [plain]
    if n_numbers:
        designs.append(np.hstack([*map(_curves, plain[:, :n_numbers].T), plain[:, n_numbers:]]))
    if plain.shape[1] <= _MOST_PRODUCTS and n_numbers + sample.categories.shape[1] > 1:
        products = PolynomialFeatures(2, include_bias=False).fit_transform(plain)
        designs.append(np.column_stack([_standardised(column) for column in products.T]))
    designs.append(_kernel_columns(plain))
    return designs


def _kernel_columns(plain: FloatArray) -> FloatArray:
    """The columns themselves, and features of a Gaussian kernel on all of them."""
    from sklearn.kernel_approximation import Nystroem

    n_columns = min(_KERNEL_COLUMNS, len(plain) // 4)
    kernel = Nystroem(gamma=0.5 / plain.shape[1], n_components=n_columns, random_state=0)
    return np.hstack([plain, kernel.fit_transform(plain) * np.sqrt(n_columns)])


def _curves(column: FloatArray) -> FloatArray:
    """Columns of a cubic spline with knots at quantiles; a column with few values is returned unchanged."""
    from sklearn.preprocessing import SplineTransformer

    knots = np.unique(np.quantile(column, np.linspace(0.0, 1.0, _KNOTS)))
    if len(knots) < _KNOTS:
        return column[:, None]
    spline = SplineTransformer(knots=knots[:, None], extrapolation="linear", include_bias=False)
    return np.asarray(spline.fit_transform(column[:, None]))
