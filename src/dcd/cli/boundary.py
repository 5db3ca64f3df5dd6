"""`dcd boundary`: the columns that matter for one target."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from dcd.cli import options
from dcd.cli.graph_text import rows_used, show_columns_left_out
from dcd.cli.options import Handling, TableFile
from dcd.cli.output_files import check_outputs, write_json
from dcd.cli.terminal import say, show_table

if TYPE_CHECKING:
    from dcd.table.dataset import TableSummary

_EPILOG = """\b
Examples:
  dcd boundary data.csv --target price
  dcd boundary data.csv --target price --method dcd --alpha 0.01
  dcd boundary data.csv --target price --json - | jq .boundary

\b
The boundary consists of the columns that together carry all the information in
the table about the target: its causes, its effects, and the other causes of its
effects."""


@click.command(epilog=_EPILOG, short_help="The Markov boundary of one column.")
@click.option("--target", required=True, metavar="COLUMN", help="The column whose boundary to find.")
@options.method
@options.alpha
@options.json_file
@options.handles_real_columns
@options.reads_table
def boundary(
    *, source: TableFile, handling: Handling, target: str, method: str, alpha: float, json_path: str | None
) -> None:
    """Find the Markov boundary of one column of the table DATA, with p-values."""
    check_outputs({"--json": json_path}, [source.path])

    import dcd

    table, weights = handling.read(source, also=[target])
    is_published = method == "dcd"
    parameters = {"alpha": alpha, **handling.parameters}
    model = dcd.MarkovBoundary(target, method="published" if is_published else "robust", **parameters)
    model.fit(table, **weights)
    summary, ess = model.table_, float(model.effective_sample_size_)
    columns = [
        {"name": name, "member": bool(member), "pvalue": float(pvalue), "correlation": float(correlation)}
        for name, member, pvalue, correlation in zip(
            summary.columns, model.support_, model.pvalues_, model.statistics_, strict=True
        )
        if not math.isnan(pvalue)
    ]
    columns.sort(key=lambda column: (not column["member"], column["pvalue"]))
    answer = {
        "target": target,
        "method": "dcd" if is_published else "robust-dcd",
        "alpha": alpha,
        "boundary": model.boundary_,
        "n_rows": summary.n_rows,
        "n_rows_used": summary.n_rows_used,
        "dropped": summary.dropped,
        "effective_sample_size": ess,
        "columns": columns,
    }
    write_json(json_path, answer)
    if json_path == "-":
        return
    say(f"Boundary of {target}: {', '.join(model.boundary_) or 'nothing in the table'}", style="bold")
    say(f"{rows_used(summary)}, effective sample size {ess:.0f} under the decoupling weights")
    show_columns_left_out(summary)
    level = alpha if is_published else alpha / (len(summary.names) - 1)
    condition = "under the weights" if is_published else "given the other members"
    say(f"Members have a p-value below {level:.2g} {condition}.")
    say()
    rows = [
        (c["name"], "yes" if c["member"] else "", f"{c['pvalue']:.2g}", _signed(c, target, summary))
        for c in columns
    ]
    show_table(["column", "member", "p-value", "correlation"], rows, right=("p-value", "correlation"))


def _signed(column: dict[str, Any], target: str, table: TableSummary) -> str:
    """The correlation; without a sign for several categories."""
    several = [name for name in (column["name"], target) if len(table.levels.get(name, ())) > 2]
    unsigned = any(table.kinds[name] == "nominal" for name in several)
    return f"{column['correlation']:.2f}" if unsigned else f"{column['correlation']:+.2f}"
