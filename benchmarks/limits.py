"""What limits Robust DCD: its error when it is told a part of the truth.

    python -m benchmarks.limits --graphs 30 --jobs 2
    python -m benchmarks.limits --cells er4-linear sf-func-d20 --graphs 5

Appends a row to benchmarks/results/limits.csv for each cell of the evaluation, part of the truth and graph,
and skips those that are already there. The parts are

* the skeleton: pairs that the true graph does not join have no edge, as background knowledge;
* the order: an order of the true graph, as background knowledge;
* the form, where relations are linear: the columns of the score are the values themselves, without curves and
  products, and edges are not tested.

The error is that of the best graph (`chains=0`), which averaging hardly changes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import dcd
from benchmarks.evaluation.cells import CELLS
from benchmarks.evaluation.running import FIRST_SEED, append_row, read_rows
from benchmarks.evaluation.tables import markdown
from dcd.features.family_gram import Layout, normalised
from dcd.graph.adjacency import topological_order
from dcd.runtime.array_types import IntArray
from dcd.search.best_graph import best_dag
from experiments.settings import Problem

ROWS = Path(__file__).parent / "results" / "limits.csv"
KEY = ["cell", "told", "seed"]
COLUMNS = [*KEY, "shd_c", "missing", "extra", "direction"]
LINEAR = ("er4-linear", "er4-linear-d20", "ecoli70-500", "ecoli70-2000", "magic-niab-500")
LIMITED = (
    *LINEAR, "er2-func", "er4-func", "er4-mlp", "sf-func", "sf-func-d20", "er4-bounded-n500",
    "er4-bounded-n8000", "er4-bounded-n100000",
)  # fmt: skip
Task = tuple[str, str, int]  # cell, part of the truth, seed


# --- parts of the truth -----------------------------------------------------------------------------------


def with_knowledge(problem: Problem, knowledge: dcd.Knowledge | None) -> IntArray:
    """The class of the best graph; knowledge of the order does not direct edges beyond the class."""
    search = dcd.WholeGraph(chains=0)
    model = dcd.RobustDCD(search=search, knowledge=knowledge, random_state=0).fit(problem.table)
    dag = dcd.graph.consistent_extension(model.cpdag_.adjacency)
    assert dag is not None
    return dcd.graph.dag_to_cpdag(dag)


def nothing(problem: Problem) -> IntArray:
    return with_knowledge(problem, None)


def skeleton(problem: Problem) -> IntArray:
    apart = [pair for pair in combinations(problem.table, 2) if problem.cpdag.role(*pair) is None]
    return with_knowledge(problem, dcd.Knowledge(no_edge=apart))


def order(problem: Problem) -> IntArray:
    assert problem.dag is not None
    names = list(problem.table)
    return with_knowledge(problem, dcd.Knowledge(tiers=[[names[v]] for v in topological_order(problem.dag)]))


def form(problem: Problem) -> IntArray:
    """The best graph of a score whose columns are the values themselves."""
    values = problem.table.to_numpy(dtype=np.float64)
    n_samples, n_variables = values.shape
    other_scales = np.zeros((n_samples, n_variables))
    columns = np.column_stack([np.ones(n_samples), (values - values.mean(0)) / values.std(0), other_scales])
    own = tuple((v, (0,)) for v in range(n_variables))
    layout = Layout(own, (), np.ones(n_variables, dtype=np.intp), np.full(n_variables, -np.inf))
    gram = normalised(columns.T @ columns / n_samples, layout, n_samples)
    return dcd.graph.dag_to_cpdag(best_dag(gram, rng=np.random.default_rng(0)))


TOLD: dict[str, Callable[[Problem], IntArray]] = {
    "nothing": nothing,
    "skeleton": skeleton,
    "order": order,
    "form": form,
}


# --- rows -------------------------------------------------------------------------------------------------


def one_row(task: Task) -> dict[str, object]:
    """The errors of one graph."""
    cell, told, seed = task
    problem = CELLS[cell].draw(seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = TOLD[told](problem)
    return {**dict(zip(KEY, task, strict=True)), **errors(problem.cpdag.adjacency, found)}


def errors(truth: IntArray, found: IntArray) -> dict[str, int]:
    """Pairs that are wrong: in all, and by kind."""
    edge, drawn = (np.triu(graph | graph.T).astype(bool) for graph in (truth, found))
    different = (truth != found) | (truth != found).T
    return {
        "shd_c": int(np.triu(different).sum()),
        "missing": int((edge & ~drawn).sum()),
        "extra": int((drawn & ~edge).sum()),
        "direction": int((edge & drawn & different).sum()),
    }


def tasks(cells: Sequence[str], n_graphs: int) -> list[Task]:
    """One for each graph, cell and part of the truth that exists for it."""
    return [
        (cell, told, FIRST_SEED + graph)
        for graph, cell, told in product(range(n_graphs), cells, TOLD)
        if told != "form" or cell in LINEAR
    ]


def run(planned: Sequence[Task], jobs: int) -> None:
    """Add the missing rows."""
    done = set(read(ROWS)[KEY].itertuples(index=False, name=None))
    missing = [task for task in planned if task not in done]
    with ProcessPoolExecutor(jobs) as pool:
        for row in pool.map(one_row, missing):
            append_row(ROWS, row, COLUMNS)
            print(*row.values(), flush=True)


def read(path: Path = ROWS) -> pd.DataFrame:
    """The rows so far."""
    return read_rows(path, COLUMNS)


# --- tables -----------------------------------------------------------------------------------------------

HEADS = ("missing", "extra", "direction", "true skeleton", "true order", "true form", "FLOP")


def show() -> str:
    """A line for each cell: the error and its kinds, the errors with parts of the truth, and that of FLOP."""
    rows, peers = read(), read_rows()
    flop = peers[(peers["method"] == "FLOP") & (peers["status"] == "ok")]
    lines = []
    for cell in LIMITED:
        of_cell = rows[rows["cell"] == cell]
        plain = of_cell[of_cell["told"] == "nothing"]
        kinds = [f"{plain[kind].mean():.1f}" for kind in COLUMNS[-3:]]
        told = [_mean(of_cell.loc[of_cell["told"] == part, "shd_c"]) for part in list(TOLD)[1:]]
        peer = _mean(flop.loc[(flop["cell"] == cell) & flop["seed"].isin(plain["seed"]), "shd_c"])
        lines.append([CELLS[cell].title, str(len(plain)), _mean(plain["shd_c"]), *kinds, *told, peer])
    return markdown(["data", "graphs", "SHD_c", *HEADS], lines)


def _mean(values: pd.Series) -> str:
    return f"{values.mean():.1f} ± {values.sem():.1f}" if len(values) else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cells", nargs="+", default=list(LIMITED), choices=LIMITED, metavar="CELL")
    parser.add_argument("--graphs", type=int, default=30, help="graphs of each cell")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    run(tasks(options.cells, options.graphs), options.jobs)
    print(show())


if __name__ == "__main__":
    main()
