"""Numbers, names, edges and their probabilities as words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dcd.graph.probabilities import LineReason, Probabilities
from dcd.results.model import Edge, Frequencies, ProbablePair
from dcd.runtime.text import isolated, percent, shortened

NONE = "\u2013"  # an en dash where there is nothing
_BAR_WIDTH = 120
_DIGITS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def pvalue(value: float | None) -> str:
    """A p-value as text."""
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
    """A whole number with thin spaces between thousands."""
    return f"{value:,.0f}".replace(",", "\u202f")


def count(amount: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun, small numbers as words: `three edges`."""
    word = _NUMBERS[amount] if amount < len(_NUMBERS) else number(amount)
    return f"{word} {noun if amount == 1 else plural or noun + 's'}"


def listed(items: Sequence[str], most: int = 8) -> str:
    """Items as part of a sentence; only the first ones if there are many."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {number(len(items) - most)} more"
    return ", ".join(items[:-1]) + " and " + items[-1] if len(items) > 1 else "".join(items)


def sentence(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def label(name: str, cells: int = 40) -> str:
    """A name cut to a width; never empty."""
    return shortened(name, cells) if name.strip() else "(no name)"


def brief(name: str) -> str:
    """A name for use in a sentence, beside an arrow."""
    return isolated(label(name))


def symbol(edge: Edge) -> str:
    """An arrow or a line."""
    return "→" if edge.type == "->" else "—"


def arrow(edge: Edge) -> str:
    """`a → b` or `a — b`."""
    return f"{brief(edge.first)} {symbol(edge)} {brief(edge.second)}"


def direction(pair: Edge | ProbablePair) -> str:
    """`a → b`, even if it is drawn differently."""
    return f"{brief(pair.first)} → {brief(pair.second)}"


def likelier_arrow(pair: Edge | ProbablePair) -> dict[str, str]:
    """The probabilities of a pair without an arrow: of an edge, of the likelier arrow, and of other types."""
    found = pair.probabilities
    assert found is not None  # the result has a posterior
    arrow = direction(pair)
    if found.backward > found.forward:
        found, arrow = found.reversed(), f"{brief(pair.second)} → {brief(pair.first)}"
    share = f"{arrow} {percent(found.forward)}"
    return {"edge_share": percent(found.edge), "arrow": share, "others": other_types(found)}


def other_types(found: Probabilities) -> str:
    """The probabilities of the types of edge other than first → second."""
    return f"the opposite {percent(found.backward)}, undirected {percent(found.undirected)}"


def share_bar(
    shares: Frequencies | Probabilities, summary: str, names: tuple[str, str] | None = None
) -> dict[str, Any]:
    """The share of each type of edge, as a bar and in words, with a summary.

    The arrow in words is between `names`, if there are any.
    """
    forward = "→" if names is None else f"{brief(names[0])} → {brief(names[1])}"
    words = {"forward": forward, "backward": "←", "undirected": "—", "absent": "none"}
    bars, start, parts = [], 0.0, []
    for kind, sign in words.items():
        share = getattr(shares, kind, 0.0)  # frequencies leave out how often there was no edge
        if kind != "absent":
            bars.append((kind, round(_BAR_WIDTH * start, 1), round(_BAR_WIDTH * share, 1)))
        start += share
        if share > 0 or isinstance(shares, Probabilities):
            parts.append(f"{sign} {percent(share)}")
    return {"summary": summary, "bars": bars, "shares": ", ".join(parts)}


def probability(edge: Edge, reason: LineReason | None) -> str:
    """`arrow 93 %, edge 99 %`, or the words for a line; empty without probabilities."""
    if edge.probabilities is None:
        return ""
    return edge.probabilities.words(brief(edge.first), brief(edge.second), reason, arrow="→")


def why_a_line(edge: Edge, reason: LineReason, least: float) -> str:
    """Why an edge is drawn as a line; `least` is the smallest probability of an arrow that is drawn."""
    if reason == "undirected" or edge.probabilities is None:
        return "either direction fits the graph"
    share = percent_below(edge.probabilities.forward, least)
    if reason == "unconfirmed":
        return f"its direction has probability {share}, but tests do not confirm it"
    tests = ", and tests do not confirm it" if edge.confirmed is False else ""
    return f"its direction has probability {share}, below the limit of {percent(least)}{tests}"


def percent_below(share: float, least: float) -> str:
    """A share, with a decimal if it is below another one but would look the same."""
    looks_the_same = share < least and percent(share) == percent(least)
    return f"{100 * share:.1f} %" if looks_the_same else percent(share)
