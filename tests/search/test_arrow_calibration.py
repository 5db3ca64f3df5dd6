"""Calibrated arrows: invariants, shrinkage, and constants that agree with the fit."""

import numpy as np
import pandas as pd
import pytest
from support.tables import linear

from benchmarks import fit_arrows
from dcd.features.gram_columns import columns_of, family_gram
from dcd.search.arrow_calibration import CONSTANTS, Constants, Traits, calibrated, traits_of
from dcd.search.score_model import score_model
from dcd.table.reading import read_table

SPARSE = Traits(shared=0.3, log_samples=0.0, linear=0.0, counted=0.0)
DENSE = SPARSE._replace(shared=4.0)
NOTHING = np.zeros((5, 5), dtype=bool)


def sampled(seed, d=5):
    """Frequencies of types that agree in both orders of a pair."""
    rng = np.random.default_rng(seed)
    types = np.zeros((4, d, d))
    types[3] = 1.0
    for i in range(d):
        for j in range(i):
            types[:, i, j] = rng.dirichlet(np.full(4, 0.5))
            types[:, j, i] = types[[1, 0, 2, 3], i, j]
    return types


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("traits", [SPARSE, DENSE])
def test_they_stay_probabilities_and_edges_keep_theirs(seed, traits):
    types = sampled(seed)
    found = calibrated(types, traits, NOTHING, NOTHING)
    np.testing.assert_allclose(found.sum(axis=0), 1.0)
    np.testing.assert_array_equal(found[3], types[3])
    np.testing.assert_allclose(found[0], found[1].T)
    np.testing.assert_allclose(found[2], found[2].T)
    assert (found >= 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_two_directions_keep_their_order(seed):
    types = sampled(seed)
    found = calibrated(types, DENSE, NOTHING, NOTHING)
    np.testing.assert_array_equal(np.sign(found[0] - found[1]), np.sign(types[0] - types[1]))


def test_arrows_are_believed_less_in_dense_graphs_with_few_rows_lines_and_categories():
    types = np.zeros((4, 2, 2))
    types[3] = np.eye(2)
    types[0, 0, 1] = types[1, 1, 0] = 1.0
    nothing = np.zeros((2, 2), dtype=bool)

    def arrow(confirmed=True, **changed):
        traits = SPARSE._replace(**changed)
        return calibrated(types, traits, nothing, np.full_like(nothing, confirmed))[0, 0, 1]

    assert arrow() > 0.95
    assert arrow(shared=2.0) < arrow()
    assert arrow(shared=4.0) < arrow(shared=2.0)
    assert arrow(shared=4.0, linear=1.0) < 0.8
    assert arrow(log_samples=-2.0) < arrow() < arrow(log_samples=2.0)
    assert arrow(linear=1.0) < arrow()
    assert arrow(counted=1.0) < arrow()
    assert arrow(confirmed=False) < arrow()


def test_what_knowledge_settles_stays():
    types = sampled(0)
    settled = NOTHING.copy()
    settled[0, 1] = settled[1, 0] = True
    found = calibrated(types, DENSE, settled, NOTHING)
    np.testing.assert_array_equal(found[:, 0, 1], types[:, 0, 1])
    assert not np.allclose(found[:, 0, 2], types[:, 0, 2])


def test_without_temper_shares_stay():
    neutral = Constants((50.0, 0.0, 0.0, 0.0, 0.0), 0.0, 0.0, 0.0)
    types = sampled(1)
    np.testing.assert_allclose(calibrated(types, DENSE, NOTHING, NOTHING, neutral), types, atol=1e-12)


def test_the_traits_of_a_table():
    dag = np.zeros((4, 4))
    dag[0, 1] = dag[1, 2] = 1
    frame = linear(dag, 0, n=400)
    dataset = read_table(frame)
    gram = family_gram(columns_of(dataset))
    model = score_model(gram, None, allowed=~np.eye(4, dtype=bool), required=np.zeros((4, 4), bool))
    types = np.zeros((4, 4, 4))
    types[3] = 1.0
    for i, j in ((0, 1), (1, 2)):
        types[:, i, j] = types[:, j, i] = 0.0, 0.0, 1.0, 0.0
    traits = traits_of(types, model)
    assert traits.shared == pytest.approx(2 * (2 / 6) ** 2)
    assert traits.log_samples == pytest.approx(np.log(model.n_samples / 800.0))
    assert traits.counted == 0.0
    assert 0.0 <= traits.linear <= 1.0


# --- the fit ---------------------------------------------------------------------------------------------


def test_the_constants_are_those_of_the_rows():
    assert fit_arrows.fit(pd.read_csv(fit_arrows.ROWS)) == CONSTANTS


@pytest.mark.parametrize("seed", range(2))
def test_the_fit_finds_the_temper_that_made_the_rows(seed):
    """Types drawn with the probabilities of known constants."""
    rng = np.random.default_rng(seed)
    truth = Constants((0.5, -1.0, 0.0, 0.0, 0.0), 0.2, 0.002, 0.2)
    rows = []
    for table in range(300):
        traits = Traits(float(rng.uniform(0.1, 0.9)), float(rng.normal()), *rng.uniform(0, 0.5, 2))
        shares = rng.dirichlet(np.full(3, 0.4), size=20)
        types = np.concatenate([shares.T, np.zeros((1, 20))])[:, :, None]
        confirmed = rng.random((20, 1)) < 0.6
        believed = calibrated(types, traits, np.zeros((20, 1), dtype=bool), confirmed, truth)[:3, :, 0].T
        drawn = (rng.random((20, 1)) > believed.cumsum(axis=1)).sum(axis=1)
        for share, tested, one in zip(shares, confirmed[:, 0], drawn, strict=True):
            key = {"family": "any", "degree": 2, "n": 300, "d": 8, "seed": table}
            types_told = dict(zip(fit_arrows.TYPES, share, strict=True))
            tests = {"confirmed": int(tested), "truth": int(min(one, 2))}
            rows.append({**key, **traits._asdict(), **types_told, **tests})
    found = fit_arrows.fit(pd.DataFrame(rows))
    frame = pd.DataFrame(rows)
    expected = fit_arrows.calibrated_shares(frame, truth)
    np.testing.assert_allclose(
        fit_arrows.calibrated_shares(frame, found).mean(axis=0), expected.mean(axis=0), atol=0.03
    )
    assert np.abs(fit_arrows.calibrated_shares(frame, found) - expected).mean() < 0.05
