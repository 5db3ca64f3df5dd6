"""`DCD`: the published method, from a table to its CPDAG."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dcd.estimators.base import Diagnostics, Discovery, refuse_groups, statuses
from dcd.estimators.checkpoints import published_codecs
from dcd.runtime.array_types import FloatArray
from dcd.runtime.checkpoint import Codec
from dcd.runtime.errors import InputError
from dcd.runtime.runs import Run, duration
from dcd.runtime.text import percent
from dcd.search.algorithm1 import Subsets, check_subsets, construct, exclusion_sizes, warn_of_cuts
from dcd.search.base import Boundaries, Construction
from dcd.search.decoupled_boundaries import SETS, BoundaryIdentifier, DecoupledSet, effort
from dcd.table.dataset import Dataset
from dcd.weights.hsic_descent import HSICDescent, ObjectiveName


@dataclass(frozen=True, kw_only=True)
class PublishedDiagnostics(Diagnostics):
    """What happened during a fit of `DCD`; see `Diagnostics`.

    The first d `sets` belong to the Markov boundaries. Each has the pairwise weighted HSIC before and after
    learning, and the number of steps.

    Attributes
    ----------
    n_identified : number of Markov boundaries that Algorithm 1 identified: d + Σ (2^m - 2) over boundaries
        of m variables, unless a search is cut or pruned. Weights belong to a set, not to a target, so the
        number of `sets` can be smaller.
    """

    sets: tuple[DecoupledSet, ...]
    n_identified: int

    @property
    def failed(self) -> tuple[str, ...]:
        """The variables whose boundary relies on weights that left more dependence than chance.

        Their edges may be due to dependence that decoupling could not remove.
        """
        decoupled = [(search.target, search.weights) for search in self.searches]
        return tuple(target for target, sketch in decoupled if sketch is not None and sketch.dependence > 1)

    def to_frame(self) -> pd.DataFrame:
        """One row for each decoupled set; HSIC as its mean over the pairs of the set."""
        frame = super().to_frame()
        for name in ("hsic_before", "hsic_after"):
            frame[name] = [_mean_of_pairs(getattr(one, name)) for one in self.sets]
        return frame.assign(steps=[one.n_steps for one in self.sets])

    def __str__(self) -> str:
        frame, n_targets = self.to_frame(), len(self.searches)
        lines = [
            f"{n_targets} sets behind the Markov boundaries: {_in_words(frame[:n_targets])}",
            f"{len(frame) - n_targets} subsets of boundaries: {_in_words(frame[n_targets:])}",
        ]
        if self.failed:
            lines.append(
                f"Decoupling failed for {len(self.failed)} of {n_targets} boundaries (it left more "
                "dependence than chance): edges there may be false. Try RobustDCD."
            )
        return "\n".join([*lines, *map(str, self.cuts)])


def _in_words(frame: pd.DataFrame) -> str:
    if frame.empty:
        return "none"
    remaining = frame["hsic_after"].sum() / max(frame["hsic_before"].sum(), np.finfo(float).tiny)
    return (
        f"{statuses(frame)}; effective sample size {frame['ess'].min():.0f} to {frame['ess'].max():.0f}; "
        f"{percent(remaining)} of the pairwise dependence remains"
    )


def _mean_of_pairs(matrix: FloatArray) -> float:
    """Mean of the entries off the diagonal; 0 for one variable."""
    size = len(matrix)
    return float(matrix.sum() - np.trace(matrix)) / (size * (size - 1)) if size > 1 else 0.0


# The largest number of sets that a search may begin with: each takes about 5 kB, and a million take hours.
_MOST_SETS = 1_000_000
_REMEDIES = (
    "max_subsets=256 bounds the search within each boundary, subsets='pruned' skips subsets that add "
    "nothing, a smaller alpha makes boundaries smaller, fit(max_time=...) limits the time, and RobustDCD "
    "needs no subsets."
)


@dataclass(kw_only=True, eq=False, repr=False)
class DCD(Discovery):
    """Decoupled causal discovery: from a table of measurements to the causal graph behind it.

    For each variable, the method learns sample weights that make all others mutually independent; the ones
    that still depend on the variable form its Markov boundary. The graph is built from boundaries alone
    (Algorithm 1). `RobustDCD` is the recommended estimator; this one is the method as published.

    The result is a CPDAG: an arrow is in every causal graph that fits the data, and the direction of an
    undirected edge cannot be determined from such data. The method assumes no hidden common causes, no
    feedback, and enough noise in every variable.

    Parameters
    ----------
    alpha : float, default=0.05
        Level of the test, as in the paper. With many variables a smaller level avoids false edges.
    objective : "pairwise", "joint" or "from-set", default="pairwise"
        The dependence that the weights minimise: the HSIC of all pairs, as published; the joint dependence of
        all variables of a set; or, with separate weights for each candidate, its dependence on all other
        candidates jointly. The last two do not use `learning_rate`, `max_steps` and `init_scale`.
    learning_rate : float, default=10
        Step size of the descent on the mean weighted HSIC of the pairs of variables. The paper does not
        specify this and the next two.
    max_steps : int, default=50
        Number of steps of the descent for one set.
    min_ess : float, default=0.1
        Learning stops before the effective sample size falls below this share of the rows.
    init_scale : float, default=0.0
        Standard deviation of a random start of the log weights. 0 starts at equal weights, and the result is
        deterministic.
    max_subsets : int or None, default=None
        Limit on the subsets searched within one boundary; a boundary of m variables has 2^m - 2. Sizes are
        searched in increasing order as long as all subsets of a size fit within the limit (size 1 in any
        case). A search that is cut short raises a warning and is listed in `diagnostics_.cuts`. With None no
        search is cut short, as published.
    subsets : "all" or "pruned", default="all"
        Exclude all subsets of every boundary, as published, or only those that can add information if the
        boundaries are right. With true boundaries the graph is the same; with estimated ones it can differ.
    knowledge : Knowledge or None, default=None
        Required and forbidden arrows, tiers, roots and leaves. Knowledge takes precedence over the data;
        contradictions are in `conflicts_`. The graph has every arrow that follows from both.
    kinds : dict or None, default=None
        "continuous", "ordinal" or "nominal" for columns where the default is wrong: text, categories,
        Booleans and numbers with two distinct values are nominal, ordered categories and numbers with at most
        ten distinct values ordinal, other numbers continuous. Dates and times are refused unless they are
        declared; as "continuous" or "ordinal" they are converted to days.
    missing : "refuse", "complete-rows" or "testwise", default="refuse"
        How to handle missing values: refuse the table, use its complete rows, or let each test use the
        rows that are complete in its variables (testwise deletion).
    drop_degenerate : bool, default=False
        Leave out columns that are constant or copies of others, instead of refusing them.
    n_jobs : int or None, default=None
        Number of processes, -1 for all cores. The result does not depend on it.
    memory_limit : int, str or None, default=None
        Memory that the fit may use: bytes, or text such as "4GiB" or "500MB"; None for no limit. Tables that
        do not fit are kept in scratch files in the system's temporary folder (set by TMPDIR) and processed in
        smaller blocks. The graph does not depend on it; very small limits can change the last digits of
        p-values.
    progress : bool, default=True
        Show a progress bar in a terminal or notebook.
    random_state : int, Generator or None, default=None
        Seed of the random start; has no effect while `init_scale` is 0.

    Attributes
    ----------
    cpdag_ : CPDAG
    adjacency_matrix_ : DataFrame
        `[i, j] = 1, [j, i] = 0` for `i -> j`; both 1 for `i - j`.
    markov_boundaries_ : dict
        `{target: {member: role}}` with role "parent", "child", "neighbour" (direction unknown) or "spouse"
        in the finished graph. Members are the estimated boundary and the variables with an edge to the
        target; the boundary as estimated is in `diagnostics_.searches`.
    conflicts_ : tuple of Conflict
        Contradictions found, and how they were resolved.
    diagnostics_ : PublishedDiagnostics
        How each set was decoupled, the result of each search, and which searches were cut short.
    account_ : Account
        Fingerprint and some rows of the table, for `dcd.summarise`.
    table_ : TableSummary
        How the table was read: kinds of its columns, rows used, columns left out.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> import dcd
    >>> model = dcd.DCD().fit(dcd.datasets.load_sachs().frame)
    >>> model.cpdag_
    CPDAG(11 variables, 0 directed, 9 undirected edges)
    """

    objective: ObjectiveName = HSICDescent.objective
    learning_rate: float = HSICDescent.learning_rate
    max_steps: int = HSICDescent.max_steps
    min_ess: float = HSICDescent.min_ess
    init_scale: float = HSICDescent.init_scale
    max_subsets: int | None = None
    subsets: Subsets = "all"

    def _codecs(self, dataset: Dataset) -> dict[str, Codec]:
        return published_codecs(dataset.names, len(dataset.shown))

    def _check_groups(self, groups: Any) -> None:
        refuse_groups(groups, "Use RobustDCD, or keep one row of each group.")

    def _is_random(self) -> bool:
        return self.init_scale != 0

    def _discover(
        self, dataset: Dataset, rng: np.random.Generator, run: Run
    ) -> tuple[Construction, PublishedDiagnostics]:
        identifier = BoundaryIdentifier(
            dataset,
            alpha=self.alpha,
            options=self._weighting,
            random_state=rng,
            n_jobs=self.n_jobs,
            run=run,
        )
        run.remedies = _REMEDIES
        run.phase("Markov boundaries", 1.0, rounds=self.subsets == "pruned")
        construction = construct(
            dataset.names,
            identifier,
            identifier.pvalue,
            self.max_subsets,
            self.knowledge,
            subsets=self.subsets,
            prepare=identifier.prepare,
            announce=lambda boundaries: self._announce(boundaries, run),
        )
        warn_of_cuts(construction.cuts, stacklevel=4)
        sets = identifier.decoupled_sets
        searches = tuple(
            replace(search, decoupled=decoupled.variables, weights=decoupled.sketch)
            for search, decoupled in zip(construction.searches, sets, strict=False)
        )
        diagnostics = PublishedDiagnostics(
            searches=searches, level=self.alpha, sets=sets, n_identified=identifier.n_identified
        )
        return replace(construction, searches=searches), diagnostics

    def _announce(self, boundaries: Boundaries, run: Run) -> None:
        """Warn before a long search of subsets, and refuse one that would not finish.

        Pruned searches need far fewer sets than there are, so they warn only once they turn out to be long.
        """
        if self.subsets == "pruned":
            return
        sizes = [
            (len(members), exclusion_sizes(len(members), self.max_subsets)) for members in boundaries.values()
        ]
        # A set that two boundaries share is decoupled once, so this is an upper bound.
        n_sets = sum(sum(counts.values()) for _, counts in sizes)
        work = sum(count * effort(m - size) for m, counts in sizes for size, count in counts.items())
        seconds = run.forecast(SETS, work)
        largest = max(m for m, _ in sizes)
        what = f"{n_sets:,} subsets of Markov boundaries of up to {largest} variables"
        if n_sets > _MOST_SETS:
            time = "" if seconds is None else f", about {duration(seconds)} of work"
            raise InputError(
                "parameter 'max_subsets'", f"{self.max_subsets} leaves {what} to search{time}", _REMEDIES
            )
        run.announce(what, seconds)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._weighting.check()
        check_subsets(self.subsets, self.max_subsets)

    @property
    def _weighting(self) -> HSICDescent:
        names = ("objective", "learning_rate", "max_steps", "min_ess", "init_scale")
        return HSICDescent(**{name: getattr(self, name) for name in names})
