"""One section for each variable: its Markov boundary, the effect of decoupling, and the rows of each edge."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcd.graph.probabilities import Probabilities
from dcd.results.lines import reason_for_line
from dcd.results.model import LISTED, Boundary, Edge, Member, ProbablePair, Result, View
from dcd.results.origin import Given
from dcd.results.report.phrases import (
    NONE,
    brief,
    count,
    listed,
    number,
    probability,
    pvalue,
    share_bar,
    why_a_line,
)
from dcd.results.report.scatter_plots import Axis, draw_scatter, draw_weights
from dcd.runtime.array_types import FloatArray
from dcd.runtime.text import percent, with_names_isolated

_ROLES = {
    "parent": "cause",
    "child": "effect",
    "neighbour": "cause or effect",
    "spouse": "cause of a common effect",
}
_STATUS = {
    "balanced": "down to the chance level",
    "ess_floor": "stopped at the smallest allowed sample size",
    "path_end": "as low as possible",
    "converged": "as low as possible",
    "max_steps": "stopped at the maximum number of steps",
    "nothing_to_decouple": "nothing to decouple",
}
_Panel = tuple[str, str, str | None]  # caption, strength, scatter plot
_MUCH_DEPENDENCE = 2.0
_MOST_DOTS = 120_000  # in the whole page, to keep it small


def variable_details(result: Result, knowledge: Given) -> dict[str, Any]:
    """Values for the sections of all variables; `knowledge` is the part that the data do not show."""
    details = _Details(result, knowledge)
    variables = [details.of_variable(boundary) for boundary in result.boundaries]
    return {"has_rows": bool(details.axes), "variables": variables}


class _Details:
    """Common data of the sections: effects in the graph, edges by pair, and the sample as arrays."""

    def __init__(self, result: Result, knowledge: Given) -> None:
        self.result = result
        self.effects: dict[str, set[str]] = {name: set() for name in result.names}
        for edge in result.edges:
            if edge.type == "->":
                self.effects[edge.first].add(edge.second)
        self.edges = {frozenset((edge.first, edge.second)): edge for edge in result.edges}
        self.frequencies = {
            pair: edge.frequencies for pair, edge in self.edges.items() if not knowledge.drew(edge)
        }
        posterior = result.posterior
        self.pairs = {
            frozenset((pair.first, pair.second)): pair for pair in (posterior.pairs if posterior else ())
        }
        sample = result.sample
        self.axes: dict[str, Axis] = {}  # empty without rows
        self.weights: dict[str, FloatArray] = {}
        if sample is not None and sample.rows:
            # With very many scatter plots, rows are left out.
            n_rows, n_plots = len(sample.rows), 2 * sum(len(b.members) for b in result.boundaries)
            step = -(-n_rows // min(n_rows, max(60, _MOST_DOTS // max(n_plots, 1))))
            for column in result.data.columns:
                self.axes[column.name] = Axis(column, _floats(sample.values[column.name])[::step])
            self.weights = {name: _floats(weights)[::step] for name, weights in sample.weights.items()}

    def of_variable(self, boundary: Boundary) -> dict[str, Any]:
        """Values for the section of one variable."""
        members, target, view = boundary.members, boundary.target, boundary.view
        n_adjacent = sum(member.role != "spouse" for member in members)
        n_spouses = sum(self._share_effect(target, member) for member in members)
        decoupled = view if view is not None and len(view.decoupled) > 1 else None
        return {
            "target": target,
            "n_adjacent": n_adjacent,
            "n_spouses": n_spouses,
            "n_others": len(members) - n_adjacent - n_spouses,
            "members": [self._member(target, member, decoupled is not None) for member in members],
            "view": view,
            "effect": effect_of_weights(decoupled, target) if decoupled else "",
            "histogram": draw_weights(decoupled) if decoupled else "",
            "remarks": self._remarks(target),
        }

    def _share_effect(self, target: str, member: Member) -> bool:
        """Whether a member without an edge is a cause of an effect of the target, in the graph."""
        return member.role == "spouse" and bool(self.effects[target] & self.effects[member.name])

    def _member(self, target: str, member: Member, is_decoupled: bool) -> dict[str, Any]:
        is_apart = member.role == "spouse" and not self._share_effect(target, member)
        numbers = [pvalue(member.pvalue)]
        if self.result.resampling:
            frequencies = self.frequencies.get(frozenset((member.name, target)))
            numbers.append(NONE if frequencies is None else percent(frequencies.edge))
        return {
            "name": member.name,
            "role": "no edge drawn" if is_apart else _ROLES[member.role],
            "probability": self._probability(target, member.name),
            "reason": self._reason(target, member.name),
            "numbers": numbers,
            "measure": member.measure,
            "before": _signed(member.before),
            "after": _signed(member.after),
            "panels": self._panels(target, member, is_decoupled) if self.axes else [],
        }

    def _probability(self, target: str, member: str) -> dict[str, Any] | None:
        """The words and the four numbers of a pair; `forward` is from the member to the target."""
        together, names = frozenset((target, member)), (member, target)
        if self.result.posterior is None:
            return None
        if (edge := self.edges.get(together)) is not None and edge.probabilities is not None:
            summary = probability(edge, reason_for_line(self.result, edge))
            return share_bar(_from(member, edge, edge.probabilities), summary, names)
        if (pair := self.pairs.get(together)) is not None:
            summary = f"edge {percent(pair.probabilities.edge)}"
            return share_bar(_from(member, pair, pair.probabilities), summary, names)
        return {"summary": f"edge below {percent(LISTED)}", "bars": [], "shares": ""}

    def _reason(self, target: str, member: str) -> str:
        """Why an edge is drawn as a line, if it is one."""
        edge, posterior = self.edges.get(frozenset((target, member))), self.result.posterior
        reason = None if edge is None else reason_for_line(self.result, edge)
        if edge is None or reason is None or posterior is None:
            return ""
        return why_a_line(edge, reason, posterior.arrow_probability)

    def _panels(self, target: str, member: Member, is_decoupled: bool) -> list[_Panel]:
        """The scatter plots as measured and, if there are weights, weighted."""
        x, y = self.axes[member.name], self.axes[target]
        is_empty = np.isnan(x.values).all() or np.isnan(y.values).all()

        def panel(caption: str, strength: float | None, weights: FloatArray | None) -> _Panel:
            label = f"{target} against {member.name}, {caption.lower()}"
            return caption, _signed(strength), None if is_empty else draw_scatter(x, y, weights, label)

        panels = [panel("As measured", member.before, None)]
        if is_decoupled and target in self.weights:
            panels.append(panel("Weighted", member.after, self.weights[target]))
        return panels

    def _remarks(self, target: str) -> list[str]:
        """Caveats and conflicts that concern a variable."""
        texts = [(caution.text, caution.variables) for caution in self.result.cautions]
        texts += [(f"{clash.problem} {clash.action}", clash.variables) for clash in self.result.conflicts]
        return [with_names_isolated(text, names) for text, names in texts if target in names]


def _from(member: str, pair: Edge | ProbablePair, found: Probabilities) -> Probabilities:
    """The probabilities of a pair with `member` as its first variable."""
    return found if pair.first == member else found.reversed()


def _floats(values: tuple[float | None, ...]) -> FloatArray:
    return np.array(values, dtype=np.float64)


def _signed(value: float | None) -> str:
    return NONE if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "\u2212")


def _times(value: float) -> str:
    return f"{value:.1f}" if value < 10 else number(value)


def effect_of_weights(view: View, target: str) -> str:
    """The effect of the weights, in a sentence or two."""
    is_tested = target in view.decoupled  # by Robust DCD, whose weights are those of a test
    around = f"the {count(len(view.decoupled), 'variable')} around it"
    some = listed([brief(name) for name in view.decoupled], 6) if is_tested else around
    if view.dependence_before <= 1 and view.dependence == view.dependence_before:
        return f"The dependence among {some} is no more than chance, so all rows count the same."
    before, after = _times(view.dependence_before), _times(view.dependence)
    fall = f"from {before} to {after} times the chance level ({_STATUS.get(view.status, view.status)})."
    if is_tested:
        text = f"A test was repeated under weights that reduce the dependence among {some} {fall} "
        rest = "An association that persists under the weights does not come from that dependence."
    else:
        text = f"Weights make {some} independent of each other: their dependence falls {fall} "
        rest = "A variable that still depends on it does so directly."
    if view.dependence > _MUCH_DEPENDENCE:
        rest = "Some remains, so part of an association may still be due to the other variables."
    return text + rest
