"""Categories, missing values and survey weights: level, power, and agreement with simpler methods."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.searches import adjusted_log_pvalues

import dcd
from dcd.features.rank_scores import scores_of
from dcd.independence.weighted_correlation import weighted_association
from dcd.table.dataset import TableOptions
from dcd.table.reading import read_table

pytestmark = pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")


def scores(frame, **options):
    return scores_of(read_table(pd.DataFrame(frame), options=TableOptions(**options)))


def letters(codes):
    return np.array(list("abcdefgh"))[codes]


def mixed_chain(n, seed):
    """group (4 categories, no order) -> size -> passed (two categories); colour unrelated."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n)
    size = np.array([0.0, 2.0, -1.0, 0.5])[group] + rng.standard_normal(n)
    passed = size + rng.logistic(size=n) > 0.5
    colour = letters(rng.integers(0, 3, n))
    return pd.DataFrame({"group": letters(group), "size": size, "passed": passed, "colour": colour})


# --- categories ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_runs", [80, pytest.param(300, marks=pytest.mark.slow)])
def test_the_level_holds_for_categories_given_categories_and_numbers(n_runs):
    """x and y both depend on a set, not additively; nothing else connects them."""
    rejected = {"categories": [], "mixed": []}
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        a, b = rng.integers(0, 3, (2, 400))
        shift = np.array([[0, 1, 0], [2, 0, 1], [0, 0, 2]])[a, b]
        z = rng.standard_normal(400)
        x = letters((rng.random(400) * 3 + shift).astype(int))
        y = letters((rng.random(400) * 2 + 2 * (shift == 1)).astype(int))
        frame = {"a": letters(a), "b": letters(b), "x": x, "y": y}
        rejected["categories"].append(adjusted_log_pvalues(scores(frame), (0, 1))[2, 3])
        frame = {"a": letters(a), "z": z, "x": letters((z + a + rng.standard_normal(400) > 1) * 1)}
        frame["y"] = z + a + rng.standard_normal(400)
        rejected["mixed"].append(adjusted_log_pvalues(scores(frame), (0, 1))[2, 3])
    for found in rejected.values():
        at_5, at_1 = np.mean(np.array(found) < np.log(0.05)), np.mean(np.array(found) < np.log(0.01))
        assert at_5 < within(0.05, n_runs)
        assert at_1 < within(0.01, n_runs)


def test_two_categorical_columns_agree_with_the_chi_square_test():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 3, 500)
        y = np.where(rng.random(500) < 0.15, x, rng.integers(0, 4, 500))
        found = adjusted_log_pvalues(scores({"x": letters(x), "y": letters(y)}), ())[0, 1]
        expected = stats.chi2_contingency(pd.crosstab(x, y)).pvalue
        assert found == pytest.approx(np.log(expected), rel=0.05, abs=0.1)


def test_renaming_and_reordering_categories_changes_nothing():
    frame = mixed_chain(400, 0)
    renamed = frame.assign(group=frame["group"].map({"a": "z", "b": "k", "c": "7", "d": "A"}))
    first, second = dcd.RobustDCD().fit(frame), dcd.RobustDCD().fit(renamed)
    assert first.cpdag_ == second.cpdag_
    np.testing.assert_allclose(
        adjusted_log_pvalues(scores(frame), (1,)), adjusted_log_pvalues(scores(renamed), (1,)), atol=1e-7
    )


@pytest.mark.parametrize("estimator", [dcd.RobustDCD, dcd.DCD])
def test_a_mixed_chain_is_found(estimator):
    right = 0
    for seed in range(6):
        frame = mixed_chain(600, seed)
        model = estimator(alpha=0.01, progress=False).fit(frame)
        assert model.table_.kinds == {
            "group": "nominal",
            "size": "continuous",
            "passed": "nominal",
            "colour": "nominal",
        }
        right += str(model.cpdag_) == "group - size\nsize - passed"
        other_order = estimator(alpha=0.01, progress=False).fit(frame[["colour", "passed", "size", "group"]])
        assert other_order.cpdag_ == model.cpdag_
    assert right >= 5


def test_a_boundary_among_categories():
    for options in ({"method": "published"}, {}):
        model = dcd.MarkovBoundary(target="size", **options).fit(mixed_chain(600, 1))
        assert model.boundary_ == ["group", "passed"]
        assert model.statistics_[0] > 0.5


def test_rare_categories_do_no_harm():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.standard_normal(300), "b": rng.standard_normal(300)})
    frame["word"] = np.where(np.arange(300) < 30, [f"w{i}" for i in range(300)], "usual")
    model = dcd.RobustDCD().fit(frame)
    assert str(model.cpdag_) == "(no edges)"


def test_canonical_correlation_against_the_f_test_of_one_factor():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 200)
    y = 0.3 * group + rng.standard_normal(200)
    blocks = (group[:, None] == [1, 2]).astype(float)
    strength, pvalue = (a[0, 0] for a in weighted_association([blocks], [y[:, None]], np.ones(200)))
    expected = stats.f_oneway(*(y[group == g] for g in range(3)))
    assert pvalue == pytest.approx(expected.pvalue, rel=0.02)
    within = sum(np.square(y[group == g] - y[group == g].mean()).sum() for g in range(3))
    assert strength == pytest.approx(np.sqrt(1 - within / np.square(y - y.mean()).sum()))


# --- missing values --------------------------------------------------------------------------------------


def with_gaps(frame, share, seed):
    rng = np.random.default_rng([seed, 1])
    return frame.mask(rng.random(frame.shape) < share)


def chain(n, seed, effect=1.0):
    rng = np.random.default_rng(seed)
    columns = [rng.standard_normal(n)]
    for _ in range(3):
        columns.append(effect * columns[-1] + rng.standard_normal(n))
    return pd.DataFrame(dict(zip("abcd", columns, strict=True)))


def test_complete_rows_are_what_dropping_rows_by_hand_gives():
    frame = with_gaps(chain(600, 0), 0.1, 0)
    with pytest.warns(
        dcd.errors.RowsLostWarning, match=r"of 600 rows have missing values and were left out \('"
    ):
        model = dcd.RobustDCD(missing="complete-rows").fit(frame)
    by_hand = dcd.RobustDCD().fit(frame.dropna())
    assert model.cpdag_ == by_hand.cpdag_
    assert model.table_.n_rows_used == len(frame.dropna())
    assert model.table_.n_missing == frame.isna().sum().to_dict()
    boundary = dcd.MarkovBoundary(target="b", missing="testwise").fit(frame)
    assert boundary.weights_.shape == (600,)
    assert boundary.weights_.sum() == pytest.approx(600)


@pytest.mark.parametrize("estimator", [dcd.RobustDCD, dcd.DCD])
def test_without_gaps_testwise_is_the_same(estimator):
    frame = chain(300, 1)
    expected = estimator(progress=False).fit(frame)
    model = estimator(missing="testwise", progress=False).fit(frame)
    assert model.cpdag_ == expected.cpdag_


@pytest.mark.filterwarnings("ignore::dcd.runtime.errors.RowsLostWarning")
def test_each_set_uses_more_of_the_table_than_complete_rows():
    """A fifth of all cells is missing: of 250 rows some 100 are complete, but 160 have any given pair."""
    found = {"complete-rows": 0, "testwise": 0}
    for seed in range(10):
        frame = with_gaps(chain(250, seed, effect=0.35), 0.2, seed)
        for missing in found:
            graph = dcd.RobustDCD(missing=missing, progress=False).fit(frame).cpdag_
            found[missing] += sum(graph.role(*pair) is not None for pair in ("ab", "bc", "cd"))
    assert found["testwise"] > found["complete-rows"] + 2


def test_gaps_do_not_depend_on_jobs_or_order():
    frame = with_gaps(mixed_chain(300, 0), 0.1, 0)
    model = dcd.RobustDCD(missing="testwise").fit(frame)
    for other in (
        dcd.RobustDCD(missing="testwise", n_jobs=2).fit(frame),
        dcd.RobustDCD(missing="testwise").fit(frame[["colour", "size", "passed", "group"]]),
    ):
        assert other.cpdag_ == model.cpdag_


def test_missing_is_checked():
    with pytest.raises(dcd.InputError, match="parameter 'missing': must be one of 'refuse'"):
        dcd.RobustDCD(missing="drop").fit(chain(100, 0))
    frame = chain(100, 0).assign(a=np.nan)
    with pytest.raises(dcd.InputError, match="column 'a': has no values"):
        dcd.RobustDCD(missing="testwise").fit(frame)
    frame = chain(30, 0)
    frame.iloc[:25, 1] = np.nan
    with pytest.raises(dcd.InputError, match="has 5 usable rows of 30"):
        dcd.RobustDCD(missing="complete-rows").fit(frame)


# --- survey weights --------------------------------------------------------------------------------------


def selected_chain(n, seed):
    """a and c are independent, but rows where both are high are three times as likely to be sampled."""
    rng = np.random.default_rng(seed)
    a, c = rng.standard_normal((2, 3 * n))
    chance = np.where((a > 0) == (c > 0), 0.6, 0.2)
    asked = rng.random(3 * n) < chance
    frame = pd.DataFrame({"a": a, "c": c, "b": rng.standard_normal(3 * n)})[asked]
    return frame.reset_index(drop=True), (1 / chance)[asked]


@pytest.mark.parametrize("estimator", [dcd.RobustDCD, dcd.DCD])
def test_survey_weights_undo_the_selection(estimator):
    for seed in range(5):
        frame, weights = selected_chain(500, seed)
        blind = estimator(alpha=0.01, progress=False).fit(frame)
        assert blind.cpdag_.role("a", "c") is not None
        informed = estimator(alpha=0.01, progress=False).fit(frame, sample_weight=weights)
        assert informed.cpdag_.role("a", "c") is None
        assert informed.table_.weighted


@pytest.mark.parametrize("estimator", [dcd.RobustDCD, dcd.DCD])
def test_equal_weights_are_no_weights(estimator):
    frame = chain(300, 0)
    expected = estimator(progress=False).fit(frame)
    model = estimator(progress=False).fit(frame, sample_weight=np.full(300, 7.0))
    assert model.cpdag_ == expected.cpdag_


def test_rows_of_no_weight_are_no_rows():
    frame = chain(300, 0)
    weights = np.where(np.arange(300) < 200, 1.0, 0.0)
    model = dcd.RobustDCD().fit(frame, sample_weight=weights)
    expected = dcd.RobustDCD().fit(frame[:200])
    assert model.cpdag_ == expected.cpdag_
    assert model.table_.n_rows_used == 200


@pytest.mark.parametrize("n_runs", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_the_level_holds_under_weights(n_runs):
    rejected = []
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.standard_normal((200, 3)), columns=list("xyz"))
        frame["x"] += frame["z"]
        frame["y"] += frame["z"] ** 2
        dataset = read_table(frame, sample_weight=rng.gamma(2.0, size=200))
        rejected.append(adjusted_log_pvalues(scores_of(dataset), (2,))[0, 1] < np.log(0.05))
    assert np.mean(rejected) < within(0.05, n_runs)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(5), "has 5 values for 100 rows"),
        (-np.ones(100), "has values that are not weights"),
        (np.full(100, np.nan), "has values that are not weights"),
        (["x"] * 100, "has values that are not weights"),
        (np.zeros(100), "every weight is zero"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(dcd.InputError, match=message):
        dcd.RobustDCD().fit(chain(100, 0), sample_weight=weights)


def test_weights_of_a_table_start_from_those_given():
    frame = chain(300, 0)[["a", "b"]]
    given = np.random.default_rng(0).gamma(2.0, size=300)
    for learned in (
        dcd.weights.convex_weights(frame, sample_weight=given),
        dcd.weights.decoupling_weights(frame, sample_weight=given),
    ):
        assert learned.weights.sum() == pytest.approx(300)
        assert learned.dependence < learned.dependence_before
        correlation = stats.spearmanr(learned.weights, given).statistic
        assert correlation > 0.3


# --- found by trying -------------------------------------------------------------------------------------


def rejected(found, level):
    return np.mean(np.array(found) < np.log(level))


def within(level, n_runs):
    return level + 3 * np.sqrt(level * (1 - level) / n_runs)


@pytest.mark.parametrize("n_runs", [15, pytest.param(80, marks=pytest.mark.slow)])
def test_a_confounder_of_many_categories_is_adjusted_for(n_runs):
    found = []
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        z = rng.integers(0, 40, 1500)
        effects = rng.standard_normal((2, 40))
        frame = {"z": [f"level {code}" for code in z]}
        frame |= {name: effects[i, z] + rng.standard_normal(1500) for i, name in enumerate("xy")}
        found.append(adjusted_log_pvalues(scores(frame), (0,))[1, 2])
    assert rejected(found, 0.05) < within(0.05, n_runs)


@pytest.mark.parametrize("n_runs", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_grades_in_a_small_sample_are_adjusted_for(n_runs):
    found = []
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        z = rng.integers(0, 9, 80)
        effects = rng.standard_normal((2, 9))
        frame = {"z": z, **{n: effects[i, z] + rng.standard_normal(80) for i, n in enumerate("xy")}}
        found.append(adjusted_log_pvalues(scores(frame), (0,))[1, 2])
    assert rejected(found, 0.05) < within(0.05, n_runs)


@pytest.mark.parametrize("method", ["robust", "published"])
def test_the_level_holds_if_weights_go_along_with_what_is_tested(method):
    """Rows in the tails of x or y are a quarter as likely to be sampled, and count four times."""
    found = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal((2, 4000))
        chance = np.where((np.abs(x) > 1.3) | (np.abs(y) > 1.3), 0.04, 0.16)
        asked = rng.random(4000) < chance
        frame, weights = pd.DataFrame({"x": x, "y": y})[asked], (1 / chance)[asked]
        if method == "robust":
            dataset = read_table(frame, sample_weight=weights)
            found.append(adjusted_log_pvalues(scores_of(dataset), ())[0, 1])
        else:
            model = dcd.MarkovBoundary(target="x", method="published").fit(frame, sample_weight=weights)
            found.append(np.log(model.pvalues_[1]))
    assert rejected(found, 0.05) < within(0.05, 200)
    assert rejected(found, 0.01) < within(0.01, 200)


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_no_renaming_of_categories_changes_anything(seed):
    dag = dcd.simulate.random_dag(6, graph="erdos-renyi", degree=2, random_state=seed)
    table = dcd.simulate.sample_mixed(dag, 300, share_nominal=0.7, random_state=seed)
    expected = dcd.RobustDCD().fit(table)
    names = dict(zip("abcde", np.random.default_rng(seed).permutation(list("vwxyz")), strict=True))
    renamed = dcd.RobustDCD().fit(table.replace({one: names for one in table if table[one].dtype == object}))
    assert renamed.cpdag_ == expected.cpdag_
    pd.testing.assert_frame_equal(renamed.probabilities_, expected.probabilities_)


def test_the_sign_of_two_categories_is_that_of_their_values():
    rng = np.random.default_rng(0)
    size = rng.standard_normal(400)
    frame = pd.DataFrame({"size": size, "passed": size + rng.standard_normal(400) > -1.2})
    assert frame["passed"].mean() > 0.7
    for options in ({"method": "published"}, {}):
        assert dcd.MarkovBoundary(target="size", **options).fit(frame).statistics_[1] > 0.3


def test_what_is_never_seen_together_is_not_taken_for_independent():
    """b - c is an edge; a set that contains a cannot be tested, since a and b are never both observed."""
    kept = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        a, b, e, f = rng.standard_normal((4, 400))
        d = b + e
        c = 3 * a + b + 2 * d + f
        frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": d})
        frame.loc[:199, "a"] = np.nan
        frame.loc[200:, "b"] = np.nan
        kept += dcd.RobustDCD(missing="testwise").fit(frame).cpdag_.role("b", "c") is not None
    assert kept >= 5


def skip_questions(seed=0, n=400):
    """Only smokers are asked how much they smoke."""
    rng = np.random.default_rng(seed)
    age = rng.standard_normal(n)
    smoker = rng.random(n) < 0.5
    dose = np.where(smoker, age + rng.standard_normal(n), np.nan)
    health = -age - np.where(smoker, 1.0, 0.0) + rng.standard_normal(n)
    return pd.DataFrame({"age": age, "smoker": smoker, "dose": dose, "health": health})


def test_questions_that_only_some_were_asked():
    model = dcd.RobustDCD(missing="testwise").fit(skip_questions())
    assert model.cpdag_.role("age", "health") is not None
    assert model.cpdag_.role("smoker", "health") is not None
    boundary = dcd.MarkovBoundary(target="health", missing="testwise")
    assert {"age", "smoker"} <= set(boundary.fit(skip_questions()).boundary_)
    assert dcd.DCD(missing="testwise", progress=False).fit(skip_questions()).cpdag_.names[0] == "age"


def test_tables_without_a_complete_row():
    frame = chain(300, 0)
    frame.loc[:149, "a"] = np.nan
    frame.loc[150:, "b"] = np.nan
    with pytest.raises(dcd.InputError, match="only 0 rows are complete in all of them"):
        dcd.DCD(missing="testwise", progress=False).fit(frame)
    with pytest.raises(dcd.InputError, match="has 0 complete rows"):
        dcd.MarkovBoundary(target="c", method="published", missing="testwise").fit(frame)
    model = dcd.MarkovBoundary(target="c", missing="testwise").fit(frame)
    assert "d" in model.boundary_
    assert dcd.RobustDCD(missing="testwise").fit(frame).cpdag_.role("c", "d") is not None
    assert np.isnan(dcd.IndependenceTest(frame, missing="testwise")("a", "b"))


@pytest.mark.filterwarnings("ignore::dcd.runtime.errors.RowsLostWarning")
def test_a_selector_in_a_pipeline_may_see_gaps():
    frame = with_gaps(chain(300, 0), 0.05, 0)
    chosen = dcd.MarkovBoundary(target="b", method="published", missing="complete-rows").fit_transform(frame)
    assert chosen.shape == (300, 2)


def test_masked_cells_stay_missing_in_resamples():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((200, 3))
    hidden = np.zeros_like(values, dtype=bool)
    hidden[:60, :2] = True
    masked = np.ma.masked_array(np.where(hidden, 50.0, values), hidden)
    model = dcd.RobustDCD(missing="testwise", progress=False)
    assert dcd.stability(model, masked, n_resamples=5, progress=False).edge[0, 1] < 0.5


def test_grades_have_a_sign_and_several_categories_have_none():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(400)
    grade = np.clip(np.round(3 - x + rng.standard_normal(400)), 1, 5)
    group = rng.integers(0, 3, 400)
    frame = pd.DataFrame({"x": x - 2.0 * group, "grade": grade, "group": letters(group)})
    model = dcd.MarkovBoundary(target="x").fit(frame)
    assert model.statistics_[1] < -0.4
    assert model.statistics_[2] > 0.7


def test_gaps_in_other_columns_are_no_matter_to_one_test():
    frame = chain(200, 0)
    frame.loc[:50, "d"] = np.nan
    assert dcd.IndependenceTest(frame[["a", "b"]])("a", "b") < 0.001
    with pytest.raises(dcd.InputError, match="column 'd': missing values"):
        dcd.IndependenceTest(frame[["a", "d"]])
