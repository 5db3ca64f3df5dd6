"""Messages with options instead of parameters: `--drop-degenerate`, not `drop_degenerate=True`."""

from __future__ import annotations

import ast
import csv
import io
import re
import shlex

from dcd.runtime.errors import InputError, SeveralProblemsError, TableWarning

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
# A list, tuple or dictionary of texts, perhaps with an ellipsis.
_SEVERAL = rf"[\[({{](?:{_TEXT}|[,:. ])*[\])}}]"
_SETTING = re.compile(
    rf"\b(?P<parameter>{_NAMES})="
    rf"(?:table\[(?P<column>{_TEXT})\]"
    rf"|(?P<value>{_TEXT}|{_SEVERAL}|[\w.+-]*\w)(?P<others>(?: or (?:{_TEXT}))*))"
    rf"|\btable\.drop\(columns=(?P<dropped>{_SEVERAL})\)"
)


def input_error_lines(error: InputError) -> list[str]:
    """The message of each problem of an error, with options; text from the table is unchanged."""
    if isinstance(error, SeveralProblemsError):
        return [line for one in error.errors for line in input_error_lines(one)]
    subject = _PARAMETER.sub(lambda match: f"option {option_of(match[1])}", error.subject)
    return [f"{subject}: {error.problem}. {with_options(error.remedy)}"]


def table_warning_words(warning: TableWarning) -> str:
    """The message of a warning, with options; text from the table is unchanged."""
    return f"{warning.problem} {with_options(warning.remedy)}".strip()


def with_options(text: str) -> str:
    """The text with options instead of parameters.

    >>> with_options("Set missing='complete-rows' or 'testwise', or drop it (drop_degenerate=True does).")
    'Set --missing complete-rows or testwise, or drop it (--drop-degenerate does).'
    >>> with_options("Leave it out: exclude=['the id'].")
    "Leave it out: --exclude 'the id'."
    >>> with_options("Declare it (kinds={'day': 'ordinal'}), or drop it (table.drop(columns=['day', 'id'])).")
    'Declare it (--kinds day=ordinal), or drop it (--exclude day,id).'
    >>> with_options("Name the rows that belong together: groups=table['person'].")
    'Name the rows that belong together: --groups person.'
    """
    return _SETTING.sub(_as_option, text)


def option_of(parameter: str) -> str:
    """The option of a parameter.

    >>> option_of("random_state"), option_of("drop_degenerate")
    ('--seed', '--drop-degenerate')
    """
    return f"--{_RENAMED.get(parameter, parameter).replace('_', '-')}"


def _as_option(match: re.Match[str]) -> str:
    if match["dropped"]:
        return f"{option_of('exclude')} {_for_shell(match['dropped'])}"
    option = option_of(match["parameter"])
    if match["column"]:
        return f"{option} {_for_shell(match['column'])}"
    setting = option if match["value"] == "True" else f"{option} {_for_shell(match['value'])}"
    return setting + re.sub(_TEXT, lambda other: _for_shell(other[0]), match["others"])


def _joined(several: str) -> str:
    """The texts of a Python list, tuple or dictionary as the value of an option: `a,b` or `a=b,c=d`."""
    texts = [ast.literal_eval(text) for text in re.findall(_TEXT, several)]
    entries = list(map("=".join, zip(texts[::2], texts[1::2], strict=True))) if several[0] == "{" else texts
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(entries)
    return written.getvalue()


def _for_shell(value: str) -> str:
    r"""A Python literal quoted for the shell; a tab as $'\t'."""
    more = ""
    if value[0] in "'\"":
        value = ast.literal_eval(value)
    elif value[0] in "[({":
        more = " (and more)" if "..." in re.sub(_TEXT, "", value) else ""  # not part of what is pasted
        value = _joined(value)
    return ("$'\\t'" if value == "\t" else shlex.quote(value)) + more
