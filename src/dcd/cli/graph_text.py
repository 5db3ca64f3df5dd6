"""A result as text for the terminal: the graph, its probabilities, conflicts and caveats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dcd.cli.terminal import count, say, show_table
from dcd.runtime.text import percent

if TYPE_CHECKING:
    from dcd.results.changes import Changes
    from dcd.results.model import Data, Edge, Result
    from dcd.table.dataset import TableSummary

_SHOWN = 20  # conflicts and the like that are listed without --verbose
_ONE_SIDED = ("asymmetric_boundary", "asymmetric_edge")
_SHARES = ("as drawn", "reversed", "other", "no edge")


def show_result(
    result: Result, method: str, changes: Changes | None = None, *, verbose: bool = False
) -> None:
    """The graph with probabilities and, if there are any, shares of resamples, conflicts and caveats.

    Unless `verbose`, long lists are cut, and one-sided findings about two variables are counted, not listed.
    """
    most = len(result.conflicts) + len(result.separated) if verbose else _SHOWN
    n_variables = count(len(result.names), "variable")
    say(f"{method}, alpha {result.level:g}: {n_variables}, {rows_used(result.data)}")
    show_columns_left_out(result.data)
    _show_list("Background knowledge", result.knowledge)
    say()
    _show_edges(result)
    if changes is not None:
        _show_changes(changes)
    heading = "Edges that improved the score but were not confirmed by a test"
    _show_list(heading, _separated(result), most=most)
    _show_list(
        "Conflicts and how they were resolved", _conflicts(result, verbose), len(result.conflicts), most
    )
    _show_list("Caveats", [caution.text for caution in result.cautions])
    _show_questions(result)


def _separated(result: Result) -> list[str]:
    """The pairs that a test separates, with the probability that they have an edge all the same."""
    pairs = () if result.posterior is None else result.posterior.pairs
    edge = {frozenset((pair.first, pair.second)): pair.probabilities.edge for pair in pairs}
    lines = []
    for first, second in result.separated:
        share = edge.get(frozenset((first, second)))
        lines.append(f"{first} - {second}" + ("" if share is None else f"  (edge {percent(share)})"))
    return lines


def _conflicts(result: Result, verbose: bool) -> list[str]:
    one_sided = [clash for clash in result.conflicts if clash.kind in _ONE_SIDED and not verbose]
    lines = [f"{clash.problem} {clash.action}" for clash in result.conflicts if clash not in one_sided]
    if one_sided:
        pairs = "pair has" if len(one_sided) == 1 else "pairs have"
        lines.append(
            f"{len(one_sided)} {pairs} one-sided findings: one variable is in the Markov boundary of the "
            "other, or adjacent to it, but not vice versa. --verbose lists them."
        )
    return lines


def rows_used(table: TableSummary | Data) -> str:
    """The number of rows, and how many of them were used if not all."""
    rows = count(table.n_rows, "row")
    return rows if table.n_rows_used == table.n_rows else f"{table.n_rows_used} of {rows} used"


def show_columns_left_out(table: TableSummary | Data) -> None:
    """The columns that were left out, and why."""
    for column, why in table.dropped.items():
        say(f"Left out: {column} ({why})")


def _show_edges(result: Result) -> None:
    from dcd.results.lines import doubt_about_directions, reason_for_line
    from dcd.results.origin import given_in

    edges, resampling, knowledge = result.edges, result.resampling, given_in(result)
    if not edges:
        say("No edges.", style="bold")
        return
    n_directed = sum(edge.type == "->" for edge in edges)
    known = f", {len(knowledge.arrows)} of them from knowledge;" if knowledge.arrows else ","
    parts = f"{n_directed} directed{known} {len(edges) - n_directed} undirected"
    say(f"{count(len(edges), 'edge')} ({parts})", style="bold")
    header: list[str] = ["", "", ""]
    rows: list[list[Any]] = [[edge.first, edge.type, edge.second] for edge in edges]
    if knowledge.arrows:
        _add_column(header, rows, "", ["known" if knowledge.directed(edge) else "" for edge in edges])
    if result.posterior is not None:
        _add_column(header, rows, "probability", [_probabilities(result, edge) for edge in edges])
    if resampling is not None:
        for name, *shares in zip(_SHARES, *(_shares(edge) for edge in edges), strict=True):
            _add_column(header, rows, name, shares)
    show_table(header, rows, right=_SHARES)
    if resampling is not None:
        say(f"The shares of {resampling.n_resamples} resamples indicate what another sample might show.")
    reasons = {reason_for_line(result, edge) for edge in edges}
    if result.posterior is not None and "improbable" in reasons:
        least = percent(result.posterior.arrow_probability)
        say(f"A direction with a probability below {least} is uncertain and drawn as a line.")
    if "unconfirmed" in reasons:
        say("In a table with categories, a direction that tests do not confirm is drawn as a line, too.")
    if doubt := doubt_about_directions(result):
        say(doubt)
    linked = {name for edge in edges for name in (edge.first, edge.second)}
    alone = [name for name in result.names if name not in linked]
    if alone:
        say(f"Without an edge: {', '.join(alone)}")


def _add_column(header: list[str], rows: list[list[Any]], name: str, cells: Sequence[str]) -> None:
    header.append(name)
    for row, cell in zip(rows, cells, strict=True):
        row.append(cell)


def _probabilities(result: Result, edge: Edge) -> str:
    from dcd.results.lines import reason_for_line

    found = edge.probabilities
    return "" if found is None else found.words(edge.first, edge.second, reason_for_line(result, edge))


def _shares(edge: Edge) -> list[str]:
    """The shares of resamples with the edge as drawn, reversed, of another type, and absent."""
    share = edge.frequencies
    assert share is not None  # there are resamples
    forward, backward, undirected, none = (
        _rounded(part) for part in (share.forward, share.backward, share.undirected, 1 - share.edge)
    )
    if edge.type == "->":
        return [forward, backward, undirected, none]
    return [undirected, "", _rounded(share.forward + share.backward), none]


def _rounded(share: float) -> str:
    """A share of resamples; sums of rounded shares may differ from 0 or 1 by a millionth."""
    return percent(round(share, 4))


def _show_changes(changes: Changes) -> None:
    lines = []
    for change in changes.edges:
        why = [changes.reason(change)] if changes.informed else []
        if change.shares_in_words and not change.given:
            why.append(f"probability {change.shares_in_words}")
        words = f" ({', '.join(why)})" if why else ""
        lines.append(f"{change.before} before, now {change.after}{words}")
    _show_list("Changes since the earlier result", lines or ["none"], len(lines))
    if changes.settings:
        say(f"  Other settings differ too: {', '.join(changes.settings)}")


def _show_questions(result: Result) -> None:
    """Show the questions about roots in full, and how many directions are in doubt."""
    from dcd.results.questions import doubts

    roots = [question for question in result.questions if question.kind == "root"]
    lines = [
        f"{question.text} If so, add to a knowledge file: {question.answers[0].line}" for question in roots
    ]
    if in_doubt := doubts(result):
        lines.append(f"{in_doubt}; --report and --json contain lines to copy into a knowledge file.")
    _show_list("What you may know", lines, len(result.questions))


def _show_list(heading: str, items: Sequence[str], number: int | None = None, most: int = _SHOWN) -> None:
    if not items:
        return
    say()
    say(f"{heading} ({len(items) if number is None else number})", style="bold")
    for item in items[:most]:
        say(f"  {item}")
    if len(items) > most:
        say(f"  and {len(items) - most} more")
