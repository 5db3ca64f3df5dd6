"""Messages with options instead of parameters: `--drop-degenerate`, not `drop_degenerate=True`."""

from __future__ import annotations

import ast
import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dcd.runtime.errors import InputError, TableWarning

_RENAMED = {
    "before": "compare_with",
    "n_jobs": "jobs",
    "na_values": "na",
    "n_resamples": "stability",
    "n_samples": "rows",
    "n_variables": "variables",
    "random_state": "seed",
    "outcome": "on",
    "treatment": "of",
}
_NAMES = "|".join(_RENAMED) + (
    "|alpha|arrow_probability|checkpoint|confidence|counts|decimal|degree|delimiter|drop_degenerate|encoding"
    "|exclude|format|groups|kinds|knowledge|levels|max_time|memory_limit|methods|missing|noise_std|sample_weight"
    "|sheet|target|time_limit"
)
_PARAMETER = re.compile(rf"^parameter '({_NAMES})'")
_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_SETTING = re.compile(rf"\b({_NAMES})=({_TEXT}|\[(?:{_TEXT})\]|[\w.+-]*\w)((?: or (?:{_TEXT}))*)")


def input_error_words(error: InputError) -> str:
    """The message of an error, with options; text from the table is unchanged."""
    subject = _PARAMETER.sub(lambda match: f"option {_option(match[1])}", error.subject)
    return f"{subject}: {error.problem}. {with_options(error.remedy)}"


def table_warning_words(warning: TableWarning) -> str:
    """The message of a warning, with options; text from the table is unchanged."""
    return f"{warning.problem} {with_options(warning.remedy)}".strip()


def with_options(text: str) -> str:
    """The text with options instead of parameters.

    >>> with_options("Set missing='complete-rows' or 'testwise', or drop it (drop_degenerate=True does).")
    'Set --missing complete-rows or testwise, or drop it (--drop-degenerate does).'
    >>> with_options("Leave it out: exclude=['the id'].")
    "Leave it out: --exclude 'the id'."
    """
    return _SETTING.sub(_as_option, text)


def _option(parameter: str) -> str:
    return f"--{_RENAMED.get(parameter, parameter).replace('_', '-')}"


def _as_option(match: re.Match[str]) -> str:
    parameter, value, others = match.groups()
    setting = _option(parameter) + ("" if value == "True" else f" {_for_shell(value)}")
    return setting + re.sub(_TEXT, lambda other: _for_shell(other[0]), others)


def _for_shell(value: str) -> str:
    r"""A Python literal quoted for the shell; a tab as $'\t'."""
    if value[0] in "'\"[":
        literal = ast.literal_eval(value)
        value = literal[0] if isinstance(literal, list) else literal
    return "$'\\t'" if value == "\t" else shlex.quote(value)
