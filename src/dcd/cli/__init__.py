"""The command line, one file per command.

    arguments -> command -> table.formats -> the library -> results (stdout), messages (stderr)

`running` turns errors into one line and an exit code. The library is imported inside functions, so that
`dcd --help` is fast.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from dcd.cli.audit import audit
from dcd.cli.boundary import boundary
from dcd.cli.compare import compare
from dcd.cli.discover import discover
from dcd.cli.effect import effect
from dcd.cli.falsify import falsify
from dcd.cli.methods import methods
from dcd.cli.report import report
from dcd.cli.running import BAD_INPUT, run, with_debug
from dcd.cli.score import score
from dcd.cli.simulate import simulate
from dcd.runtime.version import __version__

_EPILOG = """\b
Examples:
  dcd audit data.csv                  is the table ready for a fit?
  dcd discover data.csv               the causal graph behind the table
  dcd effect data.csv --of T --on Y   how much one column changes another
  dcd boundary data.csv --target Y    the Markov boundary of one column
  dcd compare data.csv                several methods side by side
  dcd falsify graph.dot data.csv      do the data contradict a graph?

\b
Exit codes: 0 success, 1 problems found (audit), a graph contradicted (falsify)
or a score missed (score), 2 bad input or usage, 3 a method failed,
124 out of time, 130 interrupted."""

_OTHER_PACKAGE = (
    "dcd: the package 'dcd' that Python imports is another project of that name. "
    "Remove it with 'pip uninstall dcd', then run 'pip install --force-reinstall causal-dcd'."
)


@click.group(
    epilog=_EPILOG, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="dcd")
@with_debug
@click.pass_context
def dcd(context: click.Context) -> None:
    """Causal discovery by decoupling: from a table to the causal graph behind it."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(BAD_INPUT)


for command in (audit, boundary, compare, discover, effect, falsify, methods, report, score, simulate):
    dcd.add_command(with_debug(command))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    if getattr(sys.modules["dcd"], "__version__", None) != __version__:
        # The distribution called dcd has files of the same names, and overwrites the top of this package.
        click.echo(_OTHER_PACKAGE, err=True)
        sys.exit(BAD_INPUT)
    sys.exit(run(dcd, arguments))
