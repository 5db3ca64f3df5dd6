import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from support.tables import assert_contract_of_scikit_learn, collider_with_bystanders
from threadpoolctl import threadpool_limits

import dcd
from dcd import DCD, InputError, MarkovBoundary
from dcd.features import kernel_blocks
from dcd.features.kernels import kernel_features
from dcd.independence.weighted_correlation import weighted_association
from dcd.search.decoupled_boundaries import BoundaryIdentifier, Prepared, decouple_set
from dcd.table.reading import read_table
from dcd.weights.hsic_descent import HSICDescent

# Requirements of scikit-learn that do not apply here.


@pytest.mark.filterwarnings(
    "ignore:No features were selected", "ignore::dcd.runtime.errors.SmallSampleWarning"
)
@pytest.mark.parametrize("target", [0, None])
@pytest.mark.parametrize("method", ["robust", "published"])
def test_scikit_learns_contract(target, method):
    model = MarkovBoundary(target=target, method=method)
    assert_contract_of_scikit_learn(model)


@pytest.mark.parametrize("seed", range(5))
def test_finds_parents_children_and_spouses(seed):
    frame = collider_with_bystanders(1000, seed)
    for target, boundary in {"a": "bc", "b": "ac", "c": "abd", "d": "c"}.items():
        model = MarkovBoundary(target=target, method="published", alpha=1e-3).fit(frame)
        assert model.boundary_ == list(boundary)


def test_a_child_of_a_child_is_not_in_the_boundary_though_it_depends():
    frame = collider_with_bystanders(1000, 0)
    unweighted = abs(np.corrcoef(frame["a"], frame["d"])[0, 1])
    assert unweighted > 0.25
    model = MarkovBoundary(target="a", method="published").fit(frame)
    assert abs(model.statistics_[3]) < 0.5 * unweighted


def test_fitted_values_belong_together():
    frame = collider_with_bystanders(500, 1)
    model = MarkovBoundary(target="c", method="published").fit(frame)
    assert model.weights_.sum() == pytest.approx(500)
    assert model.effective_sample_size_ == pytest.approx(500**2 / np.square(model.weights_).sum())
    assert np.isnan(model.pvalues_[2])
    assert np.isnan(model.statistics_[2])
    assert model.boundary_ == list(frame.columns[model.get_support()])
    assert model.boundary_ == list(model.get_feature_names_out())
    assert model.decoupling_.status in ("max_steps", "ess_floor")
    assert list(model.transform(frame).shape) == [500, len(model.boundary_)]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_any_table_same_answer(make):
    frame = collider_with_bystanders(300, 2)
    columns = {name: frame[name].to_numpy() for name in frame}
    model = MarkovBoundary(target="c", method="published").fit(make(columns))
    expected = MarkovBoundary(target=2, method="published").fit(frame.to_numpy())
    np.testing.assert_array_equal(model.pvalues_, expected.pvalues_)
    assert list(model.feature_names_in_) == list("abcde")
    assert not hasattr(expected, "feature_names_in_")
    np.testing.assert_array_equal(model.transform(make(columns)), expected.transform(frame.to_numpy()))


def test_selects_features_in_a_pipeline():
    frame = collider_with_bystanders(500, 3)
    model = make_pipeline(
        MarkovBoundary(method="published").set_output(transform="pandas"), LinearRegression()
    )
    model.fit(frame[["a", "b", "d", "e"]], frame["c"])
    assert set(model[-1].feature_names_in_) >= {"a", "b", "d"}
    assert model.predict(frame[["a", "b", "d", "e"]]).shape == (500,)


def test_a_separate_target_is_the_same_as_a_column():
    frame = collider_with_bystanders(300, 7)
    inside = MarkovBoundary(target="c", method="published").fit(frame)
    apart = MarkovBoundary(method="published").fit(frame.drop(columns="c"), frame["c"])
    assert apart.boundary_ == inside.boundary_
    np.testing.assert_array_equal(apart.pvalues_, np.delete(inside.pvalues_, 2))
    assert list(apart.feature_names_in_) == list("abde")


def test_column_order_does_not_matter():
    frame = collider_with_bystanders(300, 4)
    first = MarkovBoundary(target="c", method="published").fit(frame)
    other = MarkovBoundary(target="c", method="published").fit(frame[list("ecabd")])
    np.testing.assert_array_equal(first.weights_, other.weights_)
    assert dict(zip("abcde", first.pvalues_, strict=True))["a"] == other.pvalues_[2]


def test_identifier_agrees_with_the_estimator_and_decouples_each_set_once():
    frame = collider_with_bystanders(300, 5)
    dataset = read_table(frame).in_canonical_order()
    identifier = BoundaryIdentifier(dataset, alpha=0.05, options=HSICDescent())
    others = ["a", "b", "d", "e"]
    assert identifier("c", others) == set(MarkovBoundary(target="c", method="published").fit(frame).boundary_)
    expected = MarkovBoundary(target="c", method="published").fit(frame).pvalues_[0]
    assert identifier.pvalue("c", "a", others) == pytest.approx(expected, rel=1e-6)
    identifier.prepare([["b", "a", "e", "d"], ["a", "b"], ["b", "a"]])
    assert len(identifier.decoupled_sets) == 2
    assert identifier("e", ["a", "b"]) <= {"a", "b"}
    assert len(identifier.decoupled_sets) == 2
    assert identifier("c", []) == set()


def test_one_other_variable_is_pearsons_test():
    frame = collider_with_bystanders(300, 6)[["a", "c"]]
    model = MarkovBoundary(target="c", method="published").fit(frame)
    assert model.decoupling_.status == "nothing_to_decouple"
    assert model.statistics_[0] == pytest.approx(np.corrcoef(frame["a"], frame["c"])[0, 1])


@pytest.mark.parametrize("seed", range(3))
def test_a_random_start_is_seeded(seed):
    frame = collider_with_bystanders(200, seed)
    weights = [
        MarkovBoundary("c", method="published", weights=HSICDescent(init_scale=0.1, random_state=state))
        .fit(frame)
        .weights_
        for state in (seed, seed, 99)
    ]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])


@pytest.mark.slow
def test_level_under_learned_weights():
    """A target unrelated to all others: rejected at most at the level (five standard errors allowed)."""
    rng = np.random.default_rng(8)
    rejected, tests = 0, 0
    for _ in range(200):
        others = rng.standard_normal((200, 4)) + 1.5 * rng.standard_normal((200, 1))
        model = MarkovBoundary(target=4, method="published").fit(
            np.column_stack([others, rng.standard_normal(200)])
        )
        rejected, tests = rejected + len(model.boundary_), tests + 4
    assert rejected / tests < 0.05 + 5 * np.sqrt(0.05 * 0.95 / tests)


def test_bits_do_not_depend_on_the_threads_around():
    dataset = read_table(np.random.default_rng(0).standard_normal((3000, 20))).in_canonical_order()
    members = [0, 1]
    features = [kernel_features(dataset.values[:, member]) for member in members]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(decouple_set(Prepared(dataset, features, HSICDescent(), 0), members))
    np.testing.assert_array_equal(found[0].correlations, found[1].correlations)


@pytest.fixture(scope="module")
def long_frame():
    """More rows than are processed at once, with a category and an unrelated column."""
    frame = collider_with_bystanders(9000, 11)
    frame["f"] = np.where(frame["a"] + np.random.default_rng(11).standard_normal(9000) > 0, "yes", "no")
    return frame


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_find_what_all_at_once_find(long_frame, monkeypatch, weighted):
    """Blocks in single precision against the form for fewer rows, in double."""
    given = np.random.default_rng(0).random(9000) + 0.5 if weighted else None
    in_blocks = MarkovBoundary(target="c", method="published").fit(long_frame, sample_weight=given)
    monkeypatch.setattr(kernel_blocks, "DENSE_ROWS", 10_000)
    at_once = MarkovBoundary(target="c", method="published").fit(long_frame, sample_weight=given)
    assert in_blocks.boundary_ == at_once.boundary_
    assert not np.array_equal(in_blocks.weights_, at_once.weights_)  # otherwise it was compared with itself
    assert in_blocks.decoupling_.n_steps == at_once.decoupling_.n_steps
    assert in_blocks.effective_sample_size_ == pytest.approx(at_once.effective_sample_size_, rel=1e-3)
    error = 1 / np.sqrt(at_once.effective_sample_size_)
    np.testing.assert_allclose(in_blocks.statistics_, at_once.statistics_, rtol=0, atol=0.05 * error)
    difference = np.linalg.norm(in_blocks.weights_ - at_once.weights_)
    assert difference < 0.01 * np.linalg.norm(at_once.weights_)


def test_threads_and_column_order_do_not_matter_to_many_rows(long_frame):
    first = MarkovBoundary(target="c", method="published", weights=HSICDescent(max_steps=5), n_jobs=1).fit(
        long_frame
    )
    other = MarkovBoundary(target="c", method="published", weights=HSICDescent(max_steps=5), n_jobs=2).fit(
        long_frame[list("fbcdea")]
    )
    np.testing.assert_array_equal(first.weights_, other.weights_)
    assert first.pvalues_[0] == other.pvalues_[-1]


def test_all_sets_of_many_rows_share_their_features(long_frame):
    model = dcd.DCD(max_steps=20, progress=False).fit(long_frame[list("abcd")])
    alone = MarkovBoundary(target="d", method="published", weights=HSICDescent(max_steps=20)).fit(
        long_frame[list("abcd")]
    )
    decoupled = next(one for one in model.diagnostics_.sets if set(one.variables) == set("abc"))
    assert decoupled.ess == alone.effective_sample_size_


def test_a_second_fit_forgets_the_first():
    frame = collider_with_bystanders(100, 0)
    model = MarkovBoundary(target=0, method="published").fit(frame)
    model.fit(frame[["a", "b"]].to_numpy())
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")


def test_what_was_fitted_does_not_change_with_parameters():
    model = MarkovBoundary(target="c", method="published").fit(collider_with_bystanders(300, 0))
    before = model.get_support()
    model.set_params(alpha=0.999)
    np.testing.assert_array_equal(model.get_support(), before)


def test_bad_input():
    frame = dcd.datasets.load_sachs().frame
    with pytest.raises(InputError, match=r"column 'pka': is not in the table\. Did you mean 'PKA'"):
        MarkovBoundary(target="pka", method="published").fit(frame)
    with pytest.raises(InputError, match="parameter 'target': is None"):
        MarkovBoundary(method="published").fit(frame)
    with pytest.raises(InputError, match="parameter 'alpha'"):
        MarkovBoundary(target="PKA", method="published", alpha=0).fit(frame)
    with pytest.raises(InputError, match="parameter 'min_ess'"):
        MarkovBoundary(target="PKA", method="published", weights=HSICDescent(min_ess=2)).fit(frame)
    with pytest.raises(InputError, match="parameter 'n_jobs'"):
        MarkovBoundary(target="PKA", method="published", n_jobs=0).fit(frame)


# --- joint objectives ------------------------------------------------------------------------------------


def product_of_causes(n, seed):
    """x and t are both A·B with noise: given A and B, t does not depend on x."""
    a, b, e, f = np.random.default_rng(seed).standard_normal((4, n))
    return pd.DataFrame({"x": a * b + e, "t": a * b + f, "a": a, "b": b})


@pytest.mark.parametrize("seed", range(3))
def test_from_set_weights_leave_out_what_shares_a_product(seed):
    """Pairwise weights cannot remove A·B: x stays in the boundary of t."""
    frame = product_of_causes(500, seed)
    pvalues = {
        objective: MarkovBoundary("t", method="published", weights=HSICDescent(objective=objective))
        .fit(frame)
        .pvalues_[0]
        for objective in ("pairwise", "from-set")
    }
    assert pvalues["pairwise"] < 0.05 < pvalues["from-set"]


def test_each_member_of_a_set_has_weights_of_its_own():
    """The row of a member in a decoupled set is the test under its own weights."""
    dataset = read_table(product_of_causes(200, 0))
    options = HSICDescent(objective="from-set")
    decoupled = decouple_set(Prepared(dataset, None, options, 0), [0, 2, 3])
    assert decoupled.pvalues.shape == (3, 4)
    each = [options.learn_apart(dataset, member, [0, 2, 3]) for member in (0, 2, 3)]
    for row, (member, learned) in enumerate(zip((0, 2, 3), each, strict=True)):
        left, right = ([dataset.values[:, [v]]] for v in (member, 1))
        expected = weighted_association(left, right, learned.weights)[1][0, 0]
        assert decoupled.pvalues[row, 1] == pytest.approx(expected)
        np.testing.assert_array_equal(decoupled.hsic_after[row], learned.hsic_after[row])
    assert decoupled.ess == min(learned.ess for learned in each)


@pytest.mark.parametrize("objective", ["joint", "from-set"])
def test_whole_graphs_with_joint_objectives(objective):
    rng = np.random.default_rng(0)
    a, b, e, f = rng.standard_normal((4, 300))
    frame = pd.DataFrame({"a": a, "b": b, "c": a + b + 0.7 * e})
    frame["d"] = frame["c"] + f
    model = DCD(objective=objective, alpha=0.01, progress=False).fit(frame)
    assert sorted(model.cpdag_.directed_edges) == [("a", "c"), ("b", "c"), ("c", "d")]
    again = DCD(objective=objective, alpha=0.01, progress=False).fit(frame[["d", "b", "a", "c"]])
    assert sorted(again.cpdag_.directed_edges) == sorted(model.cpdag_.directed_edges)
    assert model.diagnostics_.to_frame()["hsic_after"].max() < 0.01


def test_an_unknown_objective_is_refused():
    with pytest.raises(dcd.InputError, match="parameter 'objective': must be"):
        DCD(objective="triples").fit(product_of_causes(50, 0))
