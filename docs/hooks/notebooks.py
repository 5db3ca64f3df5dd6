"""A hook of MkDocs: a notebook below `docs/` becomes a page, with the outputs that are stored in it.

`notebooks/penguins.ipynb` is shown as `notebooks/penguins.md`, and can be downloaded from there. Nothing is
run: `make notebooks` stores the outputs, and a test compares them with those of the code.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import PurePosixPath
from typing import Any

from mkdocs.structure.files import File

DOWNLOAD = '<p><a href="{name}" download>Download this notebook</a></p>'
OUTPUT = '<div class="notebook-output">\n{}\n</div>'
PICTURE = '<img alt="{alt}" src="data:image/png;base64,{data}">'
FENCE = "```{}\n{}\n```"


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each notebook."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        path = PurePosixPath(file.src_uri)
        text = page_of(json.loads(file.content_string), path.name)
        files.append(File.generated(config, str(path.with_suffix(".md")), content=text))
    return files


def page_of(notebook: dict[str, Any], name: str) -> str:
    """The cells as Markdown; the link to the notebook comes after the first."""
    parts = [part for cell in notebook["cells"] for part in _cell(cell)]
    return "\n\n".join([parts[0], DOWNLOAD.format(name=name), *parts[1:]]) + "\n"


def _cell(cell: dict[str, Any]) -> list[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [text]
    return [FENCE.format("python", text), *(_output(output, cell) for output in cell["outputs"])]


def _output(output: dict[str, Any], cell: dict[str, Any]) -> str:
    """The richest form that a page can show."""
    if output["output_type"] == "stream":
        return FENCE.format("text", "".join(output["text"]).rstrip())
    data = {kind: "".join(value) for kind, value in output["data"].items()}
    if "text/html" in data:
        return OUTPUT.format(data["text/html"])
    if "image/png" in data:
        alt = escape(cell["metadata"]["alt"])  # the description of the picture, for readers who cannot see it
        return OUTPUT.format(PICTURE.format(alt=alt, data=data["image/png"].strip()))
    return FENCE.format("text", data["text/plain"])
