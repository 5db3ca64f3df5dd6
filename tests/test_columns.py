"""What a column is taken for: the rule, its overrides, and the codes of categories."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dcd
from dcd.columns import as_kind, columns_of, infer_kind
from dcd.data import TableOptions, read_table

pytestmark = pytest.mark.filterwarnings("ignore::dcd.SmallSampleWarning")

N = 40
NUMBERS = np.random.default_rng(0).standard_normal(N)
GRADES = pd.Categorical(["low", "high", "middle", "low"] * 10, ["low", "middle", "high"], ordered=True)

RULE = {
    "numbers": (NUMBERS, "continuous"),
    "many whole numbers": (np.arange(N), "continuous"),
    "few whole numbers": (np.arange(N) % 5, "ordinal"),
    "few broken numbers": (np.arange(N) % 5 / 2, "continuous"),
    "two numbers": (np.arange(N) % 2 * 0.5, "nominal"),
    "truth values": (np.arange(N) % 3 == 0, "nominal"),
    "truth values with gaps": (pd.array([True, None, False, True] * 10, dtype="boolean"), "nominal"),
    "text": (["a", "b", "c", "a"] * 10, "nominal"),
    "text with gaps": (["a", None, "c", "a"] * 10, "nominal"),
    "categories": (pd.Categorical(["a", "b", "c", "a"] * 10), "nominal"),
    "ordered categories": (GRADES, "ordinal"),
    "numbers as objects": (np.arange(N).astype(object), "continuous"),
}


@pytest.mark.parametrize("case", RULE)
def test_the_rule(case):
    values, kind = RULE[case]
    (column,), _ = columns_of(pd.DataFrame({"c": values}))
    found, why = infer_kind(column)
    assert found == kind
    assert why


def test_polars_and_pandas_agree():
    text = ["a", "b", None, "a"] * 10
    for values in (text, pl.Series(text, dtype=pl.Categorical)):
        (column,), _ = columns_of(pl.DataFrame({"c": values}))
        assert infer_kind(column)[0] == "nominal"
        assert column.levels == ("a", "b")
        np.testing.assert_array_equal(column.values[:4], [0, 1, np.nan, 0])
    (column,), _ = columns_of(pl.DataFrame({"c": pl.Series(["y", "x"] * 20, dtype=pl.Enum(["y", "x", "z"]))}))
    assert infer_kind(column)[0] == "ordinal"
    assert column.levels == ("y", "x")


def test_categories_keep_their_names_and_order():
    (column,), _ = columns_of(pd.DataFrame({"c": GRADES}))
    assert column.levels == ("low", "middle", "high")
    np.testing.assert_array_equal(column.values[:4], [0, 2, 1, 0])


def test_the_rule_can_be_overruled():
    frame = pd.DataFrame({"a": NUMBERS, "code": np.arange(N) % 5})
    assert read_table(frame).kinds == ("continuous", "ordinal")
    overruled = read_table(frame, options=TableOptions(kinds={"code": "nominal"}))
    assert overruled.kinds == ("continuous", "nominal")
    assert overruled.summary.levels == {"code": ("0", "1", "2", "3", "4")}
    assert overruled.summary.kind_reasons["code"] == "as told"


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"b": "nominal"}, "parameter 'kinds', column 'b': is not in the table"),
        ({"a": "number"}, r"parameter 'kinds\['a'\]': must be one of 'continuous'"),
        (["nominal"], "parameter 'kinds': must map columns to kinds, got list"),
        ({"word": "ordinal"}, "column 'word': holds text, which has no order"),
    ],
)
def test_wrong_kinds(kinds, message):
    frame = pd.DataFrame({"a": NUMBERS, "word": ["x", "y", "z", "x"] * 10})
    with pytest.raises(dcd.InputError, match=message):
        dcd.RobustDCD(kinds=kinds).fit(frame)


def test_numbers_as_categories_have_their_values_as_names():
    (column,), _ = columns_of(pd.DataFrame({"c": [2.5, np.nan, 1.0, 2.5]}))
    coded = as_kind(column, "nominal")
    assert coded.levels == ("1", "2.5")
    np.testing.assert_array_equal(coded.values, [1, np.nan, 0, 1])


# --- useless columns and the audit -----------------------------------------------------------------------


def troubled():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 120))
    return pd.DataFrame(
        {
            "a": a,
            "same": 1.0,
            "b": b,
            "copy": 2 * a + 1,
            "sum": a + b,
            "gaps": np.where(np.arange(120) % 4 == 0, np.nan, b**2),
            "id": [f"row {i}" for i in range(120)],
        }
    )


def test_useless_columns_are_left_out_on_request_and_told():
    frame = troubled()[["a", "same", "b", "copy"]]
    model = dcd.RobustDCD(drop_useless=True).fit(frame)
    assert model.cpdag_.names == ("a", "b")
    assert model.table_.dropped == {
        "same": "it has the same value in every row",
        "copy": "it is a copy of 'a'",
    }
    assert "'copy' was left out" in str(model.table_)
    assert list(model.feature_names_in_) == list(frame.columns)
    boundary = dcd.MarkovBoundary(target="b", drop_useless=True).fit(frame)
    assert boundary.support_.shape == (4,)
    assert np.isnan(boundary.pvalues_[1])
    with pytest.raises(dcd.InputError, match="drop_useless=True does"):
        dcd.RobustDCD().fit(frame)


def test_the_audit_tells_all_at_once():
    found = dcd.audit(troubled())
    problems = {column.name: column.problem for column in found.columns if column.problem}
    assert set(problems) == {"same", "copy", "sum", "gaps", "id", "a", "b"}
    assert "linear combination of" in problems["sum"]
    assert problems["gaps"] == "has 30 missing values (25%)"
    assert not found.ok
    assert found.n_complete_rows == 90
    assert found.to_frame().loc["id", "n_distinct"] == 120
    assert "row 1" not in str(found)
    assert dcd.audit(troubled()[["a", "b"]]).ok


def test_what_the_audit_passes_is_taken():
    rng = np.random.default_rng(1)
    for seed in range(5):
        frame = troubled().sample(frac=1, axis=1, random_state=seed).iloc[:, : rng.integers(2, 5)]
        refused = False
        try:
            dcd.RobustDCD(progress=False).fit(frame)
        except dcd.InputError:
            refused = True
        assert refused == (not dcd.audit(frame).ok)
