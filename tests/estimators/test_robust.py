import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from support.tables import assert_contract_of_scikit_learn, collider_with_bystanders, simulated

import dcd
from dcd import InputError, RobustDCD
from dcd.estimators.base import Diagnostics


@pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")
def test_scikit_learns_contract():
    assert_contract_of_scikit_learn(RobustDCD(progress=False))


@pytest.mark.parametrize("seed", range(5))
def test_recovers_a_collider_with_direction(seed):
    model = RobustDCD(alpha=1e-3).fit(collider_with_bystanders(1000, seed))
    assert str(model.cpdag_) == "a -> c\nb -> c\nc -> d"
    assert model.markov_boundaries_["a"] == {"b": "spouse", "c": "child"}


def test_same_result_for_any_number_of_jobs_and_order_of_columns():
    for seed in range(4):
        frame = simulated(seed, d=7)
        one, two = RobustDCD(n_jobs=1).fit(frame), RobustDCD(n_jobs=2).fit(frame)
        order = np.random.default_rng(seed).permutation(frame.columns)
        shuffled = RobustDCD().fit(frame[order])
        assert one.cpdag_ == two.cpdag_ == shuffled.cpdag_
        assert one.conflicts_ == two.conflicts_ == shuffled.conflicts_
        first, second = one.diagnostics_, two.diagnostics_
        assert first.interactions == second.interactions
        pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())
        pd.testing.assert_frame_equal(shuffled.adjacency_matrix_, one.adjacency_matrix_.loc[order, order])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_units_do_not_matter(scale):
    frame = collider_with_bystanders(500, 2)
    assert RobustDCD().fit(scale * frame + 3).cpdag_ == RobustDCD().fit(frame).cpdag_


@pytest.mark.slow
def test_curves_at_low_noise_where_the_published_method_struggles():
    """Scale-free graphs, noise 0.3: fewer than half of the errors of DCD on the same data."""
    robust, published = [], []
    for seed in range(50, 54):
        dag = dcd.simulate.random_dag(8, random_state=seed)
        values = dcd.simulate.sample(dag, 800, noise_std=0.3, random_state=seed)
        truth = dcd.graph.dag_to_cpdag(dag)
        for model, errors in ((RobustDCD(), robust), (dcd.DCD(), published)):
            errors.append(dcd.metrics.compare(truth, model.fit(values).cpdag_.adjacency).shd_c)
    assert np.mean(robust) < 0.5 * np.mean(published)


def test_sachs():
    data = dcd.datasets.load_sachs()
    model = RobustDCD().fit(data.frame)
    scores = dcd.metrics.compare(data.cpdag, model.cpdag_)
    assert scores.skeleton_precision >= 0.8
    assert scores.shd_c <= 10


def test_diagnostics_tell_what_the_weights_did():
    """Two effects of A, B and sign(A·B): associated given A and B before decoupling, but not after."""
    explained_away = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a, b = rng.standard_normal((2, 800))
        x, y = 0.5 * (a + b) + np.sign(a * b) + 0.7 * rng.standard_normal((2, 800))
        diagnostics = RobustDCD().fit(pd.DataFrame({"a": a, "b": b, "x": x, "y": y})).diagnostics_
        table = diagnostics.to_frame()
        assert (table["dependence"] < table["dependence_before"]).all()
        assert ("disappeared" in str(diagnostics)) == bool(diagnostics.interactions)
        explained_away += diagnostics.explained_away
    assert explained_away >= 2


def test_strategies_can_be_swapped_one_by_one():
    frame = collider_with_bystanders(800, 0)
    for parameters in (
        {"test": dcd.PartialAssociation(decouple="never")},
        {"test": dcd.PartialAssociation(decouple="always")},
        {"test": dcd.WeightedAssociation()},
        {"search": dcd.WholeGraph(restarts=0)},
        {"search": dcd.WholeGraph(confirm=False)},
    ):
        model = RobustDCD(alpha=1e-3, **parameters).fit(frame)
        assert dcd.metrics.compare(RobustDCD().fit(frame).cpdag_, model.cpdag_).skeleton_f1 == 1


def test_a_clone_is_unfitted_and_the_same():
    model = RobustDCD(alpha=0.01, test=dcd.PartialAssociation(decouple="always"))
    again = clone(model)
    assert again.get_params()["test"] == model.test
    assert not hasattr(again, "cpdag_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, "alpha"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": "x"}, "random_state"),
        ({"test": "fast"}, "test"),
        ({"test": dcd.GrowShrink()}, "test"),
        ({"test": dcd.PartialAssociation}, "test"),
        ({"test": dcd.PartialAssociation(weights=None)}, "weights"),
        ({"search": 3}, "search"),
        ({"search": dcd.GrowShrink()}, "search"),
        ({"search": dcd.WholeGraph(restarts=-1)}, "restarts"),
        ({"search": dcd.WholeGraph(confirm="no")}, "confirm"),
    ],
)
def test_bad_parameters_stop_before_any_work(parameters, message):
    with pytest.raises(InputError, match=message):
        RobustDCD(**parameters).fit("no table at all")


@pytest.mark.parametrize("seed", range(3))
def test_two_columns_and_categories_are_enough(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, 300)
    y = np.where(rng.random(300) < 0.3, rng.integers(0, 3, 300), x)
    assert str(RobustDCD().fit(pd.DataFrame({"x": x, "y": y})).cpdag_) == "x - y"


@pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")
def test_a_small_table_gives_an_answer():
    values = np.random.default_rng(0).standard_normal((25, 12))
    assert len(RobustDCD().fit(values).cpdag_.names) == 12


# --- the same test on one target --------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{"search": dcd.GrowShrink()}, {"test": dcd.PartialAssociation()}])
def test_markov_boundary_by_growing(parameters):
    for seed in range(4):
        frame = collider_with_bystanders(800, seed)
        model = dcd.MarkovBoundary("a", alpha=1e-3, **parameters).fit(frame)
        assert model.boundary_ == ["b", "c"]
        assert np.isnan(model.pvalues_[0])
        assert model.pvalues_[[1, 2]].max() < 1e-3
        assert abs(model.statistics_[2]) > 0.3
        assert model.weights_.sum() == pytest.approx(800)
        assert model.decoupling_.status == "balanced"
        by_y = dcd.MarkovBoundary(alpha=1e-3, **parameters).fit(frame.drop(columns="a"), frame["a"])
        assert by_y.boundary_ == ["b", "c"]


# --- diagnostics ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [RobustDCD, dcd.DCD])
def test_all_estimators_have_the_same_diagnostics(estimator):
    frame = collider_with_bystanders(400, 0)
    model = estimator(alpha=0.01).fit(frame)
    diagnostics = model.diagnostics_
    assert isinstance(diagnostics, Diagnostics)
    assert sorted(search.target for search in diagnostics.searches) == sorted(frame)
    assert diagnostics.level == 0.01
    assert diagnostics.cuts == ()
    assert set(diagnostics.failed) <= set(frame)
    table = diagnostics.to_frame()
    common = ["variables", "size", "ess", "dependence_before", "dependence", "status"]
    assert list(table)[:6] == common
    for decoupled, row in zip(diagnostics.sets, table.itertuples(), strict=True):
        assert (decoupled.variables, decoupled.ess, decoupled.status) == (row.variables, row.ess, row.status)
    assert str(diagnostics)
