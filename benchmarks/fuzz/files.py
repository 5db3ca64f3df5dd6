"""Random tables in every format, mutated."""

from __future__ import annotations

import gzip
import io
import random
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather, parquet

import dcd
from benchmarks.fuzz import Try
from benchmarks.fuzz.mutation import mutated
from dcd.table.from_file import read_file


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
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        victim = r.choice(old.namelist())
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, mutated(r, part) if name == victim else part)
    return packed.getvalue()
