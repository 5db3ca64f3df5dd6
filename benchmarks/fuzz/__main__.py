"""The run: a number of tries of each class, and a table of failures."""

from __future__ import annotations

import argparse
import datetime
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import benchmarks.fuzz
import dcd
from benchmarks.fuzz.documents import documents
from benchmarks.fuzz.files import table_files
from benchmarks.fuzz.parameters import parameters
from benchmarks.fuzz.tables import tables
from benchmarks.fuzz.writing import writing

OURS = (dcd.InputError, dcd.errors.BaselineError, dcd.errors.TimeLimitError)
SECONDS = 20
CLASSES = {
    "tables": tables,
    "files": table_files,
    "documents": documents,
    "parameters": parameters,
    "writing": writing,
}
SHARES = {"tables": 0.35, "files": 0.2, "documents": 0.15, "parameters": 0.25, "writing": 0.05}


def too_long(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def load_all() -> None:
    """Fits that load the libraries used by trials, so that no trial waits for them."""
    numbers = np.random.default_rng(0).standard_normal((60, 4))
    dcd.RobustDCD(progress=False).fit(numbers)
    dcd.RobustDCD(progress=False).fit(np.column_stack([numbers, numbers[:, :1] > 0]))


def run(name: str, seed: int, n_tries: int, failures: Counter[str]) -> int:
    """Some tries of one class; returns the number of failures."""
    n_failed = 0
    signal.signal(signal.SIGALRM, too_long)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        made = CLASSES[name](random.Random(seed), Path(place))
        for _, (described, act) in zip(range(n_tries), made, strict=False):
            signal.alarm(SECONDS)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    act()
            except OURS:
                pass
            except Exception as error:
                ours = [
                    f
                    for f in traceback.extract_tb(error.__traceback__)
                    if f"{os.sep}dcd{os.sep}" in f.filename
                ]
                where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
                failures[
                    f"{name} {where} {type(error).__name__}: {str(error)[:100]!r} e.g. {described[:160]!r}"
                ] += 1
                n_failed += 1
            finally:
                signal.alarm(0)
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")
        os.chdir("/")
    return n_failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=benchmarks.fuzz.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tries", type=int, default=12_000)
    parser.add_argument("--only", choices=list(CLASSES))
    options = parser.parse_args()
    import matplotlib

    matplotlib.use("Agg")
    load_all()
    failures: Counter[str] = Counter()
    lines = ["| class | tries | failures | seconds |", "|---|---|---|---|"]
    total = 0
    for name, share in SHARES.items():
        if options.only in (None, name):
            n_tries = options.tries if options.only else round(share * options.tries)
            begun = time.monotonic()
            n_failed = run(name, options.seed, n_tries, failures)
            lines.append(f"| {name} | {n_tries:,} | {n_failed} | {time.monotonic() - begun:.0f} |")
            total += n_tries
    print(
        f"{total:,} tries, seed {options.seed}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}\n",
        *lines,
        sep="\n",
    )
    for failure, count in failures.most_common(40):
        print(f"{count:5} {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
