"""`dcd audit`: whether a table is fit for discovery, and the kind of each column."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from dcd.cli import options
from dcd.cli.options import Handling, TableFile
from dcd.cli.output_files import check_outputs, write_json, write_text
from dcd.cli.running import FINE, PROBLEMS
from dcd.cli.terminal import count, say, show_table
from dcd.cli.wording import with_options

if TYPE_CHECKING:
    from dcd.table.audit import Audit

_EPILOG = """\b
Examples:
  dcd audit data.csv
  dcd audit data.csv --report audit.html
  dcd audit survey.csv --kinds region=nominal && dcd discover survey.csv --kinds region=nominal
  dcd audit survey.csv --missing testwise

\b
The exit code is 1 if there are problems: anything that 'discover' would refuse
or warn about."""


@click.command(epilog=_EPILOG, short_help="Is a table ready for a fit?")
@options.handles_rows
@click.option("--report", metavar="FILE", help="Write the audit as a page (HTML); '-' is standard output.")
@options.json_file
@click.option("--title", help="Title of the page; the file's name by default.")
@options.reads_table
def audit(
    *,
    source: TableFile,
    handling: Handling,
    report: str | None,
    json_path: str | None,
    title: str | None,
) -> int:
    """Check the table DATA: how each column is read and why, and what problems it has."""
    check_outputs({"--report": report, "--json": json_path}, [source.path])
    from dcd.table import audit as auditing

    table, of_rows = handling.read(source)
    audited = auditing.audit(table, **handling.parameters, **of_rows)
    write_json(json_path, _as_dict(audited))
    if "-" not in (json_path, report):
        _show(audited)
    if report is not None:
        write_text(report, audited.to_html(title or source.title, worded=with_options))
    return FINE if audited.ok else PROBLEMS


def _as_dict(audited: Audit) -> dict[str, Any]:
    return {
        "ok": audited.ok,
        "n_rows": audited.n_rows,
        "n_complete_rows": audited.n_complete_rows,
        "n_groups": audited.n_groups,
        "problems": [with_options(problem) for problem in audited.problems],
        "columns": [
            {**asdict(column), "remedy": column.remedy and with_options(column.remedy)}
            for column in audited.columns
        ],
    }


def _show(audited: Audit) -> None:
    groups = "" if audited.n_groups is None else f" in {count(audited.n_groups, 'group')}"
    rows = f"{count(audited.n_rows, 'row')}{groups}, {audited.n_complete_rows} without missing values"
    say(f"{count(len(audited.columns), 'column')}, {rows}", style="bold")
    say()
    show_table(
        ["column", "kind", "why", "missing", "distinct", "problem"],
        [
            (column.name, column.kind, column.why, column.n_missing, column.n_distinct, column.problem or "")
            for column in audited.columns
        ],
        right=("missing", "distinct"),
    )
    say()
    if audited.ok:
        say("No problems found.", style="green")
        return
    say(f"{count(len(audited.problems), 'problem')}:", style="bold")
    for problem in audited.problems:
        say(f"  {with_options(problem)}")
