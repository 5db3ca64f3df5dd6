"""`dcd boundary`: the boundary of the library, and which rows and columns were used."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from support.commands import chain

import dcd


@pytest.mark.parametrize("method", ["dcd", "robust-dcd"])
def test_boundary_is_that_of_the_library(method, call, data):
    answer = call("boundary", data.path, "--target", "a", "--method", method, "--json", "-")
    word = "published" if method == "dcd" else "robust"
    model = dcd.MarkovBoundary(target="a", method=word).fit(pd.read_csv(data.path))
    document = json.loads(answer.out)
    assert document["boundary"] == model.boundary_ == ["b"]
    pvalues = {column["name"]: column["pvalue"] for column in document["columns"]}
    assert pvalues == pytest.approx(dict(zip("bc", model.pvalues_[1:], strict=True)), rel=1e-6)
    shown = call("boundary", data.path, "--target", "a", "--method", method).out
    assert shown.startswith("Boundary of a: b\n")
    assert re.search(r"^  b +yes ", shown, flags=re.MULTILINE)


def test_boundary_tells_which_rows_and_columns_it_used(call, data):
    frame = chain().assign(same=1.0)
    frame.loc[:9, "a"] = np.nan
    arguments = ["boundary", data(frame, "real.csv"), "--target", "b"]
    answer = call(*arguments, "--missing", "complete-rows", "--drop-degenerate")
    assert "\n190 of 200 rows used, effective sample size" in answer.out
    assert "\nLeft out: same (it has the same value" in answer.out
    found = json.loads(call(*arguments, "--missing", "complete-rows", "--drop-degenerate", "--json", "-").out)
    assert (found["n_rows"], found["n_rows_used"], list(found["dropped"])) == (200, 190, ["same"])


def test_a_target_that_is_not_there(call, data):
    answer = call("boundary", data.path, "--target", "B")
    assert (answer.code, answer.out) == (2, "")
    assert "'b'" in answer.err
