"""Print the results of an experiment, and write them as Markdown, LaTeX and figures."""

from __future__ import annotations

from pathlib import Path

from dcd.runtime.errors import InputError
from experiments.plan import Experiment
from experiments.store import RESULTS
from experiments.summary import cells_of
from experiments.tables import agreement, tables_of, to_latex, to_markdown

_LEGEND = (
    "Mean ± standard deviation. `graphs` counts the graphs (or samples of a network) behind it, and the runs "
    "that failed, took too long (timeout) or were refused for their input. Δ: ours less the paper's mean, in "
    "standard errors of the difference. `seconds` and `MB`: median wall time on one thread and peak memory."
)
_AXIS_LEGEND = (
    "Mean ± standard deviation (graphs behind it, and the runs that failed, took too long or were refused)."
)


def show_experiment(
    name: str, experiment: Experiment, *, all_methods: bool = False, folder: Path = RESULTS
) -> None:
    """Print the tables, and write `name.md`, `name.tex` and, along an axis, `name.svg` and `name.png`."""
    cells = cells_of(experiment, folder)
    if not cells:
        raise InputError(f"experiment {name!r}", "has no rows yet", f"python -m experiments run {name}")
    tables = tables_of(experiment, cells)
    legend = _LEGEND if experiment.axis is None else _AXIS_LEGEND
    parts = [f"# {experiment.title}", legend, agreement(cells)]
    if experiment.axis is not None:
        from experiments.figures import draw

        draw(experiment, cells, folder / name, all_methods=all_methods)
        parts.append(f"![{experiment.title}]({name}.svg)")
    parts += [to_markdown(table) for table in tables]
    parts.append(f"Made with {', '.join(sorted(set().union(*(cell.made_with for cell in cells))))}.")
    text = "\n\n".join(part for part in parts if part) + "\n"
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / f"{name}.tex").write_text("\n\n".join(map(to_latex, tables)) + "\n", encoding="utf-8")
    print(text)
