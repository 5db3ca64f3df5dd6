"""Options shared by several commands."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from dcd.runtime.errors import InputError, suggest
from dcd.table.formats.base import FORMATS

if TYPE_CHECKING:
    import pandas as pd

    from dcd.table.formats.base import StoredTable

Command = Callable[..., Any]
KINDS = ("continuous", "ordinal", "nominal")
_MISSING = {
    "refuse": "refuse them",
    "complete-rows": "drop the rows that have any",
    "testwise": "use in each test the rows that are complete in its variables",
}
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


@dataclass(frozen=True)
class TableFile:
    """The file of a table and the parameters of `dcd.table.from_file.read_file`."""

    path: str
    format: str | None
    columns: tuple[str, ...]
    exclude: tuple[str, ...]
    delimiter: str | None
    decimal: str | None
    encoding: str | None
    na_values: tuple[str, ...]
    sheet: str | None

    def read(self) -> pd.DataFrame:
        """The table, in memory."""
        from dcd.table.from_file import read_file

        return read_file(**vars(self))

    def open(self, *, also: Sequence[str] = ()) -> pd.DataFrame | StoredTable:
        """The table, kept in its file if it can be read in parts; always with the columns `also`."""
        from dcd.table.formats.base import ReadOptions
        from dcd.table.from_file import open_file

        columns = (*self.columns, *also) if self.columns else ()
        options = ReadOptions(self.delimiter, self.decimal, self.encoding, self.na_values, self.sheet)
        return open_file(
            self.path, format=self.format, columns=columns, exclude=self.exclude, options=options
        )

    @property
    def title(self) -> str:
        """The name of the file, for headings."""
        return "standard input" if self.path == "-" else file_name(self.path)


def file_name(path: str) -> str:
    """A path without its folders."""
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _split(text: str) -> list[str]:
    """The parts of a text separated by commas, except within "quotes"."""
    try:
        return [part.strip() for row in csv.reader([text], skipinitialspace=True) for part in row]
    except csv.Error as error:
        raise click.BadParameter(f'{text!r} cannot be read ({error}). Put "quotes" around names.') from None


def _names(context: click.Context, parameter: click.Parameter, value: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG001
    return tuple(name for text in value for name in _split(text) if name)


def several(*declaration: str, text: str, metavar: str = "A,B") -> Callable[[Command], Command]:
    """An option that takes names separated by commas, and can be repeated."""
    return click.option(*declaration, multiple=True, callback=_names, metavar=metavar, help=text)


def choice(name: str, words: Sequence[str], text: str) -> Callable[[Command], Command]:
    """An option that takes one of some words, by default the first."""
    return click.option(name, type=click.Choice(list(words)), default=words[0], show_default=True, help=text)


def level(name: str, default: float, text: str) -> Callable[[Command], Command]:
    """An option that takes a probability strictly between 0 and 1."""
    between = click.FloatRange(0, 1, min_open=True, max_open=True)
    return click.option(name, type=between, default=default, show_default=True, help=text)


def _gathered(
    keyword: str, kind: type[Any], *options: Callable[[Command], Command]
) -> Callable[[Command], Command]:
    """A decorator that gives a command options whose values it takes as one object."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gathering(*positional: Any, **values: Any) -> Any:
            taken = [name for name in kind.__dataclass_fields__ if name in values]
            values[keyword] = kind(**{name: values.pop(name) for name in taken})
            return command(*positional, **values)

        decorated: Command = gathering
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


reads_table = _gathered(
    "source",
    TableFile,
    click.argument("path", metavar="DATA"),
    several("--columns", text="Columns to keep, names or patterns such as 'gene_*'; all by default."),
    several("--exclude", text="Columns to leave out, names or patterns."),
    click.option(
        "--format", type=click.Choice(list(FORMATS)), help="Format of the table, whatever its extension."
    ),
    click.option("--delimiter", metavar="CHAR", help="Character that separates the cells of a CSV line."),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark of a CSV file."),
    click.option("--encoding", metavar="NAME", help="Encoding of a CSV file, such as latin-1."),
    several("--na", "na_values", text="Cells that stand for missing values, such as '?'.", metavar="WORD"),
    click.option("--sheet", metavar="NAME", help="Sheet of an Excel file."),
)


# --- options of several commands -------------------------------------------------------------------------

method = choice("--method", ["robust-dcd", "robust", "dcd"], "The method; dcd is the published one.")
alpha = level("--alpha", 0.05, "Level of the tests.")
jobs = click.option("--jobs", type=int, metavar="N", help="Processes to use, -1 for all cores.")
rows = click.option(
    "--rows/--no-rows", default=True, help="Keep some rows of the table in the page and JSON, for plots."
)
knowledge = click.option(
    "--knowledge",
    metavar="FILE",
    help="TOML file of background knowledge: tiers, roots, leaves, forbidden and required arrows.",
)
seed = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
json_file = click.option(
    "--json", "json_path", metavar="FILE", help="Write the answer as JSON; '-' is standard output."
)
compare_with = click.option(
    "--compare-with",
    metavar="FILE",
    help="Show what changed since this result on the same table (JSON), such as one without knowledge.",
)
drop_degenerate = click.option("--drop-degenerate", is_flag=True, help="Drop constant and duplicate columns.")


def read_time(value: str) -> float:
    """The seconds of a time such as `30m`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", value.strip())
    seconds = float(match[1]) * _SECONDS[match[2] or "s"] if match else 0.0
    if seconds <= 0:
        raise click.BadParameter(f"{value!r} is not a time such as 90s, 30m, 8h or 2d.")
    return seconds


max_time = click.option(
    "--max-time",
    type=read_time,
    metavar="TIME",
    help="Stop after this time (30m, 8h); without a checkpoint, stop early if the estimate far exceeds it.",
)


def _read_kinds(context: click.Context, parameter: click.Parameter, value: Sequence[str]) -> dict[str, str]:  # noqa: ARG001
    read: dict[str, str] = {}
    for entry in (entry for text in value for entry in _split(text)):
        column, _, kind = entry.rpartition("=")
        if not column or kind not in KINDS:
            raise click.BadParameter(f"{entry!r} is not COLUMN=KIND with KIND one of {', '.join(KINDS)}.")
        read[column] = kind
    return read


kinds = click.option(
    "--kinds",
    multiple=True,
    callback=_read_kinds,
    metavar="COL=KIND,...",
    help="Kinds of columns where the guess is wrong: continuous, ordinal or nominal.",
)


def missing(*choices: str) -> Callable[[Command], Command]:
    """`--missing`, with some of its choices."""
    *first, last = (_MISSING[choice] for choice in choices)
    return choice("--missing", choices, f"Missing values: {', '.join(first)}, or {last}.")


def _checked_limit(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001
    if value is not None:
        from dcd.runtime.memory import Memory

        Memory.of(value)
    return value


memory_limit = click.option(
    "--memory-limit",
    callback=_checked_limit,
    metavar="SIZE",
    help="Memory for data, such as 4GiB (libraries take 150 MB more); larger data go to temporary files.",
)


# --- options that say how columns are treated ------------------------------------------------------------


@dataclass(frozen=True)
class Handling:
    """How columns are treated, and the columns of row weights, counts or groups."""

    kinds: dict[str, Any]
    groups: str | None
    memory_limit: str | None
    missing: str = "refuse"
    sample_weight: str | None = None
    counts: str | None = None
    drop_degenerate: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of an estimator."""
        names = ("memory_limit", "missing", *(["drop_degenerate"] if self.drop_degenerate else []))
        return {"kinds": self.kinds or None, **{name: getattr(self, name) for name in names}}

    def read(self, source: TableFile, *, also: Sequence[str] = ()) -> tuple[Any, dict[str, Any]]:
        """The table without its columns of weights, counts and groups, and these as parameters of `fit`."""
        named = {"sample_weight": self.sample_weight, "counts": self.counts, "groups": self.groups}
        columns = {parameter: column for parameter, column in named.items() if column is not None}
        if not columns:
            return source.open(also=also), {}
        import numpy as np
        import pandas as pd

        table = source.open(also=[*also, *columns.values()])
        names = list(table.columns if isinstance(table, pd.DataFrame) else table.names)
        for parameter, column in columns.items():
            if column not in names:
                subject = f"column {column!r} (--{parameter.replace('_', '-')})"
                raise InputError(subject, "is not in the table", suggest(column, names))
        others = [name for name in names if name not in columns.values()]
        if isinstance(table, pd.DataFrame):
            return table[others], {name: table[column].to_numpy() for name, column in columns.items()}
        weights = {name: np.asarray(table.read(column)) for name, column in columns.items()}
        return table.select(others), weights


_sample_weight = click.option(
    "--sample-weight", metavar="COLUMN", help="Column of survey weights; it is not a variable."
)
_counts = click.option("--counts", metavar="COLUMN", help="Column that says how often each row was observed.")
_groups = click.option(
    "--groups",
    metavar="COLUMN",
    help="Column that says which rows belong together, such as those of one person; it is not a variable.",
)
_parts = (kinds, missing(*_MISSING), drop_degenerate, _sample_weight, _counts, _groups, memory_limit)
handles_real_columns = _gathered("handling", Handling, *_parts)
# Without dropping columns: an audit shows all of them, and every variable of a graph is needed.
handles_rows = _gathered("handling", Handling, *(part for part in _parts if part is not drop_degenerate))
