"""A result as one self-contained HTML page, for readers who did not run the analysis.

Each large section has a module that prepares its values (findings, graph_picture, variable_details); `page`
prepares those of the others. The markup is in `templates/`, with a template for each section.
"""

from __future__ import annotations

import os

from dcd.results.model import Result
from dcd.results.report.page import page
from dcd.runtime.errors import check_type
from dcd.runtime.files import check_path, write_text

__all__ = ["render", "write"]


def render(result: Result, *, before: Result | None = None) -> str:
    """The page as text. It loads nothing from the internet and can be read without JavaScript.

    `before` is an earlier result on the same table, such as one without background knowledge; the page then
    shows the changes.

    Examples
    --------
    >>> import dcd
    >>> model = dcd.RobustDCD().fit(dcd.datasets.load_sachs().frame)
    >>> html = dcd.report.render(dcd.summarise(model, title="Proteins"))
    >>> "<h1><bdi>Proteins</bdi></h1>" in html
    True
    """
    check_type("result", result, Result, "Use dcd.summarise first.")
    return page(result, before)


def write(result: Result, path: str | os.PathLike[str], *, before: Result | None = None) -> None:
    """Write the page to a file, completely or not at all; `before` is as for `render`."""
    check_path(path)
    write_text(path, render(result, before=before))
