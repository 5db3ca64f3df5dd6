"""Models that score families, and exhaustive searches."""

import ctypes
from functools import cache
from itertools import combinations, product

import numpy as np

from dcd.features.family_gram import Categories
from dcd.features.gram_columns import TableColumns, family_gram
from dcd.features.rank_scores import make_scores
from dcd.search.family_score import family_score, native_family, native_model
from dcd.search.native import check, library
from dcd.search.score_model import score_model


def model_of(values, allowed=None, required=None):
    """The model of measurements (n, d)."""
    d = values.shape[1]
    anything = np.ones((d, d), dtype=bool)
    return score_model(
        family_gram(TableColumns(make_scores(values))),
        allowed=anything if allowed is None else allowed,
        required=~anything if required is None else required,
    )


def counted_model(codes, weights=None):
    """The model of codes (n, d), a table of categories."""
    n, d = codes.shape
    weights = np.ones(n) if weights is None else weights
    counted = Categories(
        np.ascontiguousarray(codes.T, dtype=np.int64), codes.max(axis=0) + 1, weights, np.arange(n)
    )
    anything = np.ones((d, d), dtype=bool)
    unused = make_scores(np.random.default_rng(0).standard_normal((50, d)))
    gram = family_gram(TableColumns(unused))
    return score_model(gram, counted, allowed=anything, required=~anything)


def arrays(parents, curved=()):
    """A family in the form for compiled code, with space for more parents."""
    room = np.zeros(len(parents) + 3, np.int64)
    room[: len(parents)] = parents
    forms = np.zeros(len(parents) + 3, np.bool_)
    forms[: len(curved)] = curved
    return room, forms


def score_of(model, child, parents, curved=(), *, crossed=0):
    """`family_score` of a list of parents."""
    return family_score(model, child, *arrays(parents, curved), len(parents), crossed)


class Change(ctypes.Structure):
    """A change of a family, as `native.h` has it."""

    _fields_ = (
        ("score", ctypes.c_double),
        ("where", ctypes.c_int64),
        ("curve", ctypes.c_bool),
        ("crossed", ctypes.c_int64),
    )


def one_more(model, child, parents, curved, crossed):
    """The best score with the last of the parents added to the others, and its form."""
    room, forms = arrays(parents, curved)
    family, change = native_family(child, room, forms, len(parents) - 1, crossed), Change()
    check(library().with_one_more(*by(native_model(model), family), parents[-1], *by(change)))
    return change.score, change.curve, change.crossed


def simpler_forms(model, child, parents, curved, crossed):
    """The best removal of a parent, and the best other form of the same parents."""
    room, forms = arrays(parents, curved)
    family, changes = native_family(child, room, forms, len(parents), crossed), (Change * 2)()
    check(library().simpler_forms(*by(native_model(model), family), changes))
    return changes


def by(*structures):
    return [ctypes.byref(one) for one in structures]


def best_form(model, child, parents):
    """The best score of a family over all its forms."""
    curves = (False, True) if model.may_curve[child] and not model.n_levels.all() else (False,)
    crosses = range(model.may_cross[child] + 1) if len(parents) > 1 else (0,)
    return max(
        score_of(model, child, parents, forms, crossed=crossed)
        for forms in product(curves, repeat=len(parents))
        for crossed in crosses
    )


def best_total(model):
    """The highest score of any DAG, from the best last variable of every set of variables."""
    d = len(model.allowed)

    @cache
    def family(child, before):
        may = [v for v in before if model.allowed[v, child]]
        return max(
            best_form(model, child, list(parents))
            for size in range(len(may) + 1)
            for parents in combinations(may, size)
        )

    @cache
    def total(members):
        if not members:
            return 0.0
        return max(total(members - {last}) + family(last, members - {last}) for last in members)

    return total(frozenset(range(d)))


def total_of_dag(model, dag):
    """The score of a DAG, each family in its best form."""
    return sum(best_form(model, v, np.flatnonzero(dag[:, v]).tolist()) for v in range(len(dag)))
