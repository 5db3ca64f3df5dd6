"""The kind of a column: the rule, its overrides, and the codes of categories."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dcd
from dcd.table.columns import as_kind, infer_kind
from dcd.table.dataset import TableOptions
from dcd.table.reading import read_table
from dcd.table.sources import columns_of

pytestmark = pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")

N = 40
NUMBERS = np.random.default_rng(0).standard_normal(N)
GRADES = pd.Categorical(["low", "high", "middle", "low"] * 10, ["low", "middle", "high"], ordered=True)

RULE = {
    "numbers": (NUMBERS, "continuous"),
    "many whole numbers": (np.arange(N), "continuous"),
    "few whole numbers": (np.arange(N) % 5, "ordinal"),
    "few broken numbers": (np.arange(N) % 5 / 2, "ordinal"),
    "broken numbers with few rows each": (np.arange(N) % 10 / 3, "continuous"),
    "few broken numbers with gaps": (np.where(np.arange(N) < 25, np.nan, np.arange(N) % 5 / 2), "continuous"),
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
    (column,) = columns_of(pd.DataFrame({"c": values}))
    found, why = infer_kind(column)
    assert found == kind
    assert why


def test_polars_and_pandas_agree():
    text = ["a", "b", None, "a"] * 10
    for values in (text, pl.Series(text, dtype=pl.Categorical)):
        (column,) = columns_of(pl.DataFrame({"c": values}))
        assert infer_kind(column)[0] == "nominal"
        assert column.levels == ("a", "b")
        np.testing.assert_array_equal(column.values[:4], [0, 1, np.nan, 0])
    (column,) = columns_of(pl.DataFrame({"c": pl.Series(["y", "x"] * 20, dtype=pl.Enum(["y", "x", "z"]))}))
    assert infer_kind(column)[0] == "ordinal"
    assert column.levels == ("y", "x")


def test_categories_keep_their_names_and_order():
    (column,) = columns_of(pd.DataFrame({"c": GRADES}))
    assert column.levels == ("low", "middle", "high")
    np.testing.assert_array_equal(column.values[:4], [0, 2, 1, 0])


def test_the_rule_can_be_overruled():
    frame = pd.DataFrame({"a": NUMBERS, "code": np.arange(N) % 5})
    assert read_table(frame).kinds == ("continuous", "ordinal")
    overruled = read_table(frame, options=TableOptions(kinds={"code": "nominal"}))
    assert overruled.kinds == ("continuous", "nominal")
    assert overruled.summary.levels == {"code": ("0", "1", "2", "3", "4")}
    assert overruled.summary.kind_reasons["code"] == "as declared"


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"b": "nominal"}, "parameter 'kinds', column 'b': is not in the table"),
        ({"a": "number"}, r"parameter 'kinds\['a'\]': must be one of 'continuous'"),
        (["nominal"], "parameter 'kinds': must map columns to kinds, got list"),
        ({"word": "ordinal"}, "column 'word': holds text without an order"),
    ],
)
def test_wrong_kinds(kinds, message):
    frame = pd.DataFrame({"a": NUMBERS, "word": ["x", "y", "z", "x"] * 10})
    with pytest.raises(dcd.InputError, match=message):
        dcd.RobustDCD(kinds=kinds).fit(frame)


def test_numbers_as_categories_have_their_values_as_names():
    (column,) = columns_of(pd.DataFrame({"c": [2.5, np.nan, 1.0, 2.5]}))
    coded = as_kind(column, "nominal")
    assert coded.levels == ("1", "2.5")
    np.testing.assert_array_equal(coded.values, [1, np.nan, 0, 1])


# --- degenerate columns and the audit -----------------------------------------------------------------------


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


def test_degenerate_columns_are_left_out_on_request_and_told():
    frame = troubled()[["a", "same", "b", "copy"]]
    model = dcd.RobustDCD(drop_degenerate=True).fit(frame)
    assert model.cpdag_.names == ("a", "b")
    assert model.table_.dropped == {
        "same": "it has the same value in every row",
        "copy": "it is a copy of 'a'",
    }
    assert "'copy' was left out" in str(model.table_)
    assert list(model.feature_names_in_) == list(frame.columns)
    boundary = dcd.MarkovBoundary(target="b", drop_degenerate=True).fit(frame)
    assert boundary.support_.shape == (4,)
    assert np.isnan(boundary.pvalues_[1])
    with pytest.raises(dcd.InputError, match="drop_degenerate=True does"):
        dcd.RobustDCD().fit(frame)


def test_a_fit_tells_all_problems_at_once():
    with pytest.raises(dcd.InputError) as caught:
        dcd.RobustDCD().fit(troubled())
    subjects = {error.subject for error in caught.value.errors}
    assert subjects == {"column 'id'", "column 'same'", "column 'copy'", "column 'gaps'", "column 'a'"}
    assert "column 'a': is a linear combination of 'b', 'sum'. Drop one of them" in str(caught.value)
    assert str(caught.value).startswith("the table: has 5 problems. Fix each of them:\n  column ")


def test_columns_with_the_same_problem_share_a_remedy_that_names_them():
    frame = troubled()[["a", "b"]].assign(**dict.fromkeys("uvwxyz", pd.Timestamp("2024-01-01")))
    with pytest.raises(dcd.InputError) as caught:
        read_table(frame)
    assert caught.value.subject == "columns 'u', 'v', 'w', 'x', 'y' and 1 more"
    assert "table.drop(columns=['u', 'v', 'w', 'x', 'y', ...])" in caught.value.remedy
    assert "kinds={'u': 'continuous', " in caught.value.remedy


def test_an_audit_allows_missing_values_on_request():
    frame = troubled()[["a", "b", "gaps"]]
    assert not dcd.audit(frame).ok
    for missing in ("complete-rows", "testwise"):
        assert not any("missing" in problem for problem in dcd.audit(frame, missing=missing).problems)
    few = frame.assign(gaps=frame["gaps"].where(frame.index < 40).where(frame.index >= 33))
    assert any(
        "usable rows of 120" in problem for problem in dcd.audit(few, missing="complete-rows").problems
    )


def test_the_audit_tells_all_at_once():
    found = dcd.audit(troubled())
    problems = {column.name: column.problem for column in found.columns if column.problem}
    assert set(problems) == {"same", "copy", "sum", "gaps", "id", "a", "b"}
    assert "linear combination of" in problems["sum"]
    assert problems["gaps"] == "missing values (NaN), 30 (25 %)"
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


# --- what people really have -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical([2, 0, 1, 2] * 10),
        pd.Categorical([True, False, True, True] * 10),
        pd.Categorical([0.5, 1.5, 2.5, 0.5] * 10),
        pd.cut(NUMBERS, 3),
        pd.Categorical(["a", "b", None, "a"] * 10, categories=["a", "b", "unused"]),
    ],
    ids=["whole numbers", "truth values", "numbers", "intervals", "unused level"],
)
def test_categories_need_not_be_text(column):
    frame = pd.DataFrame({"c": column})
    (read,) = columns_of(frame)
    assert len(read.levels) == frame["c"].nunique()
    codes = frame["c"].cat.codes.replace(-1, np.nan)
    assert pd.Series(read.values).groupby(codes).nunique().eq(1).all()


def test_digit_codes_are_categories_if_told_so():
    frame = pd.DataFrame({"a": np.tile(NUMBERS, 2), "zip": [f"{1000 + i % 15}" for i in range(2 * N)]})
    with pytest.raises(dcd.InputError, match=r"declare it nominal \(kinds=\{'zip': 'nominal'\}\)"):
        read_table(frame)
    assert read_table(frame, options=TableOptions(kinds={"zip": "nominal"})).kinds[1] == "nominal"
    assert read_table(frame.astype({"zip": "category"})).kinds[1] == "nominal"


def test_the_remedy_for_words_among_numbers_names_them_and_offers_categories_only_if_they_are_few():
    words = ["?", "none", *map(str, range(100))]
    for numbers, few in ((15, True), (100, False)):
        with pytest.raises(dcd.InputError) as caught:
            read_table(pd.DataFrame({"a": range(102), "c": (words[: 2 + numbers] * 9)[:102]}))
        assert "na_values=['?', 'none']" in caught.value.remedy
        assert ("nominal" in caught.value.remedy) == few


def test_identifiers_beyond_what_floats_tell_apart_are_refused():
    frame = pd.DataFrame({"a": NUMBERS, "id": 2**60 + np.arange(N)})
    with pytest.raises(dcd.InputError, match="column 'id': holds whole numbers beyond"):
        read_table(frame)


def test_numbers_that_may_name_the_rows_are_asked_about():
    found = dcd.audit(pd.DataFrame({"a": NUMBERS, "id": 1000 + np.arange(N)}))
    assert "an identifier?" in found.columns[1].why
    assert "an identifier?" not in found.columns[0].why


def test_an_infinity_is_no_category():
    frame = pd.DataFrame({"a": NUMBERS, "b": np.where(np.arange(N) < 2, np.inf, np.arange(N) % 2)})
    with pytest.raises(dcd.InputError, match="column 'b': infinite values"):
        read_table(frame)


def test_copies_are_seen_across_kinds():
    grades = np.arange(N) % 4
    frame = pd.DataFrame({"a": NUMBERS, "grade": grades, "word": np.array(list("qrst"))[grades]})
    with pytest.raises(dcd.InputError, match="column 'word': is a copy of 'grade'"):
        read_table(frame)
    assert list(read_table(frame, options=TableOptions(drop_degenerate=True)).names) == ["a", "grade"]


@pytest.mark.filterwarnings("ignore::dcd.runtime.errors.RowsLostWarning")
def test_columns_that_become_degenerate_with_the_rows_are_left_out_too():
    late = np.where(np.arange(N) < 20, np.nan, 3.0)
    late[:10] = 5.0
    gaps = np.where(np.arange(N) < 20, np.nan, NUMBERS[::-1])
    frame = pd.DataFrame({"a": NUMBERS, "late": late, "gaps": gaps})
    options = TableOptions(missing="complete-rows", drop_degenerate=True)
    dataset = read_table(frame, options=options)
    assert dataset.names == ("a", "gaps")
    assert dataset.summary.dropped["late"] == "it has the same value in every row, among the rows used"


def test_an_ordered_target_keeps_its_order():
    frame = pd.DataFrame({"a": NUMBERS})
    for y in (pd.Series(GRADES), pl.Series(list(GRADES), dtype=pl.Enum(["low", "middle", "high"]))):
        dataset = read_table(frame, y)
        assert dataset.kinds[-1] == "ordinal"
        assert dataset.summary.levels["y"] == ("low", "middle", "high")


def test_a_target_is_never_left_out():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((200, 4))
    values[:, 3] += values[:, 2]
    values[:, 1] = 7.0
    model = dcd.MarkovBoundary(target=2, drop_degenerate=True).fit(values)
    assert model.boundary_ == ["x3"]
    for y in (np.ones(200), values[:, 0]):
        with pytest.raises(dcd.InputError, match=r"the target 'y': (has the same value|is a copy)"):
            dcd.MarkovBoundary(drop_degenerate=True).fit(values, y)
    with pytest.raises(dcd.InputError, match="the target 'x1': has the same value"):
        dcd.MarkovBoundary(target=1, drop_degenerate=True).fit(values)


def test_the_audit_of_tables_with_next_to_nothing():
    assert not dcd.audit(pd.DataFrame({"a": [], "b": []})).ok
    found = dcd.audit(pd.DataFrame({"a": NUMBERS, "none": np.nan, "far": 1e300 * NUMBERS[::-1]}))
    problems = {column.name: column.problem for column in found.columns}
    assert problems == {"a": None, "none": "has no values", "far": "values beyond 1e+290"}
