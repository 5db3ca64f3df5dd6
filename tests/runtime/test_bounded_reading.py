"""Every read is bounded: files are refused by kind and by size, with one error and its remedy."""

import bz2
import gzip
import io
import lzma
import os
import socket
import zipfile

import numpy as np
import pandas as pd
import pytest

import dcd
from dcd.cli.graph_files import read_graph
from dcd.runtime.files import bounded, read_text
from dcd.table.formats import content
from dcd.table.from_file import read_file

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")

READERS = {
    "table.csv": read_file,
    "table.csv.gz": read_file,
    "table.parquet": read_file,
    "table.npy": read_file,
    "table.xlsx": read_file,
    "graph.csv": read_graph,
    "graph.graphml": read_graph,
    "graph.dot": read_graph,
    "result.json": dcd.load_result,
    "knowledge.toml": dcd.Knowledge.from_toml,
}


@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
@pytest.mark.parametrize("name", READERS)
def test_what_may_never_end_or_begin_is_not_opened(name, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if kind == "pipe":
        os.mkfifo(name)
    elif kind == "device":
        os.symlink("/dev/zero", name)
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(name)
    with pytest.raises(dcd.InputError, match="is a device, a pipe or a socket, not a file"):
        READERS[name](name)


SYSTEM = ["/proc/self/status", "/proc/kmsg"]  # the second waits for the next message


@pytest.mark.parametrize("system", [path for path in SYSTEM if os.access(path, os.R_OK)])
@pytest.mark.parametrize("name", READERS)
def test_files_of_the_system_are_not_read(name, system, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink(system, name)
    with pytest.raises(dcd.InputError, match="is a file of the system without a known size"):
        READERS[name](name)


@pytest.mark.parametrize(
    ("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_a_small_file_that_unpacks_to_a_large_one_is_refused(suffix, pack, tmp_path, monkeypatch):
    monkeypatch.setattr(content, "MOST_TABLE", 2**21)
    file = tmp_path / f"table.csv.{suffix}"
    file.write_bytes(pack(b"a,b\n" + b"1,2\n" * 2**20))
    with pytest.raises(dcd.InputError, match="is larger than 2 MiB"):
        read_file(file)


def test_an_endless_stream_is_read_to_its_bound_only():
    class Endless(io.RawIOBase):
        n_read = 0

        def read(self, size=-1):
            assert size > 0
            self.n_read += size
            return bytes(size)

    stream = Endless()
    with pytest.raises(dcd.InputError, match="standard input: is larger than 4 MiB"):
        bounded(stream, "standard input", 2**22)
    assert stream.n_read <= 2**22 + 2**20


def sheets(path, change):
    """A workbook of 20 rows with its first sheet changed."""
    pytest.importorskip("openpyxl")
    pd.DataFrame({"a": range(20), "b": np.arange(20) % 7}).to_excel(path, index=False)
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    name = "xl/worksheets/sheet1.xml"
    parts[name] = change(parts[name])
    with zipfile.ZipFile(path, "w") as book:
        for name, part in parts.items():
            book.writestr(name, part)
    return path


def test_a_cell_in_the_last_row_and_column_is_refused_at_once(tmp_path):
    far = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    file = sheets(tmp_path / "far.xlsx", lambda part: part.replace(b"</sheetData>", far))
    with pytest.raises(dcd.InputError, match="has a sheet of 1,048,576 rows and 16,384 columns"):
        read_file(file)


@pytest.mark.parametrize(
    "change",
    [
        lambda part: b'<!DOCTYPE x [<!ENTITY a "1">]>' + part.replace(b"<v>0</v>", b"<v>&a;</v>"),
        lambda part: part.replace(b"<v>0</v>", b"<v>&a;</v>"),
        lambda part: part[:-30],
        lambda part: part.replace(b"<v>0</v>", b"<v>one</v>"),
        lambda part: part.replace(b'r="A1"', b'r="?"'),
    ],
)
def test_broken_sheets_are_named_errors(change, tmp_path):
    with pytest.raises(dcd.InputError, match=r"broken\.xlsx.*is not an Excel file"):
        read_file(sheets(tmp_path / "broken.xlsx", change))


@pytest.mark.parametrize(
    "shape", ["(%s, 2)" % ("9" * 30), "(10**6, 2)", "(-5, 3)", "(1.5, 2)", "(1000000000, 1000)"]
)
def test_impossible_shapes_of_arrays_are_named_errors(shape, tmp_path):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    file = tmp_path / "array.npy"
    file.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64))
    with pytest.raises(dcd.InputError, match="is not a readable NumPy array"):
        read_file(file)


@pytest.mark.parametrize("share", [0.2, 0.4, 0.7])
def test_page_checksums_of_parquet_files_are_verified(share, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    file = tmp_path / "table.parquet"
    table = pa.table({"a": np.random.default_rng(0).random(5000), "b": np.random.default_rng(1).random(5000)})
    parquet.write_table(table, file, write_page_checksum=True, compression="none", use_dictionary=False)
    assert len(read_file(file)) == 5000
    stored = bytearray(file.read_bytes())
    stored[int(share * len(stored))] ^= 1
    file.write_bytes(stored)
    with pytest.raises(dcd.InputError, match="checksum"):
        read_file(file)


def test_a_parquet_file_has_as_many_cells_as_it_says(tmp_path):
    """With each byte of its footer changed in two ways: all rows, or an error; never some rows or gaps."""
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    file = tmp_path / "table.parquet"
    table = pa.table({"a": np.random.default_rng(0).random(12), "b": np.random.default_rng(1).random(12)})
    parquet.write_table(table, file, compression="none", use_dictionary=False, store_schema=False)
    stored = file.read_bytes()
    footer = len(stored) - 8 - int.from_bytes(stored[-8:-4], "little")
    n_short = 0
    for at in range(footer, len(stored) - 8):
        for byte in {0, stored[at] ^ 2} - {stored[at]}:
            file.write_bytes(stored[:at] + bytes([byte]) + stored[at + 1 :])
            try:
                frame = read_file(file)
            except dcd.InputError as error:
                if "cells in column" in str(error):
                    n_short += 1
                    with pytest.raises(
                        dcd.InputError, match=r"the table: has \d+ cells in column '[ab]', but"
                    ):
                        dcd.audit(parquet.ParquetFile(file))
            else:
                assert frame.shape[0] == 12
                assert not frame.isna().any(axis=None)
    assert n_short > 2


def test_text_documents_are_bounded_and_utf_8(tmp_path, monkeypatch):
    file = tmp_path / "graph.dot"
    file.write_bytes(b"digraph { a -> b }" + b" " * 2**21)
    assert read_text(file).startswith("digraph")
    monkeypatch.setattr("dcd.runtime.files.MOST_TEXT", 2**20)
    with pytest.raises(dcd.InputError, match="is larger than 1 MiB"):
        read_text(file)
    file.write_bytes(b"digraph \xff")
    with pytest.raises(dcd.InputError, match=r"is not UTF-8 \(byte 9\)"):
        read_text(file)
