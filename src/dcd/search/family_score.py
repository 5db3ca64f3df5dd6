r"""The score of a family: the log evidence of a variable given its parents, from a Gram matrix alone.

The child's columns y (its line, or the indicators of its categories) are Gaussian given a regression on
columns of its parents, whose coefficients have independent Gaussian priors relative to the noise. With
:math:`A = I + \Lambda G \Lambda = L L^\top`, :math:`W = L^{-1} \Lambda G_{\cdot y}` and r columns y,

.. math:: \ell = -\tfrac n2 \log |I - W^\top W / n| - r \log |L| ,

relative to no parents. A parent enters as a line or as a curve; the products of two of the parents' lines, or
those of two and of three, enter together or not at all, whichever has the most evidence. A numeric child may
also be regressed on its own scale with normal noise; its evidence then accounts for its non-normal marginal
distribution. The scales of the prior belong to the child and are chosen by evidence too. Each parent has a
price (`edge_price`), and each beyond the first an additional one (`collider_price`).

A child with few levels is counted: its evidence given parents with few levels is BDeu, that of the counts
under Dirichlet priors. Other parents contribute their gain in the evidence of the regression.

The scores are computed by compiled code (`native/family_score.c`). A family is in arrays: `parents[:m]`,
`curved[:m]` (whether each enters as a curve) and `crossed` (0 without products, 1 with those of two, 2 with
those of two and of three).
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dcd.runtime.array_types import BoolArray, FloatArray, Positions
from dcd.search.native import Layout, check, library, pointer


class ScoreModel(NamedTuple):
    """The model that scores families.

    Attributes
    ----------
    gram, n_samples, starts, n_line, raw, raw_offset, product, cubic : see `FamilyGram`.
    members : (c, 4) for each column its form (0 for a line, 1 for a curve, 2 and 3 for products) and its
        variables; -1 if it has fewer.
    sd_line, sd_curve : (d,) prior standard deviations of coefficients in the family of each child.
    may_curve, may_cross : (d,) whether curves are tried in the family of each child, and which products.
    allowed, required : (d, d) `[u, v]`: whether u may or must be a parent of v.
    any_required : whether there are required parents at all.
    pairs : (d, q, 2) pairs of parents to try together, for their product; -1 if there are fewer.
    promising : (p, d) whether each product may matter for each child.
    unwanted : (d, u, 2) pairs that may not both be parents of a child; -1 if there are fewer.
    edge_price, collider_price : of each parent; of each parent beyond the first.
    codes, n_levels, weights : see `Categories`.
    signs, keys, known : (2, d), (m,) and (m,) a hash table: random numbers of parents and children, which are
        combined into keys, and the evidence of counts by key; a later entry replaces an earlier one. Scoring
        writes to the last two, so each thread needs its own copies of these arrays.
    """

    gram: FloatArray
    n_samples: float
    starts: Positions
    n_line: Positions
    raw: Positions
    raw_offset: FloatArray
    product: Positions
    cubic: Positions
    members: Positions
    sd_line: FloatArray
    sd_curve: FloatArray
    may_curve: BoolArray
    may_cross: Positions
    allowed: BoolArray
    required: BoolArray
    any_required: bool
    pairs: Positions
    promising: BoolArray
    unwanted: Positions
    edge_price: float
    collider_price: float
    codes: Positions
    n_levels: Positions
    weights: FloatArray
    signs: npt.NDArray[np.uint64]
    keys: npt.NDArray[np.uint64]
    known: FloatArray


_MODEL = Layout(
    "Model",
    {
        "gram": np.float64,
        "n_samples": ctypes.c_double,
        "starts": np.int64,
        "n_line": np.int64,
        "raw": np.int64,
        "raw_offset": np.float64,
        "product": np.int64,
        "cubic": np.int64,
        "members": np.int64,
        "sd_line": np.float64,
        "sd_curve": np.float64,
        "may_curve": np.bool_,
        "may_cross": np.int64,
        "allowed": np.bool_,
        "required": np.bool_,
        "any_required": ctypes.c_bool,
        "pairs": np.int64,
        "promising": np.bool_,
        "unwanted": np.int64,
        "edge_price": ctypes.c_double,
        "collider_price": ctypes.c_double,
        "codes": np.int64,
        "n_levels": np.int64,
        "weights": np.float64,
        "signs": np.uint64,
        "keys": np.uint64,
        "known": np.float64,
    },
    sizes=("n_variables", "n_columns", "n_pairs", "n_unwanted", "n_rows", "n_keys"),
    written=("keys", "known"),
)


def native_model(model: ScoreModel) -> Any:
    """A model for compiled code."""
    return _MODEL.fill(
        model,
        n_variables=len(model.n_line),
        n_columns=len(model.gram),
        n_pairs=model.pairs.shape[1],
        n_unwanted=model.unwanted.shape[1],
        n_rows=model.codes.shape[1],
        n_keys=model.keys.size,
    )


class NativeFamily(ctypes.Structure):
    """A family for compiled code, which changes it; its arrays have space for two more parents."""

    _fields_ = (
        ("child", ctypes.c_int64),
        ("parents", ctypes.c_void_p),
        ("curved", ctypes.c_void_p),
        ("n_parents", ctypes.c_int64),
        ("crossed", ctypes.c_int64),
        ("score", ctypes.c_double),
    )


def native_family(
    child: int, parents: Positions, curved: BoolArray, n_parents: int, crossed: int, score: float = np.nan
) -> NativeFamily:
    """A family for compiled code; the arrays have to be kept alive."""
    return NativeFamily(
        child, pointer(parents, np.int64), pointer(curved, np.bool_), n_parents, crossed, score
    )


def family_score(
    model: ScoreModel, child: int, parents: Positions, curved: BoolArray, n_parents: int, crossed: int
) -> float:
    """The score of a family in a given form."""
    family = native_family(child, parents, curved, n_parents, crossed)
    check(library().family_score(ctypes.byref(native_model(model)), ctypes.byref(family)))
    return float(family.score)
