"""Survey weights and counts: equal weights have no effect; a row of count two is a row that occurs twice."""

import numpy as np
import pandas as pd
import pytest

import dcd
from dcd.features.kernels import feature_map, median_bandwidth
from dcd.features.rank_scores import normal_scores, scores_of
from dcd.table.reading import read_table

SEEDS = range(4)
ESTIMATORS = [dcd.DCD, dcd.RobustDCD]


def chain(n, seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    b = a + 0.7 * rng.standard_normal(n)
    c = np.tanh(b) + rng.standard_normal(n)
    group = rng.choice(["x", "y", "z"], n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "group": group, "grade": rng.integers(0, 4, n)})


def assert_same_fit(one, other):
    assert one.cpdag_ == other.cpdag_
    assert one.markov_boundaries_ == other.markov_boundaries_
    for first, second in zip(one.diagnostics_.searches, other.diagnostics_.searches, strict=True):
        assert first.pvalues == second.pvalues
    assert one.table_.weighted == other.table_.weighted


@pytest.mark.parametrize("constant", [1.0, 7.0, 1 / 3])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_equal_weights_give_the_same_bits_as_none(estimator, constant):
    frame = chain(250, 0)
    weights = np.full(250, constant)
    assert_same_fit(estimator().fit(frame, sample_weight=weights), estimator().fit(frame))


def test_equal_weights_are_none_everywhere():
    frame, ones = chain(250, 1), np.full(250, 0.3)
    for method in ("robust", "published"):
        plain = dcd.MarkovBoundary("b", method=method).fit(frame)
        weighted = dcd.MarkovBoundary("b", method=method).fit(frame, sample_weight=ones)
        np.testing.assert_array_equal(plain.pvalues_, weighted.pvalues_)
        np.testing.assert_array_equal(plain.weights_, weighted.weights_)
    for learn in (dcd.weights.decoupling_weights, dcd.weights.convex_weights):
        np.testing.assert_array_equal(learn(frame).weights, learn(frame, sample_weight=ones).weights)
    tests = [dcd.IndependenceTest(frame, **how) for how in ({}, {"sample_weight": ones})]
    assert tests[0]("a", "c", ["b"]) == tests[1]("a", "c", ["b"])
    stabilities = [
        dcd.stability(dcd.RobustDCD(), frame, n_resamples=3, progress=False, **how)
        for how in ({}, {"sample_weight": ones})
    ]
    assert stabilities[0].frequencies("a", "b") == stabilities[1].frequencies("a", "b")


def test_equal_weights_of_the_rows_that_are_used_are_none():
    """Rows of weight 0 are left out; the others count the same."""
    frame = chain(250, 2)
    weights = np.where(np.arange(250) % 5 == 0, 0.0, 2.0)
    fitted = dcd.DCD().fit(frame, sample_weight=weights)
    expected = dcd.DCD().fit(frame[weights > 0])
    assert fitted.cpdag_ == expected.cpdag_
    assert fitted.table_.weighted  # the same graph needs them again
    for one, other in zip(fitted.diagnostics_.sets, expected.diagnostics_.sets, strict=True):
        np.testing.assert_array_equal(one.pvalues, other.pvalues)


# --- weights that are whole numbers ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_and_bandwidths_are_those_of_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    for values in (rng.standard_normal(200), rng.integers(0, 6, 200).astype(float), rng.lognormal(size=200)):
        counts = rng.integers(1, 5, 200)
        repeated, shares = np.repeat(values, counts), counts / counts.sum()
        assert median_bandwidth(values, shares) == pytest.approx(median_bandwidth(repeated), rel=1e-10)
        expected = normal_scores(repeated)
        np.testing.assert_allclose(
            np.repeat(normal_scores(values, shares), counts, axis=0), expected, rtol=0, atol=1e-10
        )


@pytest.mark.parametrize("kind", ["continuous", "nominal"])
def test_features_of_many_rows_are_those_of_repeated_rows(kind):
    rng = np.random.default_rng(0)
    values = rng.standard_normal(3000) if kind == "continuous" else rng.integers(0, 5, 3000).astype(float)
    counts = rng.integers(1, 4, 3000)
    weighted = feature_map(values, kind, 1e-3, counts / counts.sum())
    repeated = feature_map(np.repeat(values, counts), kind, 1e-3)
    np.testing.assert_allclose(weighted.variances, repeated.variances, rtol=2e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_gram_matrices_are_those_of_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    frame, counts = chain(500, seed)[["a", "b", "c"]], rng.integers(0, 4, 500)
    weighted = _gram(scores_of(read_table(frame, sample_weight=counts)))
    repeated = _gram(scores_of(read_table(np.repeat(frame.to_numpy(), counts, axis=0))))
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-9)


def _gram(scores):
    columns = scores.part(slice(0, scores.n_samples), [(v, (0, 3, 4)) for v in range(scores.n_variables)])
    return columns.T @ (scores.probabilities[:, None] * columns)


@pytest.mark.parametrize("seed", SEEDS)
def test_published_correlations_are_those_of_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    frame, counts = chain(200, seed)[["a", "b", "c"]], rng.integers(0, 4, 200)
    weighted = dcd.MarkovBoundary("c", method="published").fit(frame, sample_weight=counts)
    repeated = dcd.MarkovBoundary("c", method="published").fit(frame, counts=counts)
    np.testing.assert_allclose(weighted.statistics_, repeated.statistics_, rtol=0, atol=1e-7)
    assert weighted.effective_sample_size_ < repeated.effective_sample_size_


# --- counts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_counts_are_repeated_rows_to_the_bit(estimator, seed):
    frame, counts = chain(150, seed), np.random.default_rng(seed).integers(0, 4, 150)
    counted = estimator().fit(frame, counts=counts)
    repeated = estimator().fit(frame.loc[frame.index.repeat(counts)])
    assert_same_fit(counted, repeated)
    assert counted.table_.n_rows == counts.sum()
    assert counted.account_.fingerprint == repeated.account_.fingerprint


@pytest.mark.parametrize("form", ["frame", "array", "series target", "file"])
def test_counts_of_every_kind_of_table(form, tmp_path):
    frame, counts = chain(150, 0)[["a", "b", "c"]], np.random.default_rng(0).integers(0, 4, 150)
    expected = dcd.MarkovBoundary(1, method="published").fit(np.repeat(frame.to_numpy(), counts, axis=0))
    table, target, y = frame, 1, None
    if form == "array":
        table = frame.to_numpy()
    elif form == "series target":
        table, target, y = frame[["a", "c"]], None, frame["b"]
    elif form == "file":
        table = tmp_path / "table.npy"
        np.save(table, frame.to_numpy())
    found = dcd.MarkovBoundary(target, method="published").fit(table, y, counts=counts)
    pvalues = [one.pvalues_[~np.isnan(one.pvalues_)] for one in (found, expected)]
    np.testing.assert_array_equal(*pvalues)
    np.testing.assert_array_equal(found.weights_, expected.weights_)


def test_counts_in_functions():
    frame, counts = chain(150, 1), np.random.default_rng(1).integers(0, 4, 150)
    repeated = frame.loc[frame.index.repeat(counts)]
    for learn in (dcd.weights.decoupling_weights, dcd.weights.convex_weights):
        np.testing.assert_array_equal(learn(frame, counts=counts).weights, learn(repeated).weights)
    test, expected = dcd.IndependenceTest(frame, counts=counts), dcd.IndependenceTest(repeated)
    assert test("a", "c", ["b"]) == expected("a", "c", ["b"])
    how = {"n_resamples": 3, "progress": False}
    counted = dcd.stability(dcd.RobustDCD(), frame, counts=counts, **how)
    assert counted.frequencies("a", "b") == dcd.stability(dcd.RobustDCD(), repeated, **how).frequencies(
        "a", "b"
    )


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.ones(5), "has 5 values for 100 rows"),
        (np.full(100, 1.5), "not whole numbers, such as 1.5. Use sample_weight"),
        (-np.ones(100), "not counts"),
        (np.full(100, np.nan), "not counts"),
        (np.zeros(100), "every count is zero"),
        (np.full(100, 1e9), r"adds up to 1e\+11 rows"),
        (["x"] * 100, "not counts"),
    ],
)
def test_counts_that_are_none(counts, message):
    with pytest.raises(dcd.InputError, match=f"parameter 'counts': .*{message}"):
        dcd.DCD().fit(chain(100, 0), counts=counts)


def test_counts_and_weights_do_not_go_together():
    with pytest.raises(dcd.InputError, match="'counts': was given together with sample_weight"):
        dcd.DCD().fit(chain(100, 0), counts=np.ones(100), sample_weight=np.ones(100))


@pytest.mark.parametrize("parameter", ["counts", "sample_weight"])
def test_a_matrix_is_not_a_column_of_weights(parameter):
    values = np.random.default_rng(0).standard_normal((40, 3))
    with pytest.raises(dcd.InputError, match=rf"'{parameter}'.*one column.*\(20, 2\)"):
        dcd.RobustDCD().fit(values, **{parameter: np.ones((20, 2))})
