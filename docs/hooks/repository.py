"""A hook of MkDocs: files outside `docs/` that a page links to become part of the site.

Pages link to each other by the paths of the repository, so that links work on a code host and in a checkout.
MkDocs knows only the files below `docs/`. Each other file that is named in the navigation or linked from a
page is included under its own path (`experiments/README.md`, `CHANGELOG.md`), pages or pictures, and the
links are adapted to the site. A link to a notebook leads to the page that `notebooks.py` makes of it. A link
to a missing file is left unchanged, and MkDocs reports it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).parents[2]
FRONT_DOOR = "README.md"  # on the site, its place is taken by docs/index.md
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<=\]\()([^)#?\s]+)(?=[)#\s])")


def on_files(files: Any, config: Any) -> Any:
    """Include linked files, and the files that these link to."""
    waiting = [file.src_uri for file in files.documentation_pages()]
    waiting += [uri for uri in _names_in(config.nav) if files.get_file_from_path(uri) is None]
    while waiting:
        uri = waiting.pop()
        if files.get_file_from_path(uri) is None:
            if not (ROOT / uri).is_file():
                continue
            path = str(ROOT / uri)
            files.append(File.generated(config, uri, abs_src_path=path, inclusion=InclusionLevel.NOT_IN_NAV))
        if uri.endswith(".md"):
            text = files.get_file_from_path(uri).content_string
            targets = {_on_site(uri, link) for link in LINK.findall(CODE.sub("", text))}
            waiting += [target for target in targets if target and files.get_file_from_path(target) is None]
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Adapt links to the site."""
    here = page.file.src_uri

    def translated(match: re.Match[str]) -> str:
        target = _on_site(here, match[1])
        return match[1] if target is None else posixpath.relpath(target, posixpath.dirname(here) or ".")

    pieces, end = [], 0
    for code in CODE.finditer(markdown):
        pieces += [LINK.sub(translated, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*pieces, LINK.sub(translated, markdown[end:])])


def _in_repository(uri: str) -> str:
    path = ROOT / "docs" / uri
    return f"docs/{uri}" if path.is_file() or path.with_suffix(".ipynb").is_file() else uri


def _on_site(here: str, link: str) -> str | None:
    """The path on the site of a link on the page `here`; None if it leaves the repository."""
    if "://" in link or link.startswith(("/", "mailto:")):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(_in_repository(here)), link))
    if path.startswith("../") or not (ROOT / path).is_file():
        return None
    if path == FRONT_DOOR:
        return "index.md"
    return re.sub(r"\.ipynb$", ".md", path.removeprefix("docs/"))


def _names_in(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    entries = nav.values() if isinstance(nav, dict) else nav or []
    return [name for entry in entries for name in _names_in(entry)]
