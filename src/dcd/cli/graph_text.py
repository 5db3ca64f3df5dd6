"""A graph as text for the terminal, with what a reader should know about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dcd.cli.terminal import count, say, show_table

if TYPE_CHECKING:
    from dcd.graph.cpdag import CPDAG
    from dcd.table.dataset import TableSummary

_SHOWN = 20  # conflicts and the like listed in full


def show_model(model: Any, method: str, stability: Any) -> None:
    """The graph of a fitted estimator with conflicts and, if there is one, its stability."""
    cpdag, n_rows = model.cpdag_, model.table_.n_rows
    say(f"{method}, alpha {model.alpha:g}: {count(len(cpdag.names), 'variable')}, {count(n_rows, 'row')}")
    show_losses(model.table_)
    if model.knowledge is not None:
        _show_list("Known beforehand", model.knowledge.statements())
    say()
    _show_edges(cpdag, stability)
    separated = [f"{first} - {second}" for first, second in model.diagnostics_.separated]
    _show_list("Edges that fitted the data, but that a test did not confirm", separated)
    _show_list("Conflicts, and what was done", model.conflicts_)


def show_losses(table: TableSummary) -> None:
    """The rows and columns that were left out."""
    if table.n_rows_used != table.n_rows:
        say(f"{table.n_rows_used} of the rows were used.")
    for column, why in table.dropped.items():
        say(f"Left out: {column} ({why})")


def _show_edges(cpdag: CPDAG, stability: Any) -> None:
    rows = [[a, "->", b] for a, b in cpdag.directed_edges] + [[a, "-", b] for a, b in cpdag.undirected_edges]
    if not rows:
        say("No edges.", style="bold")
        return
    parts = f"{len(cpdag.directed_edges)} directed, {len(cpdag.undirected_edges)} undirected"
    say(f"{count(len(rows), 'edge')} ({parts})", style="bold")
    linked = {name for a, _, b in rows for name in (a, b)}
    header, shares = ["", "", ""], ("as drawn", "reversed", "other", "no edge")
    if cpdag.background:
        header.append("")
        rows = [[*row, "known" if (row[0], row[2]) in cpdag.background else ""] for row in rows]
    if stability is not None:
        header += shares
        rows = [row + _shares(stability, *row[:3]) for row in rows]
    show_table(header, rows, right=shares)
    if stability is not None:
        say(f"Shares of {stability.n_resamples} resamples.")
    alone = [name for name in cpdag.names if name not in linked]
    if alone:
        say(f"Without an edge: {', '.join(alone)}")


def _shares(stability: Any, a: str, mark: str, b: str) -> list[str]:
    """The shares of resamples with the edge as drawn, reversed, of another type, and absent."""
    share = stability.frequencies(a, b)
    forward, backward, undirected, none = (f"{share[kind]:.0%}" for kind in ("->", "<-", "-", "none"))
    if mark == "->":
        return [forward, backward, undirected, none]
    return [undirected, "", f"{share['->'] + share['<-']:.0%}", none]


def _show_list(heading: str, items: Sequence[object]) -> None:
    if not items:
        return
    say()
    say(f"{heading} ({len(items)})", style="bold")
    for item in items[:_SHOWN]:
        say(f"  {item}")
    if len(items) > _SHOWN:
        say(f"  and {len(items) - _SHOWN} more")
