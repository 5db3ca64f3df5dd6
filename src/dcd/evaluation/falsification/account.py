"""The result for each statement of a tested graph, and the findings in words."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dcd.graph.cpdag import CPDAG
from dcd.results.report.phrases import count, label, listed, pvalue
from dcd.runtime.array_types import IntArray
from dcd.runtime.files import write_text

_SHOWN = 20  # statements listed in text
_NO_TREND = 0.05  # correlation below which a violated statement is about a curve, a spread or the like


@dataclass(frozen=True)
class Independence:
    """One statement of the graph: `first` is independent of `second` given a set.

    Attributes
    ----------
    first, second, given : the variables; `given` are the parents of one of the two.
    pvalue : of the statement; None if too few rows are complete in these variables.
    adjusted : the p-value by Holm's method, over all statements that could be tested.
    violated : whether `adjusted` is at most the level.
    correlation : partial rank correlation of the two given the set, for violated statements; the largest
        one of any function of a nominal variable, without a sign.
    n_rows : rows that are complete in these variables.
    """

    first: str
    second: str
    given: tuple[str, ...]
    pvalue: float | None
    adjusted: float | None
    violated: bool
    correlation: float | None
    n_rows: int

    @property
    def strength(self) -> str:
        """The correlation in words; empty if there is none."""
        if self.correlation is None:
            return ""
        words = f"{'partial ' if self.given else ''}rank correlation"
        if abs(self.correlation) < _NO_TREND:
            return f"{words} near 0: not a monotone relation"
        return f"{words} {self.correlation:+.2f}"

    def __str__(self) -> str:
        given = f" given {listed([label(name) for name in self.given])}" if self.given else ""
        return f"{label(self.first)} is independent of {label(self.second)}{given}"


@dataclass(frozen=True)
class EdgeTest:
    """One edge of the graph, tested given the other parents of its effect.

    Attributes
    ----------
    first, second, type : the edge as drawn, `first -> second` or `first - second`.
    given : the other parents of the effect, in the DAG that was tested.
    pvalue : of the independence of the two given these; None if it cannot be tested.
    needed : whether the p-value is at most the level; None if it cannot be tested.
    n_rows : rows that are complete in these variables.
    """

    first: str
    second: str
    type: str
    given: tuple[str, ...]
    pvalue: float | None
    needed: bool | None
    n_rows: int

    def __str__(self) -> str:
        return f"{label(self.first)} {self.type} {label(self.second)}"


@dataclass(frozen=True)
class Shown:
    """A variable in a picture: its values in some rows, or its residuals; `levels` names codes."""

    values: tuple[float, ...] = field(repr=False)
    levels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Picture:
    """Some rows behind a violated statement: both variables as measured, and adjusted for the set.

    Attributes
    ----------
    statement : position of the statement among `independences`.
    measured, adjusted : the first and the second variable. Adjusted values are residuals of normal scores;
        a nominal variable of several categories stays as measured.
    """

    statement: int
    measured: tuple[Shown, Shown]
    adjusted: tuple[Shown, Shown]


@dataclass(frozen=True, eq=False)
class Account:
    """The contents of a `Falsification`, and their description; see there."""

    names: tuple[str, ...]
    adjacency: IntArray = field(repr=False)
    dag: IntArray = field(repr=False)
    independences: tuple[Independence, ...] = field(repr=False)
    edges: tuple[EdgeTest, ...] = field(repr=False)
    alpha: float
    permuted: tuple[int, ...] = field(repr=False)
    n_equivalent: int
    n_rows: int
    n_rows_tested: int
    ignored: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = field(default=(), repr=False)
    title: str = ""

    @property
    def violated(self) -> tuple[Independence, ...]:
        """The statements that the data contradict, the clearest first."""
        found = [one for one in self.independences if one.violated]
        return tuple(sorted(found, key=lambda one: one.pvalue or 0.0))

    @property
    def unneeded(self) -> tuple[EdgeTest, ...]:
        """The edges that the data do not support, the least supported first."""
        found = [edge for edge in self.edges if edge.needed is False]
        return tuple(sorted(found, key=lambda edge: -(edge.pvalue or 0.0)))

    @property
    def n_untested(self) -> int:
        """How many statements have too few complete rows."""
        return sum(one.pvalue is None for one in self.independences)

    @property
    def n_no_worse(self) -> int:
        """How many relabelled graphs violate no more statements than the graph."""
        return sum(n_violated <= len(self.violated) for n_violated in self.permuted)

    @property
    def permutation_pvalue(self) -> float | None:
        """p-value of "the graph fits no better than with shuffled names"; None without relabelled graphs."""
        return (1 + self.n_no_worse) / (1 + len(self.permuted)) if self.permuted else None

    @property
    def cpdag(self) -> CPDAG:
        """The class of the graph."""
        return CPDAG.from_dag(self.names, self.dag)

    # --- in words ----------------------------------------------------------------------------------------

    def findings(self) -> list[str]:
        """The answer in sentences, the most important first."""
        return [sentence for sentence in (self._verdict(), *self.comparison(), *self._needless()) if sentence]

    def _verdict(self) -> str:
        n_tested, n_violated = len(self.independences) - self.n_untested, len(self.violated)
        if not self.independences:
            return "The graph implies no independence: every pair is joined, so no data could contradict it."
        if not n_tested:
            return "None of the independences that the graph implies could be tested."
        untested = f" ({self.n_untested} more could not be tested)" if self.n_untested else ""
        if not n_violated:
            which = "the one independence" if n_tested == 1 else f"none of the {n_tested} independences"
            verb = "do not contradict" if n_tested == 1 else "contradict"
            return f"The data {verb} {which} that the graph implies{untested}."
        which = f"{n_violated} of the {n_tested} independences" if n_tested > 1 else "the one independence"
        if n_violated == n_tested > 1:
            which = f"all {n_tested} independences"
        return f"The data contradict {which} that the graph implies{untested}."

    def comparison(self) -> list[str]:
        """How the graph compares with relabelled graphs, in a sentence; empty if there are none."""
        if not self.independences or not (self.permuted or self.n_equivalent):
            return []
        if self.permutation_pvalue is None:
            return [
                "Shuffled names imply the same independences: the graph says nothing about single variables."
            ]
        n_all = len(self.permuted)
        do = "does" if self.n_no_worse == 1 else "do"
        n_good = f"{self.n_no_worse} {do} at least as well"
        told = f"Of {n_all} graphs of the same shape with shuffled names, {n_good}"
        if self.permutation_pvalue <= self.alpha:
            return [f"{told}: the graph fits these data far better than chance."]
        if not self.n_no_worse:
            return [f"{told}; at least {int(1 / self.alpha)} are needed to distinguish that from chance."]
        if not self.violated:
            return [f"{told}: passing means little here, because graphs with shuffled names pass too."]
        return [f"{told}: the graph does not clearly fit better than shuffled names."]

    def _needless(self) -> list[str]:
        if not self.unneeded:
            return []
        edges = listed([str(edge) for edge in self.unneeded], most=6)
        return [f"The data do not support {count(len(self.unneeded), 'edge')}: {edges}."]

    def __str__(self) -> str:
        lines = [*self.findings(), ""]
        lines += [_violation_line(one) for one in self.violated[:_SHOWN]]
        if len(self.violated) > _SHOWN:
            lines.append(f"  and {len(self.violated) - _SHOWN} more")
        return "\n".join(lines).rstrip()

    # --- for programs ------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """One row for each statement and each edge.

        Columns: `kind` ("independence" or "edge"), `first`, `second`, `given`, `pvalue`, `adjusted` (of
        independences), `correlation` (of violated ones), `n_rows` and `verdict`: "holds", "violated",
        "needed", "no need" or "untested".
        """
        rows: list[dict[str, Any]] = []
        for one in self.independences:
            verdict = "untested" if one.pvalue is None else "violated" if one.violated else "holds"
            kept = {name: value for name, value in vars(one).items() if name != "violated"}
            rows.append({"kind": "independence", **kept, "verdict": verdict})
        for edge in self.edges:
            verdict = "untested" if edge.needed is None else "needed" if edge.needed else "no need"
            kept = {name: value for name, value in vars(edge).items() if name not in ("type", "needed")}
            rows.append({"kind": "edge", **kept, "verdict": verdict})
        columns = [
            "kind",
            "first",
            "second",
            "given",
            "pvalue",
            "adjusted",
            "correlation",
            "n_rows",
            "verdict",
        ]
        frame = pd.DataFrame(rows, columns=columns)
        return frame.astype(dict.fromkeys(("pvalue", "adjusted", "correlation"), float))

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, text and numbers, for JSON."""
        document = asdict(self)
        for key in ("adjacency", "dag"):
            document[key] = np.asarray(document[key]).tolist()
        document |= {
            "violated": len(self.violated),
            "unneeded": len(self.unneeded),
            "n_no_worse": self.n_no_worse,
            "permutation_pvalue": self.permutation_pvalue,
            "findings": self.findings(),
        }
        return dict(json.loads(json.dumps(document, allow_nan=False)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON, completely or not at all."""
        write_text(path, json.dumps(self.to_dict(), indent=1) + "\n")


def _violation_line(one: Independence) -> str:
    return f"  {one}: violated ({', '.join(filter(None, [f'p {pvalue(one.pvalue)}', one.strength]))})"
