"""Memory limits: scratch files that vanish with their arrays, blocks that cover all rows."""

import errno
import gc
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import joblib
import numpy as np
import pytest

from dcd import InputError
from dcd.runtime.memory import BLOCK_ROWS, Memory, ScratchFolder

SMALL = Memory(2**16)
LINUX = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files have no second name here")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4GiB", 4 * 2**30),
        ("500MB", 500_000_000),
        ("1.5 GB", 1_500_000_000),
        (" 64kib ", 65536),
        ("7", 7),
        (7, 7),
        (np.int64(2**40), 2**40),
        ("2TB", 2 * 10**12),
        (None, None),
    ],
)
def test_limits_are_bytes_or_text(text, expected):
    assert Memory.of(text).limit == expected


@pytest.mark.parametrize(
    "wrong", ["", "much", "4 gigs", "-1GB", "1e9", True, 0, -1, 1.5, [], "0GB", "9" * 30]
)
def test_other_limits_are_refused_with_a_remedy(wrong):
    with pytest.raises(InputError, match=r"'memory_limit': must be .* got .*Try memory_limit='4GiB'\."):
        Memory.of(wrong)


def test_a_limit_too_small_for_the_rows_says_what_would_do():
    with pytest.raises(
        InputError, match=r"too small for 1000000 rows\. Try memory_limit='(\d+)MiB'"
    ) as caught:
        Memory(10**6).check(10**6)
    Memory.of(caught.value.remedy.split("'")[1]).check(10**6)
    Memory().check(10**12)


@pytest.mark.parametrize("seed", range(20))
def test_blocks_cover_all_rows_once_and_keep_to_the_limit(seed):
    rng = np.random.default_rng(seed)
    n_rows, width = int(rng.integers(1, 200_000)), int(rng.integers(1, 5000))
    memory = Memory(int(rng.integers(10**6, 10**9)))
    blocks = memory.blocks(n_rows, width)
    np.testing.assert_array_equal(np.concatenate([np.arange(n_rows)[b] for b in blocks]), np.arange(n_rows))
    assert all((b.stop - b.start) * width <= max(memory.limit / 32, width) for b in blocks)
    assert {b.stop - b.start for b in Memory().blocks(10 * BLOCK_ROWS, width)} == {BLOCK_ROWS}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
@pytest.mark.parametrize("memory", [Memory(), SMALL])
def test_arrays_are_alike_in_memory_and_in_files(memory, dtype):
    array = memory.array((30_000, 3), dtype)
    assert array.shape == (30_000, 3)
    assert array.dtype == dtype
    assert array.flags.f_contiguous
    assert isinstance(array, np.memmap) == (memory is SMALL)
    array[:] = np.arange(90_000).reshape(30_000, 3) % 100
    assert array.sum() == sum(k % 100 for k in range(90_000))
    assert not isinstance(memory.array((10, 3)), np.memmap)


@LINUX
def test_a_scratch_file_has_no_name_and_goes_with_its_last_view(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = len(os.listdir("/proc/self/fd"))
    array = SMALL.array((30_000, 3))
    array[5] = 7.0
    assert list(tmp_path.iterdir()) == []
    view = array[:10, 1]
    del array
    gc.collect()
    assert view[5] == 7.0
    assert len(os.listdir("/proc/self/fd")) > before
    del view
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_where_open_files_have_no_second_name_the_first_is_removed_at_last(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "exists", lambda self: False)
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    array = SMALL.array((30_000, 3))
    array[:] = 1.0
    assert len(list(tmp_path.iterdir())) == 1
    assert array.sum() == 90_000
    del array
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def _sum(array):
    return float(array.sum()), isinstance(array, np.memmap) or array.base is not None


@LINUX
def test_worker_processes_map_the_same_file():
    array = SMALL.array((30_000, 3))
    array[:] = np.random.default_rng(0).integers(0, 100, (30_000, 3))
    views = [array, array[:500], array[:, 1], array[100:200, :2]]
    answers = joblib.Parallel(n_jobs=2)(joblib.delayed(_sum)(view) for view in views)
    assert [total for total, _ in answers] == [float(view.sum()) for view in views]
    assert all(mapped for _, mapped in answers)


def test_a_pickle_holds_the_numbers_and_not_the_file():
    array = SMALL.array((30_000, 3))
    array[:] = 3.0
    copied = pickle.loads(pickle.dumps(array))
    array[:] = 4.0
    assert (copied == 3.0).all()


def test_a_full_disk_is_told_before_any_work(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(InputError, match=r"cannot hold a scratch file of 1 MiB \(No space left.*Set TMPDIR"):
        SMALL.array((30_000, 3))
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")
    with pytest.raises(InputError, match="folder '/no/such/folder': cannot hold a scratch file"):
        SMALL.array((30_000, 3))


def test_the_temporary_folder_is_that_of_the_system(tmp_path):
    code = "import tempfile; from dcd.runtime.memory import ScratchFolder; print(ScratchFolder().path)"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(told.stdout.strip()).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_scratch_folder_goes_with_its_object():
    folder = ScratchFolder()
    path = folder.path
    (path / "file").write_text("x")
    del folder
    gc.collect()
    assert not path.exists()
