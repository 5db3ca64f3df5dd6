"""Tables larger than memory: the same columns, checks and graphs as in memory, within the limit."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, feather, ipc, parquet
from support.tables import mixed_table as table
from support.tables import parquet_path

import dcd
from dcd.runtime import memory as storage
from dcd.runtime.memory import Memory
from dcd.table.dataset import TableOptions
from dcd.table.formats import columnar
from dcd.table.from_file import read_file
from dcd.table.reading import read_columns
from dcd.table.sources import SomeRows, columns_of

pytestmark = pytest.mark.filterwarnings(
    "ignore::dcd.runtime.errors.SmallSampleWarning", "ignore::dcd.runtime.errors.RowsLostWarning"
)


def lazy_parquet(frame, folder):
    frame.to_parquet(folder / "lazy.parquet")
    return pl.scan_parquet(folder / "lazy.parquet")


def mapped_arrow(frame, folder):
    feather.write_feather(pa.Table.from_pandas(frame), folder / "mapped.arrow", compression="uncompressed")
    return ipc.open_file(pa.memory_map(str(folder / "mapped.arrow"))).read_all()


def stream(frame, folder):
    with ipc.new_stream(folder / "stream.arrow", pa.Table.from_pandas(frame).schema) as file:
        file.write_table(pa.Table.from_pandas(frame), max_chunksize=100)
    return folder / "stream.arrow"


def packed_feather(frame, folder):
    feather.write_feather(pa.Table.from_pandas(frame), folder / "t.feather", compression="lz4", chunksize=90)
    return str(folder / "t.feather")


def plain_arrow(frame, folder):
    feather.write_feather(pa.Table.from_pandas(frame), folder / "t.arrow", compression="uncompressed")
    return folder / "t.arrow"


FORMS = {
    "Parquet": parquet_path,
    "Feather": packed_feather,
    "Arrow": plain_arrow,
    "Arrow stream": stream,
    "mapped table": mapped_arrow,
    "ParquetFile": lambda frame, folder: parquet.ParquetFile(parquet_path(frame, folder)),
    "dataset": lambda frame, folder: dataset.dataset(parquet_path(frame, folder)),
    "LazyFrame": lazy_parquet,
    "pandas": lambda frame, folder: frame,
}


@pytest.fixture(params=["in memory", "in scratch files", "in small blocks"])
def limit(request, monkeypatch):
    """Limits under which small tables are treated like large ones."""
    if request.param == "in memory":
        return None
    monkeypatch.setattr(storage, "FIXED", 0)
    monkeypatch.setattr(storage, "PER_ROW", 0)
    monkeypatch.setattr(storage, "_SCRATCH", 2**40)
    return "1GiB" if request.param == "in scratch files" else "16MiB"


# --- reading ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["refuse", "complete-rows", "testwise"])
@pytest.mark.parametrize(
    ("form", "limit"),
    [(form, "in small blocks") for form in FORMS] + [("Parquet", "in memory"), ("Arrow", "in scratch files")],
    indirect=["limit"],
)
def test_a_table_is_the_same_from_disk_and_from_memory(form, missing, limit, tmp_path):
    frame = table(gaps=missing != "refuse").assign(same=1.0, double=lambda f: 2 * f["sum"])
    weights = np.random.default_rng(1).integers(0, 3, len(frame))
    how = {"kinds": {"grade": "nominal"}, "missing": missing, "drop_degenerate": True}
    expected = read_columns(frame, options=TableOptions(**how), sample_weight=weights)
    options = TableOptions(**how, memory=Memory.of(limit))
    found = read_columns(FORMS[form](frame, tmp_path), options=options, sample_weight=weights)
    if form == "LazyFrame":  # whose Categorical has no order
        expected, found = (
            ds.select([i for i, n in enumerate(ds.names) if n != "size"]) for ds in (expected, found)
        )
    else:
        assert found.summary == expected.summary
    assert (found.names, found.kinds, found.named) == (expected.names, expected.kinds, expected.named)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.weights, expected.weights)
    np.testing.assert_array_equal(found.rows, expected.rows)
    assert found.has_gaps == expected.has_gaps == (missing == "testwise")
    ours, theirs = found.in_canonical_order(), expected.in_canonical_order()
    assert ours.names == theirs.names
    np.testing.assert_array_equal(ours.values, theirs.values)
    part, expected_part = ours.complete_in([0, 2, 4]), theirs.complete_in([0, 2, 4])
    np.testing.assert_array_equal(part.values, expected_part.values)
    np.testing.assert_array_equal(part.weights, expected_part.weights)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, bool])
def test_arrays_on_disk(dtype, order, limit, tmp_path):
    rng = np.random.default_rng(0)
    values = np.array(
        rng.standard_normal((20_000, 4)) * 5 > 0 if dtype is bool else rng.standard_normal((20_000, 4)) * 50,
        dtype=dtype,
    )
    np.save(tmp_path / "t.npy", np.asarray(values, order=order))
    expected = read_columns(values)
    options = TableOptions(memory=Memory.of(limit))
    for given in (tmp_path / "t.npy", np.load(tmp_path / "t.npy", mmap_mode="r"), values):
        found = read_columns(given, options=options)
        np.testing.assert_array_equal(found.values, expected.values)
        assert found.summary == expected.summary
        assert not found.named
        assert isinstance(found.values, np.memmap) == (limit is not None)
        assert isinstance(found.in_canonical_order().values, np.memmap) == (limit is not None)


def test_a_lazy_table_without_a_fixed_order_keeps_its_rows_together(limit):
    given = pl.DataFrame({"k": range(5000), "x": np.arange(5000) ** 2.0, "y": np.cos(np.arange(5000))})
    lazy = given.lazy().group_by("k").agg(pl.col("x").first(), pl.col("y").first())
    found = read_columns(lazy, options=TableOptions(memory=Memory.of(limit))).values
    np.testing.assert_array_equal(found[:, 1], found[:, 0] ** 2)
    np.testing.assert_array_equal(found[:, 2], np.cos(found[:, 0]))


def test_nothing_is_written_into_what_was_given(limit):
    values = np.column_stack([np.tile([3.0, 8.0], 50), np.random.default_rng(0).standard_normal(100)])
    target = np.tile([1.0, 5.0, 5.0, 1.0], 25)
    before = values.copy(), target.copy()
    options = TableOptions(kinds={"x0": "nominal"}, missing="complete-rows", memory=Memory.of(limit))
    found = read_columns(values, target, options=options, sample_weight=np.arange(100))
    np.testing.assert_array_equal(found.values[:, 0], np.tile([0, 1], 50)[1:])
    np.testing.assert_array_equal(values, before[0])
    np.testing.assert_array_equal(target, before[1])


@pytest.mark.parametrize("form", ["Parquet", "dataset", "pandas"])
def test_some_rows_of_any_table(form, tmp_path):
    frame = table()
    rows = np.sort(np.random.default_rng(0).integers(0, len(frame), 200))
    found = read_columns(SomeRows(FORMS[form](frame, tmp_path), rows))
    np.testing.assert_array_equal(found.values, read_columns(frame.iloc[rows]).values)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_arrow_files_are_known_to_be_compressed_or_not(compression, tmp_path):
    given = pa.Table.from_pandas(table())
    options = ipc.IpcWriteOptions(compression=None if compression == "uncompressed" else compression)
    for name, write in {"file": ipc.new_file, "stream": ipc.new_stream}.items():
        with write(tmp_path / f"{name}.arrow", given.schema, options=options) as file:
            file.write_table(given, max_chunksize=90)
    pl.from_arrow(given).write_ipc(tmp_path / "polars.arrow", compression=compression)
    for path in tmp_path.iterdir():
        with pa.memory_map(str(path)) as file:
            assert columnar.is_compressed(file) == (compression != "uncompressed")
        pd.testing.assert_frame_equal(
            read_file(path)[["sum", "town"]], table()[["sum", "town"]], check_dtype=False
        )


def test_ordered_categories_of_pyarrow_are_ordered():
    (column,) = columns_of(pa.Table.from_pandas(table()[["size"]]))
    assert column.source == "ordered categories"
    assert column.levels == ("small", "medium", "large")


BAD_FILES = {
    "missing.parquet": (None, "does not exist"),
    "empty.parquet": (b"", "is empty"),
    "cut.parquet": (b"PAR1 and no more", "is not a file in Parquet format"),
    "text.arrow": (b"a,b\n1,2\n", "is not a file in Arrow format"),
    "other.npy": (b"PAR1\0\0\0\0", "is read as npy but holds parquet"),
    "short.npy": (b"\x93NUMPY\x01\x00", "is not a readable NumPy array"),
    "unknown.xyz": (b"something", "has an unknown extension"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused_by_name(name, tmp_path):
    content, message = BAD_FILES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    for use in (dcd.RobustDCD().fit, dcd.audit, dcd.results.fingerprint):
        with pytest.raises(dcd.InputError, match=rf"file '.*{name}': {message}"):
            use(tmp_path / name)


def test_files_without_a_table_in_them(tmp_path):
    np.save(tmp_path / "flat.npy", np.arange(10.0))
    np.save(tmp_path / "objects.npy", np.array([[{}, 1]] * 12, dtype=object), allow_pickle=True)
    np.save(tmp_path / "none.npy", np.zeros((0, 3)))
    parquet.write_table(pa.table({}), tmp_path / "none.parquet")
    parquet.write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "header.parquet")
    pd.DataFrame({"a": range(20), "b": [{"k": 1}] * 20}).to_parquet(tmp_path / "nested.parquet")
    for name, message in {
        "flat.npy": r"has 1 dimension\(s\), expected 2",
        "objects.npy": "is not a readable NumPy array .*hold objects",
        "none.npy": "has no cells",
        "none.parquet": "no rows|no columns",
        "header.parquet": "has a header but no rows",
        "nested.parquet": "column 'b': not numeric",
    }.items():
        with pytest.raises(dcd.InputError, match=message):
            dcd.DCD().fit(str(tmp_path / name))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(("error", "refused"), [(1e-8, True), (1e-5, False)])
def test_copies_and_sums_are_found_to_a_part_in_a_million(error, refused, gaps, limit):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((30_000, 4)) + 50
    copy = 3 * values[:, 1] - 7 + error * rng.standard_normal(30_000)
    total = values[:, :3].sum(axis=1) + error * rng.standard_normal(30_000)
    if gaps:
        values[rng.random(values.shape) < 0.05] = np.nan
    options = TableOptions(missing="testwise" if gaps else "refuse", memory=Memory.of(limit))
    for extra, words in ((copy, "is a copy of"), (total, "linear combination")):
        given = np.column_stack([values, extra])
        if refused:
            with pytest.raises(dcd.InputError, match=words):
                read_columns(given, options=options)
        else:
            assert len(read_columns(given, options=options).names) == 5


# --- whole fits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [dcd.RobustDCD, dcd.DCD])
@pytest.mark.parametrize("missing", ["refuse", "testwise"])
def test_graphs_do_not_depend_on_the_limit(estimator, missing, limit, tmp_path):
    frame = table(200, gaps=missing != "refuse").drop(columns=["c", "flag"])
    weights = np.random.default_rng(2).random(len(frame)) + 0.5
    expected = estimator(missing=missing, progress=False).fit(frame, sample_weight=weights)
    path = parquet_path(frame, tmp_path)
    found = estimator(missing=missing, memory_limit=limit, progress=False).fit(path, sample_weight=weights)
    assert found.cpdag_ == expected.cpdag_
    assert found.table_ == expected.table_
    assert list(found.feature_names_in_) == list(frame.columns)
    ours, theirs = (
        [pvalue for search in model.diagnostics_.searches for pvalue in search.neighbours.values()]
        for model in (found, expected)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-7 if limit == "16MiB" else 0)


@pytest.mark.parametrize("method", ["published", "robust"])
def test_boundaries_do_not_depend_on_the_limit(method, limit, tmp_path):
    frame = table(200)
    expected = dcd.MarkovBoundary("a", method=method).fit(frame)
    found = dcd.MarkovBoundary("a", method=method, memory_limit=limit).fit(parquet_path(frame, tmp_path))
    assert found.boundary_ == expected.boundary_
    np.testing.assert_allclose(found.pvalues_, expected.pvalues_, rtol=1e-7 if limit == "16MiB" else 0)


@pytest.mark.parametrize("estimator", [dcd.RobustDCD, dcd.DCD, dcd.MarkovBoundary])
def test_a_limit_that_is_none_or_too_small_is_told_before_any_work(estimator):
    with pytest.raises(dcd.InputError, match="parameter 'memory_limit': must be None"):
        estimator(memory_limit="lots").fit(table(), np.arange(400))
    with pytest.raises(dcd.InputError, match="'memory_limit': is 1000000 bytes, too small for 400 rows"):
        estimator(memory_limit="1MB").fit(table(), np.arange(400))


# --- what is done with results ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_audits_and_fingerprints_are_the_same(form, tmp_path):
    frame = table(gaps=True)
    frame = frame if form != "LazyFrame" else frame.drop(columns="size")
    given = FORMS[form](frame, tmp_path)
    assert str(dcd.audit(given, memory_limit="100MiB")) == str(dcd.audit(frame))
    assert dcd.results.fingerprint(given) == dcd.results.fingerprint(frame)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["Parquet", "dataset", "ParquetFile", "LazyFrame"])
def test_resamples_and_accounts_of_a_table_on_disk(form, tmp_path):
    frame = table().drop(columns="size")
    given = FORMS[form](frame, tmp_path)
    model = dcd.RobustDCD(progress=False).fit(frame)
    bounded = dcd.RobustDCD(progress=False, memory_limit="1GiB").fit(given)
    how = {"n_resamples": 3, "progress": False, "n_jobs": 2}
    expected = dcd.stability(model, frame, **how, checkpoint=tmp_path / "run.jsonl")
    again = dcd.stability(bounded, given, **how, checkpoint=tmp_path / "run.jsonl")  # is of the same data
    found = dcd.stability(bounded, given, **how)
    for stability in (again, found):
        np.testing.assert_array_equal(stability.directed, expected.directed)
        np.testing.assert_array_equal(stability.undirected, expected.undirected)
    accounts = (dcd.summarise(bounded, given, title="t"), dcd.summarise(model, frame, title="t"))
    assert accounts[0].to_dict() == accounts[1].to_dict()


@pytest.mark.slow
def test_resamples_of_an_array_on_disk(tmp_path):
    values = np.random.default_rng(0).standard_normal((300, 3)).cumsum(axis=1)
    np.save(tmp_path / "t.npy", values)
    how = {"n_resamples": 4, "progress": False, "checkpoint": tmp_path / "run.jsonl"}
    expected = dcd.stability(dcd.RobustDCD(), values, **how)
    for given in (tmp_path / "t.npy", np.load(tmp_path / "t.npy", mmap_mode="r")):
        found = dcd.stability(dcd.RobustDCD(), given, **{**how, "checkpoint": None})
        np.testing.assert_array_equal(found.undirected, expected.undirected)
        np.testing.assert_array_equal(
            dcd.stability(dcd.RobustDCD(), given, **how).directed, expected.directed
        )
    two = {"n_resamples": 2, "n_jobs": 2, "progress": False}
    with pytest.raises(
        dcd.InputError, match=r"104857600 bytes, .* 2 processes\. Try .*='129MiB', .*n_jobs=1"
    ):
        dcd.stability(dcd.RobustDCD(memory_limit="100MiB"), values, **two)
    dcd.stability(dcd.RobustDCD(memory_limit="129MiB"), values, **two)  # what was said to do


# --- the limit holds -------------------------------------------------------------------------------------

UNDER_A_LIMIT = """
import re, resource, sys
import numpy as np, pyarrow.parquet, pyarrow.feather
import dcd
from dcd.table.dataset import TableOptions
from dcd.table.reading import read_columns
from dcd.runtime.memory import Memory

folder, extra = sys.argv[1], int(sys.argv[2]) * 2**20
dcd.audit(np.random.default_rng(0).standard_normal((100, 3)))  # all of it is loaded
taken = 1024 * int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1])
resource.setrlimit(resource.RLIMIT_DATA, (taken + extra, taken + extra))
for name in sys.argv[4:]:
    memory = Memory.of(None if sys.argv[3] == "none" else int(sys.argv[3]))
    dataset = read_columns(f"{folder}/{name}", options=TableOptions(memory=memory)).in_canonical_order()
    assert not dataset.has_gaps
    print(name, dataset.values.shape, type(dataset.values).__name__)
print(dcd.audit(f"{folder}/{name}", memory_limit=memory.limit).ok)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A table of 96 MB in three formats."""
    folder = tmp_path_factory.mktemp("large")
    values = np.random.default_rng(0).standard_normal((100_000, 120))
    np.save(folder / "t.npy", values)
    columns = pa.table({f"c{index}": column.copy() for index, column in enumerate(values.T)})
    parquet.write_table(columns, folder / "t.parquet", row_group_size=20_000, use_dictionary=False)
    feather.write_feather(columns, folder / "t.feather", compression="uncompressed")
    return folder


def run_under_a_limit(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-c", UNDER_A_LIMIT, str(folder), *map(str, arguments)],
        env={
            "PYTHONPATH": str(Path(dcd.__file__).parents[1]),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "ARROW_IO_THREADS": "1",  # their stacks count as memory; on a busy machine it starts up to eight
        },
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts private memory as Linux does")
def test_a_table_larger_than_memory_is_read_and_checked(large):
    limit = 74  # MiB, the smallest limit for this many rows
    done = run_under_a_limit(large, limit, limit * 2**20, "t.npy", "t.parquet", "t.feather")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("(100000, 120) memmap") == 3
    assert "True" in done.stdout
    without = run_under_a_limit(large, limit, "none", "t.npy")
    assert "MemoryError" in without.stderr  # the system limit takes effect


FIT_IN_PRIVATE_MEMORY = """
import re, sys, threading, warnings
import numpy as np
import dcd

def private():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

warnings.simplefilter("ignore")
small = np.random.default_rng(0).standard_normal((300, 4))
wide = np.random.default_rng(0).standard_normal((300, 14))
for table in (small, small.cumsum(axis=1) ** 2, wide.cumsum(axis=1) ** 2):  # all is loaded
    dcd.RobustDCD(progress=False).fit(table)
before, peak, finished = private(), [0.0], threading.Event()

def watch():
    while not finished.wait(0.01):
        peak[0] = max(peak[0], private() - before)

threading.Thread(target=watch, daemon=True).start()
model = dcd.RobustDCD(progress=False, memory_limit=sys.argv[2] or None).fit(sys.argv[1])
finished.set()
print(peak[0], model.cpdag_.directed_edges, model.cpdag_.undirected_edges, sep="|")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts private memory as Linux does")
def test_a_fit_keeps_to_its_limit(tmp_path):
    """Reading, products, tests and chains, with too many variables to keep all products."""
    rng = np.random.default_rng(0)
    dag = dcd.simulate.random_dag(32, graph="erdos-renyi", degree=2, random_state=rng)
    np.save(tmp_path / "t.npy", np.asarray(dcd.simulate.sample(dag, 100_000, random_state=rng)))
    limit = 74  # MiB, the smallest limit for this many rows
    peaks, graphs = [], []
    for given in (f"{limit}MiB", ""):
        done = subprocess.run(
            [sys.executable, "-c", FIT_IN_PRIVATE_MEMORY, str(tmp_path / "t.npy"), given],
            env={**os.environ, "PYTHONPATH": str(Path(dcd.__file__).parents[1])},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        peak, *edges = done.stdout.split("|")
        peaks.append(float(peak))
        graphs.append(edges)
    assert graphs[0] == graphs[1]
    assert peaks[0] <= limit
    assert peaks[1] > 2 * limit
