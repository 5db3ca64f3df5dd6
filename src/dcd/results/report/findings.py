"""The findings of a result in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from dcd.results.model import Edge, Result
from dcd.results.origin import Given, is_with_knowledge
from dcd.results.report.phrases import (
    arrow,
    brief,
    count,
    direction,
    lacks_only_tests,
    listed,
    number,
    probability,
    pvalue,
    sentence,
)
from dcd.runtime.text import percent


def findings(result: Result, knowledge: Given) -> list[str]:
    """The findings, a sentence or two each, the most important first.

    `knowledge` is the part of the graph that the data do not show.
    """
    seen = [edge for edge in result.edges if not knowledge.drew(edge)]
    return [
        *_relations(result, seen),
        *_directions(result, seen, knowledge),
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
    related = count(len(seen), "pair is", "pairs are")
    text = f"Of {number(pairs)} pairs of variables, {related} directly related.{added}"
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
    uncertain = [edge for edge in by_data if edge.uncertain]
    lines = len(by_data) - len(arrows) - len(uncertain)
    text = _arrows(result, arrows, lines) if arrows else _no_arrows(lines, len(result.edges))
    if uncertain and result.posterior is not None:
        least = result.posterior.arrow_probability
        reasons = {False: f"with a probability below {percent(least)}", True: "that tests do not confirm"}
        for is_probable, reason in reasons.items():
            some = [edge for edge in uncertain if lacks_only_tests(edge, least) == is_probable]
            if some:
                shown = listed([_with_probability(edge) for edge in some], 6)
                text += f" Directions {reason} are drawn as lines: {shown}."
    if known:
        shown = listed([arrow(edge) for edge in known], 6)
        text += f" Knowledge, not the data, determines {count(len(known), 'direction')}: {shown}."
    return [text.strip()] if text else []


def _arrows(result: Result, arrows: Sequence[Edge], lines: int) -> str:
    of_them, shown = count(len(arrows), "of them", "of them"), listed(list(map(_with_probability, arrows)), 6)
    least = ""
    if result.posterior is not None:
        least = f", with a probability of {percent(result.posterior.arrow_probability)} or more"
    told_by = "The data, together with the knowledge that was given," if result.knowledge else "The data"
    text = f"{told_by} determine the direction of {of_them}{least}: {shown}."
    return f"{text} For {count(lines, 'other')} the data leave it open." if lines else text


def _no_arrows(n_lines: int, n_edges: int) -> str:
    if not n_lines:
        return ""
    which = count(n_lines, "relation") if n_lines < n_edges else "these relations"
    why = "cannot be determined from the data: graphs with different directions fit equally well."
    return f"The direction of {which} {why}"


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
            f"They form {count(len(connected), 'group')} with no relation between them: {shown}."
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
            told += f" The least probable is {arrow(weakest)} ({probability(weakest)})."
        sentences.append(told)
    if result.resampling is not None:
        again = sum(edge.frequencies is not None and edge.frequencies.edge >= 0.8 for edge in seen)
        sentences.append(
            f"In {number(result.resampling.n_resamples)} fits on resampled rows, {again} of "
            f"{len(seen)} edges were found in at least 80 % of them."
        )
    if sentences:
        return sentences
    weakest = max(seen, key=lambda edge: edge.pvalue or 0.0)
    if weakest.pvalue is None:
        return []
    return [
        f"The weakest edge is {arrow(weakest)}. If the two were not directly related, an association like "
        f"theirs would arise by chance with probability {pvalue(weakest.pvalue)}."
    ]


def _unconfirmed(result: Result) -> list[str]:
    pairs = [f"{brief(first)} — {brief(second)}" for first, second in result.separated]
    if not pairs:
        return []
    edges, them = sentence(count(len(pairs), "other edge")), "it" if len(pairs) == 1 else "them"
    return [f"{edges} fitted the data, but a test did not confirm {them}: {listed(pairs, 6)}."]


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
