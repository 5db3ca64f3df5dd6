"""`dcd methods`: the methods that can run here."""

from __future__ import annotations

import click

from dcd.cli import options
from dcd.cli.output_files import check_outputs, write_json
from dcd.cli.terminal import show_table

_COSTS = {"low": "seconds", "kernel": "kernel matrices: slow", "network": "neural network: slow"}
_EPILOG = """\b
Examples:
  dcd methods
  dcd compare data.csv --methods robust-dcd,ges"""


@click.command(epilog=_EPILOG, short_help="The methods that can run here.")
@options.json_file
def methods(*, json_path: str | None) -> None:
    """List the methods that 'compare' knows, and which of them can run here."""
    check_outputs({"--json": json_path})
    from dcd.evaluation.baselines import METHODS, installed

    rows = [
        {
            "name": name,
            "label": method.label,
            "installed": installed(name),
            "extra": method.extra,
            "cost": method.cost,
            "discrete": method.discrete,
            "takes_knowledge": method.takes_knowledge,
        }
        for name, method in METHODS.items()
    ]
    write_json(json_path, rows)
    if json_path != "-":
        show_table(
            ["name", "method", "can run", "cost", "made for", "uses knowledge"],
            [
                (
                    row["name"],
                    row["label"],
                    "yes" if row["installed"] else f"no: pip install 'causal-dcd[{row['extra']}]'",
                    _COSTS[str(row["cost"])],
                    "categories" if row["discrete"] else "measurements",
                    "yes" if row["takes_knowledge"] else "no",
                )
                for row in rows
            ],
            indent=0,
        )
