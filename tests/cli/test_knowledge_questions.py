"""Questions in the terminal, `--compare-with` and `--arrow-probability`."""

import json

import numpy as np
import pandas as pd
import pytest
from support.commands import collider

import dcd


@pytest.fixture
def survey(data):
    rng = np.random.default_rng(0)
    age = rng.normal(size=600)
    education = 0.8 * age + rng.normal(size=600)
    income = 0.8 * education + rng.normal(size=600)
    return data(pd.DataFrame({"age": age, "education": education, "income": income}), "survey.csv")


def test_from_a_question_to_what_its_answer_changed(call, survey, tmp_path):
    result, known, page = tmp_path / "result.json", tmp_path / "known.toml", tmp_path / "page.html"
    first = call("discover", survey, "--json", result)
    assert first.code == 0
    assert first.out.endswith(
        "\nWhat you may know (3)\n"
        '  Is age a root (caused by no other column)? If so, add to a knowledge file: roots = ["age"]\n'
        "  2 directions are in doubt; --report and --json contain lines to copy into a knowledge file.\n"
    )
    lines = [answer["line"] for q in json.loads(result.read_text())["questions"] for answer in q["answers"]]
    assert lines[0] == 'roots = ["age"]'
    known.write_text(lines[0])
    second = call(
        *("discover", survey, "--knowledge", known, "--compare-with", result, "--report", page),
        *("--json", tmp_path / "informed.json"),
    )
    assert second.code == 0
    assert (
        "\nChanges since the earlier result (2)\n"
        "  age - education before, now age -> education (by knowledge)\n"
        "  education - income before, now education -> income (by knowledge)\n"
    ) in second.out
    assert "\n2 edges (2 directed, 2 of them from knowledge; 0 undirected)\n" in second.out
    assert second.out.count("  known  ") == 2
    assert "Knowledge, not the data, determines two directions" in page.read_text()
    assert "What you may know" not in second.out
    assert "What changed since the earlier result" in page.read_text()
    again = call("report", tmp_path / "informed.json", "--compare-with", result, "--out", tmp_path / "b.html")
    assert again.code == 0
    assert "age -&gt; education" in (tmp_path / "b.html").read_text()
    assert (
        "Changes since the earlier result (0)\n  none\n"
        in call("discover", survey, "--compare-with", result).out
    )


def test_a_result_of_another_table_is_refused_before_any_work(call, survey, data, tmp_path, monkeypatch):
    result = tmp_path / "result.json"
    assert call("discover", data.path, "--json", result).code == 0
    monkeypatch.setattr(dcd.RobustDCD, "fit", lambda *_, **__: pytest.fail("there was work"))
    answer = call("discover", survey, "--compare-with", result)
    assert answer.code == 2
    assert "option --compare-with, file" in answer.err
    assert "is a result of another table. Compare results of the same rows and columns." in answer.err
    assert call("discover", survey, "--compare-with", tmp_path / "nothing.json").code == 2
    assert call("discover", survey, "--compare-with", survey).code == 2
    out = tmp_path / "page.html"
    other = tmp_path / "other.json"
    other.write_text(result.read_text().replace('"fingerprint": "', '"fingerprint": "0'))
    refused = call("report", result, "--compare-with", other, "--out", out)
    assert refused.code == 2
    assert "option --compare-with: is a result of another table" in refused.err
    assert not out.exists()
    assert call("report", result, "--compare-with", other, "--out", other).code == 2  # it is read


@pytest.mark.parametrize("least", [0.0, 0.7, 1.0])
def test_the_least_probability_of_an_arrow_is_that_of_the_library(least, call, data, tmp_path):
    frame = collider(n=150)
    result = tmp_path / "result.json"
    assert call("discover", data(frame), "--arrow-probability", least, "--json", result).code == 0
    model = dcd.RobustDCD(arrow_probability=least, progress=False).fit(frame)
    found = dcd.load_result(result)
    assert found.cpdag == model.cpdag_
    assert found.posterior.arrow_probability == least
    if least == 1.0:
        assert found.cpdag.directed_edges == ()
    if least == 0.0:
        assert set(found.cpdag.directed_edges) == {("a", "c"), ("b", "c")}


@pytest.mark.parametrize(
    ("value", "method", "message"),
    [
        ("1.5", "robust-dcd", "1.5 is not in the range 0<=x<=1"),
        ("-0.1", "robust-dcd", "is not in the range"),
        (
            "nan",
            "robust-dcd",
            "option --arrow-probability: must be a number at least 0 and at most 1, got nan",
        ),
        ("much", "robust-dcd", "'much' is not a valid float"),
        ("0.8", "dcd", "--arrow-probability needs --method robust-dcd"),
    ],
)
def test_other_values_are_refused(value, method, message, call, data):
    answer = call("discover", data.path, "--arrow-probability", value, "--method", method)
    assert answer.code == 2
    assert message in answer.err
