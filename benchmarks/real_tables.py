"""Columns of categories: by their kinds, against treating codes as numbers, and against dropping them.

    python -m benchmarks.real_tables [samples]

Writes benchmarks/results/real_tables.md: SHD_c / F1 with the standard error of SHD_c.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import dcd
from experiments import networks

RESULTS = Path(__file__).parent / "results" / "real_tables.md"
SETTINGS = [("asia", 500), ("asia", 2000), ("child", 500), ("child", 2000), ("mixed", 500), ("mixed", 2000)]


def draw(name, n_rows, seed):
    """A table with its categories as text, and the true DAG."""
    rng = np.random.default_rng([seed, 5])
    if name == "mixed":
        dag = dcd.simulate.random_dag(10, graph="erdos-renyi", degree=2, random_state=rng)
        table = dcd.simulate.sample_mixed(dag, n_rows, random_state=rng)
        return table, pd.DataFrame(dag, index=table.columns, columns=table.columns)
    model = networks.load(name)
    return model.sample(n_rows, rng).astype(int).astype(str), model.dag


def is_text(column):
    return not pd.api.types.is_numeric_dtype(column)


def coded(table):
    """Categories as 0, 1, ... in the order of their names."""
    return table.apply(lambda column: column.astype("category").cat.codes if is_text(column) else column)


def by_kinds(table):
    return dcd.RobustDCD(drop_degenerate=True, progress=False).fit(table).cpdag_


def codes_as_numbers(table):
    numbers = coded(table)
    kinds = dict.fromkeys(numbers, "continuous")
    # One column of a linear combination has to be dropped, as the message says.
    problems = dcd.audit(numbers, kinds=kinds).to_frame()["problem"].astype(str)
    combined = problems.index[problems.str.contains("linear combination")]
    numbers = numbers.drop(columns=combined[:1])
    kinds = dict.fromkeys(numbers, "continuous")
    return dcd.RobustDCD(drop_degenerate=True, kinds=kinds, progress=False).fit(numbers).cpdag_


def dropped(table):
    numbers = table[[column for column in table if not is_text(table[column])]]
    return by_kinds(numbers) if numbers.shape[1] > 1 else None


def baseline(method):
    def run(table):
        constant = [column for column in table if table[column].nunique() < 2]
        return dcd.baselines.run(method, coded(table.drop(columns=constant)))

    return run


WAYS = {
    "by kinds": by_kinds,
    "codes as numbers": codes_as_numbers,
    "categories dropped": dropped,
    "PC (G²)": baseline("pc-gsq"),
    "GES (BDeu)": baseline("ges-bdeu"),
}


def scored(found, dag):
    """SHD_c and F1 over all variables; one that was left out has no edges."""
    names = list(dag.columns)
    whole = pd.DataFrame(0, index=names, columns=names)
    if found is not None:
        whole.loc[list(found.names), list(found.names)] = found.adjacency
    comparison = dcd.metrics.compare(dcd.CPDAG.from_dag(names, dag), whole)
    return comparison.shd_c, comparison.f1


def cell(way, name, n_rows, n_tables):
    if name == "mixed" and way.startswith(("PC", "GES")):
        return ""
    scores = []
    for seed in range(n_tables):
        table, dag = draw(name, n_rows, seed)
        scores.append(scored(WAYS[way](table), dag))
    shd, f1 = np.mean(scores, axis=0)
    error = np.std([score[0] for score in scores], ddof=1) / np.sqrt(len(scores))
    return f"{shd:.1f} / {f1:.2f} ({error:.1f})"


def main():
    n_tables = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    warnings.simplefilter("ignore")
    lines = [f"| SHD_c / F1 (s.e.), {n_tables} tables | {' | '.join(WAYS)} |", "|---" * (len(WAYS) + 1) + "|"]
    for name, n_rows in SETTINGS:
        cells = [cell(way, name, n_rows, n_tables) for way in WAYS]
        lines.append(f"| {name}, n = {n_rows} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
