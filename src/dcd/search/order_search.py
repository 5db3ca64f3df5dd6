r"""Neighbours in a straight table: by a search over orders of the variables.

In a straight table (`linear`) an order of the variables makes a DAG: each variable is regressed on those
before it, and those that are worth their price are its parents. The fit of an order is that of its DAG,

.. math:: -\tfrac12 \sum_i \bigl( n \log \mathrm{RSS}_i + \mathrm{price} \cdot |\mathrm{pa}(i)| \bigr) ,

and the order of best fit is looked for: one variable at a time moves to its best place. Each relation is so
judged once, given the parents of one end, where a search for separating sets lets a weak relation go if any
of many tests does not see it. With all independences known, the sparsest DAG of any order has the skeleton of
the truth (Raskutti and Uhler 2018).

Only variables in the boundary of each other are ever parents, so a move concerns few regressions. The search
starts at trees of the strongest correlations, spread from a random root (on a tree that is the answer), and
at random.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcd.graph.bound_knowledge import BoundKnowledge
from dcd.graph.knowledge import bind_knowledge
from dcd.runtime.array_types import BoolArray
from dcd.search.linear import Lines
from dcd.search.neighbours import TargetSearch

_STARTS, _SWEEPS, _IDLE_SWEEPS = 4, 30, 3  # of each kind
_IMPROVED = 1e-5

Family = frozenset[int]


def search_orders(
    lines: Lines,
    names: Sequence[str],
    rng: np.random.Generator,
    *,
    knowledge: BoundKnowledge | None = None,
) -> tuple[list[TargetSearch], list[int]]:
    """Boundaries and neighbours of all variables of a straight table, and the best order."""
    known = knowledge or bind_knowledge(None, names)
    everything = range(len(names))
    boundaries = [lines.selected(t, [v for v in everything if v != t])[0] for t in everything]
    order, parents = _best(lines, boundaries, known.joined, known.apart, rng)
    overruled = np.zeros_like(known.joined)
    if known.joined.any() or known.apart.any():
        nothing = np.zeros_like(known.joined)
        alone = _skeleton(_best(lines, boundaries, nothing, nothing, rng)[1])
        overruled = np.where(alone, known.apart, known.joined)
    neighbours: list[dict[str, float]] = [{} for _ in everything]
    for child, own in enumerate(parents):
        for parent in own:
            pvalue = _pvalue(lines, parent, child, own)
            neighbours[child][names[parent]] = neighbours[parent][names[child]] = pvalue
    searches = [
        TargetSearch(
            target=names[t],
            boundary=tuple(names[v] for v in boundaries[t]),
            neighbours={name: neighbours[t][name] for name in names if name in neighbours[t]},
            colliders={},
            cut=None,
            overruled=tuple(names[v] for v in everything if overruled[t, v]),
            pvalues={names[v]: _pvalue(lines, v, t, boundaries[t]) for v in boundaries[t]},
        )
        for t in everything
    ]
    return searches, order


def _pvalue(lines: Lines, member: int, target: int, members: Sequence[int]) -> float:
    """p-value of a member in the regression of a target on all members."""
    others = [v for v in members if v != member]
    return float(np.exp(lines.log_pvalue(member, target, others)))


def _best(
    lines: Lines,
    boundaries: Sequence[Sequence[int]],
    joined: BoolArray,
    apart: BoolArray,
    rng: np.random.Generator,
) -> tuple[list[int], list[tuple[int, ...]]]:
    """The best order that was found, and the parents of every variable in its DAG."""
    near = joined.copy()
    for target, members in enumerate(boundaries):
        near[target, members] = near[members, target] = True
    near &= ~apart
    orders = Orders(lines, near, joined)
    starts = [_spread_from_a_root(lines, near, rng) for _ in range(_STARTS)]
    starts += [rng.permutation(lines.n_variables).tolist() for _ in range(_STARTS)]
    found = [orders.improved(start, rng) for start in starts]
    best = max(found, key=orders.fit)
    place = _places(best)
    return best, [orders.parents(v, orders.before(v, place)) for v in range(lines.n_variables)]


class Orders:
    """Orders of the variables and the DAGs that they make.

    Parameters
    ----------
    near : (d, d), which two may be adjacent; symmetric.
    joined : (d, d), which two have to be; symmetric.
    """

    def __init__(self, lines: Lines, near: BoolArray, joined: BoolArray) -> None:
        self._lines = lines
        self._near = [frozenset(np.flatnonzero(row).tolist()) for row in near]
        self._joined = [frozenset(np.flatnonzero(row).tolist()) for row in joined]
        self._known: dict[tuple[int, Family], tuple[float, tuple[int, ...]]] = {}

    def fit(self, order: Sequence[int]) -> float:
        """How good the DAG of an order is."""
        place = _places(order)
        return sum(self._local(v, self.before(v, place)) for v in order)

    def before(self, variable: int, place: dict[int, int]) -> Family:
        """What may be a parent of a variable and comes before it."""
        own = place[variable]
        return frozenset(v for v in self._near[variable] if place[v] < own)

    def parents(self, variable: int, before: Family) -> tuple[int, ...]:
        """The parents of a variable among those before it."""
        self._local(variable, before)
        return self._known[variable, before][1]

    def improved(self, order: list[int], rng: np.random.Generator) -> list[int]:
        """Move one variable at a time to its best place until nothing has improved for some sweeps."""
        idle = 0
        for _ in range(_SWEEPS):
            gained = 0.0
            for variable in rng.permutation(len(order)).tolist():
                order, gain = self._moved(order, variable, rng)
                gained += gain
            idle = 0 if gained > _IMPROVED else idle + 1
            if idle == _IDLE_SWEEPS:
                break
        return order

    def _moved(self, order: list[int], variable: int, rng: np.random.Generator) -> tuple[list[int], float]:
        """The order with one variable at its best place, ties broken at random, and what that gains."""
        near, place = self._near[variable], _places(order)
        rest = [v for v in order if v != variable]
        slots = [0, *(index + 1 for index, v in enumerate(rest) if v in near)]
        others = {v: self.before(v, place) - {variable} for v in near}
        without = {v: self._local(v, others[v]) for v in near}
        with_it = {v: self._local(v, others[v] | {variable}) for v in near}

        def fit_after(before: Family) -> float:
            own = self._local(variable, before)
            return own + sum(without[v] if v in before else with_it[v] for v in sorted(near))

        before: Family = frozenset()
        fits = [fit_after(before)]
        for slot in slots[1:]:
            before |= {rest[slot - 1]}
            fits.append(fit_after(before))
        best = int(np.argmax(np.array(fits) + 0.01 * _IMPROVED * rng.random(len(fits))))
        gain = fits[best] - fit_after(self.before(variable, place))
        return [*rest[: slots[best]], variable, *rest[slots[best] :]], max(gain, 0.0)

    def _local(self, variable: int, before: Family) -> float:
        """The part of the fit that one variable has, by what may be a parent of it."""
        key = (variable, before)
        if key not in self._known:
            required = before & self._joined[variable]
            members, left = self._lines.selected(variable, before, required)
            fit = -0.5 * (self._lines.n_samples * np.log(left) + self._lines.price * len(members))
            self._known[key] = (float(fit), tuple(members))
        return self._known[key][0]


def _spread_from_a_root(lines: Lines, near: BoolArray, rng: np.random.Generator) -> list[int]:
    """An order along trees of the strongest correlations of what may be adjacent, from random roots."""
    strength = np.where(near, np.abs(lines.correlations), 0.0)
    order: list[int] = []
    for start in rng.permutation(lines.n_variables).tolist():
        if start in order:
            continue
        reached = strength[start].copy()  # Prim's method, within what is connected with the start
        order.append(start)
        while True:
            reached[order] = 0.0
            following = int(np.argmax(reached))
            if reached[following] == 0.0:
                break
            order.append(following)
            reached = np.maximum(reached, strength[following])
    return order


def _places(order: Sequence[int]) -> dict[int, int]:
    return {v: index for index, v in enumerate(order)}


def _skeleton(parents: Sequence[Sequence[int]]) -> BoolArray:
    skeleton = np.zeros((len(parents), len(parents)), dtype=bool)
    for child, own in enumerate(parents):
        skeleton[list(own), child] = skeleton[child, list(own)] = True
    return skeleton
