"""Terminal output: answers on standard output, everything else on standard error."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from dcd.runtime.text import counted

if TYPE_CHECKING:
    from rich.console import Console

_TURNS_TEXT_AROUND = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
count = counted
_WIDE = 10_000  # for files and pipes: nothing is folded or cut


def plain(text: object) -> str:
    r"""The text with control characters as escapes.

    >>> plain("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return "".join(map(_escaped, str(text)))


def _escaped(character: str) -> str:
    obeyed = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _TURNS_TEXT_AROUND
    return character.encode("unicode_escape").decode("ascii") if obeyed else character


def console_on(stream: TextIO) -> Console:
    """The console of answers (standard output) or of warnings, errors and progress (standard error)."""
    from rich.console import Console

    class OurConsole(Console):
        """Leaves a closed pipe to `running`; rich would end the process."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return OurConsole(
        file=stream,
        markup=False,
        highlight=False,
        emoji=False,
        width=None if stream.isatty() else _WIDE,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )


def say(text: object = "", *, style: str = "") -> None:
    """A line of the answer."""
    console_on(sys.stdout).print(plain(text), style=style or None, soft_wrap=True)


def remark(kind: str, text: object) -> None:
    """One line on standard error: `warning: ...` or `error: ...`."""
    from rich.text import Text

    colour = {"error": "bold red", "warning": "yellow"}.get(kind, "")
    line = " ".join(str(text).split("\n"))
    console_on(sys.stderr).print(Text.assemble((f"{kind}:", colour), f" {plain(line)}"), soft_wrap=True)


def show_table(
    header: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = (), indent: int = 2
) -> None:
    """A table of text; columns named in `right` are right-aligned."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), show_header=any(header)
    )
    for name in header:
        table.add_column(Text(plain(name)), justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    console = console_on(sys.stdout)
    with console.capture() as captured:
        console.print(Padding(table, (0, 0, 0, indent), expand=False))
    sys.stdout.write("\n".join(line.rstrip() for line in captured.get().split("\n")))
