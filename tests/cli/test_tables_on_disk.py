"""Commands on tables that stay in their files, with limits on memory."""

import numpy as np
import pytest
from support.tables import mixed_table as table
from support.tables import parquet_path

from dcd.table.formats.columnar import ColumnFile


def test_commands_leave_a_table_in_its_file(call, tmp_path, monkeypatch):
    frame = table().drop(columns="size").assign(w=np.random.default_rng(0).random(400))
    # As text, single precision and long numbers differ in their last bits, and probabilities with them.
    frame = frame.astype({"c": float}).round(3)
    frame.to_csv(tmp_path / "t.csv", index=False)
    parquet_path(frame, tmp_path)
    np.save(tmp_path / "t.npy", frame[["sum", "a", "c", "w"]].to_numpy())
    chosen = ["--sample-weight", "w", "--exclude", "flag"]
    expected = call("discover", tmp_path / "t.csv", *chosen)
    assert expected.code == 0
    monkeypatch.setattr(ColumnFile, "to_pandas", lambda self: pytest.fail("read whole"))
    limit = ["--memory-limit", "1GiB"]
    assert call("discover", tmp_path / "t.parquet", *chosen, *limit) == expected
    args = ["--target", "sum", "--columns", "a,town,c", *chosen]
    expected = call("boundary", tmp_path / "t.csv", *args)
    assert expected.code == 0
    assert call("boundary", tmp_path / "t.parquet", *args, *limit) == expected
    assert call("audit", tmp_path / "t.parquet", *limit) == call("audit", tmp_path / "t.csv")
    answer = call("discover", tmp_path / "t.npy", "--sample-weight", "x3", *limit)
    assert (answer.code, answer.err) == (0, "")
    assert "x0  -  x1" in answer.out


def test_bad_limits_on_the_command_line(call, tmp_path):
    path = parquet_path(table(), tmp_path)
    for command in (["discover"], ["boundary", "--target", "a"], ["audit"]):
        answer = call(*command, path, "--memory-limit", "lots")
        assert answer.code == 2
        assert "option --memory-limit: must be" in answer.err
        assert "--memory-limit 4GiB" in answer.err
    answer = call("discover", path, "--memory-limit", "1MB")
    assert answer.code == 2
    assert "too small for 400 rows. Try --memory-limit 65MiB" in answer.err
    answer = call("discover", path, "--sample-weight", "wieght")
    assert answer.code == 2
    assert "is not in the table" in answer.err
