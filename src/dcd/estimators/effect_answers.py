"""`Effect`: the effect of one variable on another in all possible graphs, and its description."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Literal, get_args

import pandas as pd

from dcd.graph.drawing.cpdag_plot import LABEL_CELLS, import_pyplot
from dcd.runtime.errors import check_contract
from dcd.runtime.text import figures, percent, shortened, text_width, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Over = Literal["posterior", "class"]
OVER: tuple[Over, ...] = get_args(Over)
_BLUE, _GREY = "#0072B2", "#777777"
_NAMES_SHOWN = 6
_SHOWN = 8  # answers listed in text
_MOST = 0.9  # of the share that was estimated; what `range_90` covers
_LABEL_CHARACTERS = 34  # in each of the two lines of a label in the plot
_AXIS_CELLS = 50  # the longest label of the axis in one line


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
    share_error : the Monte Carlo standard error of the share, from its spread between the chains; None if
        unknown, as for a saved result, which does not keep the chains apart; not part of a comparison.
    """

    adjustment: tuple[str, ...] | None
    estimate: float
    standard_error: float
    interval: tuple[float, float]
    share: float | None
    n_rows: int
    caution: str = ""
    share_error: float | None = field(default=None, compare=False)

    @property
    def words(self) -> str:
        """The adjustment in words: the variables that are held fixed."""
        if self.adjustment is None:
            return "not a cause"
        return f"{listed_names(self.adjustment)} held fixed" if self.adjustment else "nothing held fixed"

    @property
    def share_words(self) -> str:
        """The share with its Monte Carlo standard error, such as "55 % ± 6 %"; empty if unknown."""
        if self.share is None:
            return ""
        return percent(self.share) + (f" ± {percent(self.share_error)}" if self.share_error else "")


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
    no_effect_left_out : the part of `left_out` in which the treatment does not cause the outcome.
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
    no_effect_left_out: float = 0.0

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

    @property
    def most_frequent(self) -> EffectAnswer | None:
        """The answer with the largest share; None if shares are unknown, or if two are the largest."""
        first, *others = self.answers
        tied = any(other.share == first.share for other in others)
        return None if first.share is None or tied else first

    @property
    def range_90(self) -> tuple[float, float] | None:
        """The shortest range of estimates with at least 90 % of the share that was estimated.

        Unlike `low` and `high`, it ignores rare answers. None if shares are unknown.
        """
        shares = [answer.share for answer in self.answers if answer.share is not None]
        if len(shares) < len(self.answers):
            return None
        return shortest_range([answer.estimate for answer in self.answers], shares, _MOST)

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
            return f"{effect} {between} ({confidence} intervals: {low} to {high}).{self._most_words}"
        if only.adjustment is None:
            where = "any graph of the class"
            if self.over == "posterior":
                where = f"{percent(only.share or 0.0)} {self._graphs}"
            return f"{effect} is 0: {self.treatment} does not cause {self.outcome} in {where}."
        return f"{effect} is {figures(only.estimate)}{self._unit} ({confidence} confidence: {low} to {high})."

    @property
    def _most_words(self) -> str:
        """What most graphs say: the most frequent answer, a shorter range, and how many have no effect."""
        most, words = self.most_frequent, ""
        if most is not None:
            value = "no effect" if most.adjustment is None else figures(most.estimate)
            words = f" The most frequent answer is {value} ({percent(most.share or 0.0)} {self._graphs})."
        shorter = self.range_90 if self.range_90 != (self.low, self.high) else None
        if shorter is not None and shorter[0] < shorter[1]:
            low, high = map(figures, shorter)
            where = f"between {low} and {high}"
            words += f" In at least {percent(_MOST)} of the graphs with an answer, the effect is {where}."
        for answer in self.answers:
            if answer.adjustment is None and answer.share is not None and answer is not most:
                words += f" {percent(answer.share)} {self._graphs} have no effect."
        return words

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
        others = self.answers[n_shown:]
        rest = [answer for answer in others if answer.adjustment is not None]
        alone = others if len(rest) < 2 else [answer for answer in others if answer.adjustment is None]
        for answer in (*self.answers[:n_shown], *alone):
            yield f"{self._share(answer)}: {self._answer_words(answer)}"
        if len(rest) > 1:
            low, high = (end(answer.estimate for answer in rest) for end in (min, max))
            share = sum(answer.share or 0 for answer in rest)
            words = f"{percent(share)} {self._graphs}" if share else "other graphs"
            yield f"{words}: {figures(low)} to {figures(high)}, {len(rest)} other adjustments"
        if self.no_effect_left_out > 0:
            words = f"{self._no_effect}, too rare to be in the range"
            yield f"{percent(self.no_effect_left_out)} {self._graphs}: {words}"
        if (left_out := self.left_out - self.no_effect_left_out) > 1e-9:
            rare = "adjustment sets too rare to be estimated; not in the range"
            yield f"{percent(left_out)} {self._graphs}: {rare}"

    def _answer_words(self, answer: EffectAnswer) -> str:
        if answer.adjustment is None:
            return self._no_effect
        low, high = answer.interval
        estimate = f"{figures(answer.estimate)} ({figures(low)} to {figures(high)})"
        return f"{estimate}, {answer.words}, {answer.n_rows} rows"

    @property
    def _no_effect(self) -> str:
        return f"no effect, {self.treatment} does not cause {self.outcome}"

    def _share(self, answer: EffectAnswer) -> str:
        if len(self.answers) == 1 and self.over == "class":
            return "every graph of the class"
        return "some graphs" if answer.share is None else f"{answer.share_words} {self._graphs}"

    @property
    def shares_note(self) -> str:
        """What shares of sampled graphs are, and are not; empty for the graphs of a class."""
        if self.over == "class":
            return ""
        error = "; ± is their Monte Carlo standard error" * any(answer.share_error for answer in self.answers)
        return (
            f"Shares count sampled graphs and, unlike the probabilities of arrows, are not calibrated{error}."
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """The sentence, the reasons, what their shares are, and the caveats."""
        several = ["Possible graphs give different answers:"] * (len(self.answers) > 1)
        reasons = (f"  {reason}" for reason in self.reasons)
        note = [self.shares_note] * bool(self.shares_note)
        return (
            self.sentence,
            *several,
            *reasons,
            *note,
            *(f"Caveat: {caution}" for caution in self.cautions),
        )

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(visible(answer.words))}</td><td>{figures(answer.estimate)}</td>"
            f"<td>{figures(answer.interval[0])} to {figures(answer.interval[1])}</td>"
            f"<td>{escape(answer.share_words)}</td>"
            f"<td>{answer.n_rows or ''}</td></tr>"
            for answer in self.answers
        )
        share = "sampled graphs" if self.over == "posterior" else "graphs"
        head = f"<th>adjustment</th><th>effect</th><th>{percent(self.confidence)}</th><th>{share}</th>"
        notes = [*([self.shares_note] * bool(self.shares_note)), *(f"Caveat: {one}" for one in self.cautions)]
        paragraphs = "".join(f"<p>{escape(visible(note))}</p>" for note in notes)
        return (
            f"<p>{escape(visible(self.sentence))}</p><table><thead><tr>{head}<th>rows</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>{paragraphs}"
        )

    # --- as data and as a picture ------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """One row for each answer; `adjustment` is None if there is no effect."""
        rows = [
            (a.adjustment, a.estimate, a.standard_error, *a.interval, a.share, a.share_error, a.n_rows)
            for a in self.answers
        ]
        columns = [
            "adjustment",
            "estimate",
            "standard_error",
            "low",
            "high",
            "share",
            "share_error",
            "n_rows",
        ]
        return pd.DataFrame(rows, columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """JSON values: the attributes, and what is derived from them, such as `low` and `sentence`."""
        derived = ("low", "high", "interval", "range_90", "sentence", "reasons", "shares_note")
        most = None if self.most_frequent is None else asdict(self.most_frequent)
        return {**asdict(self), **{name: getattr(self, name) for name in derived}, "most_frequent": most}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the estimates with their intervals, a line for each answer, the largest share on top.

        Larger dots have larger shares, which are on the right; the range of the estimates is shaded.
        """
        if ax is None:
            size = (8.4, 1.9 + 0.42 * len(self.answers))
            figure, ax = import_pyplot().subplots(figsize=size, layout="constrained")
            figure.get_layout_engine().set(w_pad=0.15, h_pad=0.1)  # inches
        check_contract("ax", ax, methods=("errorbar", "axvspan"), example="ax=None")
        ax.axvline(0.0, color=_GREY, lw=1, ls="dotted")
        ax.axvspan(self.low, self.high, color=_BLUE, alpha=0.12, lw=0)
        for position, answer in enumerate(self.answers):
            ax.plot(answer.interval, [position, position], color=_BLUE, lw=2, solid_capstyle="butt")
            ax.plot(
                answer.estimate, position, "o", color=_BLUE, markersize=4 + 6 * (answer.share or 0) ** 0.5
            )
        labels = [_label(answer) for answer in self.answers]
        ax.set_yticks(range(len(labels)), labels, parse_math=False)
        ax.set_ylim(len(labels) - 0.5, -0.5)
        ax.text(-0.02, 1.02, "held fixed", transform=ax.transAxes, ha="right", fontsize="small", color=_GREY)
        self._write_shares(ax)
        parts = (f"effect of {self._treatment_words}", f"on {self._outcome_words}", self._unit.strip())
        words = [shortened(visible(part), 2 * LABEL_CELLS) for part in parts if part]
        break_lines = sum(map(text_width, words)) > _AXIS_CELLS
        ax.set_xlabel(("\n" if break_lines else " ").join(words), parse_math=False)
        ax.locator_params(axis="x", nbins=5)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        return ax

    def _write_shares(self, ax: Axes) -> None:
        """The shares on the right of the axes, and above them what they are."""
        if all(answer.share is None for answer in self.answers):
            return
        beside = ax.get_yaxis_transform()
        for position, answer in enumerate(self.answers):
            ax.text(1.03, position, answer.share_words, transform=beside, va="center")
        head = "graphs of\nthe class"
        if self.over == "posterior":
            head = "sampled graphs\n(not calibrated"
            head += ",\n± Monte Carlo error)" if any(one.share_error for one in self.answers) else ")"
        ax.text(1.03, 1.02, head, transform=ax.transAxes, va="bottom", fontsize="small", color=_GREY)


def _label(answer: EffectAnswer) -> str:
    """What is held fixed, in at most two lines, with a count of the names that do not fit."""
    if not answer.adjustment:
        return "(not a cause)" if answer.adjustment is None else "nothing"
    names = [shortened(visible(name), LABEL_CELLS) for name in answer.adjustment]
    lines: list[str] = []
    for n_shown in range(len(names), 0, -1):
        rest = [f"{len(names) - n_shown} more"] * (n_shown < len(names))
        lines = textwrap.wrap(_joined([*names[:n_shown], *rest]), _LABEL_CHARACTERS)
        if len(lines) <= 2:
            break
    return "\n".join(lines)


def shortest_range(estimates: Sequence[float], shares: Sequence[float], part: float) -> tuple[float, float]:
    """The shortest range of estimates that has at least a part of the sum of their shares.

    Of ranges of the same length, the one with the largest share is returned, then the lowest.
    """

    def inside(low: float, high: float) -> float:
        pairs = zip(estimates, shares, strict=True)
        return sum(share for estimate, share in pairs if low <= estimate <= high)

    enough = part * sum(shares) - 1e-9
    every_range = combinations_with_replacement(sorted(set(estimates)), 2)
    wide = [(low, high) for low, high in every_range if inside(low, high) >= enough]
    return min(wide, key=lambda ends: (ends[1] - ends[0], -inside(*ends), ends[0]))


def listed_names(names: tuple[str, ...]) -> str:
    """The names as part of a sentence; of many, the first few."""
    return _joined(names if len(names) <= _NAMES_SHOWN else (*names[: _NAMES_SHOWN - 1], "others"))


def _joined(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
