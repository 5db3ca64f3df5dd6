"""Places for the labels of edges: beside the curve, where they cover least of the rest of the picture.

One label after the other is put at the candidate with the least cost: points along its curve, from the middle
towards the ends, on the right or the left of it. Covering another label or a box costs most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from dcd.runtime.array_types import FloatArray
from dcd.runtime.text import text_width

Box = tuple[float, float, float, float]  # left, top, right, bottom
Point = tuple[float, float]

_CELL = 7.7  # width of an "n" of 12 pixels
_ABOVE, _BELOW = 10.0, 4.0  # height of its text above and below the base line
_BESIDE, _CLEAR = 6.0, 2.0  # from the curve to the text, and around the text
_STEPS = 16  # points of each piece of a curve
_SHARES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)  # of the way along the curve
_COVERED, _OUTSIDE = 100.0, 1000.0  # costs; that of a point of a curve is 1
_MOST_LABELS = 300  # more are put at the middle of their edges; 300 take about a second


def points_of_curve(path: FloatArray) -> FloatArray:
    """(k, 2) points of the Bézier curve that is vertical at every point of `path`."""
    t = np.linspace(0.0, 1.0, _STEPS + 1)[:, None]
    across, down = t**2 * (3 - 2 * t), (t * (3 - 3 * t + 2 * t**2)) / 2
    weights = np.hstack([across, down])
    return np.vstack([start + (end - start) * weights for start, end in pairwise(path)])


def label_places(
    labels: Sequence[str], curves: Sequence[FloatArray], boxes: Sequence[Box], size: FloatArray
) -> list[Point]:
    """The left end of the base line of each label; `boxes` should not be covered."""
    everything = np.vstack(curves) if curves else np.zeros((0, 2))
    taken, places = np.array(boxes, dtype=float).reshape(-1, 4), []
    is_crowded = sum(map(bool, labels)) > _MOST_LABELS
    for label, curve in zip(labels, curves, strict=True):
        candidates = list(_candidates(curve, text_width(label) * _CELL))
        best = candidates[0]
        if label and not is_crowded:
            best = _cheapest(candidates, everything, taken, size)
            taken = np.vstack([taken, best])
        places.append((round(best[0] + _CLEAR, 1), round(best[3] - _BELOW, 1)))
    return places


def _candidates(curve: FloatArray, width: float) -> Iterator[Box]:
    """Boxes of a text at both sides of a curve, those near its middle first."""
    for share in _SHARES:
        x, y = curve[round(share * (len(curve) - 1))].tolist()
        top, bottom = y - (_ABOVE + _BELOW) / 2, y + (_ABOVE + _BELOW) / 2
        for left in (x + _BESIDE - _CLEAR, x - _BESIDE - _CLEAR - width):
            yield left, top, left + width + 2 * _CLEAR, bottom


def _cheapest(candidates: Sequence[Box], points: FloatArray, taken: FloatArray, size: FloatArray) -> Box:
    best, least = candidates[0], np.inf
    for box in candidates:
        cost = _cost(box, points, taken, size)
        if cost < least:
            best, least = box, cost
        if cost == 0:
            break
    return best


def _cost(box: Box, points: FloatArray, taken: FloatArray, size: FloatArray) -> float:
    left, top, right, bottom = box
    x, y = points.T
    n_points = np.sum((x > left) & (x < right) & (y > top) & (y < bottom))
    n_boxes = np.sum(
        (taken[:, 0] < right) & (taken[:, 2] > left) & (taken[:, 1] < bottom) & (taken[:, 3] > top)
    )
    outside = left < 0 or right > size[0]
    return float(n_points + _COVERED * n_boxes + _OUTSIDE * outside)
