"""The audit of a table as one self-contained HTML page."""

from __future__ import annotations

from dcd.cli.terminal import count
from dcd.cli.wording import with_options
from dcd.runtime.templates import template_environment
from dcd.table.audit import Audit


def audit_page(audit: Audit, title: str) -> str:
    """The page; every name from the data is shown as text."""
    templates = template_environment("cli", counted=count, with_options=with_options)
    return templates.get_template("audit_page.html.j2").render(audit=audit, title=title)
