import io
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from support.tables import assert_contract_of_scikit_learn, collider_with_bystanders, simulated

import dcd
from dcd import DCD, InputError
from dcd.runtime.runs import Run


@pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")
def test_scikit_learns_contract():
    assert_contract_of_scikit_learn(DCD(progress=False))


@pytest.mark.parametrize("seed", range(5))
def test_recovers_a_collider_with_direction(seed):
    model = DCD(alpha=1e-3).fit(collider_with_bystanders(1000, seed))
    assert str(model.cpdag_) == "a -> c\nb -> c\nc -> d"
    assert model.markov_boundaries_ == {
        "a": {"b": "spouse", "c": "child"},
        "b": {"a": "spouse", "c": "child"},
        "c": {"a": "parent", "b": "parent", "d": "child"},
        "d": {"c": "parent"},
        "e": {},
    }
    assert model.adjacency_matrix_.loc["a", "c"] == 1
    assert model.adjacency_matrix_.loc["c", "a"] == 0


@pytest.mark.slow
def test_same_result_for_any_number_of_jobs_and_order_of_columns():
    for seed in range(5):
        frame = simulated(seed)
        one = DCD(n_jobs=1).fit(frame)
        two = DCD(n_jobs=2).fit(frame)
        order = np.random.default_rng(seed).permutation(frame.columns)
        shuffled = DCD(n_jobs=1).fit(frame[order])
        unnamed = DCD(n_jobs=1).fit(frame[order].to_numpy())
        assert one.cpdag_ == two.cpdag_ == shuffled.cpdag_
        pd.testing.assert_frame_equal(shuffled.adjacency_matrix_, one.adjacency_matrix_.loc[order, order])
        np.testing.assert_array_equal(unnamed.adjacency_matrix_, shuffled.adjacency_matrix_)
        for a, b, c in zip(
            one.diagnostics_.sets, two.diagnostics_.sets, shuffled.diagnostics_.sets, strict=True
        ):
            np.testing.assert_array_equal(a.pvalues, b.pvalues)  # to the last bit
            np.testing.assert_array_equal(a.pvalues, c.pvalues)
        assert one.conflicts_ == two.conflicts_ == shuffled.conflicts_


def test_names_and_order_of_the_table_are_kept():
    frame = collider_with_bystanders(300, 0)[list("ecabd")]
    model = DCD().fit(pl.DataFrame({name: frame[name].to_numpy() for name in frame}))
    assert list(model.feature_names_in_) == list("ecabd")
    assert model.cpdag_.names == tuple("ecabd")
    assert list(model.adjacency_matrix_.columns) == list("ecabd")
    assert list(model.markov_boundaries_) == list("ecabd")
    assert model.n_features_in_ == 5


def test_diagnostics_tell_about_every_set():
    frame = collider_with_bystanders(400, 1)
    model = DCD().fit(frame)
    table = model.diagnostics_.to_frame()
    assert (table["size"][:5] == 4).all()
    assert table["variables"].is_unique
    assert table["ess"].between(0.2 * 400, 400).all()
    decoupled = table[table["size"] > 1]
    assert (decoupled["hsic_after"] < decoupled["hsic_before"]).all()
    assert set(table["status"]) <= {"converged", "ess_floor", "max_steps", "nothing_to_decouple"}
    first = model.diagnostics_.sets[0]
    assert first.hsic_after.shape == (4, 4)
    pairs = first.hsic_after[~np.eye(4, dtype=bool)]
    assert table["hsic_after"][0] == pytest.approx(pairs.mean())
    search = next(search for search in model.diagnostics_.searches if search.target == "a")
    assert list(search.boundary) == [name for name in search.boundary if name in "bcde"]
    assert str(model.diagnostics_).startswith("5 sets behind the Markov boundaries: ")
    assert f"{len(table) - 5} subsets of boundaries" in str(model.diagnostics_)


def test_a_cut_search_is_told_and_recorded():
    rng = np.random.default_rng(0)
    common = rng.standard_normal((300, 1))
    with pytest.warns(dcd.errors.SearchCutWarning, match="Raise max_subsets"):
        model = DCD(max_subsets=1, max_steps=1).fit(common + 0.5 * rng.standard_normal((300, 5)))
    assert model.diagnostics_.cuts
    assert "subsets searched" in str(model.diagnostics_)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_do_not_matter(scale):
    frame = collider_with_bystanders(300, 2)
    assert DCD().fit(frame * scale).cpdag_ == DCD().fit(frame).cpdag_


@pytest.mark.parametrize("seed", range(3))
def test_two_columns_and_counts_are_enough(seed):
    rng = np.random.default_rng(seed)
    cause = rng.poisson(2, size=300)
    effect = (rng.random(300) < 0.2 + 0.15 * np.minimum(cause, 4)).astype(int)
    model = DCD().fit(pd.DataFrame({"cause": cause, "effect": effect}))
    assert str(model.cpdag_) == "cause - effect"


def test_progress_is_silent_unless_in_a_terminal(capfd):
    DCD().fit(collider_with_bystanders(100, 0))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("progress", [True, False])
def test_progress_in_a_terminal_can_be_turned_off(progress, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    DCD(progress=progress).fit(collider_with_bystanders(100, 0))
    assert ("Markov boundaries" in sys.stderr.getvalue()) == progress


def test_a_clone_is_unfitted_and_the_same():
    model = DCD(alpha=0.01, n_jobs=2, random_state=3).fit(collider_with_bystanders(100, 0))
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "cpdag_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 1}, "parameter 'alpha': must be a number above 0 and below 1, got 1"),
        ({"max_subsets": 0}, "parameter 'max_subsets'"),
        ({"n_jobs": 0}, "parameter 'n_jobs'"),
        ({"n_jobs": "all"}, "parameter 'n_jobs'"),
        ({"max_steps": 0}, "parameter 'max_steps'"),
    ],
)
def test_bad_parameters_stop_before_any_work(parameters, message):
    with pytest.raises(InputError, match=message):
        DCD(**parameters).fit(collider_with_bystanders(100, 0))


# --- complexity ------------------------------------------------------------------------------------------


def one_factor(n, d, seed, noise=0.5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 1)) + noise * rng.standard_normal((n, d))


@pytest.mark.parametrize("seed", range(4))
def test_identifications_are_those_of_the_complexity_appendix(seed):
    """d + Σ (2^m - 2) identifications; weights belong to sets, so fewer are learned."""
    table = one_factor(150, 6, seed)
    diagnostics = DCD(max_steps=3, progress=False).fit(table).diagnostics_
    sizes = [len(search.boundary) for search in diagnostics.searches]
    assert max(sizes) > 2
    assert diagnostics.n_identified == 6 + sum(2**size - 2 for size in sizes if size)
    assert len(diagnostics.sets) <= diagnostics.n_identified
    pruned = DCD(max_steps=3, progress=False, subsets="pruned").fit(table)
    assert pruned.diagnostics_.n_identified < diagnostics.n_identified


def test_identifications_of_an_oracle_are_those_of_the_complexity_appendix():
    rng = np.random.default_rng(0)
    for _ in range(5):
        dag = dcd.simulate.random_dag(8, graph="erdos-renyi", degree=4, random_state=rng)
        names = [f"x{index}" for index in range(8)]
        identify, asked = dcd.graph.oracle(dag, names=names), []

        def count(target, others, identify=identify, asked=asked):
            asked.append(target)
            return identify(target, others)

        dcd.search.construct_cpdag(names, count)
        boundaries = [identify(name, [other for other in names if other != name]) for name in names]
        assert len(asked) == 8 + sum(2 ** len(members) - 2 for members in boundaries if members)


# --- it ends, or warns that it will not ------------------------------------------------------------------


@pytest.mark.filterwarnings("error::dcd.runtime.errors.LongRunWarning")
def test_a_long_search_is_announced_before_it_begins(monkeypatch):
    monkeypatch.setattr(Run, "forecast", lambda *_: 600.0)
    begun = []
    monkeypatch.setattr("dcd.search.algorithm1.search_all", lambda *_: begun.append(True))
    message = (
        r"[\d,]+ subsets of Markov boundaries of up to \d variables will take about 10 min\. max_subsets=256"
    )
    model, table = DCD(max_steps=2, progress=False), one_factor(100, 6, 0)
    with pytest.raises(dcd.errors.LongRunWarning, match=message):
        model.fit(table)
    assert not begun


@pytest.mark.filterwarnings("error::dcd.runtime.errors.LongRunWarning")
def test_a_short_search_is_not_announced():
    model = DCD(max_steps=2, progress=False).fit(one_factor(100, 6, 0))
    assert model.diagnostics_.n_identified > 6  # it did search subsets


def test_what_would_never_end_is_refused(monkeypatch):
    monkeypatch.setattr("dcd.estimators.dcd._MOST_SETS", 50)
    table = one_factor(100, 6, 0)
    with pytest.raises(dcd.InputError, match=r"'max_subsets': None leaves [\d,]+ subsets .* max_subsets=256"):
        DCD(max_steps=2, progress=False).fit(table)
    with pytest.warns(dcd.errors.SearchCutWarning):
        DCD(max_steps=2, max_subsets=1, progress=False).fit(table)
