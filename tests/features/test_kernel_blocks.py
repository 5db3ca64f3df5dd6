"""Long tables: blocks of rows against all rows at once."""

import tracemalloc

import numpy as np
import pytest

from dcd.features import kernel_blocks as feature_blocks
from dcd.features.kernel_blocks import FeatureBlocks, Staircase, features_among
from dcd.features.kernels import feature_map, kernel_features
from dcd.weights.descent import BlockDescent, DirectDescent
from dcd.weights.hsic_descent import HSICDescent, descend, learn_weights
from dcd.weights.objective import LowRankObjective, dependence, pairwise_hsic

SEEDS = range(3)
EVERYTHING = 1e-12  # features of less variance are below numerical precision


def mixed_table(n, seed):
    """Measurements that depend on each other, one of them with heavy tails, and a category."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(n)
    return np.column_stack(
        [
            common + rng.standard_normal(n),
            np.square(common) + rng.standard_normal(n),
            common + rng.standard_t(3, n),
            np.floor(2.5 * rng.random(n) + (common > 0)),
        ]
    ), ("continuous", "continuous", "continuous", "nominal")


def in_blocks(table, kinds, least=EVERYTHING, threads=1):
    maps = [feature_map(column, kind, least) for column, kind in zip(table.T, kinds, strict=True)]
    return FeatureBlocks.of(table, maps, threads=threads)


def as_arrays(features):
    """The same features as one (n, r) array for each variable."""
    rows = features.values.transpose(0, 2, 1).reshape(-1, len(features.owner))[: features.n_samples]
    return [rows[:, features.owner == member].astype(np.float64) for member in features.members]


@pytest.mark.parametrize("seed", SEEDS)
def test_maps_give_the_centred_kernel(seed):
    """From all values or from some; as accurate on order statistics as on other values."""
    table, kinds = mixed_table(9000, seed)
    for column, kind in zip(table.T, kinds, strict=True):
        exact = kernel_features(column, kind)
        exact = (exact - exact.mean(axis=0))[:300]
        made = feature_map(column, kind, EVERYTHING)(column[:300])
        np.testing.assert_allclose(made.T @ made, exact @ exact.T, rtol=0, atol=2e-3)
        few = feature_map(column, kind, 1e-3)
        assert kind == "nominal" or len(few.variances) < 0.8 * exact.shape[1]
        assert np.abs(few(column).mean(axis=1)).max() < 1e-3
        np.testing.assert_allclose(few(column).var(axis=1), few.variances, rtol=0.02)


@pytest.mark.parametrize(
    "column",
    [
        np.r_[np.zeros(199_997), 1.0, 2.0, 3.0],
        np.random.default_rng(0).standard_cauchy(20_000),
        np.r_[1e10, 1e-300 * np.random.default_rng(0).standard_normal(9999)],
        np.random.default_rng(0).integers(0, 2, 20_000) * 1.0,
    ],
)
def test_maps_of_strange_columns(column):
    made = feature_map(column, "continuous", 1e-5)
    features = made(column)
    assert features.shape == (len(made.variances), column.size)
    assert np.isfinite(features).all()
    assert np.square(features).sum(axis=0).max() < 2  # a centred kernel, give or take


@pytest.mark.parametrize("rows", [64, 333, 2048])
@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_learn_what_all_rows_at_once_learn(monkeypatch, rows, seed):
    """Single precision and blocks alone: the same loss path to 1e-5 and the same weights to a thousandth."""
    monkeypatch.setattr(feature_blocks, "NEGLIGIBLE", 0.0)
    monkeypatch.setattr(feature_blocks, "BLOCK_ROWS", rows)
    monkeypatch.setattr(feature_blocks, "_PANEL", 16)
    table, kinds = mixed_table(1500, seed)
    features = in_blocks(table, kinds)
    shares = np.full(1500, 1 / 1500)
    start = 0.2 * np.random.default_rng(seed).standard_normal(1500)
    found, path, _ = descend(BlockDescent(features, start, 0.5, shares), 60, 0.0)
    expected, exact_path, _ = descend(
        DirectDescent(LowRankObjective(as_arrays(features)), start, 0.5, shares), 60, 0.0
    )
    np.testing.assert_allclose(path, exact_path, rtol=1e-5)
    np.testing.assert_allclose(1500 * found, 1500 * expected, rtol=0, atol=1e-3)
    np.testing.assert_allclose(
        pairwise_hsic(features, found), pairwise_hsic(as_arrays(features), found), rtol=1e-4, atol=1e-9
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_left_out_does_not_matter(seed):
    """Against all features in double precision: loss, effective sample size, dependence and steps."""
    table, kinds = mixed_table(3000, seed)
    short = learn_weights(in_blocks(table, kinds, 2e-5), HSICDescent())
    exact = learn_weights(
        [kernel_features(column, kind) for column, kind in zip(table.T, kinds, strict=True)], HSICDescent()
    )
    assert short.status == exact.status
    assert short.n_steps == exact.n_steps
    np.testing.assert_allclose(short.loss_path, exact.loss_path, rtol=0, atol=1e-3 * exact.loss_path[0])
    assert short.ess == pytest.approx(exact.ess, rel=2e-3)
    assert short.dependence_before == pytest.approx(exact.dependence_before, rel=2e-3)
    assert short.dependence == pytest.approx(exact.dependence, rel=0.02, abs=1e-3)
    np.testing.assert_allclose(short.hsic_before, exact.hsic_before, rtol=2e-3)
    assert np.linalg.norm(short.weights - exact.weights) < 0.02 * np.linalg.norm(exact.weights)


@pytest.mark.slow
def test_the_number_of_threads_does_not_matter():
    table, kinds = mixed_table(40_000, 0)
    options = HSICDescent(max_steps=3)
    found = [learn_weights(in_blocks(table, kinds, 2e-5, threads), options) for threads in (1, 2, 5)]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].weights, other.weights)
        np.testing.assert_array_equal(found[0].loss_path, other.loss_path)
        np.testing.assert_array_equal(found[0].hsic_after, other.hsic_after)


def test_a_part_of_the_variables_is_as_if_there_were_no_others():
    table, kinds = mixed_table(9000, 1)
    chosen = [2, 0]
    part = features_among(in_blocks(table, kinds), chosen)
    alone = in_blocks(table[:, chosen], ("continuous", "continuous"))
    assert part.values is not alone.values
    first, second = (learn_weights(features, HSICDescent(max_steps=5)) for features in (part, alone))
    np.testing.assert_array_equal(first.weights, second.weights)
    np.testing.assert_array_equal(first.hsic_after, second.hsic_after)


def test_weights_that_rows_have_to_begin_with():
    table, kinds = mixed_table(3000, 2)
    features = in_blocks(table, kinds)
    shares = np.random.default_rng(2).random(3000) + 0.1
    shares /= shares.sum()
    short = learn_weights(features, HSICDescent(), shares=shares)
    exact = learn_weights(as_arrays(features), HSICDescent(), shares=shares)
    assert short.ess == pytest.approx(exact.ess, rel=2e-3)
    np.testing.assert_allclose(short.loss_path, exact.loss_path, rtol=0, atol=1e-3 * exact.loss_path[0])


def test_one_variable_has_nothing_to_decouple():
    table, kinds = mixed_table(3000, 0)
    features = in_blocks(table[:, :1], kinds[:1])
    assert dependence(features, np.full(3000, 1 / 3000))[1] == 0.0
    assert learn_weights(features, HSICDescent()).status == "nothing_to_decouple"


def products_a_row(features):
    stairs = Staircase.of(features)
    return sum((panel.stop - panel.start) * (met.stop - met.start) for panel, met in stairs.panels)


def test_work_a_row_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr(feature_blocks, "_PANEL", 8)
    found = [in_blocks(*mixed_table(n, 3), 2e-5) for n in (10_000, 100_000)]
    few, many = (products_a_row(features) for features in found)
    assert many <= 1.2 * few
    assert few < 0.5 * len(found[0].owner) ** 2  # what the staircase saves


def test_memory_grows_with_the_rows():
    peaks = []
    for n in (20_000, 40_000):
        table, kinds = mixed_table(n, 4)
        tracemalloc.start()
        learn_weights(in_blocks(table, kinds, 2e-5), HSICDescent(max_steps=2))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2.2 * peaks[0]
    assert peaks[1] / 40_000 < 1000  # bytes a row: some forty features and ten numbers besides
