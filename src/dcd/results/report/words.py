"""Numbers and findings in words."""

from __future__ import annotations

from collections.abc import Sequence

from dcd.results.model import Edge, Result
from dcd.results.origin import Given, given_in, is_with_knowledge
from dcd.runtime.text import isolated, shortened

NONE = "\u2013"  # an en dash where there is nothing
ROLES = {
    "parent": "cause",
    "child": "effect",
    "neighbour": "cause or effect",
    "spouse": "cause of a common effect",
}
STATUS = {
    "balanced": "down to the level of chance",
    "converged": "as far as it goes",
    "ess_floor": "as far as the floor under the sample size allows",
    "path_end": "as far as it goes",
    "max_steps": "up to the largest number of steps",
    "nothing_to_decouple": "nothing to decouple",
}
_DIGITS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def pvalue(value: float | None) -> str:
    """A p-value for people."""
    if value is None:
        return NONE
    if value < 1e-300:
        return "< 10⁻³⁰⁰"
    if value >= 0.0001:
        return f"{value:.2g}" if value >= 0.001 else f"{value:.1g}"
    digit, _, power = f"{value:.0e}".partition("e")
    return f"{digit} \u00d7 {power_of_ten(int(power))}"


def power_of_ten(exponent: int) -> str:
    """10 with an exponent."""
    return f"10{str(exponent).translate(_DIGITS)}"


def number(value: float) -> str:
    """A number of rows or the like, with thin spaces between thousands."""
    return f"{value:,.0f}".replace(",", "\u202f")


def times(value: float) -> str:
    """A multiple, short."""
    return f"{value:.1f}" if value < 10 else number(value)


def percent(share: float) -> str:
    """A share; never 0 % or 100 % unless it is."""
    rounded = round(100 * share)
    if rounded == 100 and share < 1:
        return "> 99 %"
    return "< 1 %" if rounded == 0 and share > 0 else f"{rounded} %"


def count(amount: int, noun: str, plural: str | None = None) -> str:
    """`three edges`."""
    word = _NUMBERS[amount] if amount < len(_NUMBERS) else number(amount)
    return f"{word} {noun if amount == 1 else plural or noun + 's'}"


def listed(items: Sequence[str], most: int = 8) -> str:
    """Items in a sentence, the first of many."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {number(len(items) - most)} more"
    return ", ".join(items[:-1]) + " and " + items[-1] if len(items) > 1 else "".join(items)


def sentence(text: str) -> str:
    """With a capital at its beginning."""
    return text[:1].upper() + text[1:]


def brief(name: str) -> str:
    """A name for a sentence or a label."""
    return isolated(shortened(name, 40)) if name.strip() else "(no name)"


def arrow(edge: Edge) -> str:
    """`a → b` or `a — b`."""
    return f"{brief(edge.first)} {'→' if edge.type == '->' else '—'} {brief(edge.second)}"


def findings(result: Result) -> list[str]:
    """The findings, a sentence or two each, the most important first."""
    given = given_in(result)
    seen = [edge for edge in result.edges if not given.drew(edge)]
    return [
        *_relations(result, seen),
        *_directions(seen, given),
        *_groups(result),
        *_sureness(result, seen),
        *_doubts(result),
    ]


def _relations(result: Result, seen: Sequence[Edge]) -> list[str]:
    d = len(result.names)
    required = len(result.edges) - len(seen)
    added = count(required, "edge is", "edges are") + " there only because knowledge requires it."
    added = f" {sentence(added if required == 1 else added.replace(' it.', ' them.'))}" if required else ""
    if not seen:
        return ["No two variables were found to be directly related." + added]
    pairs = d * (d - 1) // 2
    related = count(len(seen), "pair is", "pairs are")
    text = f"Of {number(pairs)} pairs of variables, {related} directly related.{added}"
    degree = {name: sum(name in (edge.first, edge.second) for edge in result.edges) for name in result.names}
    most = max(degree.values())
    hubs = [brief(name) for name in result.names if degree[name] == most]
    if len(hubs) <= 3 and most > 2:
        text += f" {listed(hubs)} {'has' if len(hubs) == 1 else 'have'} the most relations ({most})."
    return [text]


def _directions(seen: Sequence[Edge], given: Given) -> list[str]:
    if not seen:
        return []
    known = [edge for edge in seen if given.directed(edge)]
    arrows = [edge for edge in seen if edge.type == "->" and not given.directed(edge)]
    lines = len(seen) - len(arrows) - len(known)
    if not arrows:
        text = (
            "The direction of these relations cannot be told from the data: graphs with different directions "
            "fit equally well."
        )
    else:
        told = listed([arrow(edge) for edge in arrows], 6)
        text = f"The direction is known for {count(len(arrows), 'of them', 'of them')}: {told}."
        if lines:
            text += f" For {count(lines, 'other')} it cannot be told from such data."
    if known:
        told = listed([arrow(edge) for edge in known], 6)
        text += f" Knowledge that was given, and not the data, directs {count(len(known), 'edge')}: {told}."
    return [text]


def groups(result: Result) -> list[list[str]]:
    """The connected parts of the graph, large ones first."""
    part = {name: {name} for name in result.names}
    for edge in result.edges:
        joined = part[edge.first] | part[edge.second]
        for name in joined:
            part[name] = joined
    found = {frozenset(members) for members in part.values()}
    ordered = [[name for name in result.names if name in members] for members in found]
    return sorted(ordered, key=lambda members: (-len(members), result.names.index(members[0])))


def _groups(result: Result) -> list[str]:
    parts = groups(result)
    connected = [members for members in parts if len(members) > 1]
    alone = [brief(members[0]) for members in parts if len(members) == 1]
    sentences = []
    if 1 < len(connected) <= 6:
        shown = "; ".join(listed([brief(name) for name in members], 6) for members in connected)
        sentences.append(
            f"They form {count(len(connected), 'group')} with no relation between them: {shown}."
        )
    if alone:
        stand = "stands" if len(alone) == 1 else "stand"
        sentences.append(f"{listed(alone)} {stand} apart: no relation with the others was seen.")
    return [" ".join(sentences)] if sentences else []


def _sureness(result: Result, seen: Sequence[Edge]) -> list[str]:
    if not seen:
        return []
    if result.resampling is not None:
        again = sum(edge.frequencies is not None and edge.frequencies.edge >= 0.8 for edge in seen)
        return [
            f"In {number(result.resampling.n_resamples)} fits on resampled rows, {again} of "
            f"{len(seen)} edges came back at least four times in five."
        ]
    weakest = max((edge for edge in seen if edge.pvalue is not None), key=_pvalue_of, default=None)
    if weakest is None:
        return []
    return [
        f"The weakest edge is {arrow(weakest)}. If the two were not directly related, an association like "
        f"theirs would come up by chance with probability {pvalue(weakest.pvalue)}."
    ]


def _pvalue_of(edge: Edge) -> float:
    return edge.pvalue or 0.0


def _doubts(result: Result) -> list[str]:
    n_cautions, n_conflicts = len(result.cautions), len(result.conflicts)
    n_known = sum(is_with_knowledge(conflict) for conflict in result.conflicts)
    if not n_cautions and not n_conflicts:
        return ["Nothing in the data contradicted itself, and nothing unusual was noticed on the way."]
    found = []
    if n_cautions:
        found.append(count(n_cautions, "reason") + " for care")
    if n_conflicts > n_known:
        found.append(count(n_conflicts - n_known, "contradiction") + " in the data")
    if n_known:
        found.append(count(n_known, "contradiction") + " between data and knowledge")
    verb = "was" if n_cautions + n_conflicts == 1 else "were"
    where = "it is" if verb == "was" else "they are"
    return [f"{sentence(listed(found))} {verb} noted; {where} below."]
