"""How certain an edge is: one number for each edge, in three grades, and the stops of the slider.

The number is the probability of an edge; without probabilities, the share of resamples in which the pair had
an edge; without these, -log10 of the p-value.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from typing import Literal, get_args

from dcd.results.model import Edge, Result
from dcd.results.origin import Given, given_in
from dcd.results.report.phrases import power_of_ten
from dcd.runtime.text import percent

Grade = Literal["firm", "fair", "weak"]
GRADES: tuple[Grade, ...] = get_args(Grade)
Measure = Literal["probability", "frequency", "pvalue"]
_LIMITS: dict[Measure, tuple[float, float]] = {
    "probability": (0.95, 0.8),
    "frequency": (0.8, 0.5),
    "pvalue": (8.0, 4.0),
}
_AT_LEAST = {"probability": "edge probability at least {}", "frequency": "in at least {} of resamples"}
WIDTHS: dict[Grade | None, float] = {"firm": 3.4, "fair": 2.0, "weak": 1.4, None: 2.0}
_EXPONENTS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40, 60, 80, 100, 150, 200, 300)


@dataclass(frozen=True)
class Scale:
    """How confidence is measured in a result.

    `firm` and `fair` are the lower limits of these grades. Edges that come from `knowledge` alone have no
    grade: the data do not show them.
    """

    measure: Measure
    firm: float
    fair: float
    knowledge: Given

    def strength(self, edge: Edge) -> float | None:
        """The number that measures the confidence in an edge; None if there is none."""
        if self.knowledge.drew(edge):
            return None
        if self.measure == "pvalue":
            return None if edge.pvalue is None else -log10(max(edge.pvalue, 1e-300))
        shares = edge.probabilities if self.measure == "probability" else edge.frequencies
        return None if shares is None else round(shares.edge, 6)

    def grade(self, edge: Edge) -> Grade | None:
        """The grade of an edge; None if it comes from knowledge alone."""
        if self.knowledge.drew(edge):
            return None
        strength = self.strength(edge)
        if strength is None or strength < self.fair:
            return "weak"
        return "firm" if strength >= self.firm else "fair"

    def width(self, edge: Edge) -> float:
        """How wide an edge is drawn: by its probability or, without one, by its grade."""
        if self.measure == "probability" and (strength := self.strength(edge)) is not None:
            return round(1.0 + 2.4 * strength**4, 2)  # 3.4 at 100 %, 3.0 at 95 %, 2.0 at 80 %, 1.2 at 50 %
        return WIDTHS[self.grade(edge)]

    def words(self, grade: Grade) -> str:
        """What a grade means."""
        if self.measure != "pvalue":
            firm, fair = percent(self.firm), percent(self.fair)
            what = "edge probability" if self.measure == "probability" else "in"
            return {
                "firm": _AT_LEAST[self.measure].format(firm),
                "fair": f"{what} {fair} to {firm}",
                "weak": f"{what} {'below' if self.measure == 'probability' else 'less than'} {fair}",
            }[grade]
        firm, fair = power_of_ten(-int(self.firm)), power_of_ten(-int(self.fair))
        return {"firm": f"p up to {firm}", "fair": f"p up to {fair}", "weak": f"p above {fair}"}[grade]

    def slider_stops(self, result: Result) -> list[tuple[float, str]]:
        """`(least strength, words)` for each stop of the slider, from all edges to the strongest."""
        strengths = [s for edge in result.edges if (s := self.strength(edge)) is not None]
        top = max(strengths, default=0.0)
        if self.measure != "pvalue":
            stops = [(n / 20, _AT_LEAST[self.measure].format(percent(n / 20))) for n in range(1, 21)]
        else:
            stops = [(float(e), f"p-value up to {power_of_ten(-e)}") for e in _EXPONENTS]
        return [(0.0, "all edges"), *(stop for stop in stops if stop[0] <= top + 1e-9)]


def scale_of(result: Result) -> Scale:
    """The scale for a result."""
    measure: Measure = "pvalue" if result.resampling is None else "frequency"
    if result.posterior is not None:
        measure = "probability"
    return Scale(measure, *_LIMITS[measure], given_in(result))
