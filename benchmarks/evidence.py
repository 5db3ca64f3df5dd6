"""The tables of README and docs, generated from the rows of the benchmarks and experiments.

    python -m benchmarks.evidence            # or make evidence: writes what has changed
    python -m benchmarks.evidence --check    # lists the blocks that are not up to date, exit code 1 if any

A block of a page, between `<!-- evidence: NAME -->` and `<!-- /evidence -->`, is the output of the function
of that name. `tests/test_evidence.py` fails if a page differs from it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import calibration, complexity, conditional_tests, decoupling, limits, speed, unlikely_pairs
from benchmarks.evaluation import running, tables
from benchmarks.evaluation import speed as cost
from benchmarks.evaluation.cells import CELLS, MIXED, SIMULATED
from experiments.exogenous import showing

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"<!-- evidence: (?P<name>[\w-]+) -->\n(?P<text>.*?)<!-- /evidence -->", re.DOTALL)

ALL = (*tables.OURS, *tables.PEERS)
MAIN = (*tables.OURS, "FLOP", "BOSS", "GES", "PC", "Spanning tree")
PUBLISHED = [name for name in decoupling.ESTIMATORS if name.startswith("DCD")]  # Robust DCD has changed since
README_CELLS = [
    "er2-linear", "er4-linear-d20", "er2-func", "er4-func", "er4-mlp", "er2-product", "sf-func",
    "er4-mixed-2", "ecoli70-2000",
]  # fmt: skip
ALTERNATIVES = ("Robust DCD", "FLOP", "BOSS", "GES", "PC", "DirectLiNGAM")
ALTERNATIVE_CELLS = [
    "er2-linear", "er4-linear", "er4-linear-d20", "er2-func", "er4-func", "er2-bounded", "er4-bounded",
    "er4-mlp", "er2-product", "er2-noise-inside", "sf-func", "ecoli70-2000",
]  # fmt: skip
DISCRETE_CELLS = [name for name in tables.NETWORK_CELLS if CELLS[name].setting.discrete]


def evaluation(make: Callable[[pd.DataFrame], str]) -> Callable[[], str]:
    """A table of the rows of the evaluation."""
    return lambda: make(running.read_rows())


def wide(cells: Sequence[str], methods: Sequence[str], *scores: str) -> Callable[[], str]:
    """A line for each cell, a column for each method."""
    return evaluation(lambda rows: tables.wide(rows, cells, methods, scores))


def written(file: str, part: int = 0) -> str:
    """A table that a script wrote, without separate rows; `part` of those in the file."""
    return (RESULTS / file).read_text(encoding="utf-8").strip().split("\n\n")[part]


def false_members() -> str:
    """The lines of `false_members.md` at the defaults of DCD."""
    titles = {
        "weak": "linear, twice as much noise as signal",
        "strong": "linear, noise of .3 beside a signal of 1",
    }
    lines = [line.strip("| ").split(" | ") for line in written("false_members.md").splitlines()]
    head, shown = lines[0], [line for line in lines[2:] if line[3] == "default"]
    kept = [place for place, name in enumerate(head) if name not in ("setting", "steps")]
    named = [[titles.get(line[0], line[0]), *line[1:]] for line in shown]
    return tables.markdown(
        [head[place] for place in kept], [[line[place] for place in kept] for line in named]
    )


def without_first_lines(text: str) -> str:
    """What follows the first paragraph."""
    return text.split("\n\n", maxsplit=1)[1]


def speed_results() -> dict[str, Any]:
    return json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))


BLOCKS: dict[str, Callable[[], str]] = {
    "readme": wide(README_CELLS, MAIN[:1] + MAIN[2:], "shd_c", "f1"),
    "alternatives": wide(ALTERNATIVE_CELLS, ALTERNATIVES, "shd_c", "cpu_seconds"),
    "alternatives-discrete": wide(
        DISCRETE_CELLS, (*tables.OURS, "GES, BDeu", "PC, G²"), "shd_c", "cpu_seconds"
    ),
    "sachs": evaluation(lambda rows: tables.one_cell(rows, "sachs")),
    "simulated-shd": wide(SIMULATED, ALL, "shd_c"),
    "simulated-f1": wide(SIMULATED, ALL, "f1"),
    "simulated-aid": wide(SIMULATED, ALL, "ancestor_aid"),
    "paired": evaluation(
        lambda rows: tables.paired(rows, SIMULATED, ("FLOP", "BOSS", "GRaSP", "GES", "PC", "Spanning tree"))
    ),
    "simulated-time": wide(SIMULATED, ALL, "cpu_seconds"),
    "controls-shd": wide(SIMULATED, tables.CONTROLS, "shd_c"),
    "controls-f1": wide(SIMULATED, tables.CONTROLS, "f1"),
    "controls-aid": wide(SIMULATED, tables.CONTROLS, "ancestor_aid"),
    "no-arrows": evaluation(lambda rows: tables.without_arrows(rows, SIMULATED, (*tables.OURS, "FLOP"))),
    "ablations": wide(SIMULATED, tables.ABLATIONS, "shd_c"),
    "sortability": evaluation(lambda rows: tables.sortabilities(rows, SIMULATED)),
    "cost": lambda: cost.costs(pd.read_csv(cost.ROWS)),
    "mixed-shd": wide(MIXED, (*ALL, *tables.CONTROLS), "shd_c"),
    "mixed-f1": wide(MIXED, (*ALL, *tables.CONTROLS), "f1"),
    "mixed-aid": wide(MIXED, (*ALL, *tables.CONTROLS), "ancestor_aid"),
    "mixed-time": wide(MIXED, ALL, "cpu_seconds"),
    "networks-shd": wide(tables.NETWORK_CELLS, (*ALL, *tables.CONTROLS), "shd_c"),
    "networks-f1": wide(tables.NETWORK_CELLS, (*ALL, *tables.CONTROLS), "f1"),
    "networks-aid": wide(tables.NETWORK_CELLS, (*ALL, *tables.CONTROLS), "ancestor_aid"),
    "networks-time": wide(tables.NETWORK_CELLS, ALL, "cpu_seconds"),
    "growing": evaluation(lambda rows: tables.growing(rows, (*tables.OURS, "FLOP", "BOSS", "PC"))),
    "limits": limits.show,
    "calibration": lambda: calibration.in_short(calibration.told(pd.read_csv(calibration.ROWS))),
    "unlikely-pairs": unlikely_pairs.show,
    "exogenous": lambda: without_first_lines(showing.in_short("report")),
    "tests": conditional_tests.show,
    "decoupling": lambda: without_first_lines(decoupling.show(PUBLISHED)),
    "complexity": lambda: complexity.table_of(pd.read_csv(RESULTS / "complexity.csv")),
    "pruning-sets": lambda: written("pruning.md", 0),
    "pruning-data": lambda: written("pruning.md", 1),
    "false-members": false_members,
    "speed-in-words": lambda: speed.in_words(speed_results()),
    "speed": lambda: without_first_lines(speed.report(speed_results())),
}


def renewed(page: str, name_of_page: str = "") -> str:
    """The text of a page with its blocks regenerated."""

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in BLOCKS:
            raise KeyError(f"{name_of_page}: unknown evidence {name!r} (choose from {', '.join(BLOCKS)})")
        return f"<!-- evidence: {name} -->\n{BLOCKS[name]().strip()}\n<!-- /evidence -->"

    return BLOCK.sub(block, page)


def stale(pages: Sequence[Path]) -> dict[Path, str]:
    """The pages that differ from the rows, with the text that they should have."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    fresh = {page: renewed(text, page.name) for page, text in texts.items()}
    return {page: fresh[page] for page in pages if fresh[page] != texts[page]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    changed = stale(PAGES)
    for page, text in changed.items():
        print(f"{'not up to date' if check else 'written'}: {page.relative_to(ROOT)}")
        if not check:
            page.write_text(text, encoding="utf-8")
    sys.exit(1 if check and changed else 0)


if __name__ == "__main__":
    main()
