"""`dcd boundary`: the columns that matter for one target."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from dcd.cli import options
from dcd.cli.graph_text import show_losses
from dcd.cli.options import Handling, TableFile
from dcd.cli.output_files import check_outputs, write_text
from dcd.cli.running import FINE, with_debug
from dcd.cli.terminal import count, say, show_table

if TYPE_CHECKING:
    from dcd.table.dataset import TableSummary

_EPILOG = """\b
Examples:
  dcd boundary data.csv --target price
  dcd boundary data.csv --target price --method dcd --alpha 0.01
  dcd boundary data.csv --target price --json - | jq .boundary

\b
The boundary are the columns that together tell all that the table tells of
the target: its causes, its effects, and the other causes of its effects."""


@click.command(epilog=_EPILOG, short_help="What matters for one column.")
@click.option("--target", required=True, metavar="COLUMN", help="The column whose boundary is sought.")
@options.method
@options.alpha
@options.json_file
@options.handles_real_columns
@options.reads_table
@with_debug
def boundary(
    *, source: TableFile, handling: Handling, target: str, method: str, alpha: float, json_path: str | None
) -> int:
    """Find what matters for one column of the table DATA, with p-values."""
    check_outputs({"--json": json_path}, [source.path])

    import dcd

    table, weights = handling.read(source, also=[target])
    parameters = {"alpha": alpha, **handling.parameters}
    model = dcd.MarkovBoundary(target, method="published" if method == "dcd" else "robust", **parameters)
    fitted = model.fit(table, **weights)
    columns = [
        {"name": name, "member": bool(member), "pvalue": float(pvalue), "correlation": float(correlation)}
        for name, member, pvalue, correlation in zip(
            fitted.table_.columns, fitted.support_, fitted.pvalues_, fitted.statistics_, strict=True
        )
        if not math.isnan(pvalue)
    ]
    columns.sort(key=lambda column: (not column["member"], column["pvalue"]))
    ess = float(fitted.effective_sample_size_)
    if json_path is not None:
        answer = {
            "target": target,
            "method": "dcd" if method == "dcd" else "robust-dcd",
            "alpha": alpha,
            "boundary": fitted.boundary_,
            "n_rows": fitted.table_.n_rows,
            "n_rows_used": fitted.table_.n_rows_used,
            "dropped": fitted.table_.dropped,
            "effective_sample_size": ess,
            "columns": columns,
        }
        write_text(json_path, json.dumps(answer, indent=1))
    if json_path != "-":
        members = ", ".join(fitted.boundary_) or "nothing in the table"
        say(f"Boundary of {target}: {members}", style="bold")
        say(f"{count(fitted.table_.n_rows, 'row')}, effective sample size {ess:.0f} under the weights")
        show_losses(fitted.table_, fitted.table_.n_rows)
        level = alpha if method == "dcd" else alpha / (len(fitted.table_.names) - 1)
        say(f"Members have a p-value below {level:.2g}, given the other members.")
        say()
        rows = [
            (
                c["name"],
                "yes" if c["member"] else "",
                f"{c['pvalue']:.2g}",
                _signed(c, target, fitted.table_),
            )
            for c in columns
        ]
        show_table(["column", "member", "p-value", "correlation"], rows, right=("p-value", "correlation"))
    return FINE


def _signed(column: dict[str, Any], target: str, table: TableSummary) -> str:
    """The correlation; without a sign for several categories."""
    several = [name for name in (column["name"], target) if len(table.levels.get(name, ())) > 2]
    unsigned = any(table.kinds[name] == "nominal" for name in several)
    return f"{column['correlation']:.2f}" if unsigned else f"{column['correlation']:+.2f}"
