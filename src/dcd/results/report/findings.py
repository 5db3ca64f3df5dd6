"""The findings of a result in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from dcd.graph.probabilities import LineReason
from dcd.results.lines import doubt_about_directions, reason_for_line
from dcd.results.model import Edge, Result
from dcd.results.origin import Given
from dcd.results.report.phrases import (
    arrow,
    brief,
    count,
    direction,
    likelier_arrow,
    listed,
    number,
    probability,
    pvalue,
    sentence,
)
from dcd.runtime.text import percent
from dcd.search.conflicts import is_with_knowledge


def findings(result: Result, knowledge: Given) -> list[str]:
    """The findings, a sentence or two each, the most important first.

    `knowledge` is the part of the graph that the data do not show.
    """
    seen = [edge for edge in result.edges if not knowledge.drew(edge)]
    return [
        *_relations(result, seen),
        *_directions(result, seen, knowledge),
        *filter(None, [doubt_about_directions(result)]),
        *_groups(result),
        *_sureness(result, seen),
        *_unconfirmed(result),
        *_doubts(result),
    ]


def _relations(result: Result, seen: Sequence[Edge]) -> list[str]:
    d = len(result.names)
    required = len(result.edges) - len(seen)
    added = count(required, "edge is", "edges are") + " drawn only because knowledge requires it."
    added = f" {sentence(added if required == 1 else added.replace(' it.', ' them.'))}" if required else ""
    if not seen:
        return ["No two variables were found to be directly related." + added]
    pairs = d * (d - 1) // 2
    related = count(len(seen), "was", "were")
    text = f"Of {number(pairs)} pairs of variables, {related} found to be directly related.{added}"
    degree = {name: sum(name in (edge.first, edge.second) for edge in result.edges) for name in result.names}
    most = max(degree.values())
    hubs = [brief(name) for name in result.names if degree[name] == most]
    if len(hubs) <= 3 and most > 2:
        text += f" {listed(hubs)} {'has' if len(hubs) == 1 else 'have'} the most relations ({most})."
    return [text]


def _directions(result: Result, seen: Sequence[Edge], knowledge: Given) -> list[str]:
    by_data = [edge for edge in seen if not knowledge.directed(edge)]
    known = [edge for edge in result.edges if knowledge.directed(edge)]
    arrows = [edge for edge in by_data if edge.type == "->"]
    sentences = [_arrows(result, arrows)] if arrows else []
    sentences += _lines(result, by_data)
    if known:
        shown = listed([arrow(edge) for edge in known], 6)
        sentences.append(f"Knowledge, not the data, determines {count(len(known), 'direction')}: {shown}.")
    return [" ".join(sentences)] if sentences else []


def _arrows(result: Result, arrows: Sequence[Edge]) -> str:
    of_them, shown = count(len(arrows), "of them", "of them"), listed(list(map(_with_probability, arrows)), 6)
    if result.posterior is None:
        told_by = "The data, together with background knowledge," if result.knowledge else "The data"
        return f"{told_by} determine the direction of {of_them}: {shown}."
    least = percent(result.posterior.arrow_probability)
    which = f"Given the background knowledge, {of_them}" if result.knowledge else sentence(of_them)
    drawn = "is drawn as an arrow" if len(arrows) == 1 else "are drawn as arrows"
    told = f", with a probability of {least} or more" if result.posterior.arrow_probability > 0.0 else ""
    return f"{which} {drawn}{told}: {shown}."


def _lines(result: Result, edges: Sequence[Edge]) -> list[str]:
    """A sentence for each reason why edges are drawn as lines."""
    lines: dict[LineReason, list[Edge]] = {"undirected": [], "improbable": [], "unconfirmed": []}
    for edge in edges:
        if (reason := reason_for_line(result, edge)) is not None:
            lines[reason].append(edge)
    sentences = [_undirected(lines["undirected"], len(edges))] if lines["undirected"] else []
    if lines["improbable"] and result.posterior is not None:
        least = percent(result.posterior.arrow_probability)
        shown = listed(list(map(_with_probability, lines["improbable"])), 6)
        sentences.append(f"Directions with a probability below {least} are drawn as lines: {shown}.")
    if lines["unconfirmed"]:
        shown = listed(list(map(_with_probability, lines["unconfirmed"])), 6)
        sentences.append(f"Directions that tests do not confirm are drawn as lines: {shown}.")
    return sentences


def _undirected(lines: Sequence[Edge], n_edges: int) -> str:
    """Lines of the class, and the directions that other probable graphs have for them."""
    which = "these relations" if len(lines) == n_edges else count(len(lines), "relation")
    if all(edge.probabilities is None for edge in lines):
        why = "graphs with different directions fit equally well."
        return f"The direction of {which} cannot be determined from the data: {why}"
    text = f"For {which} either direction fits the graph."
    likelier = [likelier_arrow(edge)["arrow"] for edge in lines if _has_likelier_arrow(edge)]
    if likelier:
        text += f" In the sampled graphs, an arrow is more probable than a line for {listed(likelier, 6)}."
    return text


def _has_likelier_arrow(edge: Edge) -> bool:
    found = edge.probabilities
    return found is not None and max(found.forward, found.backward) > found.undirected


def _with_probability(edge: Edge) -> str:
    found = edge.probabilities
    return direction(edge) if found is None else f"{direction(edge)} ({percent(found.forward)})"


def groups(result: Result) -> list[list[str]]:
    """The connected parts of the graph, large ones first."""
    part = {name: {name} for name in result.names}
    for edge in result.edges:
        joined = part[edge.first] | part[edge.second]
        for name in joined:
            part[name] = joined
    distinct = {frozenset(members) for members in part.values()}
    ordered = [[name for name in result.names if name in members] for members in distinct]
    return sorted(ordered, key=lambda members: (-len(members), result.names.index(members[0])))


def _groups(result: Result) -> list[str]:
    parts = groups(result)
    connected = [members for members in parts if len(members) > 1]
    alone = [brief(members[0]) for members in parts if len(members) == 1]
    sentences = []
    if 1 < len(connected) <= 6:
        shown = "; ".join(listed([brief(name) for name in members], 6) for members in connected)
        sentences.append(
            f"The related variables form {count(len(connected), 'group')} with no relation between them: "
            f"{shown}."
        )
    if alone:
        sentences.append(f"No relation with any other variable was detected for {listed(alone)}.")
    return [" ".join(sentences)] if sentences else []


def _sureness(result: Result, seen: Sequence[Edge]) -> list[str]:
    if not seen:
        return []
    sentences = []
    probable = [edge for edge in seen if edge.probabilities is not None]
    if probable:
        firm = sum(edge.probabilities.edge >= 0.95 for edge in probable if edge.probabilities)
        weakest = min(probable, key=lambda edge: edge.probabilities.edge if edge.probabilities else 1.0)
        told = f"{sentence(count(firm, 'edge has', 'edges have'))} a probability of 95 % or more."
        if weakest.probabilities is not None and weakest.probabilities.edge < 1.0:
            words = probability(weakest, reason_for_line(result, weakest))
            told += f" The least probable is {arrow(weakest)} ({words})."
        sentences.append(told)
    if result.resampling is not None:
        again = sum(edge.frequencies is not None and edge.frequencies.edge >= 0.8 for edge in seen)
        sentences.append(
            f"{again} of {len(seen)} edges were found in at least 80 % of "
            f"{number(result.resampling.n_resamples)} fits on resampled rows."
        )
    if sentences:
        return sentences
    weakest = max(seen, key=lambda edge: edge.pvalue or 0.0)
    if weakest.pvalue is None:
        return []
    return [
        f"The weakest edge is {arrow(weakest)}. If the two were not directly related, an association at "
        f"least as strong would arise by chance with probability {pvalue(weakest.pvalue)}."
    ]


def _unconfirmed(result: Result) -> list[str]:
    pairs = [f"{brief(first)} — {brief(second)}" for first, second in result.separated]
    if not pairs:
        return []
    edges, them = sentence(count(len(pairs), "other edge")), "it" if len(pairs) == 1 else "them"
    return [f"{edges} improved the score, but a test did not confirm {them}: {listed(pairs, 6)}."]


def _doubts(result: Result) -> list[str]:
    n_cautions, n_conflicts = len(result.cautions), len(result.conflicts)
    n_known = sum(is_with_knowledge(conflict) for conflict in result.conflicts)
    if not n_cautions and not n_conflicts:
        return ["No caveats were noted."]
    doubts = []
    if n_cautions:
        doubts.append(count(n_cautions, "caveat"))
    if n_conflicts > n_known:
        doubts.append(count(n_conflicts - n_known, "contradiction") + " in the data")
    if n_known:
        doubts.append(count(n_known, "contradiction") + " between data and knowledge")
    verb = "was" if n_cautions + n_conflicts == 1 else "were"
    where = "it is" if verb == "was" else "they are"
    return [f"{sentence(listed(doubts))} {verb} noted; {where} below."]
