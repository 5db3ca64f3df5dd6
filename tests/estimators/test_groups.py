"""Rows of the same subject: false edges, resamples of whole subjects, and groups of one row."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from scipy.stats import t as student_t

import dcd
from dcd.estimators.effect_estimates import Sample, _folds, estimate
from dcd.estimators.resampling import _Draws
from dcd.features.gram_columns import columns_of
from dcd.features.subsamples import Subsamples, row_parts
from dcd.table.dataset import TableOptions
from dcd.table.reading import read_table

SEEDS = range(4)


def persons(seed, n_persons=60, n_rows=10, d=5, share=0.5):
    """Unrelated columns, each with a random effect of the person."""
    rng = np.random.default_rng(seed)
    own = np.repeat(rng.standard_normal((n_persons, d)), n_rows, axis=0)
    values = np.sqrt(share) * own + np.sqrt(1 - share) * rng.standard_normal(own.shape)
    return pd.DataFrame(values, columns=list("abcdefgh")[:d]), np.repeat(np.arange(n_persons), n_rows)


def chain(seed, n_persons=80, n_rows=6):
    """a -> b -> c with random effects of the person, and d unrelated."""
    noise, groups = persons(seed, n_persons, n_rows, 4)
    a, b, c, d = noise.to_numpy().T
    b = 0.8 * a + b
    c = np.tanh(b) + c
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d}), groups


def fitted(table, **how):
    return dcd.RobustDCD(progress=False, random_state=0).fit(table, **how)


def same_fit(one, other):
    assert one.cpdag_ == other.cpdag_
    pd.testing.assert_frame_equal(one.probabilities_, other.probabilities_, check_exact=True)
    assert str(one.diagnostics_) == str(other.diagnostics_)


# --- false edges -----------------------------------------------------------------------------------------


def test_persons_who_come_often_make_no_edges():
    """60 persons, ten rows each: the share of unrelated pairs that are joined, and their probabilities."""
    joined, sampled, probable = np.zeros(2), np.zeros(2), np.zeros(2)
    tables = [persons(seed, share=0.8) for seed in range(5)]
    for table, groups in tables:
        for at, how in enumerate(({}, {"groups": groups})):
            model = fitted(table, **how)
            joined[at] += (len(model.cpdag_.directed_edges) + len(model.cpdag_.undirected_edges)) / 50
            every = np.triu_indices(len(table.columns), k=1)
            sampled[at] += (1 - model.posterior_.sampled[3])[every].mean() / 5
            probable[at] += (1 - model.probabilities_["absent"]).mean() / 5
    assert joined[0] > 0.4  # what it is about
    assert joined[1] <= 0.02
    assert sampled[1] < 0.02
    assert probable[1] < 0.1 < probable[0]  # sixty persons do not exclude weak edges


@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize("given", [(), ("c",)])
def test_the_test_keeps_its_level(share, given):
    pvalues = {True: [], False: []} if share == 0.9 else {True: []}
    for seed in range(100):
        table, groups = persons(seed, n_persons=40, n_rows=8, d=3, share=share)
        for grouped, answers in pvalues.items():
            test = dcd.IndependenceTest(table, level=0.05, groups=groups if grouped else None)
            answers.append(test("a", "b", given))
    rejected = {grouped: np.mean(np.array(answers) < 0.05) for grouped, answers in pvalues.items()}
    assert rejected[True] < 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 100)
    assert rejected.get(False, 1.0) > 0.3  # what it is about


@pytest.mark.parametrize("seed", SEEDS)
def test_edges_that_are_there_are_found(seed):
    table, groups = chain(seed)
    found = fitted(table, groups=groups).cpdag_
    joined = {frozenset(edge) for edge in (*found.directed_edges, *found.undirected_edges)}
    assert joined == {frozenset("ab"), frozenset("bc")}


# --- nothing but who belongs together matters ------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_one_row_each_is_as_if_there_were_no_groups(seed, tmp_path):
    table, _ = chain(seed, 200, 1)
    each = np.random.default_rng(seed).permutation(200)
    plain, grouped = fitted(table), fitted(table, groups=each)
    same_fit(plain, grouped)
    assert grouped.table_.n_groups is None
    boundaries = [dcd.MarkovBoundary("b").fit(table, **how).pvalues_ for how in ({}, {"groups": each})]
    np.testing.assert_array_equal(*boundaries)
    effects = [one.effect("a", "b", estimator="linear") for one in (plain, grouped)]
    assert effects[0] == effects[1]
    how = {"n_resamples": 2, "progress": False}
    for scheme in ("subsample", "bootstrap"):
        stabilities = [
            dcd.stability(dcd.RobustDCD(), table, scheme=scheme, groups=groups, **how)
            for groups in (None, each)
        ]
        assert stabilities[0] == stabilities[1]


def test_names_of_groups_and_the_order_of_columns_do_not_matter():
    table, groups = chain(0)
    model = fitted(table, groups=groups)
    same_fit(model, fitted(table, groups=[f"person {97 - group}" for group in groups]))
    assert fitted(table[["d", "c", "b", "a"]], groups=groups).cpdag_.reorder(list("abcd")) == model.cpdag_
    assert model.table_.n_groups == 80
    assert "Rows belong to 80 groups." in str(model.table_)


@pytest.mark.filterwarnings("ignore::dcd.runtime.errors.RowsLostWarning")
@pytest.mark.parametrize("missing", ["testwise", "complete-rows"])
def test_groups_with_missing_values_and_weights(missing):
    table, groups = chain(1)
    rng = np.random.default_rng(1)
    gappy = table.mask(rng.random(table.shape) < 0.05)
    weights = rng.uniform(0.5, 2.0, len(table))
    model = dcd.RobustDCD(missing=missing, progress=False).fit(gappy, groups=groups, sample_weight=weights)
    joined = {frozenset(edge) for edge in (*model.cpdag_.directed_edges, *model.cpdag_.undirected_edges)}
    assert joined == {frozenset("ab"), frozenset("bc")}
    assert model.table_.n_groups == 80


# --- whole subjects --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")
@pytest.mark.parametrize("n_persons", [2, 7, 19, 20, 60])
def test_parts_of_the_rows_are_whole_persons(n_persons):
    table, groups = persons(0, n_persons, 12)
    shuffled = np.random.default_rng(0).permutation(len(table))
    for options in (TableOptions(), TableOptions(missing="testwise")):
        values = table if options.missing == "refuse" else table.mask(table["a"] > 2.0)
        dataset = read_table(values.iloc[shuffled], groups=groups[shuffled], options=options)
        columns = columns_of(dataset)
        parts = row_parts(columns, np.random.default_rng(0))
        rows = np.concatenate(parts)
        assert sorted(rows) == list(range(len(dataset.values)))
        owners = [set(dataset.groups[some]) for some in parts]
        assert sum(map(len, owners)) == n_persons
        assert all(owners)
        gram, _ = Subsamples(columns, None, np.random.default_rng(0)).draw(np.random.default_rng(0))
        assert np.isfinite(gram.gram).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_resamples_are_whole_persons(seed):
    groups = np.random.default_rng(seed).integers(0, 30, 200)
    groups = np.unique(groups, return_inverse=True)[1]
    n_groups = groups.max() + 1
    half, labels, _ = _Draws(200, "subsample", 0.5, seed, groups)(3)
    drawn = np.unique(groups[half])
    assert len(drawn) == round(0.5 * n_groups)
    assert sorted(half) == np.flatnonzero(np.isin(groups, drawn)).tolist()
    assert len(np.unique(labels)) == len(drawn)
    rows, labels, _ = _Draws(200, "bootstrap", 0.5, seed, groups)(3)
    assert len(np.unique(labels)) == n_groups
    for label in np.unique(labels):  # one that is drawn twice counts as two
        (owner,) = set(groups[rows[labels == label]])
        assert sorted(rows[labels == label]) == np.flatnonzero(groups == owner).tolist()


def test_stability_without_groups_sees_persons_as_evidence():
    shares = np.zeros(2)
    for seed in range(2):
        table, groups = persons(seed, d=4, share=0.9)
        for at, how in enumerate((None, groups)):
            found = dcd.stability(dcd.RobustDCD(), table, n_resamples=2, groups=how, progress=False)
            shares[at] += (found.directed + found.directed.T + found.undirected).mean()
    assert shares[0] > 0.2
    assert shares[1] < 0.05


def sample(seed, share, levels=None, n_persons=40):
    """The outcome is independent of the treatment; rows of a person are similar."""
    table, groups = persons(seed, n_persons, 10, 3, share)
    treatment = table["a"].to_numpy()
    if levels is not None:
        treatment = (treatment > 0).astype(float)
    outcome = table["b"].to_numpy()
    return [
        Sample(
            treatment,
            outcome,
            table[["c"]].to_numpy(),
            np.empty((len(table), 0)),
            np.ones(len(table)),
            levels,
            some,
        )
        for some in (None, groups)
    ]


@pytest.mark.parametrize("levels", [None, (0.0, 1.0)])
def test_intervals_of_effects_hold(levels):
    """90 % intervals from 40 persons whose rows are similar: some are still too short."""
    covered = np.zeros(2)
    for seed in range(400):
        for at, one in enumerate(sample(seed, 0.8, levels)):
            found = estimate(one, "linear", np.random.default_rng(0))
            quantile = norm.ppf(0.95) if one.groups is None else student_t.ppf(0.95, 39)
            covered[at] += (abs(found.value) < quantile * found.standard_error) / 400
    assert covered[0] < 0.65
    assert 0.84 < covered[1] < 0.94


def test_the_standard_error_of_a_mean_is_that_of_the_means_of_persons():
    for seed in SEEDS:
        _, one = sample(seed, 0.8, (0.0, 1.0))
        outcome = np.repeat(one.outcome[::10], 10)
        means = outcome[::10][np.repeat([True, False], 20)], outcome[::10][np.repeat([False, True], 20)]
        arms = replace(one, treatment=np.repeat([0.0, 1.0], 200), outcome=outcome, numbers=np.empty((400, 0)))
        found = estimate(arms, "linear", np.random.default_rng(0))
        assert found.value == pytest.approx(means[1].mean() - means[0].mean())
        by_hand = np.sqrt(sum(np.var(some, ddof=1) / 20 for some in means))
        assert found.standard_error == pytest.approx(by_hand, rel=0.06)


@pytest.mark.parametrize("seed", SEEDS)
def test_folds_are_whole_persons_and_have_all_levels(seed):
    rng = np.random.default_rng(seed)
    for n_persons in (5, 6, 23):
        _, one = sample(seed, 0.8, (0.0, 1.0), n_persons)
        rare = np.where(np.isin(one.groups, rng.permutation(n_persons)[:2]), 1.0, 0.0)  # in two persons alone
        for treatment in (one.treatment, rare):
            these = replace(one, treatment=treatment)
            for folds in _folds(these, rng):
                assert all(len(set(folds[one.groups == person])) == 1 for person in range(n_persons))
                for fold in range(5):
                    assert set(treatment[folds != fold]) == set(treatment)
                    assert (folds == fold).any()


def test_effects_of_the_fit_use_its_groups():
    table, groups = chain(0)
    model = fitted(table, groups=groups)
    own = model.effect("a", "b", estimator="linear")
    assert own == model.effect("a", "b", table, estimator="linear", groups=groups)
    graph = dcd.CPDAG.from_dag(list("abcd"), np.diag([1, 1, 0], k=1))
    with_groups, without = (
        dcd.effect(graph, table, "a", "b", estimator="linear", groups=some).answers[-1]
        for some in (groups, None)
    )
    assert with_groups.standard_error > 1.2 * without.standard_error
    assert with_groups in [replace(answer, share=with_groups.share) for answer in own.answers]
    with pytest.raises(
        dcd.InputError, match="'groups': needs 5 groups among the complete rows for an effect, got 4"
    ):
        dcd.effect(model.cpdag_, table, "a", "b", groups=np.arange(len(table)) % 4)
    arm = table.assign(a=np.where(groups == 3, "x", "y"))
    arm.loc[groups == 4, "a"] = "x"
    few = groups.copy()
    few[groups == 4] = 3
    few[np.flatnonzero(groups > 70)] = 3
    arm.loc[groups > 70, "a"] = "x"
    with pytest.raises(dcd.InputError, match="column 'a': has a level that occurs in one group of rows"):
        dcd.effect(model.cpdag_, arm, "a", "b", groups=few)


# --- where groups are refused, kept and shown ------------------------------------------------------------


def test_the_published_method_refuses_groups():
    table, groups = chain(0)
    with pytest.raises(dcd.InputError, match=r"'groups': is not supported: .*independent. Use RobustDCD"):
        dcd.DCD().fit(table, groups=groups)
    with pytest.raises(dcd.InputError, match="'groups': is not supported"):
        dcd.stability(dcd.DCD(), table, groups=groups)
    with pytest.raises(dcd.InputError, match=r"'groups': is not supported: .* Use method='robust'"):
        dcd.MarkovBoundary("a", method="published").fit(table, groups=groups)


def test_a_checkpoint_is_that_of_its_groups(tmp_path):
    table, groups = chain(0)
    path = tmp_path / "run.dcd"
    first = fitted(table, groups=groups, checkpoint=path)
    same_fit(first, fitted(table, groups=groups + 5, checkpoint=path))
    for others in (None, np.roll(groups, 1)):
        with pytest.raises(dcd.InputError, match="groups"):
            fitted(table, groups=others, checkpoint=path)
    how = {"n_resamples": 2, "progress": False, "checkpoint": tmp_path / "resamples.dcd"}
    dcd.stability(dcd.RobustDCD(), table, groups=groups, **how)
    with pytest.raises(dcd.InputError, match="groups"):
        dcd.stability(dcd.RobustDCD(), table, **how)


def test_results_and_reports_tell_groups(tmp_path):
    table, groups = chain(0)
    result = dcd.summarise(fitted(table, groups=groups))
    assert result.data.n_groups == 80
    assert "fit(table, groups=groups)" in result.reproduction.code
    assert "Rows belong to 80 groups." in dcd.report.render(result)
    result.save(tmp_path / "result.json")
    assert dcd.load_result(tmp_path / "result.json") == result
    before = json.loads((tmp_path / "result.json").read_text())
    del before["data"]["n_groups"]  # written before there were groups
    (tmp_path / "before.json").write_text(json.dumps(before))
    assert dcd.load_result(tmp_path / "before.json").data.n_groups is None


def test_falsify_respects_groups():
    graph = pd.DataFrame(np.zeros((5, 5), int), index=list("abcde"), columns=list("abcde"))
    violated = np.zeros(2)
    for seed in range(3):
        table, groups = persons(seed, share=0.9)
        for at, how in enumerate((None, groups)):
            violated[at] += len(dcd.falsify(graph, table, groups=how, n_permutations=0).violated)
    assert violated[0] > 5
    assert violated[1] == 0
