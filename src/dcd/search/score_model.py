"""From the Gram matrix of a table to the model that scores its families.

The prior scales of each child are those under which its best family in any order, among all variables that
may be its parents, has the most evidence. If that family has no curves and no products, none are tried for
this child.

No model of a curved mechanism is exact. Its misfit per sample does not shrink as samples are added, so with
many of them graphs are compared by how well they compensate for it. Unless all relations are linear, the
likelihood therefore counts at most a given number of samples (coarsening, Miller and Dunson 2019). More
samples still make the moments more precise.
"""

from __future__ import annotations

from ctypes import byref
from itertools import pairwise

import numpy as np

from dcd.features.family_gram import Categories, FamilyGram
from dcd.runtime.array_types import BoolArray, FloatArray, Positions
from dcd.search.family_score import ScoreModel, native_family, native_model
from dcd.search.native import check, library, pointer

# Prior variances of the coefficients of a line and of the first column of a curve, relative to the noise.
_PRIORS = ((0.05, 0.03), (0.1, 0.06), (0.4, 0.2), (2.0, 1.0), (10.0, 5.0))
# Price of a parent if all relations are linear; with the penalty of a line in the evidence, about log n.
_LINEAR_PRICE, _LINEAR_GROWTH = 3.5, 0.75
_N_PAIRS = 20  # pairs of parents that are tried together for their product
_POSSIBLE = 2.0  # standard errors of a third moment from which a product enters at all
_CLEAR = 3.5  # standard errors of a third moment from which pairs are tried
_KNOWN = 2**17  # sets of parents of categories whose evidence is kept


# Of 1,500, 2,500, 4,000 and 6,000, the best on curves, networks and trees of 8,000 and 40,000 samples.
MOST_SAMPLES = 2_500.0


def edge_price(n_variables: int, share_curved: float = 1.0) -> float:
    """The cost of a parent in the log posterior.

    It grows with the number of candidates, and with the share of curved relations, since the misfit of a
    curve looks like another parent.
    """
    log_d = float(np.log(n_variables))
    linear, curved = max(_LINEAR_PRICE, _LINEAR_GROWTH * log_d), max(2.0 * log_d - 1.0, 1.0)
    return linear + share_curved * (curved - linear)


def score_model(
    table: FamilyGram,
    categories: Categories | None = None,
    *,
    allowed: BoolArray,
    required: BoolArray,
    most_samples: float = MOST_SAMPLES,
) -> ScoreModel:
    """The model of a table, with the `allowed` and `required` arrows `[cause, effect]`.

    Unless all relations are linear, it counts at most `most_samples`.
    """
    n_variables = len(table.n_line)
    has_line = table.n_line == 1
    model = ScoreModel(
        gram=np.ascontiguousarray(table.gram),
        n_samples=float(table.n_samples),
        starts=table.starts.astype(np.int64),
        n_line=table.n_line.astype(np.int64),
        raw=table.raw.astype(np.int64),
        raw_offset=table.raw_offset,
        product=np.ascontiguousarray(table.product, dtype=np.int64),
        cubic=np.ascontiguousarray(table.cubic, dtype=np.int64),
        members=_members(table),
        sd_line=np.ones(n_variables),
        sd_curve=np.ones(n_variables),
        may_curve=np.ones(n_variables, dtype=bool),
        may_cross=np.full(
            n_variables, int((table.product >= 0).any()) + int(table.cubic.size > 0), dtype=np.int64
        ),
        allowed=np.ascontiguousarray(allowed & ~np.eye(n_variables, dtype=bool)),
        required=np.ascontiguousarray(required),
        any_required=bool(required.any()),
        pairs=_promising_pairs(table, has_line),
        promising=_promising(table),
        unwanted=np.full((n_variables, 1, 2), -1, dtype=np.int64),
        edge_price=edge_price(n_variables),
        collider_price=0.0,
        codes=np.zeros((n_variables, 0), np.int64),
        n_levels=np.zeros(n_variables, np.int64),
        weights=np.zeros(0),
        signs=np.random.default_rng(0).integers(1, 2**63, size=(2, n_variables), dtype=np.uint64),
        keys=np.zeros(0, np.uint64),
        known=np.zeros(0),
    )
    if categories is not None:
        model = _counting(model, categories.weights)._replace(
            codes=np.ascontiguousarray(categories.codes, dtype=np.int64),
            n_levels=categories.n_levels.astype(np.int64),
            # A curve of a number captures its whole relation to a category; a category captures only the mean
            # of a number. If both were allowed, arrows would point at categories whatever the truth.
            may_curve=categories.n_levels == 0,
            may_cross=np.where(categories.n_levels == 0, model.may_cross, 0),
        )
    chosen = _with_chosen_priors(model)
    curved = chosen.may_curve | (chosen.may_cross > 0)
    chosen = chosen._replace(edge_price=edge_price(n_variables, curved.mean()))
    if not curved.any():
        return _lines_alone(chosen)
    if model.n_samples <= most_samples:
        return chosen
    coarsened = _with_chosen_priors(_coarsened(model, most_samples / model.n_samples))
    return coarsened._replace(edge_price=chosen.edge_price)


def _coarsened(model: ScoreModel, share: float) -> ScoreModel:
    """The same model with every sample counting as a share of one."""
    if model.weights.size:
        model = _counting(model, share * model.weights)
    return model._replace(
        gram=share * model.gram,
        n_samples=share * model.n_samples,
        raw_offset=share * model.raw_offset,
    )


def _counting(model: ScoreModel, weights: FloatArray) -> ScoreModel:
    """The same model with these weights for combinations of categories, and an empty cache."""
    return model._replace(weights=weights, keys=np.zeros(_KNOWN, np.uint64), known=np.zeros(_KNOWN))


def _members(table: FamilyGram) -> Positions:
    """The form and the variables of each column."""
    members = np.full((len(table.gram), 4), -1, dtype=np.int64)
    for v, (start, stop) in enumerate(pairwise(table.starts)):
        members[start:stop, 0] = np.arange(stop - start) >= table.n_line[v]
        members[start:stop, 1] = v
    for columns in (table.product, table.cubic):
        places = np.argwhere(columns >= 0)
        members[columns[tuple(places.T)], 0] = columns.ndim
        members[columns[tuple(places.T)], 1 : columns.ndim + 1] = places
    return members


def _promising(table: FamilyGram) -> BoolArray:
    """(p, d) which products have moments with which children that are unlikely to be due to chance."""
    products = np.arange(table.starts[-1], max(table.product.max(), table.cubic.max(initial=-1)) + 1)
    moments = table.gram[np.ix_(products, table.starts[:-1])] / np.sqrt(table.n_samples)
    return np.ascontiguousarray(np.abs(moments) > _POSSIBLE)


def _promising_pairs(table: FamilyGram, has_line: BoolArray) -> Positions:
    """For each child the pairs whose product has the largest moments with it."""
    n_variables = len(has_line)
    pairs = np.full((n_variables, _N_PAIRS, 2), -1, dtype=np.int64)
    first, second = np.nonzero(np.triu(table.product >= 0))
    columns = table.product[first, second]
    for child in np.flatnonzero(has_line):
        moments = np.abs(table.gram[table.starts[child], columns]) / np.sqrt(table.n_samples)
        moments[(first == child) | (second == child)] = 0.0
        largest = np.argsort(-moments, kind="stable")[:_N_PAIRS]
        chosen = largest[moments[largest] > _CLEAR]
        pairs[child, : len(chosen)] = np.column_stack([first[chosen], second[chosen]])
    return pairs


def _with_chosen_priors(model: ScoreModel) -> ScoreModel:
    best = [_best_prior(model, child) for child in range(len(model.n_line))]
    variances = np.array([prior for prior, _, _ in best])
    return model._replace(
        sd_line=np.sqrt(variances[:, 0]),
        sd_curve=np.sqrt(variances[:, 1]),
        may_curve=np.array([curves for _, curves, _ in best]),
        may_cross=np.array([products for _, _, products in best], dtype=np.int64),
    )


def _best_prior(model: ScoreModel, child: int) -> tuple[tuple[float, float], bool, int]:
    """The prior with the best family of a child in any order, and whether this has curves and products.

    Curves and products have to be better than lines by more than the best over all children and candidates
    could be by chance.
    """
    n_variables = len(model.n_line)
    nothing = np.zeros(n_variables, dtype=np.int64)
    lines = _best_family(model._replace(may_curve=nothing > 0, may_cross=nothing), child)
    free = _best_family(model, child)
    best = free if free[0] - lines[0] > 2.0 * np.log(n_variables) else lines
    return best[1:]


def _best_family(model: ScoreModel, child: int) -> tuple[float, tuple[float, float], bool, int]:
    """The best score over all priors, the prior, and the form; each search starts from the last result."""
    n_variables = len(model.n_line)
    parents, curved = np.zeros(n_variables + 2, np.int64), np.zeros(n_variables + 2, np.bool_)
    before = np.arange(n_variables) != child
    count, crossed = 0, 0
    best = (-np.inf, _PRIORS[0], False, 0)
    for prior in _PRIORS:
        line, curve = np.sqrt(np.repeat([prior], n_variables, axis=0)).T.copy()
        free = model._replace(sd_line=line, sd_curve=curve, any_required=False)
        family = native_family(child, parents, curved, count, crossed)
        check(library().best_family(byref(native_model(free)), byref(family), pointer(before, np.bool_)))
        count, crossed = family.n_parents, family.crossed
        best = max(best, (family.score, prior, bool(curved[:count].any()), crossed))
    return best


def with_samples(model: ScoreModel, table: FamilyGram, shares: FloatArray | None) -> ScoreModel:
    """The same model, with its prices and priors, on other rows with these shares of categories."""
    gram = table.gram * (model.n_samples / table.n_samples)
    if len(model.gram) < len(gram):
        columns = _line_columns(table.starts, table.n_line, table.raw)
        gram = gram[np.ix_(columns, columns)]
    model = model._replace(gram=np.ascontiguousarray(gram))
    if shares is None:
        return model
    return _counting(model, shares * (model.weights.sum() / shares.sum()))


def _line_columns(starts: Positions, n_line: Positions, raw: Positions) -> Positions:
    """The columns of lines, then those of variables on their own scale."""
    lines = [start + np.arange(count) for start, count in zip(starts[:-1], n_line, strict=True)]
    return np.concatenate([*lines, raw[raw >= 0]])


def _lines_alone(model: ScoreModel) -> ScoreModel:
    """The same model without the columns of curves and products, if none are tried."""
    columns = _line_columns(model.starts, model.n_line, model.raw)
    starts = np.concatenate([[0], np.cumsum(model.n_line)])
    position = np.where(model.raw >= 0, starts[-1] + np.cumsum(model.raw >= 0) - 1, -1)
    return model._replace(
        gram=np.ascontiguousarray(model.gram[np.ix_(columns, columns)]),
        starts=starts.astype(np.int64),
        raw=position.astype(np.int64),
        product=np.full_like(model.product, -1),
        cubic=np.full((0, 0, 0), -1, dtype=np.int64),
        members=np.ascontiguousarray(model.members[columns]),
        pairs=np.full_like(model.pairs[:, :1], -1),
        promising=np.zeros((0, len(model.n_line)), dtype=bool),
    )
