"""Row weights: one for each row, and a warning if the effective number of rows is small."""

import warnings

import numpy as np
import pytest

import dcd

N = 400
TABLE = np.random.default_rng(0).standard_normal((N, 3))


@pytest.mark.parametrize("parameter", ["sample_weight", "counts"])
@pytest.mark.parametrize("shape", [(2, N // 2), (N // 2, 2), (1, N), (N, 1, 1), ()])
def test_weights_of_another_shape_are_not_flattened(parameter, shape):
    with pytest.raises(dcd.InputError, match=f"parameter '{parameter}': must be one column"):
        dcd.RobustDCD(progress=False).fit(TABLE, **{parameter: np.ones(shape)})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("estimator", [dcd.RobustDCD(progress=False), dcd.MarkovBoundary(target=0)])
def test_a_small_effective_size_warns_as_few_rows_do(seed, estimator):
    weights = np.full(N, 1e-6)
    weights[np.random.default_rng(seed).permutation(N)[:12]] = 1.0
    with pytest.warns(dcd.errors.SmallSampleWarning, match="an effective sample size of 12"):
        estimator.fit(TABLE, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.fit(TABLE, sample_weight=np.linspace(0.5, 1.5, N))
