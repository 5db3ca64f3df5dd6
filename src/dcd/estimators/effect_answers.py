"""`Effect`: the effect of one variable on another in all possible graphs, and its description."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal, get_args

import pandas as pd

from dcd.graph.drawing.cpdag_plot import LABEL_CELLS, import_pyplot
from dcd.runtime.errors import check_contract
from dcd.runtime.text import figures, percent, shortened, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Over = Literal["posterior", "class"]
OVER: tuple[Over, ...] = get_args(Over)
_BLUE, _GREY = "#0072B2", "#777777"
_NAMES_SHOWN = 6
_SHOWN = 8  # answers listed in text


@dataclass(frozen=True)
class EffectAnswer:
    """The effect in the graphs that need the same adjustment.

    Attributes
    ----------
    adjustment : the variables that are held fixed; None if the treatment does not cause the outcome.
    estimate, standard_error, interval : of the effect; all 0 if there is none.
    share : of the sampled graphs, or of the graphs of the class; None if there are too many to count.
    n_rows : rows complete in treatment, outcome and adjustment; 0 if nothing had to be estimated.
    caution : a source of uncertainty beyond the interval; empty if there is none.
    """

    adjustment: tuple[str, ...] | None
    estimate: float
    standard_error: float
    interval: tuple[float, float]
    share: float | None
    n_rows: int
    caution: str = ""

    @property
    def words(self) -> str:
        """The adjustment in words: the variables that are held fixed."""
        if self.adjustment is None:
            return "not a cause"
        return f"{_listed(self.adjustment)} held fixed" if self.adjustment else "nothing held fixed"


@dataclass(frozen=True)
class Effect:
    """The effect of a treatment on an outcome, with its range over graphs.

    Attributes
    ----------
    treatment, outcome : names of the variables.
    levels : the two levels of the treatment that are compared; None for the change per unit.
    outcome_level : the level of the outcome whose probability changes; None for a numeric outcome.
    answers : one for each adjustment that some graph needs, the largest share first.
    over : graphs sampled from the "posterior", or all graphs of the "class".
    confidence : of each interval.
    estimator : "flexible" or "linear".
    left_out : the share of the graphs whose rare adjustments were not estimated.
    n_rows : rows of the table.
    cautions : caveats, as sentences.
    """

    treatment: str
    outcome: str
    levels: tuple[str, str] | None
    outcome_level: str | None
    answers: tuple[EffectAnswer, ...]
    over: Over
    confidence: float
    estimator: str
    left_out: float
    n_rows: int
    cautions: tuple[str, ...] = ()

    @property
    def low(self) -> float:
        """The smallest of the estimates."""
        return min(answer.estimate for answer in self.answers)

    @property
    def high(self) -> float:
        """The largest of the estimates."""
        return max(answer.estimate for answer in self.answers)

    @property
    def interval(self) -> tuple[float, float]:
        """From the lowest to the highest end of the confidence intervals."""
        ends = [end for answer in self.answers for end in answer.interval]
        return min(ends), max(ends)

    # --- as text -----------------------------------------------------------------------------------------

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        effect = f"The effect of {self._treatment_words} on {self._outcome_words}"
        low, high = map(figures, self.interval)
        confidence = percent(self.confidence)
        only = self.answers[0]
        if len(self.answers) > 1:
            between = f"is between {figures(self.low)} and {figures(self.high)}{self._unit}"
            return f"{effect} {between} ({confidence} intervals: {low} to {high}).{self._none_words}"
        if only.adjustment is None:
            where = "in any graph of the class" if self.over == "class" else f"({percent(only.share or 0)})"
            return f"{effect} is 0: {self.treatment} does not cause {self.outcome} {where}."
        return f"{effect} is {figures(only.estimate)}{self._unit} ({confidence} confidence: {low} to {high})."

    @property
    def _none_words(self) -> str:
        shares = [answer.share for answer in self.answers if answer.adjustment is None]
        known = bool(shares) and shares[0] is not None
        return f" {percent(shares[0] or 0.0)} {self._graphs} have no effect." if known else ""

    @property
    def _treatment_words(self) -> str:
        if self.levels is None:
            return self.treatment
        return f"{self.treatment} ({self.levels[1]} instead of {self.levels[0]})"

    @property
    def _outcome_words(self) -> str:
        return self.outcome if self.outcome_level is None else f"P({self.outcome} = {self.outcome_level})"

    @property
    def _unit(self) -> str:
        return f" per unit of {self.treatment}" if self.levels is None else ""

    @property
    def _graphs(self) -> str:
        return "of the graphs of the class" if self.over == "class" else "of the sampled graphs"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why there is a range of effects: one line for each answer."""
        return tuple(self._reasons())

    def _reasons(self) -> Iterator[str]:
        n_shown = _SHOWN if len(self.answers) > _SHOWN + 1 else _SHOWN + 1
        for answer in self.answers[:n_shown]:
            if answer.adjustment is None:
                yield f"{self._share(answer)}: no effect, {self.treatment} does not cause {self.outcome}"
                continue
            low, high = answer.interval
            estimate = f"{figures(answer.estimate)} ({figures(low)} to {figures(high)})"
            yield f"{self._share(answer)}: {estimate}, {answer.words}, {answer.n_rows} rows"
        if rest := self.answers[n_shown:]:
            low, high = (end(answer.estimate for answer in rest) for end in (min, max))
            share = sum(answer.share or 0 for answer in rest)
            words = f"{percent(share)} {self._graphs}" if share else "other graphs"
            yield f"{words}: {figures(low)} to {figures(high)}, {len(rest)} other adjustments"
        if self.left_out > 0:
            rare = "adjustments too rare to be estimated, not in the range"
            yield f"{percent(self.left_out)} {self._graphs}: {rare}"

    def _share(self, answer: EffectAnswer) -> str:
        if len(self.answers) == 1 and self.over == "class":
            return "every graph of the class"
        return "some graphs" if answer.share is None else f"{percent(answer.share)} {self._graphs}"

    @property
    def lines(self) -> tuple[str, ...]:
        """The sentence, the reasons and the caveats."""
        several = ["Possible graphs give different answers:"] * (len(self.answers) > 1)
        reasons = (f"  {reason}" for reason in self.reasons)
        return (self.sentence, *several, *reasons, *(f"Caveat: {caution}" for caution in self.cautions))

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(visible(answer.words))}</td><td>{figures(answer.estimate)}</td>"
            f"<td>{figures(answer.interval[0])} to {figures(answer.interval[1])}</td>"
            f"<td>{'' if answer.share is None else percent(answer.share).replace('<', '&lt;')}</td>"
            f"<td>{answer.n_rows or ''}</td></tr>"
            for answer in self.answers
        )
        share = "sampled graphs" if self.over == "posterior" else "graphs"
        head = f"<th>adjustment</th><th>effect</th><th>{percent(self.confidence)}</th><th>{share}</th>"
        cautions = "".join(f"<p>Caveat: {escape(visible(caution))}</p>" for caution in self.cautions)
        return (
            f"<p>{escape(visible(self.sentence))}</p><table><thead><tr>{head}<th>rows</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>{cautions}"
        )

    # --- as data and as a picture ------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """One row for each answer; `adjustment` is None if there is no effect."""
        rows = [
            (a.adjustment, a.estimate, a.standard_error, *a.interval, a.share, a.n_rows) for a in self.answers
        ]
        columns = ["adjustment", "estimate", "standard_error", "low", "high", "share", "n_rows"]
        return pd.DataFrame(rows, columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """JSON values: the attributes, and `low`, `high`, `interval`, `sentence` and `reasons`."""
        derived = ("low", "high", "interval", "sentence", "reasons")
        return {**asdict(self), **{name: getattr(self, name) for name in derived}}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the estimates with their intervals, a line for each answer, the largest share on top.

        Larger dots have larger shares; the range of the estimates is shaded.
        """
        if ax is None:
            size = (7.2, 1.2 + 0.32 * len(self.answers))
            ax = import_pyplot().subplots(figsize=size, layout="constrained")[1]
        check_contract("ax", ax, methods=("errorbar", "axvspan"), example="ax=None")
        ax.axvline(0.0, color=_GREY, lw=1, ls="dotted")
        ax.axvspan(self.low, self.high, color=_BLUE, alpha=0.12, lw=0)
        labels = []
        for position, answer in enumerate(self.answers):
            ax.plot(answer.interval, [position, position], color=_BLUE, lw=2, solid_capstyle="butt")
            ax.plot(
                answer.estimate, position, "o", color=_BLUE, markersize=4 + 6 * (answer.share or 0) ** 0.5
            )
            share = "" if answer.share is None else f"  {percent(answer.share)}"
            labels.append(f"{shortened(visible(answer.words), 2 * LABEL_CELLS)}{share}")
        ax.set_yticks(range(len(labels)), labels, parse_math=False)
        ax.set_ylim(len(labels) - 0.5, -0.5)
        words = (self._treatment_words, f"{self._outcome_words}{self._unit}")
        treatment, outcome = (shortened(visible(text), 2 * LABEL_CELLS) for text in words)
        ax.set_xlabel(f"effect of {treatment} on {outcome}", parse_math=False)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        return ax


def _listed(names: tuple[str, ...]) -> str:
    *first, last = names if len(names) <= _NAMES_SHOWN else (*names[: _NAMES_SHOWN - 1], "others")
    return f"{', '.join(first)} and {last}" if first else last
