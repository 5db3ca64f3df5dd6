"""Search over orders of the variables: one variable at a time moves to its best position.

The predecessors of a variable are the variables before it that may be adjacent to it; its parents are among
them. An order is scored by the sum over variables of a fit and by the log prior of the sum of a count, both
functions of the variable and its predecessors. A move changes only the terms of the variable and its possible
neighbours. Ties are broken at random, because many orders make the same DAG.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

Predecessors = frozenset[int]
LocalScore = Callable[[int, Predecessors], tuple[float, int]]
CountPrior = Callable[[int], float]

_MOST_SWEEPS = 30
_TIE = 1e-7  # smaller differences in score are ties


class OrderSearch:
    """Orders of variables and their scores.

    Parameters
    ----------
    adjacent : for each variable those that may be adjacent to it; symmetric.
    local : `local(variable, predecessors)` is the variable's fit and count.
    idle_sweeps : stop after so many sweeps over all variables without improvement.
    tolerance : smallest improvement of a sweep.
    """

    def __init__(
        self, adjacent: Sequence[Predecessors], local: LocalScore, *, idle_sweeps: int, tolerance: float
    ) -> None:
        self._adjacent, self._local = adjacent, local
        self._idle_sweeps, self._tolerance = idle_sweeps, tolerance

    def predecessors(self, variable: int, position: Mapping[int, int]) -> Predecessors:
        """The possible parents of a variable, given the positions in an order."""
        return frozenset(v for v in self._adjacent[variable] if position[v] < position[variable])

    def score(self, order: Sequence[int]) -> tuple[float, int]:
        """Fit and count of an order."""
        position = positions(order)
        return _total([self._local(v, self.predecessors(v, position)) for v in order])

    def improved(
        self, order: list[int], rng: np.random.Generator, log_prior: CountPrior = lambda _: 0.0
    ) -> list[int]:
        """The order after moves of single variables."""
        idle, variables = 0, sorted(order)
        fit, count = self.score(order)
        for _ in range(_MOST_SWEEPS):
            before = fit + log_prior(count)
            for variable in rng.permutation(variables).tolist():
                order, fit, count = self._moved(order, variable, rng, log_prior, fit, count)
            idle = 0 if fit + log_prior(count) > before + self._tolerance else idle + 1
            if idle == self._idle_sweeps:
                break
        return order

    def _moved(
        self,
        order: list[int],
        variable: int,
        rng: np.random.Generator,
        log_prior: CountPrior,
        fit: float,
        count: int,
    ) -> tuple[list[int], float, int]:
        """The order with one variable at its best position, with its fit and count."""
        position, adjacent = positions(order), self._adjacent[variable]
        rest = [v for v in order if v != variable]
        passed = [v for v in rest if v in adjacent]
        others = {v: self.predecessors(v, position) - {variable} for v in adjacent}
        without = {v: self._local(v, before) for v, before in others.items()}
        with_it = {v: self._local(v, before | {variable}) for v, before in others.items()}
        parts = []
        for k in range(len(passed) + 1):
            before = frozenset(passed[:k])
            around = [without[v] if v in before else with_it[v] for v in adjacent]
            parts.append(_total([self._local(variable, before), *around]))
        now = parts[len(self.predecessors(variable, position))]
        fit, count = fit - now[0], count - now[1]
        totals = [(fit + part[0], count + part[1]) for part in parts]
        values = [total[0] + log_prior(total[1]) + _TIE * rng.random() for total in totals]
        best = max(range(len(values)), key=lambda k: (values[k], k))
        slot = rest.index(passed[best - 1]) + 1 if best else 0
        return [*rest[:slot], variable, *rest[slot:]], *totals[best]


def positions(order: Sequence[int]) -> dict[int, int]:
    """The position of each variable in an order."""
    return {v: index for index, v in enumerate(order)}


def _total(parts: Sequence[tuple[float, int]]) -> tuple[float, int]:
    return sum(part[0] for part in parts), sum(part[1] for part in parts)
