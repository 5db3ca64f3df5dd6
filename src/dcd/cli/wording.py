"""Messages of the library in words of the command line: `--drop-degenerate`, not `drop_degenerate=True`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dcd.runtime.errors import InputError

_OPTIONS = {
    "alpha": "--alpha",
    "checkpoint": "--checkpoint",
    "decimal": "--decimal",
    "degree": "--degree",
    "delimiter": "--delimiter",
    "drop_degenerate": "--drop-degenerate",
    "encoding": "--encoding",
    "format": "--format",
    "kinds": "--kinds",
    "max_time": "--max-time",
    "memory_limit": "--memory-limit",
    "methods": "--methods",
    "missing": "--missing",
    "n_jobs": "--jobs",
    "n_resamples": "--stability",
    "n_samples": "--rows",
    "n_variables": "--variables",
    "noise_std": "--noise-std",
    "random_state": "--seed",
    "sample_weight": "--sample-weight",
    "target": "--target",
    "time_limit": "--time-limit",
}
_NAMES = "|".join(_OPTIONS)
_PARAMETER = re.compile(rf"^parameter '({_NAMES})'")
_SETTING = re.compile(rf"\b({_NAMES})=('?)([\w.+-]*\w)\2(?: or '([\w-]+)')?")


def input_error_words(error: InputError) -> str:
    """An error of the library; only its own words change, not what it found in the table."""
    subject = _PARAMETER.sub(lambda found: f"option {_OPTIONS[found[1]]}", error.subject)
    return f"{subject}: {error.problem}. {with_options(error.remedy)}"


def with_options(text: str) -> str:
    """Advice with options in the place of parameters.

    >>> with_options("Set missing='complete-rows' or 'testwise', or drop it (drop_degenerate=True does).")
    'Set --missing complete-rows or testwise, or drop it (--drop-degenerate does).'
    """
    return _SETTING.sub(_as_option, text)


def _as_option(found: re.Match[str]) -> str:
    option, value, other = _OPTIONS[found[1]], found[3], found[4]
    flag = option if value == "True" else f"{option} {value}"
    return f"{flag} or {other}" if other else flag
