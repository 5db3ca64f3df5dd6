"""`Stability`: how often each edge was found in resamples of a table, and the consensus of their graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated, Any, Literal, get_args

import msgspec
import numpy as np
import pandas as pd

from dcd.graph.cpdag import CPDAG
from dcd.graph.drawing.svg import notebook_html
from dcd.graph.equivalence import to_cpdag
from dcd.graph.pattern import orient
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import InputError, check_number, is_whole, suggest

Scheme = Literal["subsample", "bootstrap"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)

_SHOWN = 20
_FORMAT = 1
_Count = Annotated[int, msgspec.Meta(ge=0)]
_ENTRIES: dict[str, Any] = {
    "names": tuple[str, ...],
    "n_resamples": Annotated[int, msgspec.Meta(gt=0)],
    "scheme": Scheme,
    "fraction": Annotated[float, msgspec.Meta(gt=0, lt=1)] | None,
    "failures": dict[str, _Count],
    "seed": _Count | None,
}


@dataclass(frozen=True, eq=False)
class Stability:
    """Edge frequencies over resamples, as returned by `dcd.stability`.

    They show how results vary between samples. `probabilities_` of a fitted `RobustDCD` answers a different
    question: how probable an edge is given this sample.

    Attributes
    ----------
    names : the d variables, in the order of rows and columns below.
    directed : (d, d) array, `[i, j]` the share of resamples whose graph has `i -> j`.
    undirected : (d, d) array, symmetric, the share of resamples whose graph has `i - j`.
    n_resamples : number of resamples behind the shares; failed ones do not count.
    scheme : "subsample" or "bootstrap".
    fraction : share of the rows in a subsample; None for "bootstrap".
    failures : `{reason: count}` of the resamples that could not be fitted.
    seed : the `random_state` that reproduces the resamples; None if unknown.
    """

    names: tuple[str, ...]
    directed: FloatArray = field(repr=False)
    undirected: FloatArray = field(repr=False)
    n_resamples: int
    scheme: Scheme
    fraction: float | None = None
    failures: Mapping[str, int] = field(default_factory=dict)
    seed: int | None = None

    @property
    def n_failed(self) -> int:
        """How many resamples could not be fitted."""
        return sum(self.failures.values())

    @property
    def edge(self) -> FloatArray:
        """(d, d) array, symmetric: the share of resamples whose graph has any edge between two variables."""
        either: FloatArray = self.directed + self.directed.T + self.undirected
        return either

    def frequencies(self, a: str, b: str) -> dict[str, float]:
        """Shares of `a -> b`, `a <- b`, `a - b` and no edge, as {"->", "<-", "-", "none"}; they sum to 1."""
        i, j = self._index(a), self._index(b)
        if i == j:
            raise InputError(f"variable {a!r}", "is given twice", "Name two variables.")
        shares = (self.directed[i, j], self.directed[j, i], self.undirected[i, j])
        counts = [round(share * self.n_resamples) for share in shares]
        counts.append(self.n_resamples - sum(counts))
        kinds = zip(("->", "<-", "-", "none"), counts, strict=True)
        return {kind: count / self.n_resamples for kind, count in kinds}

    def to_frame(self) -> pd.DataFrame:
        """One row for each pair that ever had an edge, the most frequent first.

        Columns: `a`, `b`, the shares `->`, `<-` and `-`, and `edge`, their sum. `a` and `b` are ordered so
        that `->` is at least `<-`.
        """
        rows = []
        for i, j in combinations(range(len(self.names)), 2):
            a, b = (i, j) if self.directed[i, j] >= self.directed[j, i] else (j, i)
            shares = self.frequencies(self.names[a], self.names[b])
            if shares["none"] < 1:
                edge = 1 - shares["none"]
                rows.append((self.names[a], self.names[b], *list(shares.values())[:3], edge))
        frame = pd.DataFrame(rows, columns=["a", "b", "->", "<-", "-", "edge"])
        return frame.sort_values("edge", ascending=False, kind="stable", ignore_index=True)

    # --- the consensus -----------------------------------------------------------------------------------

    def consensus(self, threshold: float = 0.5) -> CPDAG:
        """The graph of the edges found in more than a share `threshold` of the resamples.

        These pairs are exactly the skeleton. An arrow `i -> j` is proposed if more than half of the resamples
        with this edge have it. If some DAG has this skeleton, all proposed arrows and no other unshielded
        collider, the result is its CPDAG. Otherwise the proposals are accepted one by one, the most frequent
        first; one that closes a directed cycle or contradicts earlier ones is left undirected.

        Because the result is a CPDAG, a proposed arrow that no collider of this skeleton implies is
        undirected: resamples may have had it because of edges that are too rare to be included, or by
        knowledge. Some skeletons are impossible without more colliders than were proposed (four variables in
        a ring); the result then has those of a DAG that agrees with the accepted arrows.
        """
        check_number("threshold", threshold, at_least=0, below=1, suggestion=0.5)
        skeleton = (self.edge > threshold + 1e-12).astype(np.int8)
        proposed = np.argwhere((skeleton == 1) & (self.directed > self.edge / 2 + 1e-12)).tolist()
        # The most frequent first; ties by name, so that the order of the columns does not matter.
        proposed.sort(key=lambda ij: (-round(float(self.directed[*ij]), 9), *(self.names[v] for v in ij)))
        graph, _ = orient(skeleton, [[(i, j)] for i, j in proposed])
        return CPDAG(self.names, to_cpdag(graph))

    # --- as data and as text -----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """JSON values from which `from_dict` makes an equal object."""
        values: dict[str, Any] = msgspec.to_builtins(self, enc_hook=lambda array: array.tolist())
        return {"format": _FORMAT, **values, "names": list(self.names)}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Stability:
        """The inverse of `to_dict`."""
        version = saved.get("format") if isinstance(saved, Mapping) else None
        if version != _FORMAT:
            remedy = "Read it with the version of dcd that wrote it."
            raise _refusal(f"has format {version!r}, expected {_FORMAT}", remedy)
        entries = {key: _entry(saved, key, kind) for key, kind in _ENTRIES.items()}
        directed, undirected = _shares(saved, "directed"), _shares(saved, "undirected")
        if (undirected != undirected.T).any() or (directed + directed.T + undirected > 1 + 1e-9).any():
            raise _refusal("has shares of a pair that sum to more than 1 or are not symmetric")
        return cls(directed=directed, undirected=undirected, **entries)

    def failure_sentence(self) -> str:
        """How many resamples failed, and why."""
        reasons = sorted(self.failures.items(), key=lambda item: (-item[1], item[0]))
        shown = "; ".join(f"{count} times: {reason}" for reason, count in reasons[:3])
        more = f"; and {len(reasons) - 3} more reasons" if len(reasons) > 3 else ""
        return f"{self.n_failed} of {self.n_resamples + self.n_failed} resamples failed. {shown}{more}"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        title, *lines = self._introduction()
        frame = self.to_frame()
        return notebook_html(
            title,
            lines=lines,
            header=list(frame.columns),
            rows=[
                [a, b, *(f"{share:.0%}" for share in shares)]
                for a, b, *shares in frame.head(_SHOWN).itertuples(index=False)
            ],
            more="(no edges)" if frame.empty else _rarer(frame),
        )

    def _introduction(self) -> Iterator[str]:
        share = self.fraction
        drawn = "bootstrap samples" if share is None else f"subsamples of {share:.0%} of the rows"
        yield f"{self.n_resamples} {drawn}, {len(self.names)} variables"
        yield "Shares of resamples; for probabilities given this sample, see probabilities_."
        if self.failures:
            yield self.failure_sentence()

    def _lines(self) -> Iterator[str]:
        yield from self._introduction()
        frame = self.to_frame()
        for a, b, right, left, undirected, edge in frame.head(_SHOWN).itertuples(index=False):
            yield f"{edge:4.0%}  {a}, {b}  (-> {right:.0%}, <- {left:.0%}, - {undirected:.0%})"
        if rarer := _rarer(frame):
            yield rarer
        if frame.empty:
            yield "(no edges)"

    def __repr__(self) -> str:
        return f"Stability({len(self.names)} variables, {self.n_resamples} resamples, {self.scheme})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stability):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.names, self.n_resamples, self.scheme, self.directed.tobytes()))

    def _index(self, name: str) -> int:
        if not (isinstance(name, str) or is_whole(name)) or name not in self.names:
            raise InputError(f"variable {name!r}", "is not among the variables", suggest(name, self.names))
        return self.names.index(name)


def _rarer(frame: pd.DataFrame) -> str:
    return f"and {len(frame) - _SHOWN} rarer ones" if len(frame) > _SHOWN else ""


# --- checks of saved values ------------------------------------------------------------------------------


def _refusal(problem: str, remedy: str = "Write it again with to_dict.") -> InputError:
    return InputError("the saved stability", problem, remedy)


def _entry(saved: Mapping[str, Any], key: str, kind: Any) -> Any:
    """An entry of a given type; raises `InputError` with its name if it is invalid."""
    if key not in saved:
        raise _refusal(f"lacks {key!r}")
    try:
        value = msgspec.convert(saved[key], kind)
    except msgspec.ValidationError:
        raise _refusal(f"has {saved[key]!r:.60} for {key!r}") from None
    if key == "names" and len(set(value)) < len(value):
        raise _refusal(f"has {saved[key]!r:.60} for {key!r}")
    return value


def _shares(saved: Mapping[str, Any], key: str) -> FloatArray:
    """A matrix of shares, with zeros on the diagonal."""
    d, given = len(saved["names"]), _entry(saved, key, Any)
    try:
        shares = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _refusal(f"has no matrix of numbers for {key!r}") from error
    if shares.shape != (d, d):
        raise _refusal(f"has a matrix of shape {shares.shape} for {key!r}, and {d} names")
    if not ((shares >= 0) & (shares <= 1)).all() or shares.diagonal().any():
        raise _refusal(f"has {key!r} outside 0 to 1, or of a variable with itself")
    return shares
