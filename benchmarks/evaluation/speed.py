"""The speed part of the evaluation: Robust DCD, PC and FLOP on the same table, in one run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence

import pandas as pd
from sklearn import datasets

from benchmarks.evaluation.cells import CELLS, Linear, Setting, random_graph, simulated
from benchmarks.evaluation.methods import METHODS, timed
from experiments.timing import OutOfTimeError

OURS, OTHERS = "Robust DCD", ("PC", "FLOP")
Times = dict[str, float | str]  # a method's median seconds, or why there are none


def drawn(setting: Setting, seed: int) -> Callable[[], pd.DataFrame]:
    return lambda: setting.draw(seed).table


def bundled(load: Callable[..., object]) -> Callable[[], pd.DataFrame]:
    """The columns of a table of scikit-learn that vary."""

    def make() -> pd.DataFrame:
        table = pd.DataFrame(load(as_frame=True)["data"])  # type: ignore[index]
        return table.loc[:, table.nunique() > 1]

    return make


def randhie() -> pd.DataFrame:
    """The RAND health insurance experiment, as statsmodels ships it."""
    from statsmodels.datasets import randhie as source  # type: ignore[import-untyped]

    return pd.DataFrame(source.load_pandas().data).select_dtypes("number")


def tables(seed: int) -> dict[str, Callable[[], pd.DataFrame]]:
    """The tables by name, made when they are needed; dense graphs have degree 4, sparse ones 2."""
    return {
        "dense-linear-d10": drawn(CELLS["er4-linear"].setting, seed),
        "dense-linear-d20": drawn(CELLS["er4-linear-d20"].setting, seed),
        "dense-mlp-d20": drawn(random_graph(4, d=20, mechanism="mlp", noise_std=1.0), seed),
        "sparse-linear-d10": drawn(Linear(d=10, degree=2), seed),
        "sparse-linear-d20": drawn(Linear(d=20, degree=2), seed),
        "breast-cancer": bundled(datasets.load_breast_cancer),
        "diabetes": bundled(datasets.load_diabetes),
        "randhie": randhie,
        "digits": bundled(datasets.load_digits),
        "sf-func-d200": drawn(simulated(d=200, n=1000), seed),
        "million-rows": drawn(random_graph(2, d=20, mechanism="mlp", noise_std=1.0, n=10**6), seed),
    }


def measured(table: pd.DataFrame, methods: Sequence[str], repeats: int, limit: float) -> Times:
    """Median processor time of each method, after a warm-up call; the methods alternate."""
    seconds: dict[str, list[float]] = {method: [] for method in methods}
    failures: Times = {}
    for turn in range(repeats + 1):
        for method in (name for name in methods if name not in failures):
            try:
                taken = timed(METHODS[method], table, limit)[1]
            except (Exception, OutOfTimeError) as error:
                failures[method] = " ".join(str(error).split())[:80]
                continue
            if turn:
                seconds[method].append(taken)
    return {name: failures.get(name) or statistics.median(seconds[name]) for name in methods}


def ratio(times: Times, other: str) -> str:
    """Our processor time as a multiple of the other method's."""
    ours, theirs = times[OURS], times[other]
    if isinstance(ours, str) or isinstance(theirs, str):
        return ""
    return f"{ours / theirs:.2f}"


def markdown(names: Sequence[str], *, seed: int, repeats: int, limit: float) -> Iterator[str]:
    """The lines of a table in Markdown, each as soon as it is measured."""
    methods = (OURS, *OTHERS)
    heads = ["table", "rows", "columns", *(f"{method}, s" for method in methods)]
    heads += [f"{OURS} / {other}" for other in OTHERS]
    yield "| " + " | ".join(heads) + " |"
    yield "|---" * len(heads) + "|"
    for name in names:
        table = tables(seed)[name]()
        times = measured(table, methods, repeats, limit)
        shown = [value if isinstance(value, str) else f"{value:.3f}" for value in times.values()]
        shown += [ratio(times, other) for other in OTHERS]
        yield f"| {name} | {len(table):,} | {table.shape[1]} | " + " | ".join(shown) + " |"
