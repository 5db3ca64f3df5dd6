"""Random containers, types and values."""

from __future__ import annotations

import datetime
import decimal
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from support import public_surface

import dcd
from benchmarks.fuzz import Try, WrongAnswerError
from dcd.table.sources import columns_of

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
        n = r.choice([0, 1, 9, 12, 12, 12, public_surface.N, 40])
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
        action = r.choice(["values", "audit", "fit", "fingerprint", "weight", "groups", "audited groups"])
        yield f"tables: {action} of {name} {str(cells)[:80]}", _act(action, table, given)


def _act(action: str, table: Any, given: list[list[Any]] | None) -> Callable[[], object]:
    def act() -> object:
        if action == "values" and given is not None:
            return check_values(given, table)
        if action == "audit":
            return dcd.audit(table)
        if action == "fingerprint":
            return dcd.results.fingerprint(table)
        if action == "audited groups":
            return dcd.audit(public_surface.TABLE, groups=table)
        if action in ("weight", "groups"):
            given_as = {"sample_weight" if action == "weight" else "groups": table}
            return dcd.RobustDCD(progress=False).fit(public_surface.TABLE, **given_as)
        return dcd.RobustDCD(progress=False, missing="complete-rows", drop_degenerate=True).fit(table)

    return act
