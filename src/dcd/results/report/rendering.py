"""The templates of the report, with its words for numbers and names as filters."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from dcd.results.report.phrases import NONE, brief, count, label, number, pvalue, sentence, symbol
from dcd.runtime.templates import template_environment
from dcd.runtime.text import percent, shortened, visible, with_names_isolated

_LEVELS_SHOWN = 6
_LEAST_SCALE = 0.72  # of the picture of a graph: labels of 14 pixels then have 10
_LEAST_ON_PHONE = 0.4


def render_template(template: str, **values: Any) -> Markup:
    """Render a template with these values, which are all escaped as text."""
    return Markup(_templates().get_template(template).render(values))


@cache
def _templates() -> Environment:
    environment = template_environment(
        "results/report/templates",
        breakable=_breakable,
        brief=brief,
        counted=count,
        isolated=with_names_isolated,
        json=_json,
        kept_together=_kept_together,
        label=label,
        level_list=_level_list,
        number=number,
        percent=percent,
        pvalue=pvalue,
        sentence=sentence,
        symbol=symbol,
    )
    environment.globals.update(least_scale=_LEAST_SCALE, least_on_phone=_LEAST_ON_PHONE)
    return environment


def _breakable(name: str) -> Markup:
    """A name that may be broken after underscores, rather than within a word."""
    return Markup("_<wbr>").join(visible(name).split("_"))


def _kept_together(text: str) -> str:
    """The text without line breaks within `← 12 %`."""
    return re.sub(
        r"([→←—] (?=\S+ %)|(?<=\d) (?=%)|[<>] (?=\d))", lambda at: at[0].replace(" ", "\u00a0"), text
    )


def _level_list(levels: Sequence[str] | None) -> str:
    labels = ", ".join(shortened(level, 24) for level in (levels or ())[:_LEVELS_SHOWN])
    more = len(levels or ()) - _LEVELS_SHOWN
    return f"{labels} and {more} more" if more > 0 else labels or NONE


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)
