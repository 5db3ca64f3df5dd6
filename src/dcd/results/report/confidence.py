"""How sure an edge is: one number for each edge, in three grades, and the stops of the slider.

With resamples the number is the share of them in which the pair had an edge; without, it is -log10 of the
p-value.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from typing import Literal, get_args

from dcd.results.model import Edge, Result
from dcd.results.origin import Given, given_in
from dcd.results.report.phrases import percent, power_of_ten

Grade = Literal["firm", "fair", "weak"]
GRADES: tuple[Grade, ...] = get_args(Grade)
_EXPONENTS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40, 60, 80, 100, 150, 200, 300)


@dataclass(frozen=True)
class Scale:
    """How confidence is measured in a result.

    `firm` and `fair` are the lower limits of these grades. Edges that come from `knowledge` alone have no
    grade: the data do not show them.
    """

    by_frequency: bool
    firm: float
    fair: float
    knowledge: Given

    def strength(self, edge: Edge) -> float | None:
        """The number of an edge; None if there is none."""
        if self.knowledge.drew(edge):
            return None
        if self.by_frequency:
            return None if edge.frequencies is None else edge.frequencies.edge
        return None if edge.pvalue is None else -log10(max(edge.pvalue, 1e-300))

    def grade(self, edge: Edge) -> Grade | None:
        """The grade of an edge; None if it comes from knowledge alone."""
        if self.knowledge.drew(edge):
            return None
        strength = self.strength(edge)
        if strength is None or strength < self.fair:
            return "weak"
        return "firm" if strength >= self.firm else "fair"

    def words(self, grade: Grade) -> str:
        """What a grade means."""
        if self.by_frequency:
            firm, fair = percent(self.firm), percent(self.fair)
            return {
                "firm": f"in at least {firm} of resamples",
                "fair": f"in {fair} to {firm}",
                "weak": f"in less than {fair}",
            }[grade]
        firm, fair = power_of_ten(-int(self.firm)), power_of_ten(-int(self.fair))
        return {"firm": f"p up to {firm}", "fair": f"p up to {fair}", "weak": f"p above {fair}"}[grade]

    def slider_stops(self, result: Result) -> list[tuple[float, str]]:
        """`(least strength, words)` for each stop of the slider, from all edges to the strongest."""
        strengths = [s for edge in result.edges if (s := self.strength(edge)) is not None]
        top = max(strengths, default=0.0)
        if self.by_frequency:
            stops = [(n / 20, f"in at least {percent(n / 20)} of resamples") for n in range(1, 21)]
        else:
            stops = [(float(e), f"p-value up to {power_of_ten(-e)}") for e in _EXPONENTS]
        return [(0.0, "all edges"), *(stop for stop in stops if stop[0] <= top + 1e-9)]


def scale_of(result: Result) -> Scale:
    """The scale for a result."""
    by_frequency = result.resampling is not None
    firm, fair = (0.8, 0.5) if by_frequency else (8.0, 4.0)
    return Scale(by_frequency, firm, fair, given_in(result))
