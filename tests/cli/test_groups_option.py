"""`--groups COLUMN`: the column is removed from the table, in every file format."""

import json

import numpy as np
import pandas as pd
import pytest

import dcd


def table(seed=0, n_persons=60, n_rows=5):
    rng = np.random.default_rng(seed)
    own = np.repeat(rng.standard_normal((n_persons, 3)), n_rows, axis=0)
    a, b, c = (own + rng.standard_normal(own.shape)).T
    person = np.repeat([f"p{number}" for number in range(n_persons)], n_rows)
    return pd.DataFrame({"a": a, "person": person, "b": a + b, "c": c})


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_the_graph_is_that_of_the_library(extension, call, tmp_path):
    frame = table()
    path = tmp_path / f"table.{extension}"
    frame.to_csv(path, index=False) if extension == "csv" else frame.to_parquet(path)
    answer = call("discover", path, "--groups", "person", "--json", tmp_path / "result.json")
    assert answer.code == 0, answer.err
    model = dcd.RobustDCD(random_state=0).fit(frame.drop(columns="person"), groups=frame["person"])
    saved = json.loads((tmp_path / "result.json").read_text())
    assert saved["data"]["n_groups"] == 60
    assert [column["name"] for column in saved["data"]["columns"]] == ["a", "b", "c"]
    assert dcd.load_result(tmp_path / "result.json").cpdag == model.cpdag_


def test_other_commands_take_it_too(call, data):
    path = data(table())
    for command in (
        ["boundary", path, "--target", "a"],
        ["effect", path, "--of", "a", "--on", "b", "--estimator", "linear"],
        ["discover", path, "--stability", "2"],
    ):
        answer = call(*command, "--groups", "person")
        assert answer.code == 0, answer.err
        assert "person" not in answer.out


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_an_audit_knows_what_belongs_together(extension, call, tmp_path):
    frame = table(n_rows=10)
    frame[["a", "b", "c"]] = frame.groupby("person").transform("mean") + 0.1 * frame[["a", "b", "c"]]
    path = tmp_path / f"table.{extension}"
    frame.to_csv(path, index=False) if extension == "csv" else frame.to_parquet(path)
    alone = call("audit", path, "--exclude", "person")
    assert alone.code == 1
    assert "name the rows that belong together" in " ".join(alone.out.split())
    together = call("audit", path, "--groups", "person", "--report", tmp_path / "page.html")
    assert together.code == 0, together.err
    assert "3 columns, 600 rows in 60 groups, 600 without" in together.out
    assert "600 rows in 60 groups," in (tmp_path / "page.html").read_text()
    assert json.loads(call("audit", path, "--groups", "person", "--json", "-").out)["n_groups"] == 60


def test_what_is_refused_is_told_by_the_name_of_the_option(call, data):
    frame = table()
    for command in ("discover", "audit"):
        answer = call(command, data(frame), "--groups", "persn")
        assert answer.code == 2
        assert "column 'persn' (--groups): is not in the table" in answer.err
        assert "person" in answer.err
    answer = call("discover", data(frame), "--groups", "person", "--method", "dcd")
    assert answer.code == 2
    assert "option --groups: is not supported" in answer.err
    frame.loc[3, "person"] = None
    for command in ("discover", "audit"):
        answer = call(command, data(frame), "--groups", "person")
        assert answer.code == 2
        assert "option --groups: has 1 missing values, the first in row 3" in answer.err
