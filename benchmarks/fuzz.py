"""A bounded, seeded fuzzer: `make fuzz`, some minutes; prints tries and failures of each class.

    PYTHONPATH=tests python benchmarks/fuzz.py [--seed 0] [--tries 12000] [--only tables]

Classes: tables (random containers, types and values), files (random tables in every format, mutated byte by
byte and part by part), parameters (every public callable with random values, found by introspection), graphs
(random and mutated texts), writing (random failures while files are written). A try fails if anything but one
of dcd's own errors is raised, if it takes too long, or if a table is read as other values than it holds.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import decimal
import errno
import gzip
import io
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import feather, parquet
from support import public_surface

import dcd
from dcd.runtime import files
from dcd.table.from_file import read_file
from dcd.table.sources import columns_of

OURS = (dcd.InputError, dcd.errors.BaselineError, dcd.errors.TimeLimitError)
SECONDS = 20
Try = tuple[str, Callable[[], object]]


class WrongAnswerError(Exception):
    """A table was read as other values than it holds."""


# --- tables ---------------------------------------------------------------------------------------------

CELLS: dict[str, Callable[[random.Random], Any]] = {
    "float": lambda r: r.choice([r.gauss(0, 1), r.uniform(-1e300, 1e300), 0.0, -0.0, 5e-324]),
    "not finite": lambda r: r.choice([float("nan"), float("inf"), -float("inf")]),
    "int": lambda r: r.randint(-9, 9),
    "large int": lambda r: r.choice([-1, 1]) * (2 ** r.randint(50, 70) + r.randint(-2, 2)),
    "enormous int": lambda r: 10 ** r.randint(300, 500),
    "bool": lambda r: r.random() < 0.5,
    "text": lambda r: "".join(r.choices("ab é\u202e\ud83d\0'\"", k=r.randint(0, 3))),
    "numeric text": lambda r: r.choice([str(r.randint(0, 99)), "1e5", "0x1", " 7", "1_000", "nan", "inf"]),
    "missing": lambda r: r.choice([None, float("nan"), pd.NA, pd.NaT, np.ma.masked, np.float32("nan")]),
    "complex": lambda r: r.choice([complex(1, r.randint(0, 1)), np.complex64(1)]),
    "time": lambda r: r.choice(
        [np.timedelta64(1, r.choice("Dhms")), np.datetime64("2020-01-01"), datetime.date.min]
    ),
    "span": lambda r: datetime.timedelta(r.randint(0, 9)),
    "decimal": lambda r: decimal.Decimal(r.randint(0, 10**20)),
    "numpy": lambda r: r.choice(
        [np.int8(3), np.uint64(2**64 - 1), np.float16(0.5), np.bool_(True), np.longdouble(1)]
    ),
    "object": lambda r: r.choice([object(), [], {}, b"a", np.array(1), range(2), ...]),
}


def random_column(r: random.Random, n: int) -> list[Any]:
    kinds = r.choices(list(CELLS), k=r.choice([1, 1, 1, 2, 3]))
    return [CELLS[r.choice(kinds)](r) for _ in range(n)]


def as_objects(columns: list[list[Any]]) -> np.ndarray:
    table = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        for i, cell in enumerate(column):
            table[i, j] = cell
    return table


def masked(array: np.ndarray) -> np.ma.MaskedArray:
    return np.ma.array(array, mask=np.random.default_rng(array.size).random(array.shape) < 0.1)


CONTAINERS: dict[str, Callable[[list[list[Any]]], Any]] = {
    "list": lambda c: [list(row) for row in zip(*c, strict=True)],
    "tuple": lambda c: tuple(zip(*c, strict=True)),
    "objects": lambda c: as_objects(c),
    "array": lambda c: np.array([list(row) for row in zip(*c, strict=True)]),
    "masked": lambda c: masked(as_objects(c)),
    "masked array": lambda c: masked(np.array([list(row) for row in zip(*c, strict=True)])),
    "list of arrays": lambda c: [np.array(list(row)) for row in zip(*c, strict=True)],
    "frame": lambda c: pd.DataFrame({f"c{j}": column for j, column in enumerate(c)}),
    "frame of objects": lambda c: pd.DataFrame(
        {f"c{j}": pd.Series(col, dtype=object) for j, col in enumerate(c)}
    ),
    "categories": lambda c: pd.DataFrame({f"c{j}": pd.Categorical(column) for j, column in enumerate(c)}),
    "polars": lambda c: pl.DataFrame({f"c{j}": pl.Series(col, strict=False) for j, col in enumerate(c)}),
    "arrow": lambda c: pa.table({f"c{j}": pa.array(column) for j, column in enumerate(c)}),
    "nullable": lambda c: pd.DataFrame({f"c{j}": pd.Series(col).convert_dtypes() for j, col in enumerate(c)}),
}


COMPILED = ("polars", "arrow")
PLAIN = (int, float, bool, str, type(None), datetime.timedelta, decimal.Decimal)


def typed_array(r: random.Random, n: int) -> np.ndarray:
    """Numbers of a random type, near its limits."""
    dtype = np.dtype(
        r.choice(["?", "i1", "i8", "u8", "f2", "f4", "f8", "g", "c8", "m8[h]", "m8[D]", "M8[ns]", "U3", "S2"])
    )
    raw = np.random.default_rng(r.randint(0, 10**6)).integers(
        0, 256, size=(n, 2 * dtype.itemsize), dtype=np.uint8
    )
    if dtype.kind in "US":
        return np.array([[str(r.randint(0, 20)), r.choice("ab")] for _ in range(n)]).astype(dtype)
    if dtype.kind == "?":
        raw &= 1
    return raw.view(dtype) if dtype.kind != "b" else (raw & 1).astype(bool)


def check_values(given: list[list[Any]], table: Any) -> None:
    """Every cell that is read as a number is the number that was given."""
    for column, cells in zip(columns_of(table), given, strict=True):
        if column.trouble is not None or column.levels:
            continue
        for value, cell in zip(column.values.tolist(), cells, strict=True):
            if np.isnan(value):
                continue
            if isinstance(
                cell,
                (np.timedelta64, np.datetime64, str, bytes, complex, np.complexfloating, datetime.timedelta),
            ):
                raise WrongAnswerError(f"{cell!r} was read as {value}")
            if isinstance(cell, (int, np.integer)) and int(cell) != value:
                raise WrongAnswerError(f"{cell!r} was read as {value}")


def tables(r: random.Random, folder: Path) -> Iterator[Try]:  # noqa: ARG001
    while True:
        n = r.choice([0, 1, 9, 12, 12, 12, 40])
        if r.random() < 0.3:
            array = typed_array(r, max(n, 1))
            table: Any = masked(array) if r.random() < 0.5 else array
            cells = [list(array[:, j]) for j in range(array.shape[1])]
            name = f"{array.dtype} {type(table).__name__}"
        else:
            cells = [random_column(r, n) for _ in range(r.choice([1, 2, 2, 3]))]
            container = r.choice(list(CONTAINERS))
            if container in COMPILED and any(type(cell) not in PLAIN for column in cells for cell in column):
                continue  # pyarrow and polars end the process at some objects of NumPy
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    table = CONTAINERS[container](cells)
            except Exception:
                continue  # the library itself refuses these cells
            name = container
        # NumPy, pandas and polars convert some cells before dcd sees them.
        exact = isinstance(table, (list, tuple)) and name != "list of arrays"
        exact |= isinstance(table, np.ndarray) and (table.dtype == object or "[" not in name)
        given = cells if exact and name not in ("array", "masked array") else None
        action = r.choice(["values", "audit", "fit", "fingerprint", "weight"])
        yield f"tables: {action} of {name} {str(cells)[:80]}", _act(action, table, given)


def _act(action: str, table: Any, given: list[list[Any]] | None) -> Callable[[], object]:
    def act() -> object:
        if action == "values" and given is not None:
            return check_values(given, table)
        if action == "audit":
            return dcd.audit(table)
        if action == "fingerprint":
            return dcd.results.fingerprint(table)
        if action == "weight":
            frame = public_surface.TABLE
            return dcd.RobustDCD(progress=False).fit(frame, sample_weight=table)
        return dcd.RobustDCD(progress=False, missing="complete-rows", drop_degenerate=True).fit(table)

    return act


# --- files ----------------------------------------------------------------------------------------------


def written(r: random.Random, folder: Path) -> Path:
    """A random table in a random format."""
    n = r.choice([1, 12, 30])
    makers = [
        lambda: r.gauss(0, 1),
        lambda: r.randint(0, 5),
        lambda: r.choice("abc"),
        lambda: r.choice([1, 2.5]),
    ]
    names = ["a", r.choice(["b", "é", "b c", '"q"', "1"]), "c"]
    frame = pd.DataFrame({name: [make() for _ in range(n)] for name in names for make in [r.choice(makers)]})
    suffix = r.choice(
        ["csv", "tsv", "csv.gz", "csv.xz", "csv.bz2", "parquet", "feather", "arrow", "npy", "xlsx"]
    )
    path = folder / f"table.{suffix}"
    if suffix.startswith(("csv", "tsv")):
        frame.to_csv(
            path,
            index=r.random() < 0.2,
            sep="\t" if suffix == "tsv" else ",",
            encoding=r.choice(["utf-8", "utf-8", "utf-16", "latin-1"]),
        )
    elif suffix == "parquet":
        parquet.write_table(pa.Table.from_pandas(frame), path, write_page_checksum=r.random() < 0.5)
    elif suffix in ("feather", "arrow"):
        feather.write_feather(frame, path, compression=r.choice(["uncompressed", "zstd"]))
    elif suffix == "npy":
        np.save(path, frame.select_dtypes("number").to_numpy(dtype=float))
    else:
        frame.to_excel(path, index=False)
    return path


def mutated(r: random.Random, content: bytes) -> bytes:
    """Some bytes changed, removed, repeated or moved."""
    changed = bytearray(content)
    for _ in range(r.choice([1, 1, 2, 5, 20])):
        at, to = sorted(r.choices(range(len(changed) + 1), k=2))
        to = min(to, at + r.choice([1, 2, 8, 64, 4096]))
        kind = r.choice(["flip", "flip", "set", "cut", "end", "repeat", "random", "move"])
        if kind == "flip" and at < len(changed):
            changed[at] ^= 1 << r.randint(0, 7)
        elif kind == "set" and at < len(changed):
            changed[at] = r.choice([0, 255, 10, 13, 34, 44, 60, 127])
        elif kind == "cut":
            del changed[at:to]
        elif kind == "end":
            del changed[at:]
        elif kind == "repeat":
            changed[at:at] = changed[at:to] * r.choice([1, 3])
        elif kind == "random":
            changed[at:to] = r.randbytes(to - at)
        else:
            part = changed[at:to]
            del changed[at:to]
            place = r.randint(0, len(changed))
            changed[place:place] = part
    return bytes(changed)


def table_files(r: random.Random, folder: Path) -> Iterator[Try]:
    while True:
        path = written(r, folder)
        content = path.read_bytes()
        if path.suffix == ".gz" and r.random() < 0.5:
            content = gzip.compress(mutated(r, gzip.decompress(content)))
        elif path.suffix == ".xlsx" and r.random() < 0.8:
            content = _changed_part(r, content)
        elif r.random() < 0.95:
            content = mutated(r, content)
        path.write_bytes(content)
        reader = r.choice(
            [read_file, dcd.audit, lambda p: dcd.RobustDCD(progress=False, drop_degenerate=True).fit(p)]
        )
        yield f"files: {path.name}, {len(content)} bytes", partial(reader, str(path))


def _changed_part(r: random.Random, content: bytes) -> bytes:
    """A zip file with one of its parts mutated."""
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        victim = r.choice(old.namelist())
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, mutated(r, part) if name == victim else part)
    return packed.getvalue()


# --- graphs, knowledge and results ----------------------------------------------------------------------


def documents(r: random.Random, folder: Path) -> Iterator[Try]:
    from dcd.cli.graph_files import read_graph

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = dcd.RobustDCD(progress=False).fit(public_surface.TABLE)
    dcd.summarise(fitted).save(folder / "result.json")
    texts = {
        "graph.graphml": dcd.interop.to_graphml(public_surface.GRAPH),
        "graph.dot": dcd.interop.to_dot(public_surface.GRAPH),
        "graph.csv": public_surface.GRAPH.to_frame().to_csv(),
        "edges.csv": "from,to,type\na,b,->\nb,c,-\n",
        "result.json": (folder / "result.json").read_text(encoding="utf-8"),
        "knowledge.toml": "roots = ['a']\ntiers = [['a', 'b'], ['*']]\nforbidden = [['c', 'a']]\n",
    }
    readers = {".json": dcd.load_result, ".toml": dcd.Knowledge.from_toml}
    while True:
        name = r.choice(list(texts))
        path = folder / name
        path.write_bytes(mutated(r, texts[name].encode(r.choice(["utf-8", "utf-8", "utf-16"]))))
        reader = readers.get(path.suffix, read_graph)
        yield (
            f"documents: {name} {path.read_bytes()[:40]!r}",
            partial(reader, str(path)),
        )


# --- parameters -----------------------------------------------------------------------------------------


def parameters(r: random.Random, folder: Path) -> Iterator[Try]:
    """Random calls of the public surface, one hostile value at a time or several."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = dcd.RobustDCD(progress=False).fit(public_surface.TABLE)
    calls = list(public_surface.calls(public_surface.valid_values(fitted, folder)))
    while True:
        described, call = r.choice(calls)
        if described.startswith("dcd.baselines.run(") and r.random() < 0.99:
            continue  # in a process of its own
        yield f"parameters: {described}", call


# --- writing --------------------------------------------------------------------------------------------


def writing(r: random.Random, folder: Path) -> Iterator[Try]:
    """Files are whole, or as they were, whichever step of writing fails."""
    steps = ["fsync", "replace", "chmod", "open", "mkstemp", ""]
    while True:
        target = folder / "target.txt"
        target.unlink(missing_ok=True)
        kind = r.choice(["file", "none", "link", "dangling", "folder", "pipe"])
        step, number = r.choice(steps), r.choice([errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES])
        yield (
            f"writing: {kind}, {step} {os.strerror(number)}",
            partial(_write, folder, kind=kind, step=step, number=number),
        )


def _write(folder: Path, *, kind: str, step: str, number: int) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        target, old = Path(place, "target.txt"), Path(place, "old.txt")
        old.write_text("old")
        if kind == "file":
            target.write_text("old")
        elif kind in ("link", "dangling"):
            target.symlink_to(old if kind == "link" else Path(place, "nowhere.txt"))
        elif kind == "folder":
            target.mkdir()
        elif kind == "pipe":
            os.mkfifo(target)
            return
        with _failing(step, number) as failed, contextlib.suppress(dcd.InputError):
            files.write_text(target, "new")
        if target.is_file() and target.read_text() not in ("old", "new"):
            raise WrongAnswerError("half a file")
        if Path(place, "nowhere.txt").exists():
            raise WrongAnswerError("a file elsewhere")
        beside = {path.name for path in Path(place).iterdir()} - {"target.txt", "old.txt"}
        if beside and not failed:
            raise WrongAnswerError(f"left behind: {beside}")


@contextlib.contextmanager
def _failing(step: str, number: int) -> Iterator[list[str]]:
    from unittest import mock

    failed: list[str] = []

    def fail(*_: object, **__: object) -> None:
        failed.append(step)
        raise OSError(number, os.strerror(number))

    places = {
        "fsync": (os, "fsync"),
        "replace": (Path, "replace"),
        "chmod": (Path, "chmod"),
        "mkstemp": (tempfile, "mkstemp"),
    }
    if step not in places:
        yield failed
        return
    with mock.patch.object(*places[step], fail):
        yield failed


# --- the run --------------------------------------------------------------------------------------------

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


def run(name: str, seed: int, n_tries: int, failures: Counter[str]) -> int:
    """So many tries of one class; how many failed."""
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
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tries", type=int, default=12_000)
    parser.add_argument("--only", choices=list(CLASSES))
    options = parser.parse_args()
    import matplotlib

    matplotlib.use("Agg")
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
