"""Files of every format are read as written; whatever pandas would silently change is refused."""

import csv
import gzip
import io
import sys
import warnings
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dcd
from dcd.runtime.errors import TableWarning
from dcd.table.formats import content, delimited
from dcd.table.formats.base import FORMATS, Format, ParsedTable
from dcd.table.from_file import chosen_names, read_file


@pytest.fixture
def write(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def random_table(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "small": rng.standard_normal(20) * 10.0 ** rng.integers(-300, 300, 20),
            "count": rng.integers(-(2**53), 2**53, 20),
            "flag": rng.random(20) < 0.5,
            'städte, und "mehr"': rng.choice(
                ["Köln", "São Paulo", "=1+1", "a,b", 'say "x"', "two\nlines"], 20
            ),
        }
    )
    frame.loc[3, "small"] = np.nan
    return frame


# --- formats ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "name",
    [
        "t.csv",
        "t.tsv",
        "t.csv.gz",
        "t.csv.bz2",
        "t.tsv.xz",
        "t.CSV",
        "t.parquet",
        "t.feather",
        "t.arrow",
        "t.xlsx",
    ],
)
def test_tables_come_back_as_they_were_written(name, seed, tmp_path):
    frame = random_table(seed)
    path = tmp_path / name
    lower = name.lower()
    if lower.endswith(".parquet"):
        frame.to_parquet(path)
    elif lower.endswith((".feather", ".arrow")):
        frame.to_feather(path)
    elif lower.endswith(".xlsx"):
        frame.loc[:, "small"] = frame["small"].clip(-1e100, 1e100)
        frame = frame.replace("=1+1", "1+1")  # pandas writes it as a formula
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in lower else ",")
    pd.testing.assert_frame_equal(read_file(path), frame, check_exact=not lower.endswith(".xlsx"))


def test_arrow_streams_are_read_too(tmp_path):
    pa = pytest.importorskip("pyarrow")
    frame = random_table(0)
    table = pa.Table.from_pandas(frame)
    with pa.ipc.new_stream(str(tmp_path / "t.arrow"), table.schema) as stream:
        stream.write_table(table)
    pd.testing.assert_frame_equal(read_file(tmp_path / "t.arrow"), frame)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_an_index_with_a_name_is_a_column(suffix, tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    frame = random_table(0)
    names = list(frame.columns)
    labels = [f"row {number}" for number in range(len(frame))]

    def read_back(written):
        table = pa.Table.from_pandas(written)
        if suffix == "parquet":
            parquet.write_table(table, tmp_path / "t.parquet")
        else:
            with pa.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as file:
                file.write_table(table)
        return read_file(tmp_path / f"t.{suffix}")

    pd.testing.assert_frame_equal(read_back(frame.set_index(names[0])), frame)
    pd.testing.assert_frame_equal(read_back(frame.set_index(names[:2])), frame)
    pd.testing.assert_frame_equal(read_back(frame.set_axis(labels, axis="index")), frame)
    pd.testing.assert_frame_equal(read_back(frame.rename_axis("counter", axis="index")), frame)


def test_decimals_of_arrow_are_numbers_and_a_name_twice_is_named(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    prices = pa.array([Decimal("0.13"), None, Decimal("-2.50")], type=pa.decimal128(5, 2))
    parquet.write_table(pa.table({"price": prices, "b": [1, 2, 3]}), tmp_path / "t.parquet")
    price = read_file(tmp_path / "t.parquet")["price"]
    assert price.dtype == float
    assert price.fillna(9).tolist() == [0.13, 9, -2.5]
    ids = pa.array([2**53 + 1, 2**53 + 2, None], type=pa.decimal128(20, 0))
    parquet.write_table(pa.table({"id": ids, "a": prices, "b": [1, 2, 3]}), tmp_path / "ids.parquet")
    with pytest.raises(dcd.InputError, match="column 'id': has numbers too large"):
        read_file(tmp_path / "ids.parquet")
    assert read_file(tmp_path / "ids.parquet", exclude=["id"]).shape == (3, 2)
    twice = pa.Table.from_arrays([prices, prices], names=["a", "a"])
    parquet.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(dcd.InputError, match=r"column 'a': occurs 2 times \(columns 1, 2\)"):
        read_file(tmp_path / "twice.parquet")


@pytest.mark.parametrize("first", [None, 2**53 + 3])
def test_whole_numbers_of_arrow_beyond_floats_are_refused_however_they_come(first, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    ids = pa.array([first, *(2**53 + 2 * place for place in range(2, 40))])
    table = pa.table({"id": ids, "b": np.random.default_rng(0).standard_normal(len(ids))})
    parquet.write_table(table, tmp_path / "t.parquet")
    for given in (table, parquet.ParquetFile(tmp_path / "t.parquet"), tmp_path / "t.parquet"):
        with pytest.raises(
            dcd.InputError, match=r"column 'id': (holds whole numbers beyond|has numbers too large)"
        ):
            dcd.RobustDCD(missing="testwise", progress=False).fit(given)


def test_whole_numbers_of_arrow_with_gaps_are_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"a": [1, None, -3], "b": [1, 2, 3]}), tmp_path / "t.parquet")
    assert read_file(tmp_path / "t.parquet")["a"].fillna(9).tolist() == [1, 9, -3]


@pytest.mark.parametrize("name", ["a\0b.csv", "a\0b.parquet", "x" * 300 + ".csv", "x" * 300 + ".parquet"])
def test_what_can_be_no_name_of_a_file_is_refused(name):
    with pytest.raises(dcd.InputError, match="cannot be read"):
        read_file(name)


def test_a_column_may_be_called_like_a_missing_value(write, tmp_path):
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"NA": [1.5, 2.5], "null": [3, 4], "None": [5, 6]})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    pd.testing.assert_frame_equal(read_file(tmp_path / "t.xlsx"), frame)
    pd.testing.assert_frame_equal(read_file(write(frame.to_csv(index=False))), frame)
    frame.set_axis(["a", "", "c"], axis="columns").to_excel(tmp_path / "gap.xlsx", index=False)
    with pytest.raises(dcd.InputError, match="column 2: has no name"):
        read_file(tmp_path / "gap.xlsx")


def test_standard_input_is_csv_unless_said(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(b"a,b\n1,2\n")

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert read_file("-").to_dict("list") == {"a": [1], "b": [2]}
    Stdin.buffer = io.BytesIO(b"a\tb\n1\t2\n")
    assert read_file("-", format="tsv").to_dict("list") == {"a": [1], "b": [2]}


def test_standard_input_that_is_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(dcd.InputError, match="standard input: is closed"):
        read_file("-")


@pytest.mark.parametrize(
    "encoding", ["punycode", "idna", "utf-7", "utf-32", "unicode_escape", "rot13", "hex"]
)
def test_any_encoding_is_read_or_refused(encoding, write):
    with pytest.raises(dcd.InputError):
        read_file(write(b"a,b\n1.5,\\N\xff\n"), encoding=encoding)


def test_the_format_can_be_said(write):
    assert list(read_file(write("a\tb\n1\t2\n", "table.dat"), format="tsv").columns) == ["a", "b"]
    with pytest.raises(dcd.InputError, match=r"has an unknown extension \(\.dat\).*\.parquet"):
        read_file(write("a,b\n1,2\n", "table.dat"))
    with pytest.raises(dcd.InputError, match="'format'"):
        read_file(write("a,b\n1,2\n"), format="csvv")


def test_utf_16_and_byte_order_marks(write):
    for encoding in ("utf-16", "utf-8-sig"):
        assert list(read_file(write("ä,b\n1,2\n".encode(encoding))).columns) == ["ä", "b"]


def test_a_column_may_be_called_like_the_mark_of_a_format(write):
    assert list(read_file(write("PAR1,ARROW1\n1,2\n")).columns) == ["PAR1", "ARROW1"]


def test_sheets_of_excel(tmp_path):
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"a": [1], "b": [2]}).to_excel(book, sheet_name="one", index=False)
        pd.DataFrame({"c": [3], "d": [4]}).to_excel(book, sheet_name="two", index=False)
    assert list(read_file(path, sheet="two").columns) == ["c", "d"]
    with pytest.warns(TableWarning, match="2 sheets.*'one'"):
        assert list(read_file(path).columns) == ["a", "b"]
    with pytest.raises(dcd.InputError, match=r"sheet 'tow'.*'two'"):
        read_file(path, sheet="tow")


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("", "t.csv", "is empty"),
        ("\n\n", "t.csv", "is empty"),
        ("a,b\n", "t.csv", "header but no rows"),
        ("a;b\n1;2\n", "t.csv", "only one column.*semicolon.*';'"),
        ("a\tb\n1\t2\n", "t.csv", "only one column.*a tab"),
        ("a,b\n1,2\n", "t.tsv", "only one column.*comma"),
        ("a\n1\n", "t.csv", "only one column"),
        ("a,b,a\n1,2,3\n", "t.csv", r"column 'a'.*2 times \(columns 1, 3\)"),
        ("a, a\n1,2\n", "t.csv", "column 'a'"),
        ("a,b\n1,2\n3\n", "t.csv", "line 3: has 1 cells where the header has 2"),
        ('a,b\n"1\n1",2\n3,4,5\n', "t.csv", "line 4: has 3 cells"),
        ('a,b\n1,2\n3,"4\n', "t.csv", "line 3: unexpected end of data"),
        (b"a,b\n1,x\n2,caf\xe9\n", "t.csv", "line 3: byte 0xe9 is not UTF-8.*latin-1"),
        (b"a,b\n1,2\n3,\x00\n", "t.csv", "line 3: has a zero byte"),
        ("a,b\n1,12345678901234567890123\n", "t.csv", "column 'b'.*12345678901234567890123"),
        ("a,b\n1,9007199254740993\n", "t.csv", "column 'b'.*9007199254740993"),
        ("a,b\n1,1e400\n", "t.csv", "column 'b'.*1e400"),
        ("a,,c\n1,2,3\n", "t.csv", "column 2: has no name"),
        (b"PAR1\x00\x00", "t.csv", "holds parquet"),
        (b"PK\x03\x04\x00\x00", "t.parquet", "holds excel"),
        (b"PK\x03\x04\x00\x00", "t.xlsx", "is not an Excel file"),
        (b"nothing", "t.parquet", "is not a file in Parquet format"),
        (b"nothing", "t.arrow", "is not a file in Arrow format"),
        (b"a,b\n1,2\n", "t.csv.gz", "cannot be unpacked"),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 1000, mtime=0)[:-20], "t.csv.gz", "cannot be unpacked"),
    ],
)
def test_what_cannot_be_read_right_is_refused(content, name, message, write):
    with pytest.raises(dcd.InputError, match=rf"(?s)file '.*{name}.*{message}"):
        read_file(write(content, name))


def test_files_that_are_not_there(write, tmp_path):
    write("a,b\n1,2\n", "measured.csv")
    with pytest.raises(dcd.InputError, match=r"does not exist.*Did you mean '.*measured\.csv'"):
        read_file(tmp_path / "measure.csv")
    with pytest.raises(dcd.InputError, match="is a folder"):
        read_file(tmp_path)
    with pytest.raises(dcd.InputError, match="does not exist"):
        read_file(tmp_path / "no" / "such" / "folder.csv")


def test_no_file_is_fetched_from_elsewhere():
    with pytest.raises(dcd.InputError, match="does not exist"):
        read_file("https://example.org/table.csv")


@pytest.mark.parametrize(
    ("name", "extra"), [("t.parquet", "parquet"), ("t.feather", "parquet"), ("t.xlsx", "excel")]
)
def test_a_missing_reader_names_the_extra(name, extra, write, monkeypatch):
    monkeypatch.setattr(content, "find_spec", lambda module: None)
    with pytest.raises(dcd.InputError, match=rf"pip install 'causal-dcd\[{extra}\]'"):
        read_file(write(b"something", name))


# --- numbers and words -----------------------------------------------------------------------------------


def test_decimal_commas_are_pointed_out_and_can_be_read(write):
    path = write("a;b\n1,5;x\n-2;y\n3,25e1;z\n")
    with pytest.raises(dcd.InputError, match=r"column 'a'.*'1,5' on line 2.*decimal=','"):
        read_file(path, delimiter=";")
    assert read_file(path, delimiter=";", decimal=",")["a"].tolist() == [1.5, -2.0, 32.5]
    assert read_file(path, delimiter=";", decimal=".")["a"].tolist() == ["1,5", "-2", "3,25e1"]
    with pytest.raises(dcd.InputError, match="'decimal'"):
        read_file(write("a,b\n1,2\n"), decimal=",")


def test_words_among_numbers_are_pointed_out(write):
    path = write("a,b\n" + "1,2\n" * 9 + "?,3\n")
    with pytest.warns(TableWarning, match=r"column 'a': 1 of 10 .*'\?' on line 11.*na_values=\['\?'\]"):
        assert read_file(path)["a"].iloc[0] == "1"
    assert np.isnan(read_file(path, na_values=["?"])["a"].iloc[-1])


def test_cells_are_never_evaluated(write):
    cells = ["=1+1", "__import__('os').system('x')", "{{7*7}}", "@SUM(A1)", "1+1"]
    text = io.StringIO()
    csv.writer(text).writerows([["a", "b"], *([cell, "1"] for cell in cells)])
    assert read_file(write(text.getvalue()))["a"].tolist() == cells


def test_row_numbers_that_pandas_wrote_are_left_out_aloud(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": [3, 4]})
    frame.to_csv(tmp_path / "t.csv")
    with pytest.warns(TableWarning, match="numbers the rows"):
        pd.testing.assert_frame_equal(read_file(tmp_path / "t.csv"), frame)
    frame.rename(index={1: 7}).to_csv(tmp_path / "t.csv")
    with pytest.raises(dcd.InputError, match="column 1: has no name"):
        read_file(tmp_path / "t.csv")


def test_a_table_without_a_header_is_pointed_out(write):
    with pytest.warns(TableWarning, match="all names in the first line are numbers"):
        read_file(write("1.5,2\n3,4\n"))


# --- choosing columns ------------------------------------------------------------------------------------


def test_columns_by_name_and_pattern():
    frame = pd.DataFrame(columns=["gene_1", "gene_2", "age", "a[1]", "Gene_3"])
    assert list(chosen_names(list(frame), ["gene_*"])) == ["gene_1", "gene_2"]
    assert list(chosen_names(list(frame), ["age", "gene_?"], ["gene_2"])) == ["gene_1", "age"]
    assert list(chosen_names(list(frame), exclude=["*ene*"])) == ["age", "a[1]"]
    assert list(chosen_names(list(frame), ["a[1]"])) == ["a[1]"]
    with pytest.raises(dcd.InputError, match=r"'agee'.*'age'"):
        chosen_names(list(frame), ["agee"])
    with pytest.raises(dcd.InputError, match="all left out"):
        chosen_names(list(frame), exclude=["*"])


def test_columns_left_out_are_not_judged(write):
    path = write("id,a,b\n12345678901234567890123,1,2\n")
    assert list(read_file(path, exclude=["id"])) == ["a", "b"]


def test_good_tables_bring_no_warning(write):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_file(write("a,b,c\n1,2.5,x\n,3,y\n")).shape == (2, 3)


def test_a_clean_file_is_parsed_once(write, monkeypatch):
    """Only the header and the first row are read line by line; with quotes or short lines, all of it."""
    monkeypatch.setattr(delimited, "csv", SimpleNamespace(**{**vars(csv), "reader": CountingReader}))
    CountingReader.n_rows = 0
    read_file(write("a,b\n" + "1,\n" * 100))
    assert CountingReader.n_rows == 2
    with pytest.raises(dcd.InputError, match="line 3: has 1 cells where the header has 2"):
        read_file(write("a,b\n1,2\n3\n4,5,6\n"))
    read_file(write('a,b\n"1",2\n' + "3,4\n" * 100))
    assert CountingReader.n_rows > 100


class CountingReader:
    """`csv.reader` that counts the rows it has read."""

    n_rows = 0

    def __init__(self, lines, **options):
        self._reader = csv.reader(lines, **options)

    def __iter__(self):
        return self

    def __next__(self):
        row = next(self._reader)
        type(self).n_rows += 1
        return row

    @property
    def line_num(self):
        return self._reader.line_num


@pytest.mark.parametrize("text", ["a,b\n1,2,3\n4,5,6\n", "a,b\n1,2,\n4,5,\n", "a,b\n1\n4,5,6\n"])
def test_the_first_row_is_as_long_as_the_header(text, write):
    with pytest.raises(dcd.InputError, match=r"line 2: has . cells where the header has 2"):
        read_file(write(text))


def test_blank_lines_are_skipped(write):
    assert read_file(write("\na,b\n\n1,2\n  \n3,4\n\n")).to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_a_format_is_one_function_and_one_line(write, monkeypatch):
    """A user-defined format, in its own module."""

    def read_pairs(content, label, options):
        rows = [line.split("=") for line in content.decode().split()]
        return ParsedTable(["key", "value"], pd.DataFrame(rows).astype(int))

    monkeypatch.setattr(delimited, "read_pairs", read_pairs, raising=False)
    monkeypatch.setitem(FORMATS, "pairs", Format("delimited:read_pairs", (".pairs",)))
    assert read_file(write("1=2\n3=4\n"), format="pairs")["value"].tolist() == [2, 4]
