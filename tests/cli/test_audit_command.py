"""`dcd audit`: in the terminal, as JSON and as a page."""

import json
import re

import numpy as np
import pytest
from support.commands import chain

import dcd.table.audit
from dcd.table.audit import Audit, ColumnAudit


def made_up_audit(name, ok=False):
    column = ColumnAudit(
        name, "nominal", "it is <b>text</b>", 2, 3, problem="has 2 missing values", remedy="Fill them in."
    )
    problems = () if ok else (f"{name} has 2 missing values.",)
    return Audit((column,), n_rows=10, n_complete_rows=8, problems=problems)


@pytest.mark.parametrize("ok", [True, False])
def test_an_audit_is_shown_and_written(ok, call, data, tmp_path, monkeypatch):
    name = "<script>alert(1)</script>"
    monkeypatch.setattr(dcd.table.audit, "audit", lambda table, **options: made_up_audit(name, ok))
    answer = call("audit", data.path, "--report", tmp_path / "audit.html", "--title", "A & B")
    assert answer.code == (0 if ok else 1)
    assert name in answer.out
    assert ("No problems found." in answer.out) == ok
    page = (tmp_path / "audit.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<title>Audit of A &amp; B</title>" in page
    assert not re.search(r"""(src|href)=|url\(|@import""", page)
    assert json.loads(call("audit", data.path, "--json", "-").out)["columns"][0]["n_missing"] == 2


def test_nothing_invisible_reaches_the_page_of_an_audit(call, data, tmp_path):
    path = data(chain(names=("a\u202eb", "c\x1b[31m", "d")), "turned.csv")
    assert call("audit", path, "--report", tmp_path / "page.html", "--title", "t\udcff\u2066").code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "a\ufffdb" in page
    assert not set("\u202e\u2066\x1b") & set(page)


def test_the_audit_of_a_real_table(call, data):
    good = call("audit", data.path)
    assert (good.code, good.err) == (0, "")
    assert "continuous" in good.out
    frame = chain().assign(copy=chain()["a"], constant=1)
    frame.loc[0, "b"] = np.nan
    bad = call("audit", data(frame, "bad.csv"))
    assert bad.code == 1
    assert "constant" in bad.out
    assert "copy" in bad.out


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_columns_of_weights_and_counts_are_not_variables(extension, call, tmp_path):
    frame = chain().assign(w=np.linspace(0.5, 1.5, len(chain())), k=2)
    path = tmp_path / f"table.{extension}"
    frame.to_csv(path, index=False) if extension == "csv" else frame.to_parquet(path)
    weighted = call("audit", path, "--exclude", "k", "--sample-weight", "w", "--json", "-")
    counted = call("audit", path, "--exclude", "w", "--counts", "k", "--json", "-")
    for answer, n_rows in ((weighted, len(frame)), (counted, 2 * len(frame))):
        assert answer.code == 0, answer.err
        audited = json.loads(answer.out)
        assert [column["name"] for column in audited["columns"]] == list(chain())
        assert audited["n_rows"] == n_rows


def test_weights_that_a_fit_would_refuse(call, data):
    frame = chain().assign(w=1.0, k=0.5)
    for options, words in (
        (["--sample-weight", "ww"], "column 'ww' (--sample-weight): is not in the table"),
        (["--counts", "k"], "option --counts: has values that are not whole numbers, such as 0.5"),
        (["--counts", "w", "--sample-weight", "k"], "option --counts: was given together with"),
    ):
        answers = [call(command, data(frame), *options) for command in ("audit", "discover")]
        assert [answer.code for answer in answers] == [2, 2]
        assert words in " ".join(answers[0].err.split())
        assert answers[0].err == answers[1].err
    frame["w"] = np.where(np.arange(len(frame)) < 12, 1.0, 1e-9)
    answer = call("audit", data(frame), "--exclude", "k", "--sample-weight", "w")
    assert answer.code == 1
    assert "with an effective sample size of 12" in " ".join(answer.out.split())
