"""A hook of MkDocs: a page that would load external resources is an error.

Links that a reader may follow are fine. Scripts, styles, fonts, pictures and frames are part of the site, so
that it can be read offline and without being tracked.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

LOADS = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object|link)\b[^>]*?\b(?:src|srcset|href|data)=[\"']?"
    r"((?:https?:)?//[^\"'\s>]+)|(?:@import\s*|url\()[\"']?((?:https?:)?//[^\"')\s]+)",
    re.IGNORECASE,
)
DRAWN_BY_A_CDN = 'class="mermaid"'  # the theme fetches the library that draws these


def on_post_build(config: Any) -> None:
    """Check all pages and styles as written."""
    own = config.site_url  # pages contain the address of the site
    for path in sorted(Path(config.site_dir).rglob("*")):
        if path.suffix not in (".html", ".css"):
            continue
        text = path.read_text(encoding="utf-8")
        found = [first or second for first, second in LOADS.findall(text)]
        found = [address for address in found if not (own and address.startswith(own))]
        found += [DRAWN_BY_A_CDN] if DRAWN_BY_A_CDN in text else []
        if found:
            raise PluginError(f"{path.relative_to(config.site_dir)} loads from elsewhere: {', '.join(found)}")
