"""`dcd report`: the report of a saved result."""

from __future__ import annotations

import click

from dcd.cli import options
from dcd.cli.output_files import check_outputs, write_text

_EPILOG = """\b
Examples:
  dcd discover data.csv --json result.json
  dcd report result.json --out result.html
  dcd report with_knowledge.json --compare-with result.json --out changes.html"""


@click.command(epilog=_EPILOG, short_help="The report of a saved result.")
@click.argument("result", metavar="RESULT")
@click.option(
    "--out", required=True, metavar="FILE", help="File for the page (HTML); '-' is standard output."
)
@options.compare_with
def report(*, result: str, out: str, compare_with: str | None) -> None:
    """Write the report of a result that 'discover --json' saved as RESULT."""
    check_outputs({"--out": out}, [result, compare_with])
    import dcd

    before = None if compare_with is None else dcd.load_result(compare_with)
    write_text(out, dcd.report.render(dcd.load_result(result), before=before))
