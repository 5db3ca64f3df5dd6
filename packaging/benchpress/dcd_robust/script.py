"""Fit Robust DCD to the data file of a Benchpress run; Snakemake defines `snakemake`."""

import sys
import time
from contextlib import nullcontext

import pandas as pd

import dcd

sys.path.append("workflow/scripts/utils")


def fit() -> None:
    """Write the CPDAG, the time in seconds, and that the number of tests is not counted."""
    start = time.perf_counter()
    model = dcd.RobustDCD(
        alpha=float(snakemake.wildcards["alpha"]),  # noqa: F821
        random_state=int(snakemake.wildcards["replicate"]),  # noqa: F821
        progress=False,
    ).fit(pd.read_csv(snakemake.input["data"]))  # noqa: F821
    seconds = time.perf_counter() - start
    model.adjacency_matrix_.to_csv(snakemake.output["adjmat"], index=False)  # noqa: F821
    for output, text in (("time", str(seconds)), ("ntests", "None")):
        with open(snakemake.output[output], "w", encoding="utf-8") as file:  # noqa: F821
            file.write(text)


def limit():
    """The time limit that Benchpress puts on the algorithm, if any."""
    seconds = snakemake.wildcards["timeout"]  # noqa: F821
    if seconds == "None":
        return nullcontext()
    from add_timeout import timeoutf

    files = (snakemake.output[name] for name in ("adjmat", "time", "ntests"))  # noqa: F821
    return timeoutf(int(seconds), *files, time.perf_counter())


with limit():
    fit()
