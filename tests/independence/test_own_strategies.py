"""User-defined tests and weightings, in every estimator that accepts them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.own_strategies import BoundFisherZ, EqualWeights, FisherZ
from support.tables import collider_with_bystanders

import dcd
from dcd import InputError, MarkovBoundary, RobustDCD
from dcd.independence.base import SearchTest
from dcd.independence.binding import bind_test
from dcd.runtime.rows import MANY_ROWS
from dcd.table.reading import read_table
from dcd.weights import ConvexWeights, HSICDescent


@pytest.fixture(scope="module")
def frame():
    return collider_with_bystanders(800, 0)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_own_test_finds_the_graph(frame, n_jobs):
    model = RobustDCD(test=FisherZ(), alpha=1e-3, n_jobs=n_jobs, progress=False).fit(frame)
    assert model.cpdag_ == RobustDCD(alpha=1e-3).fit(frame).cpdag_
    assert sorted(model.cpdag_.directed_edges) == [("a", "c"), ("b", "c"), ("c", "d")]
    assert not model.diagnostics_.sets


def test_an_own_test_finds_a_boundary_and_gives_p_values(frame):
    model = MarkovBoundary("a", test=FisherZ(), alpha=1e-3).fit(frame)
    assert model.boundary_ == ["b", "c"]
    test = dcd.IndependenceTest(frame, test=FisherZ())
    assert model.pvalues_[1] == pytest.approx(test("a", "b", ["c"]))
    z = np.arctanh(abs(np.corrcoef(frame["a"], frame["e"])[0, 1])) * np.sqrt(797)
    assert test("a", "e") == pytest.approx(2 * stats.norm.sf(z))


def test_an_own_test_on_the_rows_that_have_a_set(frame):
    holes = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.05)
    test = dcd.IndependenceTest(holes, test=FisherZ(), missing="testwise")
    complete = holes[["a", "b", "c"]].dropna()
    assert test("a", "b", ["c"]) == pytest.approx(
        dcd.IndependenceTest(complete, test=FisherZ())("a", "b", ["c"])
    )
    model = RobustDCD(test=FisherZ(), alpha=1e-3, missing="testwise").fit(holes)
    assert ("a", "c") in model.cpdag_.directed_edges


def test_an_own_test_on_many_rows_asks_a_sample_first():
    x, e, f = np.random.default_rng(0).standard_normal((3, MANY_ROWS + 1))
    dataset = read_table(np.column_stack([x, x + e, f]))
    sizes = []

    class Counting(FisherZ):
        def bind(self, scores, level):
            sizes.append(len(scores.values))
            return BoundFisherZ(scores.values)

    test = bind_test(Counting(), dataset, 0.05)
    assert sizes == [MANY_ROWS + 1, 20_000, 5_000, 1_000]
    assert test.log_pvalue(0, 1, ()) < np.log(1e-10)
    whole = BoundFisherZ(dataset.values)
    assert test.log_pvalue(0, 2, ()) == pytest.approx(whole.log_pvalue(0, 2, ()))
    *samples, last = test.screen(0, ())
    for first in samples:
        assert first[1] < np.log(1e-10)
        assert first[2] == 0
    assert last[2] == pytest.approx(whole.log_pvalue(0, 2, ()))


def test_a_test_may_screen_in_its_own_way(frame):
    """A subclass of `SearchTest` is used unchanged."""

    class Screening(SearchTest):
        def log_pvalue(self, x, y, given):
            return -10.0

        def screen(self, target, given):
            yield np.full(self.n_variables, -20.0)

    class Strategy:
        def bind(self, scores, level):
            return Screening(scores.n_variables)

    assert [list(screened) for screened in bind_test(Strategy(), read_table(frame), 0.05).screen(0, ())] == [
        [-20.0] * 5
    ]


WEIGHTINGS = {
    "own": EqualWeights(),
    "convex": ConvexWeights(),
    "published": HSICDescent(),
    "joint": HSICDescent(objective="joint"),
    "from-set": HSICDescent(objective="from-set"),
}


@pytest.mark.parametrize("weights", WEIGHTINGS.values(), ids=WEIGHTINGS)
def test_weightings_are_interchangeable(frame, weights):
    for test in (
        dcd.PartialAssociation(weights=weights, decouple="always"),
        dcd.WeightedAssociation(weights=weights),
    ):
        test.check()
        pvalue = dcd.IndependenceTest(frame, test=test)
        assert pvalue("c", "a", ["b", "d"]) < 1e-4
        assert pvalue("a", "e", ["b", "d"]) > 0.001  # independent; ten p-values, so .01 would be too close
    model = RobustDCD(test=dcd.PartialAssociation(weights=weights, decouple="always"), alpha=1e-3).fit(frame)
    assert sorted(model.cpdag_.directed_edges) == [("a", "c"), ("b", "c"), ("c", "d")]
    statuses = {learned.status for learned in model.diagnostics_.sets}
    assert (
        statuses <= {"learned"}
        if isinstance(weights, EqualWeights)
        else {"balanced", "max_steps", "ess_floor"}
    )
    for method in ("robust", "published"):
        boundary = MarkovBoundary("c", method=method, weights=weights, alpha=1e-3).fit(frame)
        assert {"a", "b"} <= set(boundary.boundary_)
        assert boundary.weights_.sum() == pytest.approx(800)
        assert boundary.effective_sample_size_ <= 800 * (1 + 1e-12)


def test_equal_weights_are_measured():
    x, e = np.random.default_rng(0).standard_normal((2, 500))
    scores = dcd.features.rank_scores.make_scores(np.column_stack([x, x + e, e]))
    result = EqualWeights().learn(scores, [0, 1])
    assert result.ess == pytest.approx(500)
    assert result.dependence == result.dependence_before > 5
    assert result.dependence_before == pytest.approx(ConvexWeights().learn(scores, [0, 1]).dependence_before)
    assert EqualWeights().learn(scores, [0]).status == "nothing_to_decouple"


def test_without_weights_the_published_test_is_pearsons(frame):
    model = MarkovBoundary("c", method="published", weights=EqualWeights()).fit(frame)
    assert model.pvalues_[4] == pytest.approx(stats.pearsonr(frame["c"], frame["e"]).pvalue)


# --- what goes with a fit --------------------------------------------------------------------------------


OWN = RobustDCD(
    test=dcd.PartialAssociation(weights=EqualWeights(), decouple="always"), alpha=1e-3, progress=False
)


@pytest.mark.parametrize("model", [RobustDCD(test=FisherZ(), alpha=1e-3, progress=False), OWN])
def test_checkpoints_and_results_know_own_strategies(frame, model, tmp_path):
    path = tmp_path / "run.dcd"
    first = model.fit(frame, checkpoint=path).cpdag_
    before = path.read_bytes()
    assert model.fit(frame, checkpoint=path).cpdag_ == first
    assert path.read_bytes() == before
    result = dcd.summarise(model, frame)
    shown = result.to_dict()["reproduction"]
    own = "FisherZ" if isinstance(model.test, FisherZ) else "EqualWeights"
    assert own in str(shown["parameters"]["test"])
    assert f"from support.own_strategies import {own}" in shown["code"]
    compile(shown["code"], "code", "exec")
    assert f"dcd.{own}" not in shown["code"]


def test_a_checkpoint_asks_for_a_dataclass(frame, tmp_path):
    class Wordless:
        def bind(self, scores, level):
            return BoundFisherZ(scores.values)

    assert RobustDCD(test=Wordless(), alpha=1e-3).fit(frame).cpdag_.role("a", "c") is not None
    with pytest.raises(InputError, match=r"parameter 'test': .*dataclass"):
        RobustDCD(test=Wordless()).fit(frame, checkpoint=tmp_path / "run.dcd")


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["fast", 0, FisherZ, EqualWeights()])
def test_what_is_no_test_is_refused(frame, wrong):
    for refuse in (
        lambda: RobustDCD(test=wrong).fit(frame),
        lambda: MarkovBoundary("a", test=wrong).fit(frame),
        lambda: dcd.IndependenceTest(frame, test=wrong),
    ):
        with pytest.raises(InputError, match=r"'test': must be None or an object with bind\(\)"):
            refuse()


@pytest.mark.parametrize("wrong", ["fast", 0, EqualWeights, FisherZ()])
def test_what_is_no_weighting_is_refused(frame, wrong):
    for refuse in (
        lambda: RobustDCD(test=dcd.PartialAssociation(weights=wrong)).fit(frame),
        lambda: MarkovBoundary("a", weights=wrong).fit(frame),
        lambda: dcd.IndependenceTest(frame, test=dcd.WeightedAssociation(weights=wrong)),
    ):
        with pytest.raises(InputError, match=r"'weights': must be None or an object with learn\(\)"):
            refuse()


def test_parameters_of_the_other_method_are_refused(frame):
    for parameters in (
        {"method": "published", "test": FisherZ()},
        {"method": "published", "search": dcd.GrowShrink()},
        {"method": "robust", "n_jobs": 2},
    ):
        with pytest.raises(InputError, match="has no effect with method="):
            MarkovBoundary("a", **parameters).fit(frame)
    with pytest.raises(InputError, match="parameter 'method': must be one of 'robust', 'published'"):
        MarkovBoundary("a", method="best").fit(frame)


def test_an_own_check_is_asked(frame):
    class Choosy(FisherZ):
        def check(self):
            raise InputError("parameter 'kernel'", "is missing", "Give one.")

    with pytest.raises(InputError, match="kernel"):
        RobustDCD(test=Choosy()).fit(pd.DataFrame(frame))
