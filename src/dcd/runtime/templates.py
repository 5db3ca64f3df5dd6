"""HTML and SVG from Jinja2 templates.

Every value is escaped, and invisible or forbidden characters are shown as �. Only the output of a template is
markup.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dcd.runtime.text import visible


def template_environment(folder: str, **filters: Callable[..., Any]) -> Environment:
    """The templates in a folder of the package, with additional filters."""
    environment = Environment(
        loader=PackageLoader("dcd", folder),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_displayed,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(attributes=_attributes, csp_hash=_csp_hash, **filters)
    return environment


def _displayed(value: Any) -> Any:
    """A value as displayed, before escaping."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _attributes(values: Mapping[str, Any]) -> Markup:
    """Attributes of an element, each after a space; those with value None are omitted."""
    present = {key: _displayed(value) for key, value in values.items() if value is not None}
    return Markup("").join(Markup(' {}="{}"').format(key, value) for key, value in present.items())


def _csp_hash(text: str) -> str:
    """The source expression by which a Content-Security-Policy allows one inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
