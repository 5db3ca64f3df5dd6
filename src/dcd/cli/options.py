"""Options that several commands share, and the table that they name."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pandas as pd

    from dcd.table.formats import ArrayFile, ColumnFile

Command = Callable[..., Any]
KINDS = ("continuous", "ordinal", "nominal")


@dataclass(frozen=True)
class Source:
    """A table that is still a file: its path, and how to read it (the parameters of `tables.read_file`)."""

    path: str
    format: str | None
    columns: tuple[str, ...]
    exclude: tuple[str, ...]
    delimiter: str | None
    decimal: str | None
    encoding: str | None
    missing: tuple[str, ...]
    sheet: str | None

    def read(self) -> pd.DataFrame:
        """The table, in memory."""
        from dcd.table.formats import read_file

        return read_file(self.path, **self._options())

    def open(self, *, also: Sequence[str] = ()) -> pd.DataFrame | ColumnFile | ArrayFile:
        """The table, left in its file if it can be read in parts; with the columns `also` in any case."""
        from dcd.table.formats import open_file

        return open_file(self.path, **self._options(also))

    def _options(self, also: Sequence[str] = ()) -> dict[str, Any]:
        source = replace(self, columns=(*self.columns, *also)) if self.columns else self
        return {name: getattr(source, name) for name in self.__dataclass_fields__ if name != "path"}

    @property
    def title(self) -> str:
        """The file's name, for headings."""
        return "standard input" if self.path == "-" else self.path.replace("\\", "/").rsplit("/", 1)[-1]


def names(context: click.Context, parameter: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG001
    """Names after one another with commas between, from an option that can be repeated."""
    return tuple(name for text in given for name in _parted(text) if name)


def _parted(text: str) -> list[str]:
    """What stands between the commas; one inside of "quotes" parts nothing."""
    try:
        return [part.strip() for row in csv.reader([text], skipinitialspace=True) for part in row]
    except csv.Error as error:
        raise click.BadParameter(f'{text!r} cannot be read ({error}). Put "quotes" around names.') from None


def several(*declaration: str, text: str, metavar: str = "A,B") -> Callable[[Command], Command]:
    """An option that takes names with commas between, and can be repeated."""
    return click.option(*declaration, multiple=True, callback=names, metavar=metavar, help=text)


_TABLE_OPTIONS = (
    click.argument("data", metavar="DATA"),
    several("--columns", text="Columns to keep, names or patterns such as 'gene_*'; all by default."),
    several("--exclude", text="Columns to leave out, names or patterns."),
    click.option(
        "--format",
        type=click.Choice(["csv", "tsv", "parquet", "arrow", "npy", "excel"]),
        help="Format of the table, whatever its extension.",
    ),
    click.option("--delimiter", metavar="CHAR", help="What stands between two cells of a CSV line."),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark of a CSV file."),
    click.option("--encoding", metavar="NAME", help="Encoding of a CSV file, such as latin-1."),
    several(
        "--na", "missing_words", text="Cells that stand for missing values, such as '?'.", metavar="WORD"
    ),
    click.option("--sheet", metavar="NAME", help="Sheet of an Excel file."),
)


def reads_table(command: Command) -> Command:
    """Give a command the argument DATA and the options that say how to read it, as one `Source`."""

    @functools.wraps(command)
    def with_source(
        *positional: Any,
        data: str,
        columns: tuple[str, ...],
        exclude: tuple[str, ...],
        format: str | None,  # noqa: A002
        delimiter: str | None,
        decimal: str | None,
        encoding: str | None,
        missing_words: tuple[str, ...],
        sheet: str | None,
        **others: Any,
    ) -> Any:
        source = Source(data, format, columns, exclude, delimiter, decimal, encoding, missing_words, sheet)
        return command(*positional, source=source, **others)

    return _all(with_source, _TABLE_OPTIONS)


def _all(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def method(command: Command) -> Command:
    """`--method`."""
    return click.option(
        "--method",
        type=click.Choice(["robust-dcd", "robust", "dcd"]),
        default="robust-dcd",
        show_default=True,
        help="The method; dcd is the published one.",
    )(command)


def alpha(command: Command) -> Command:
    """`--alpha`."""
    return click.option(
        "--alpha",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.05,
        show_default=True,
        help="Level of the tests.",
    )(command)


def seed(command: Command) -> Command:
    """`--seed`."""
    return click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of what is random."
    )(command)


def max_time(command: Command) -> Command:
    """`--max-time`, in seconds."""
    return click.option(
        "--max-time",
        callback=_read_time,
        metavar="TIME",
        help="Stop after 90s, 30m or 8h; early if that will not do by far and nothing is kept.",
    )(command)


_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def _read_time(context: click.Context, parameter: click.Parameter, given: str | None) -> float | None:  # noqa: ARG001
    if given is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", given.strip())
    seconds = float(found[1]) * _SECONDS[found[2] or "s"] if found else 0.0
    if seconds <= 0:
        raise click.BadParameter(f"{given!r} is no time such as 90s, 30m, 8h or 2d.")
    return seconds


def json_file(command: Command) -> Command:
    """`--json`."""
    return click.option(
        "--json", "json_path", metavar="FILE", help="Write the answer as JSON; '-' is standard output."
    )(command)


def kinds(command: Command) -> Command:
    """`--kinds`."""
    return click.option(
        "--kinds",
        multiple=True,
        callback=_read_kinds,
        metavar="COL=KIND,...",
        help="What columns hold, where the guess is wrong: continuous, ordinal or nominal.",
    )(command)


def _read_kinds(context: click.Context, parameter: click.Parameter, given: Sequence[str]) -> dict[str, str]:  # noqa: ARG001
    read: dict[str, str] = {}
    for entry in (entry for text in given for entry in _parted(text)):
        column, equals, kind = entry.rpartition("=")
        if not equals or not column or kind not in KINDS:
            raise click.BadParameter(f"{entry!r} is no COLUMN=KIND with KIND one of {', '.join(KINDS)}.")
        read[column] = kind
    return read


@dataclass(frozen=True)
class Handling:
    """How real columns are taken, and which of them has the weights of the rows."""

    kinds: dict[str, str]
    missing: str
    drop_degenerate: bool
    sample_weight: str | None
    memory_limit: str | None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of an estimator, those that differ from its defaults."""
        given: dict[str, Any] = {"kinds": self.kinds, "drop_degenerate": self.drop_degenerate}
        given["memory_limit"] = self.memory_limit
        given["missing"] = "" if self.missing == "refuse" else self.missing
        return {name: value for name, value in given.items() if value}

    def read(self, source: Source, *, also: Sequence[str] = ()) -> tuple[Any, dict[str, Any]]:
        """The table without its column of weights, and the weights as a parameter of `fit`."""
        if self.sample_weight is None:
            return source.open(also=also), {}
        import numpy as np
        import pandas as pd

        from dcd.runtime.errors import InputError, suggest

        table = source.open(also=[*also, self.sample_weight])
        names = list(table.columns) if isinstance(table, pd.DataFrame) else list(table.names)
        if self.sample_weight not in names:
            subject = f"column {self.sample_weight!r} (--sample-weight)"
            raise InputError(subject, "is not in the table", suggest(self.sample_weight, names))
        others = [name for name in names if name != self.sample_weight]
        if isinstance(table, pd.DataFrame):
            return table[others], {"sample_weight": table[self.sample_weight].to_numpy()}
        return table.select(others), {"sample_weight": np.asarray(table.read(self.sample_weight))}


_MISSING = {
    "refuse": "refuse",
    "complete-rows": "drop their rows",
    "testwise": "use in each test the rows complete in its variables",
}


def missing(*choices: str) -> Callable[[Command], Command]:
    """`--missing`, with some of its words."""
    *first, last = (_MISSING[choice] for choice in choices)
    return click.option(
        "--missing",
        type=click.Choice(list(choices)),
        default="refuse",
        show_default=True,
        help=f"Missing values: {', '.join(first)}, or {last}.",
    )


def drop_degenerate(command: Command) -> Command:
    """`--drop-degenerate`."""
    return click.option("--drop-degenerate", is_flag=True, help="Leave constant and duplicate columns out.")(
        command
    )


def memory_limit(command: Command) -> Command:
    """`--memory-limit`, checked before the table is read."""
    return click.option(
        "--memory-limit",
        callback=_checked_limit,
        metavar="SIZE",
        help="Memory for data, such as 4GiB, beside 150 MB for libraries; what does not fit goes to files.",
    )(command)


def _checked_limit(context: click.Context, parameter: click.Parameter, given: str | None) -> str | None:  # noqa: ARG001
    if given is not None:
        from dcd.runtime.memory import Memory

        Memory.of(given)
    return given


_HANDLING_OPTIONS = (
    kinds,
    missing(*_MISSING),
    drop_degenerate,
    click.option("--sample-weight", metavar="COLUMN", help="Column of survey weights; it is no variable."),
    memory_limit,
)


def handles_real_columns(command: Command) -> Command:
    """Give a command `--kinds`, `--missing`, `--drop-degenerate` and the like, as one `Handling`."""

    @functools.wraps(command)
    def with_handling(
        *positional: Any,
        kinds: dict[str, str],
        missing: str,
        drop_degenerate: bool,
        sample_weight: str | None,
        memory_limit: str | None,
        **others: Any,
    ) -> Any:
        handling = Handling(kinds, missing, drop_degenerate, sample_weight, memory_limit)
        return command(*positional, handling=handling, **others)

    return _all(with_handling, _HANDLING_OPTIONS)
