"""Many rows: blocks, single precision and a first stage on a sample make no relevant difference."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.searches import adjusted_log_pvalues

import dcd
import dcd.features.rank_scores
import dcd.independence.binding
import dcd.weights.convex
from dcd.evaluation import simulate
from dcd.features.gram_columns import TableColumns, family_gram
from dcd.features.rank_scores import make_scores, scores_of
from dcd.independence.adjustment import _grid_ranks
from dcd.independence.association import PartialAssociation
from dcd.independence.base import Record
from dcd.independence.binding import SampleFirstTest, bind_test, row_sample
from dcd.runtime.memory import Memory
from dcd.runtime.rows import MANY_ROWS
from dcd.table.reading import read_table
from dcd.weights.convex import BalanceColumns, ConvexWeights, balance

N_MANY = MANY_ROWS + 2_000


def table(n, seed=0, mechanism="func"):
    dag = simulate.random_dag(6, graph="erdos-renyi", degree=2, random_state=seed)
    return simulate.sample(dag, n, mechanism=mechanism, random_state=seed)


def mixed(n, seed):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = rng.standard_normal(n) + 0.3 * a
    c = np.where(rng.random(n) < 0.5, 0.0, np.round(b + rng.standard_normal(n), 1))  # half of it tied
    d = rng.integers(0, 3, n) + (a > 1)
    e = np.exp(b) * 0.2 + c * d * 0.2 + rng.standard_normal(n)
    return pd.DataFrame({"a": ["wxyz"[i] for i in a], "b": b, "c": c, "d": d, "e": e})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("given", [(), (1,), (0, 3), (0, 1, 2)])
def test_blocks_give_what_all_rows_at_once_give(seed, given):
    rng = np.random.default_rng(seed)
    dataset = read_table(mixed(1000, seed), sample_weight=rng.uniform(0.5, 2, 1000) if seed == 2 else None)
    whole = scores_of(dataset)
    blocked = dcd.features.rank_scores._scores(
        dataset.values, dataset.kinds, dataset.probabilities, Memory(2**22)
    )
    assert len(whole.blocks) == 1 < 5 < len(blocked.blocks)
    np.testing.assert_allclose(
        adjusted_log_pvalues(blocked, given), adjusted_log_pvalues(whole, given), rtol=1e-8, atol=1e-8
    )
    for other, one in zip(
        (family_gram(TableColumns(blocked)).gram, ConvexWeights().learn(blocked, (1, 2, 4)).weights),
        (family_gram(TableColumns(whole)).gram, ConvexWeights().learn(whole, (1, 2, 4)).weights),
        strict=True,
    ):
        np.testing.assert_allclose(other, one, atol=1e-8)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_single_precision_changes_nothing_that_matters(seed, monkeypatch):
    """Log p-values agree to a hundredth; most comes from the grid on which residuals are ranked."""
    dataset = read_table(mixed(N_MANY, seed) if seed else table(N_MANY)[:, :4])
    single = scores_of(dataset)
    monkeypatch.setattr(dcd.features.rank_scores, "MANY_ROWS", 10**9)
    double = scores_of(dataset)
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    for given in ((), (1, 2)):
        np.testing.assert_allclose(
            adjusted_log_pvalues(single, given), adjusted_log_pvalues(double, given), rtol=1e-2, atol=1e-2
        )
    ours, theirs = (ConvexWeights().learn(scores, (0, 1, 2)) for scores in (single, double))
    assert ours.status == theirs.status
    assert ours.ess == pytest.approx(theirs.ess, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("decouple", ["where-needed", "always"])
def test_single_precision_bears_nearly_collinear_columns(decouple, monkeypatch):
    """A temperature in two units, one rounded, and a curve of it: their Gram matrix is singular."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(N_MANY)
    e, f, g = rng.standard_normal((3, N_MANY))
    values = np.column_stack(
        [x, np.round(1.8 * x + 32, 4), np.exp(x) + 1e-6 * g, x + e, x**2 + f, e + x**2 + g]
    )
    single = make_scores(values)
    monkeypatch.setattr(dcd.features.rank_scores, "MANY_ROWS", 10**9)
    double = make_scores(values)
    ours, theirs = (PartialAssociation(decouple=decouple).bind(scores, 0.05) for scores in (single, double))
    for pair in ((3, 4), (3, 5)):
        found, expected = (test.log_pvalue(*pair, (0, 1, 2)) for test in (ours, theirs))
        assert found == pytest.approx(expected, rel=0.02, abs=0.05)
    assert theirs.log_pvalue(3, 5, (0, 1, 2)) < np.log(1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_ranks_by_counting_are_ranks(seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(50_000).astype(np.float32)
    values[::7] = 0.5  # ties stay ties
    expected = (stats.rankdata(values) - 0.5) / len(values)
    found = _grid_ranks(values)
    assert len(np.unique(found[::7])) == 1
    beside = (values != 0.5) & (np.abs(values - 0.5) < 2e-4)  # values in the same step as many ties join them
    np.testing.assert_allclose(found[~beside], expected[~beside], atol=2e-4)


@pytest.mark.parametrize("seed", range(2))
def test_weights_started_from_a_sample_are_the_weights(seed, monkeypatch):
    scores = make_scores(table(N_MANY, seed))
    columns = BalanceColumns.of(scores, (0, 1, 2))
    ours = balance(columns, ConvexWeights(), scores.probabilities)
    monkeypatch.setattr(dcd.weights.convex, "MANY_ROWS", 10**9)
    theirs = balance(columns, ConvexWeights(), scores.probabilities)
    assert ours.status == theirs.status
    assert ours.gap < 1e-4
    np.testing.assert_allclose(ours.weights, theirs.weights, atol=0.02)


@pytest.mark.slow
def test_a_sample_first_finds_the_graph_that_all_rows_find(monkeypatch):
    values = table(N_MANY)
    sample_first = dcd.RobustDCD().fit(values)
    monkeypatch.setattr(dcd.independence.binding, "TEST_ROWS", ())
    monkeypatch.setattr(dcd.estimators.robust, "JUDGE_ROWS", 10**9)
    assert sample_first.cpdag_ == dcd.RobustDCD().fit(values).cpdag_


@pytest.mark.slow
def test_a_sample_first_finds_the_graph_of_products(monkeypatch):
    """Only the tests use all rows here: on all of them, pairs of parents would pass for edges."""
    values = table(N_MANY, 2, mechanism="product")
    truth = simulate.random_dag(6, graph="erdos-renyi", degree=2, random_state=2)
    sample_first = dcd.RobustDCD().fit(values)
    assert sample_first.cpdag_ == dcd.CPDAG.from_dag(sample_first.cpdag_.names, truth)
    monkeypatch.setattr(dcd.independence.binding, "TEST_ROWS", ())
    assert sample_first.cpdag_ == dcd.RobustDCD().fit(values).cpdag_


def test_a_clear_association_is_not_tested_on_all_rows():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(N_MANY)
    values = np.column_stack([x, x + rng.standard_normal(N_MANY), rng.standard_normal(N_MANY)])
    test = bind_test(PartialAssociation(), read_table(values), 0.05)
    assert isinstance(test, SampleFirstTest)
    asked = []
    on_all = test._more._more._more  # after three samples
    whole = on_all.log_pvalue
    on_all.log_pvalue = lambda *question: (asked.append(question), whole(*question))[1]
    assert test.log_pvalue(0, 1, ()) < np.log(1e-10)
    assert not asked
    assert test.log_pvalue(0, 2, ()) == bind_test(
        PartialAssociation(), read_table(values), 0.05, sample_first=False
    ).log_pvalue(0, 2, ())
    assert asked == [(0, 2, ())]


@pytest.mark.slow
def test_independent_variables_stay_apart():
    """Six tables of eight variables, 168 pairs; a boundary has a member too many in about one of twenty."""
    false = 0
    for seed in range(6):
        values = np.random.default_rng(seed).standard_normal((N_MANY, 8))
        model = dcd.RobustDCD().fit(values)
        false += len(model.cpdag_.directed_edges) + len(model.cpdag_.undirected_edges)
    assert false <= 6  # expected below 2.4 at alpha = .05; more than 6 once in a hundred


def test_the_sample_is_the_same_each_time_and_keeps_weights_and_kinds():
    dataset = read_table(mixed(N_MANY, 0), sample_weight=np.arange(1.0, N_MANY + 1))
    one, other = row_sample(dataset, 20_000), row_sample(dataset, 20_000)
    np.testing.assert_array_equal(one.rows, other.rows)
    assert len(one.rows) == 20_000
    assert one.kinds == dataset.kinds
    assert one.weights.mean() == pytest.approx(1)


def test_what_was_decoupled_on_the_sample_is_recorded():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, N_MANY))
    e, f = rng.standard_normal((2, N_MANY))
    values = np.column_stack([a, b, a * b + e, a * b + e + f])
    test = bind_test(PartialAssociation(decouple="always"), read_table(values), 0.05)
    test.log_pvalue(2, 3, (0, 1))
    (found,) = test.record.interactions.values()
    assert 100 < found.ess <= 1_000  # the smallest sample is enough
    test.record = Record()
    test.log_pvalue(2, 3, (0, 1))  # a cached result is recorded again
    assert list(test.record.interactions.values()) == [found]


@pytest.mark.parametrize("n_samples", [20_000, MANY_ROWS, N_MANY])
def test_a_limit_that_all_fits_into_changes_no_digit(n_samples):
    """20,000 rows are also the first sample of a longer table."""
    values = table(n_samples)[:, :3]
    dataset = read_table(values)
    limited = dcd.features.rank_scores._scores(dataset.values, dataset.kinds, None, Memory(16 * 2**30))
    np.testing.assert_array_equal(
        adjusted_log_pvalues(limited, (2,)), adjusted_log_pvalues(make_scores(values), (2,))
    )
    assert limited.blocks == scores_of(dataset).blocks


@pytest.mark.slow
def test_a_few_gaps_change_no_graph():
    values = pd.DataFrame(table(N_MANY, 1)[:, :4], columns=list("abcd"))
    holes = values.mask(np.random.default_rng(0).random(values.shape) < 0.002)
    # Far from the p-values of all pairs: the nearest are .00012 and .015.
    with_gaps = dcd.RobustDCD(missing="testwise", alpha=0.003).fit(holes)
    assert with_gaps.cpdag_ == dcd.RobustDCD(alpha=0.003).fit(values).cpdag_


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_combinations_that_hardly_occur_are_adjusted_for(seed):
    """Columns for rare and empty combinations depend on each other, which single precision must tolerate."""
    rng = np.random.default_rng(seed)
    region = rng.integers(0, 4, N_MANY)
    age = rng.standard_normal(N_MANY)
    income = np.array([0, 2, -1, 0.5])[region] + 0.6 * age + rng.standard_normal(N_MANY)
    spend = np.tanh(income) + rng.standard_normal(N_MANY)
    rooms = np.clip(np.round(3 + 0.7 * income + rng.standard_normal(N_MANY)), 1, 8)
    frame = pd.DataFrame({"age": age, "income": income, "spend": spend, "rooms": rooms})
    frame["region"] = np.array(list("nesw"))[region]
    test = dcd.IndependenceTest(frame)
    assert test("income", "spend", ["region", "rooms", "age"]) < 1e-10
    assert test("spend", "region", ["income", "rooms", "age"]) > 1e-4
