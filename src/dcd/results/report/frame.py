"""What sections have in common."""

from __future__ import annotations

from markupsafe import Markup

from dcd.results.report.markup import tag


def section(identity: str, heading: str, *children: object, class_: str | None = None) -> Markup:
    """A part of the page with a heading."""
    return tag(
        "section",
        tag("h2", heading, id=f"{identity}-heading"),
        *children,
        id=identity,
        class_=class_,
        aria_labelledby=f"{identity}-heading",
    )


def scrolling(content: Markup, label: str) -> Markup:
    """A frame that scrolls sideways where the page is too narrow, by keyboard too."""
    return tag("div", content, class_="scroll", tabindex="0", role="region", aria_label=label)
