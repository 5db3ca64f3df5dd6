"""Small plots of rows: two variables under equal weights and under decoupling weights, and the weights.

A dot is a stroke of no length with a round end, and all dots of one size are one path: some ten characters
for each row, so that hundreds of plots fit into a page.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup

from dcd.results.model import Column, View
from dcd.results.report.phrases import number, power_of_ten
from dcd.results.report.rendering import render_template
from dcd.runtime.array_types import FloatArray
from dcd.runtime.text import shortened, text_width

_WIDTH, _HEIGHT = 440, 320
_RIGHT, _TOP, _BOTTOM = 10, 10, 42
_LEFT, _CHARACTER = 74, 16  # the least space left of the axis, and the width of a character of a wide font
_GAP = 8  # between a label and the next one, or the axis
_SIZES = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.5, 7.0, 12.0)
_DOT = 8.0  # width of a dot of weight 1
_MOST_ACROSS, _MOST_DOWN = 5, 7  # labels of levels at an axis
_STEP_X, _STEP_Y = 0.7548776662, 0.5698402910  # of the plastic ratio: together they fill a square evenly
_TREND_AT = 25


@dataclass(frozen=True)
class Axis:
    """One column of the sample as an axis of a scatter plot."""

    column: Column
    values: FloatArray

    @property
    def ends(self) -> tuple[float, float]:
        """Values at the two ends of the axis."""
        if self.column.levels is not None:
            return -0.5, len(self.column.levels) - 0.5
        low, high = float(np.nanmin(self.values)), float(np.nanmax(self.values))
        spare = 0.04 * (high - low) or 0.5
        return low - spare, high + spare

    def at(self, values: FloatArray) -> FloatArray:
        """Positions of values as shares of the length of the axis."""
        low, high = self.ends
        return (values - low) / (high - low)

    def spread(self, step: float) -> FloatArray:
        """Values, those of levels jittered so that dots do not cover each other.

        The steps of two axes must differ: with the same, the dots of two categories would lie on a diagonal.
        """
        if self.column.levels is None:
            return self.values
        moved = np.arange(len(self.values)) * step % 1.0
        return self.values + 0.5 * (moved - 0.5)

    def ticks(self, length: float | None = None) -> list[tuple[float, str]]:
        """`(share, label)`; with the `length` of a horizontal axis, labels fit beside each other."""
        levels = self.column.levels
        if levels is None:
            limits = float(np.nanmin(self.values)), float(np.nanmax(self.values))
            labels = {value: short_number(value) for value in limits}
        else:
            codes = range(0, len(levels), -(-len(levels) // (_MOST_DOWN if length is None else _MOST_ACROSS)))
            cells = 9 if len(codes) <= 3 else 6
            if length is not None:
                a_level = length / len(levels)
                cells = int(
                    min(a_level * codes.step - _GAP, a_level + 2 * _RIGHT, 9 * _CHARACTER) / _CHARACTER
                )
            labels = {float(code): shortened(levels[code], max(cells, 2)) for code in codes}
        return [(float(self.at(np.array(value))), label) for value, label in labels.items()]


@dataclass(frozen=True)
class _Place:
    """Where the axes are in the picture: `left` leaves room for the labels of the vertical one."""

    left: int

    def pixels(self, share_x: Any, share_y: Any) -> tuple[Any, Any]:
        """Positions from shares of the lengths of the two axes."""
        return (
            self.left + (_WIDTH - self.left - _RIGHT) * share_x,
            _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share_y,
        )

    def at(self, share_x: float, share_y: float) -> str:
        """A point of a path."""
        return "{:.0f} {:.0f}".format(*self.pixels(share_x, share_y))


def short_number(value: float) -> str:
    """A number in few characters, as people write it.

    >>> short_number(-1234567.0), short_number(0.00012345), short_number(12345.0), short_number(-0.5)
    ('−1.2×10⁶', '1.2×10⁻⁴', '12\u202f345', '−0.5')
    """
    size, sign = abs(value), "\u2212" if value < 0 else ""
    if size and not 0.001 <= size < 99_999.5:
        digits, _, exponent = f"{size:.1e}".partition("e")
        return f"{sign}{digits.removesuffix('.0')}\u00d7{power_of_ten(int(exponent))}"
    return sign + (number(size) if size >= 1000 else f"{size:.3g}")


def draw_scatter(x: Axis, y: Axis, weights: FloatArray | None, label: str) -> Markup:
    """Rows as dots, with area by weight, and the (weighted) mean of y along x as a line."""
    place = _Place(max(_LEFT, _GAP + round(_CHARACTER * max(text_width(text) for _, text in y.ticks()))))
    together = ~np.isnan(x.values) & ~np.isnan(y.values)
    shares = np.ones(len(together)) if weights is None else np.where(np.isnan(weights), 0.0, weights)
    shares = np.where(together, shares, 0.0)
    with np.errstate(invalid="ignore"):
        across, down = place.pixels(x.at(x.spread(_STEP_X)), y.at(y.spread(_STEP_Y)))
    return render_template(
        "scatter.svg.j2",
        width=_WIDTH,
        height=_HEIGHT,
        label=label,
        frame=f"M{place.left} {_TOP}V{_HEIGHT - _BOTTOM}H{_WIDTH - _RIGHT}",
        ticks=_ticks(place, x, y),
        dots=_dots(across, down, shares),
        trend=_trend(place, x, y, shares),
    )


def _dots(across: FloatArray, down: FloatArray, shares: FloatArray) -> list[tuple[float, str]]:
    """A width and a path for each size; rows of next to no weight are left out."""
    limits = np.array([np.sqrt(a * b) for a, b in pairwise(_SIZES)])
    size_of = np.digitize(shares, limits)
    paths = []
    for size, weight in enumerate(_SIZES):
        chosen = np.flatnonzero((size_of == size) & (shares > 0.03))
        if len(chosen):
            strokes = "".join(f"M{across[row]:.0f} {down[row]:.0f}h0" for row in chosen)
            paths.append((round(_DOT * weight**0.5, 1), strokes))
    return paths


def _ticks(place: _Place, x: Axis, y: Axis) -> list[tuple[int, int, str, str]]:
    """`(x, y, anchor, label)` of every tick."""
    ticks = []
    for share, label in x.ticks(_WIDTH - place.left - _RIGHT):
        anchor = "middle" if x.column.levels is not None else "start" if share < 0.5 else "end"
        ticks.append((round(place.pixels(share, 0)[0]), _HEIGHT - _BOTTOM + 30, anchor, label))
    for share, label in y.ticks():
        ticks.append((place.left - _GAP, round(place.pixels(0, share)[1] + 8), "end", label))
    return ticks


def _trend(place: _Place, x: Axis, y: Axis, shares: FloatArray) -> str:
    """The mean of y along x as a path: a line, or a bar at each level."""
    known = shares > 0
    has_order = y.column.kind != "nominal" or len(y.column.levels or ()) <= 2
    if not has_order or known.sum() < 10:
        return ""
    xs, ys, ws = x.at(x.values)[known], y.at(y.values)[known], shares[known]
    return _level_means(place, x, xs, ys, ws) if x.column.levels is not None else _smooth(place, xs, ys, ws)


def _smooth(place: _Place, xs: FloatArray, ys: FloatArray, ws: FloatArray) -> str:
    """A kernel regression; drawn where the kernel covers a weight of five rows or more."""
    grid = np.linspace(xs.min(), xs.max(), _TREND_AT)
    kernel = ws[None, :] * np.exp(-0.5 * np.square((grid[:, None] - xs[None, :]) / 0.09))
    mass = kernel.sum(axis=1)
    means = kernel @ ys / np.maximum(mass, 1e-12)
    points = [place.at(float(g), float(m)) for g, m, held in zip(grid, means, mass, strict=True) if held >= 5]
    return "M" + "L".join(points) if len(points) > 1 else ""


def _level_means(place: _Place, x: Axis, xs: FloatArray, ys: FloatArray, ws: FloatArray) -> str:
    half = 0.3 / len(x.column.levels or ("",))
    parts = []
    for level in np.unique(xs).tolist():
        here = xs == level
        mean = float(ws[here] @ ys[here] / ws[here].sum())
        parts.append(f"M{place.at(level - half, mean)}L{place.at(level + half, mean)}")
    return "".join(parts)


def draw_weights(view: View) -> Markup:
    """Histogram of the weights; equal weights would all be at 1."""
    width, bottom = 440, 92
    low, high = view.bins[0], view.bins[-1]
    step = width / max(len(view.counts), 1)
    heights = [max(84 * count / (max(view.counts) or 1), 1.5) if count else 0.0 for count in view.counts]
    bars = [
        (round(index * step + 1, 1), round(bottom - height, 1), round(step - 2, 1), round(height, 1))
        for index, height in enumerate(heights)
        if height
    ]
    one = round(width * (1 - low) / (high - low))
    ticks = [(0, short_number(low), "start"), (width, short_number(high), "end")]
    if 25 < one < width - 40:
        ticks.append((one, "1", "middle"))
    return render_template(
        "histogram.svg.j2",
        width=width,
        bottom=bottom,
        bars=bars,
        one=one,
        ticks=ticks,
        n_rows=view.n_rows,
        low=short_number(low),
        high=short_number(high),
    )
