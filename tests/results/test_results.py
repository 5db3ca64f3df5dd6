"""The contents of a result."""

import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars
import pytest
from scipy.stats import spearmanr

import dcd
from dcd import DCD, InputError, RobustDCD, load_result, summarise
from dcd.estimators.strength import strength
from dcd.results import Result
from dcd.results.origin import given_in


@pytest.mark.parametrize("estimator", [RobustDCD, DCD])
def test_says_what_the_model_says(estimator, table):
    model = estimator().fit(table)
    result = summarise(model)
    assert result.cpdag == model.cpdag_
    assert result.names == model.cpdag_.names
    roles = {b.target: {m.name: m.role for m in b.members} for b in result.boundaries}
    assert roles == model.markov_boundaries_
    assert [(c.problem, c.action) for c in result.conflicts] == [
        (c.problem, c.action) for c in model.conflicts_
    ]
    neighbours = {search.target: search.neighbours for search in model.diagnostics_.searches}
    for edge in result.edges:
        sides = [neighbours[edge.first].get(edge.second), neighbours[edge.second].get(edge.first)]
        assert edge.pvalue == min(p for p in sides if p is not None)
    members = [m for b in result.boundaries for m in b.members]
    assert all(m.pvalue is not None for m in members if estimator is DCD or m.role != "spouse")


def test_colliders_are_those_of_the_graph(result):
    (collider,) = result.colliders
    assert (collider.first, collider.middle, collider.second) == ("first", "third", "second")


def test_views_of_the_published_method_are_of_all_other_variables(table):
    model = DCD().fit(table)
    result = summarise(model)
    boundary = result.boundaries[0]
    others = ["second", "third", "fourth", "alone"]
    assert list(boundary.view.decoupled) == others
    behind = next(s for s in model.diagnostics_.sets if set(s.variables) == set(others))
    assert boundary.view.ess == pytest.approx(behind.ess, rel=1e-5)
    assert boundary.view.dependence_before == pytest.approx(behind.dependence_before, rel=1e-5)
    assert boundary.view.dependence == pytest.approx(behind.dependence, rel=1e-5)
    assert sum(boundary.view.counts) == boundary.view.n_rows == 400
    weights = dcd.weights.decoupling_weights(table[others]).weights
    rows = list(result.sample.rows)
    np.testing.assert_allclose(result.sample.weights["first"], weights[rows], rtol=1e-4, atol=1e-7)


def three_causes(n=500):
    """Causes that are associated, and interact."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal(n)
    a, b, c = z + rng.standard_normal((3, n))
    t = a + b + c + 0.3 * a * b + rng.standard_normal(n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "t": t, "z": z})


@pytest.mark.parametrize("missing", [False, True])
def test_views_of_the_robust_method_are_of_the_sets_that_it_decoupled(missing):
    interacting = three_causes()
    if missing:
        holes = np.random.default_rng(1).random(interacting.shape) < 0.02
        interacting = interacting.mask(pd.DataFrame(holes, columns=list(interacting)))
    chosen = dcd.PartialAssociation(decouple="always", weights=dcd.ConvexWeights())
    model = RobustDCD(test=chosen, missing="testwise" if missing else "refuse").fit(interacting)
    result = summarise(model)
    sets = {frozenset(one.variables): one for one in model.diagnostics_.sets}
    views = {boundary.target: boundary.view for boundary in result.boundaries if boundary.view}
    assert views
    for boundary in result.boundaries:
        if boundary.view is None:
            continue
        search = next(s for s in model.diagnostics_.searches if s.target == boundary.target)
        assert set(boundary.view.decoupled) <= {boundary.target, *search.boundary}
        assert len(boundary.view.decoupled) >= 2
        if not missing:
            learned = dcd.weights.convex_weights(interacting[list(boundary.view.decoupled)])
            assert boundary.view.ess == pytest.approx(learned.ess, rel=1e-5)
            assert boundary.view.status == learned.status == sets[frozenset(search.decoupled)].status
            rows = list(result.sample.rows)
            shown = result.sample.weights[boundary.target]
            np.testing.assert_allclose(shown, learned.weights[rows], rtol=1e-4, atol=1e-6)
        else:
            shown = np.array(result.sample.weights[boundary.target], dtype=float)
            values = interacting[list(boundary.view.decoupled)].iloc[list(result.sample.rows)]
            assert np.isnan(shown[values.isna().any(axis=1)]).all()
            assert np.isfinite(shown).any()
    dcd.report.render(result)


def test_a_fit_that_decouples_nothing_has_no_views(table):
    """The page does not mention weights."""
    result = summarise(RobustDCD(test=dcd.PartialAssociation(decouple="never")).fit(table))
    assert all(boundary.view is None for boundary in result.boundaries)
    assert all(member.after is None for boundary in result.boundaries for member in boundary.members)
    assert result.sample.weights == {}
    page = dcd.report.render(result)
    assert "What decoupling did" not in page
    assert "As measured" in page


def test_summarising_neither_tests_nor_learns(interacting, monkeypatch):
    models = [RobustDCD(test=dcd.WeightedAssociation()).fit(interacting), DCD().fit(interacting)]
    wanted = [summarise(model) for model in models]

    def refuse(*_, **__):
        raise AssertionError("it was computed again")

    for name in (
        "features.rank_scores._scores",
        "features.kernels.kernel_features",
        "weights.convex.balance",
        "weights.hsic_descent.learn_weights",
        "table.sources.source_of",
        "table.reading.read_columns",
    ):
        monkeypatch.setattr(f"dcd.{name}", refuse)
    assert [summarise(pickle.loads(pickle.dumps(model))) for model in models] == wanted


def test_pvalues_of_members_are_those_of_the_search(table, robust, result):
    """For an edge: given the other parents of its effect; a spouse has none."""
    test = dcd.IndependenceTest(table)
    boundary = next(b for b in result.boundaries if b.target == "first")
    members = {member.name: member for member in boundary.members}
    assert (members["second"].role, members["second"].pvalue) == ("spouse", None)
    assert members["third"].pvalue == pytest.approx(test("first", "third", ["second"]))
    for search in robust.diagnostics_.searches:
        assert max(search.neighbours.values(), default=0.0) < robust.diagnostics_.level


def test_strengths_are_of_the_data_and_of_the_weights(interacting):
    model = DCD().fit(interacting)
    result = summarise(model)
    for boundary in result.boundaries:
        others = [name for name in interacting if name != boundary.target]
        weights = dcd.weights.decoupling_weights(interacting[others]).weights
        for member in boundary.members:
            x, y = (interacting[name].to_numpy() for name in (member.name, boundary.target))
            assert member.before == pytest.approx(spearmanr(x, y).statistic, abs=1e-5)
            # Estimated from the effect of the weights on 300 of the 500 rows.
            assert member.after == pytest.approx(strength(x, y, weights, (False, False)), abs=0.15)
    small = interacting.iloc[:250]
    boundary = next(b for b in summarise(DCD().fit(small)).boundaries if b.members)
    member = boundary.members[0]
    weights = dcd.weights.decoupling_weights(small.drop(columns=boundary.target)).weights
    x, y = (small[name].to_numpy() for name in (member.name, boundary.target))
    assert member.after == pytest.approx(strength(x, y, weights, (False, False)), abs=1e-5)


def test_the_table_is_checked_by_its_fingerprint(robust, table, result):
    turned = table[table.columns[::-1]]
    assert summarise(robust, turned, title="A test") == result
    assert summarise(robust, polars.from_pandas(table), title="A test") == result
    for other in (table.iloc[1:], table.iloc[::-1], table + 1e-12, table.rename(columns={"alone": "a"})):
        with pytest.raises(InputError, match="parameter 'table': is not the table that the model was fitted"):
            summarise(robust, other)


def test_the_sample_is_of_the_table_and_can_be_left_out(table, robust, result):
    assert len(result.sample.rows) == 300 == len(set(result.sample.rows))
    np.testing.assert_allclose(
        result.sample.values["third"], table["third"].iloc[list(result.sample.rows)], rtol=1e-5
    )
    assert summarise(robust).sample == result.sample
    without = summarise(robust, rows=False)
    assert without.sample is None
    assert without.boundaries == result.boundaries


def test_does_not_depend_on_the_order_of_columns(table, result):
    turned = table[table.columns[::-1]]
    other = summarise(RobustDCD(random_state=7).fit(turned), title="A test")
    assert set(other.colliders) == set(result.colliders)
    assert other.data.fingerprint == result.data.fingerprint
    assert other.reproduction.parameters == result.reproduction.parameters
    codes = [made.reproduction.code.splitlines() for made in (other, result)]
    differing = [lines for lines in zip(*codes, strict=True) if lines[0] != lines[1]]
    assert [line.split("[[")[0] for line in differing[0]] == ["table = table"] * 2  # the order of the columns
    assert len(differing) == 1
    views = {b.target: b.view.ess for b in other.boundaries if b.view}
    assert views == {b.target: b.view.ess for b in result.boundaries if b.view}


def test_the_code_runs_and_gives_the_same(tmp_path, table):
    chosen = RobustDCD(
        alpha=0.01,
        test=dcd.PartialAssociation(decouple="always", weights=dcd.ConvexWeights(keep=0.5)),
        search=dcd.WholeGraph(restarts=1),
    )
    table.to_csv(tmp_path / "table.csv", index=False)
    stability = dcd.stability(chosen, table, n_resamples=4, fraction=0.75, random_state=3)
    result = summarise(chosen.fit(table), stability=stability, title='It\'s "quoted"', rows=False)
    assert result.reproduction.parameters["test"]["weights"] == {
        "class": "ConvexWeights",
        "keep": 0.5,
        "dependence": 1.0,
    }
    assert "n_jobs" not in result.reproduction.parameters
    code = result.reproduction.code + "\nresult.save('again.json')\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, env=environment)
    assert load_result(tmp_path / "again.json") == result
    assert (tmp_path / "report.html").exists()


def test_the_code_names_the_file_and_leaves_out_the_same_columns(table, tmp_path):
    table.assign(id=range(len(table))).to_csv(tmp_path / "my survey.csv", index=False)
    result = summarise(DCD(max_steps=3).fit(table), source="my survey.csv")
    code = result.reproduction.code + "\nresult.save('again.json')\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, check=True, env=environment)
    assert load_result(tmp_path / "again.json") == result
    for name, call in {
        "a.parquet": "read_parquet('a.parquet')",
        "a.tsv": "read_csv('a.tsv', sep='\\t'",
        "a.xlsx": "read_excel('a.xlsx')",
    }.items():
        code = summarise(DCD(max_steps=3).fit(table), source=name).reproduction.code
        assert f"table = pandas.{call}" in code


def test_cautions_are_in_words(table):
    few = table.iloc[:60]
    with pytest.warns(dcd.errors.SmallSampleWarning):
        model = RobustDCD().fit(few)
    kinds = {caution.kind: caution.text for caution in summarise(model).cautions}
    assert "60 rows" in kinds["few-rows"]


def test_unstable_edges_are_told(robust, table):
    names = robust.cpdag_.names
    directed, undirected = np.zeros((2, 5, 5))
    i, j, alone = (names.index(name) for name in ("first", "third", "alone"))
    directed[i, j], directed[j, i] = 0.25, 0.125
    undirected[i, alone] = undirected[alone, i] = 0.75
    stability = dcd.results.Stability(names, directed, undirected, 8, "bootstrap", failures={"a reason": 2})
    result = summarise(robust, stability=stability)
    edge = next(e for e in result.edges if (e.first, e.second) == ("first", "third"))
    assert (edge.frequencies.forward, edge.frequencies.backward, edge.frequencies.edge) == (
        0.25,
        0.125,
        0.375,
    )
    kept = result.resampling
    assert (kept.n_resamples, kept.n_failed, kept.fraction, kept.seed) == (8, 2, None, None)
    assert "n_resamples=10, scheme='bootstrap'" in result.reproduction.code
    assert "not kept" in result.reproduction.code
    compile(result.reproduction.code, "code", "exec")
    texts = {(c.kind, c.variables): c.text for c in result.cautions}
    assert "38 %" in texts["unstable-edge", ("first", "third")]
    assert "75 %" in texts["missed-edge", ("first", "alone")]
    assert Result.from_dict(result.to_dict()) == result
    other = dcd.results.Stability(("a", "b"), np.zeros((2, 2)), np.zeros((2, 2)), 8, "bootstrap")
    with pytest.raises(InputError, match="different variables"):
        summarise(robust, stability=other)


@pytest.mark.parametrize(
    ("estimator", "missing"), [(RobustDCD, "complete-rows"), (RobustDCD, "testwise"), (DCD, "complete-rows")]
)
def test_real_tables_are_told_as_the_fit_has_read_them(mixed, estimator, missing):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcd.errors.RowsLostWarning)
        model = estimator(missing=missing, drop_degenerate=True).fit(mixed)
    result = summarise(model)
    columns = {column.name: column for column in result.data.columns}
    assert (columns["label"].kind, columns["label"].levels) == ("nominal", ("high", "low"))
    assert (columns["grade"].kind, columns["grade"].levels) == ("ordinal", ("small", "middle", "big"))
    assert columns["flag"].kind == "nominal"
    assert columns["label"].n_missing == 1
    assert result.data.dropped == model.table_.dropped == {"idle": result.data.dropped["idle"]}
    codes = dict(zip(result.sample.rows, result.sample.values["label"], strict=True))
    labels = mixed["label"]
    assert all(codes[row] == (None if row == 3 else ("high", "low").index(labels[row])) for row in codes)
    assert Result.from_dict(result.to_dict()) == result
    measures = {m.measure for b in result.boundaries for m in b.members}
    assert "correlation ratio" in measures
    assert "dropped-columns" in {caution.kind for caution in result.cautions}
    dcd.report.render(result)


def test_knowledge_is_told_in_words_and_marked(table):
    knowledge = dcd.Knowledge(required=[("fourth", "third")], forbidden=[("alone", "*")])
    model = RobustDCD(knowledge=knowledge).fit(table[["third", "fourth", "alone"]])
    result = summarise(model)
    assert result.knowledge == knowledge.statements()
    assert [(e.first, e.second) for e in result.edges if e.background] == [("fourth", "third")]
    back = Result.from_dict(result.to_dict())
    assert back.cpdag.background == model.cpdag_.background == (("fourth", "third"),)
    assert result.reproduction.parameters["knowledge"]["required"] == [["fourth", "third"]]
    assert "knowledge=dcd.Knowledge.from_dict(" in result.reproduction.code
    assert "direction from knowledge (K)" in dcd.report.render(result)


def test_an_edge_that_only_knowledge_draws_is_a_conflict(table):
    knowledge = dcd.Knowledge(required=[("first", "alone")])
    model = RobustDCD(knowledge=knowledge).fit(table)
    result = summarise(model)
    edge = next(e for e in result.edges if (e.first, e.second) == ("first", "alone"))
    assert edge.pvalue > result.level
    assert ("required_edge", {"first", "alone"}) in [(c.kind, set(c.variables)) for c in result.conflicts]
    n_edges = len(result.edges)
    assert f"{n_edges} edges, {n_edges - 1} of them confirmed by a test" in str(model.diagnostics_)


def test_a_required_edge_that_no_test_can_tell_has_no_pvalue(tmp_path):
    """No row has both: the data show no edge."""
    a, c = np.random.default_rng(0).standard_normal((2, 400))
    frame = pd.DataFrame({"a": a, "b": c, "c": a + c})
    frame.loc[:200, "a"], frame.loc[195:, "b"] = np.nan, np.nan
    knowledge = dcd.Knowledge(required=[("a", "b")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = summarise(RobustDCD(missing="testwise", knowledge=knowledge).fit(frame))
    assert {(e.first, e.second): e.pvalue for e in result.edges}["a", "b"] is None
    assert [(c.kind, c.variables) for c in result.conflicts] == [("required_edge", ("a", "b"))]
    result.save(tmp_path / "result.json")
    assert load_result(tmp_path / "result.json") == result
    assert "required as knowledge" in dcd.report.render(result)


def test_edges_that_a_test_did_not_confirm_are_told(table):
    """At a level at which the weaker edge fails; without confirmation it is drawn and counted."""
    table = table.assign(fourth=table["third"] + 3 * np.random.default_rng(1).standard_normal(400))
    model = RobustDCD(alpha=1e-30).fit(table)
    result = summarise(model)
    n_separated = len(result.separated)
    assert {"third", "fourth"} in [set(pair) for pair in result.separated]
    told = str(model.diagnostics_)
    others = "1 other edge improved" if n_separated == 1 else f"{n_separated} other edges improved"
    assert told.startswith(f"2 edges, 2 of them confirmed by a test.\n{others} the score, but a test did not")
    assert Result.from_dict(result.to_dict()).separated == result.separated == model.diagnostics_.separated
    page = dcd.report.render(result)
    assert "improved the score, but a test did not confirm" in page
    assert "contradict" not in page
    unconfirmed = RobustDCD(alpha=1e-30, search=dcd.WholeGraph(confirm=False)).fit(table)
    assert "3 edges, 2 of them confirmed by a test.\n" in str(unconfirmed.diagnostics_)
    assert "other" not in str(unconfirmed.diagnostics_)
    assert "fitted the data" not in dcd.report.render(summarise(unconfirmed))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": 3}, "parameter 'model': must be a DCD or RobustDCD, got int"),
        ({"model": RobustDCD()}, "parameter 'model': has not been fitted"),
        ({"table": np.zeros((400, 5))}, "parameter 'table': is not the table that the model was fitted on"),
        ({"table": np.zeros(400)}, "the table: has 1 dimension(s), expected 2"),
        ({"title": 3}, "parameter 'title': must be text"),
    ],
)
def test_bad_input_is_named(robust, table, change, message):
    arguments = {"model": robust, "table": table} | change
    with pytest.raises(InputError) as caught:
        summarise(**arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize("model", [DCD(), RobustDCD(test=dcd.WeightedAssociation())])
def test_weights_of_rows_count(table, model):
    """Rows without weight are neither counted nor shown."""
    weights = np.where(np.arange(400) < 200, 1.0, 0.0)
    result = summarise(model.fit(table, sample_weight=weights), table)
    view = next(b.view for b in result.boundaries if b.view)
    assert view.n_rows == 200
    assert result.sample.rows == tuple(range(200))
    assert result.data.weighted


def test_a_direction_that_knowledge_states_is_not_shown_as_told_by_the_data(table):
    """first -> third is half of a collider that the data show; knowledge states that first causes third."""
    knowledge = dcd.Knowledge(roots=["first"])
    result = summarise(RobustDCD(knowledge=knowledge).fit(table))
    assert {("first", "third"), ("second", "third")} <= set(result.cpdag.directed_edges)
    given = given_in(result)
    assert ("first", "third") in given.arrows
    assert ("second", "third") not in given.arrows
