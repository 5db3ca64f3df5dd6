"""Run the notebooks and store their outputs: `make notebooks`, or `python docs/notebooks/execute.py`.

`tests/test_notebooks.py` runs them in the same way and compares the text of every output with what is stored.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def executed(path: Path) -> Any:
    """The notebook with the current outputs of its cells, without the time and place of the run."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(FOLDER)}}).execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = without_bars(cell.outputs)
    return notebook


def without_bars(outputs: list[Any]) -> list[Any]:
    """The outputs without progress bars; the text before and after one is joined."""
    kept: list[Any] = []
    for output in outputs:
        if kept and output.output_type == "stream" and output.name == kept[-1].get("name"):
            kept[-1].text += output.text
        elif not _is_progress_bar(output):
            kept.append(output)
    return kept


def _is_progress_bar(output: Any) -> bool:
    """Bars go to stderr and return to the start of their line; warnings do not."""
    lines = output.text.split("\n") if output.get("name") == "stderr" else ["kept"]
    return all("\r" in line or not line.strip() for line in lines)


def texts(notebook: Any) -> list[list[str]]:
    """The text of each output of each cell of code; that of a picture would be its size."""
    return [
        [one.get("text") or one.data["text/plain"] for one in cell.outputs if not _is_picture(one)]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _is_picture(output: Any) -> bool:
    return "image/png" in output.get("data", {})


if __name__ == "__main__":
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)
        print(f"written: {path.name}, {path.stat().st_size / 1000:.0f} kB")
