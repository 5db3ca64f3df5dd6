import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import rbf_kernel

from dcd.features.kernels import kernel_features, median_bandwidth, rbf_features


@pytest.mark.parametrize("n", [2, 3, 10, 51, 200])
@pytest.mark.parametrize("seed", range(3))
def test_bandwidth_is_the_median_of_all_distances(n, seed):
    x = np.random.default_rng(seed).standard_t(3, size=n)
    assert median_bandwidth(x) == pytest.approx(np.median(pdist(x[:, None])), rel=1e-10)


def test_bandwidth_of_tied_data_is_the_median_of_the_distances_that_differ():
    x = np.array([0.0] * 20 + [1.0, 2.0, 5.0])
    distances = pdist(x[:, None])
    assert np.median(distances) == 0
    assert median_bandwidth(x) == pytest.approx(np.median(distances[distances > 0]))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e12])
def test_bandwidth_scales_with_the_data(scale):
    x = np.random.default_rng(0).standard_normal(100)
    assert median_bandwidth(scale * x) == pytest.approx(scale * median_bandwidth(x), rel=1e-9)


def test_extreme_columns_come_to_an_end():
    rng = np.random.default_rng(0)
    assert median_bandwidth(1e-320 * rng.standard_normal(50)) >= 0
    outlier = np.r_[1e10, 1e-300 * rng.standard_normal(49)]
    assert np.isfinite(kernel_features(outlier)).all()


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
@pytest.mark.parametrize("seed", range(3))
def test_features_reproduce_the_kernel(tolerance, seed):
    rng = np.random.default_rng(seed)
    for x in (rng.standard_normal(300), rng.standard_t(2, size=300), rng.integers(0, 3, size=300) * 1.0):
        bandwidth = median_bandwidth(x)
        features = rbf_features(x, bandwidth, tolerance)
        assert (
            np.abs(features @ features.T - rbf_kernel(x[:, None], gamma=0.5 / bandwidth**2)).max()
            <= 2 * tolerance
        )


def test_rank_is_small_and_never_above_the_number_of_values():
    rng = np.random.default_rng(0)
    assert kernel_features(rng.standard_normal(2000)).shape[1] < 40
    assert kernel_features(rng.integers(0, 2, size=100) * 1.0).shape[1] == 2
