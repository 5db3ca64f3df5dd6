import contextlib
import copy
import hashlib
import json
import os
import pickle
import stat
import subprocess
import sys
import warnings
from functools import reduce
from importlib import resources
from types import SimpleNamespace

import jsonschema
import msgspec
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy.stats import contingency, spearmanr
from support.made_results import HOSTILE, make_document, random_cpdag

import dcd
from dcd import DCD, InputError, RobustDCD, load_result, summarise
from dcd.estimators.strength import strength
from dcd.results import Result, fingerprint
from dcd.results.model import json_schema


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, 400))
    third = first + second + 0.5 * rng.standard_normal(400)
    fourth = third + 0.5 * rng.standard_normal(400)
    return pd.DataFrame(
        {"first": first, "second": second, "third": third, "fourth": fourth, "alone": rng.random(400)}
    )


@pytest.fixture(scope="module")
def robust(table):
    return RobustDCD(random_state=7).fit(table)


@pytest.fixture(scope="module")
def result(robust, table):
    return summarise(robust, title="A test")


@pytest.fixture
def document():
    return make_document(random_cpdag([f"v{i}" for i in range(6)], 7), n_sample=5, resampled=True)


# --- what is in it ---------------------------------------------------------------------------------------


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
    assert all(m.pvalue is not None for b in result.boundaries for m in b.members)


def test_colliders_carry_their_evidence(robust, result):
    found = {(c.middle, frozenset((c.first, c.second))): c.evidence for c in result.colliders}
    assert found == {(c.middle, frozenset((c.first, c.second))): c.evidence for c in robust.colliders_}
    assert ("third", frozenset(("first", "second"))) in found
    arrow = next(edge for edge in result.edges if (edge.first, edge.second) == ("first", "third"))
    assert arrow.evidence == max(found.values())


@pytest.fixture(scope="module")
def interacting():
    """T = A + B + A·B with C behind both: tests are repeated under weights."""
    rng = np.random.default_rng(0)
    c, e = rng.standard_normal((2, 500))
    a, b = c + 0.6 * rng.standard_normal(500), (c**2 - 1) / 1.4 + 0.5 * rng.standard_normal(500)
    t = (a + b + a * b) / 2 + 0.5 * rng.standard_normal(500)
    return pd.DataFrame({"a": a, "b": b, "c": c, "t": t, "e": e})


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


@pytest.mark.parametrize("missing", [False, True])
def test_views_of_the_robust_method_are_of_the_sets_that_it_decoupled(interacting, missing):
    if missing:
        holes = np.random.default_rng(1).random(interacting.shape) < 0.02
        interacting = interacting.mask(pd.DataFrame(holes, columns=list(interacting)))
    chosen = dcd.PartialAssociation(decouple="always")
    model = RobustDCD(test=chosen, missing="testwise" if missing else "refuse").fit(interacting)
    result = summarise(model)
    sets = {frozenset(one.variables): one for one in model.diagnostics_.sets}
    views = {boundary.target: boundary.view for boundary in result.boundaries if boundary.view}
    assert views
    for boundary in result.boundaries:
        if boundary.view is None:
            continue
        search = next(s for s in model.diagnostics_.searches if s.target == boundary.target)
        assert set(boundary.view.decoupled) <= set(search.boundary)
        assert len(boundary.view.decoupled) >= max(2, len(search.boundary) - 1)
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
    """And the page says nothing of weights."""
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
    """Spouses included: given the other members, as the search tested them."""
    test = dcd.IndependenceTest(table)
    boundary = next(b for b in result.boundaries if b.target == "first")
    spouse = next(member for member in boundary.members if member.role == "spouse")
    assert spouse.name == "second"
    assert spouse.pvalue == pytest.approx(test("first", "second", ["third"]))
    for search in robust.diagnostics_.searches:
        assert list(search.pvalues) == list(search.boundary)
        assert max(search.pvalues.values(), default=0.0) < robust.diagnostics_.level


def test_strengths_are_of_the_data_and_of_the_weights(interacting):
    model = DCD().fit(interacting)
    result = summarise(model)
    for boundary in result.boundaries:
        others = [name for name in interacting if name != boundary.target]
        weights = dcd.weights.decoupling_weights(interacting[others]).weights
        for member in boundary.members:
            x, y = (interacting[name].to_numpy() for name in (member.name, boundary.target))
            assert member.before == pytest.approx(spearmanr(x, y).statistic, abs=1e-5)
            # Estimated by what the weights change among 300 of the 500 rows.
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
    assert other.reproduction == result.reproduction
    views = {b.target: b.view.ess for b in other.boundaries if b.view}
    assert views == {b.target: b.view.ess for b in result.boundaries if b.view}


def test_the_code_runs_and_gives_the_same(tmp_path, table):
    chosen = RobustDCD(
        alpha=0.01,
        test=dcd.PartialAssociation(decouple="always", weights=dcd.ConvexWeights(keep=0.5)),
        orientation=dcd.ColliderEvidence(min_evidence=1.0),
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


def test_cautions_are_in_words(table):
    few = table.iloc[:60]
    with pytest.warns(dcd.errors.SmallSampleWarning):
        model = RobustDCD(search=dcd.GrowShrink(max_size=1)).fit(few)
    kinds = {caution.kind: caution.text for caution in summarise(model).cautions}
    assert "60 rows" in kinds["few-rows"]
    assert "third" in kinds["cut-boundary"]


def test_weak_colliders_and_unstable_edges_are_told(robust, table):
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
    assert "38%" in texts["unstable-edge", ("first", "third")]
    assert "75%" in texts["missed-edge", ("first", "alone")]
    assert Result.from_dict(result.to_dict()) == result
    with pytest.raises(InputError, match="other variables"):
        summarise(robust, stability=SimpleNamespace(names=("a", "b")))


@pytest.fixture(scope="module")
def mixed(table):
    """Columns of every kind, a degenerate one, and missing values."""
    rng = np.random.default_rng(2)
    labels = np.where(table["third"] + rng.standard_normal(400) > 0, "high", "low").astype(object)
    labels[3] = None
    grade = pd.Categorical.from_codes(
        np.digitize(table["second"], [-0.5, 0.5]), ["small", "middle", "big"], ordered=True
    )
    return table.assign(label=labels, grade=grade, flag=table["alone"] > 0.5, idle=1.0)


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
    assert "direction by knowledge that was given" in dcd.report.render(result)


def test_an_edge_that_only_knowledge_draws_is_no_restored_edge(table):
    knowledge = dcd.Knowledge(required=[("first", "alone")])
    result = summarise(RobustDCD(knowledge=knowledge).fit(table))
    edge = next(e for e in result.edges if (e.first, e.second) == ("first", "alone"))
    assert edge.pvalue > result.level
    assert ("required_edge", {"first", "alone"}) in [(c.kind, set(c.variables)) for c in result.conflicts]
    assert "restored-edge" not in {caution.kind for caution in result.cautions}


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


# --- measures --------------------------------------------------------------------------------------------


def test_strengths_agree_with_scipy():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 200))
    y += x
    equal = np.ones(200)
    assert strength(x, y, equal, (False, False)) == pytest.approx(spearmanr(x, y).statistic)
    a, b = rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    a = np.where(rng.random(200) < 0.5, b, a)
    expected = contingency.association(contingency.crosstab(a, b).count, method="cramer")
    assert strength(a, b, equal, (True, True)) == pytest.approx(expected)
    # With two categories the correlation ratio is the correlation of the ranks with the category.
    ranks = pd.Series(x).rank()
    assert strength(b, x, equal, (True, False)) == pytest.approx(abs(np.corrcoef(b, ranks)[0, 1]))
    # A weight of two is the row twice.
    doubled = np.concatenate([np.arange(200), np.arange(100)])
    twice = np.where(np.arange(200) < 100, 2.0, 1.0)
    assert strength(a, b, twice, (True, True)) == pytest.approx(
        strength(a[doubled], b[doubled], np.ones(300), (True, True))
    )
    assert strength(np.zeros(200), x, equal, (False, False)) == 0.0


# --- fingerprint -----------------------------------------------------------------------------------------


def test_the_fingerprint_is_of_names_and_values_alone():
    frame = pd.DataFrame({"b": [1.5, 2.0, np.nan], "a": [1, 0, 1], "t": ["x", None, "y"]})
    same = fingerprint(frame)
    assert fingerprint(frame[["t", "a", "b"]]) == same
    assert fingerprint(polars.from_pandas(frame)) == same
    assert fingerprint(pyarrow.Table.from_pandas(frame)) == same
    assert fingerprint(frame.assign(a=[True, False, True])) == same
    assert fingerprint(frame.assign(t=pd.Categorical(frame["t"]))) == same
    others = [
        frame.rename(columns={"a": "A"}),
        frame.iloc[::-1],
        frame.assign(b=[1.5, 2.0, 0.0]),
        frame.assign(b=[1.5, np.nextafter(2.0, 3.0), np.nan]),
        frame.assign(t=["x", None, "z"]),
        frame.assign(a=["1", "0", "1"]),
    ]
    assert len({fingerprint(other) for other in others} | {same}) == len(others) + 1


def test_the_fingerprint_is_this_sha256():
    """Spelt out, so that another program can compute it."""
    text = b"a"
    expected = hashlib.sha256(
        (1).to_bytes(8, "little") + text + b"number" + (2).to_bytes(8, "little")
        + bytes([0b01000000]) + np.array([0.5, 0.0], dtype="<f8").tobytes()
    ).hexdigest()  # fmt: skip
    assert fingerprint(pd.DataFrame({"a": [0.5, np.nan]})) == expected


def test_names_cannot_pass_for_labels():
    one = pd.DataFrame({"ab": ["c", "c"], "d": [1, 2]})
    other = pd.DataFrame({"a": ["bc", "bc"], "d": [1, 2]})
    assert fingerprint(one) != fingerprint(other)


# --- files -----------------------------------------------------------------------------------------------


def test_round_trip_is_exact(tmp_path, result):
    result.save(tmp_path / "result.json")
    back = load_result(tmp_path / "result.json")
    assert back == result
    assert back.to_dict() == result.to_dict()
    jsonschema.validate(result.to_dict(), json_schema())
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8")) == result.to_dict()


def test_odd_names_survive(tmp_path):
    names = [*HOSTILE, "half \ud800"]
    made = Result.from_dict(make_document(random_cpdag(names, 20), n_sample=3))
    made.save(tmp_path / "odd.json")
    assert load_result(tmp_path / "odd.json").names == tuple(names)


def test_writing_is_all_or_nothing(tmp_path, result, monkeypatch):
    path = tmp_path / "result.json"
    path.write_text("old", encoding="utf-8")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match="No space left on device"):
        result.save(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_a_file_has_the_usual_mode(tmp_path, result):
    result.save(tmp_path / "result.json")
    (tmp_path / "other").touch()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("result.json", "other")}
    assert len(modes) == 1
    with pytest.raises(InputError, match="folder that exists"):
        result.save(tmp_path / "nowhere" / "result.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"schema": NaN}', "is not JSON"),
        ("[]", "is not a saved result"),
        ("{}", "is not a saved result"),
        ('{"schema": 2}', "has schema version 2, and this release of dcd reads 1"),
        ('{"schema": "1"}', "has schema version '1'"),
        ('{"schema": true}', "has schema version True"),
        ('{"schema": 1}', "object missing required field `title`"),
    ],
)
def test_files_that_are_no_result_are_refused(tmp_path, text, message):
    path = tmp_path / "broken.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"broken\.json") as caught:
        load_result(path)
    assert message in str(caught.value)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        load_result(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not JSON"):
        load_result(tmp_path / "binary.json")


DEEP = reduce(lambda inner, _: [inner], range(900), 1)


def _change(document, path, value):
    *parents, last = path
    for key in parents:
        document = document[key]
    document[last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("edges", 0, "type"), "=>", "edges[0].type: invalid enum value '=>'"),
        (("edges", 0, "pvalue"), 2, "edges[0].pvalue: expected `float` <= 1.0, got 2"),
        (
            ("edges", 0, "first"),
            "nobody",
            "edges[0].first names 'nobody', which is not a variable of the graph",
        ),
        (("edges", 0, "second"), "v0", "edges[0]"),
        (("names", 0), 5, "names[0]: expected `str`, got `int`"),
        (("names", 0), "v1", "names has a name twice"),
        (("names",), ["v0"], "names: expected `array` of length >= 2, got ['v0']"),
        (("extra",), 1, "object contains unknown field `extra`"),
        (("data", "n_rows"), 3.5, "data.n_rows: expected `int`, got `float`"),
        (("data", "n_rows"), 2, "sample.rows has a position beyond the rows of the table"),
        (("data", "columns"), [], "data.columns are not the variables of the graph"),
        (("sample", "values", "v0"), [1.0], "sample.values.v0 must have 5 numbers, got 1"),
        (("sample", "weights", "v0"), [-1.0] * 5, "sample.weights[...][0]: expected `float` >= 0.0"),
        (
            ("sample", "values", "v0"),
            [float("inf")] * 5,
            "sample.values.v0[0] has inf, which JSON cannot hold",
        ),
        (("sample", "values"), {}, "sample.values must have every variable"),
        (("boundaries", 0, "target"), "v3", "boundaries are not those of the variables"),
        (("boundaries",), "text", "boundaries: expected `array`, got `str`"),
        (("boundaries", 0, "view", "bins"), [0.0, 1.0, 1.0, 2.0, 3.0], "boundaries[0].view.bins must go up"),
        (
            ("boundaries", 0, "view", "bins"),
            [1.0],
            "boundaries[0].view.bins: expected `array` of length >= 2, got [1.0]",
        ),
        (
            ("boundaries", 0, "view", "decoupled"),
            [],
            "view.decoupled: expected `array` of length >= 1, got []",
        ),
        (
            ("sample", "values", "v0"),
            [1e308, -1e308, 0, 0, 0],
            "sample.values[...][0]: expected `float` <= 1e+300",
        ),
        (("sample", "weights", "v0"), [1e308] * 5, "sample.weights[...][0]: expected `float` <= 1e+300"),
        (
            ("reproduction", "parameters", "alpha"),
            float("inf"),
            "parameters.alpha has inf, which JSON cannot hold",
        ),
        (
            ("reproduction", "parameters", "test"),
            {"a": {1}},
            "parameters.test.a has {1}, which JSON cannot hold",
        ),
        (("reproduction", "parameters", "test"), DEEP, "is nested more than 40 deep"),
        (("reproduction", "seed"), -1, "reproduction.seed: expected `int` >= 0, got -1"),
    ],
)
def test_what_is_wrong_in_a_document_is_named(document, path, value, message):
    _change(document, path, value)
    with pytest.raises(InputError) as caught:
        Result.from_dict(document)
    assert message in str(caught.value)


def test_numbers_beyond_json_in_a_file_are_refused(tmp_path, document):
    text = json.dumps(document).replace('"alpha": 0.05', '"alpha": 1e999')
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(InputError, match=r"parameters\.alpha has inf"):
        load_result(tmp_path / "odd.json")


def test_edges_that_make_no_graph_are_refused(document):
    names = document["names"]
    line = dict(document["edges"][0], type="->")
    cycle = [(0, 1), (1, 2), (2, 0)]
    document["edges"] = [dict(line, first=names[i], second=names[j]) for i, j in cycle]
    with pytest.raises(InputError, match="has edges that make no graph"):
        Result.from_dict(document)


def _places(value, path=()):
    """All paths into a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*path, key))


@pytest.mark.parametrize("seed", range(3))
def test_the_types_and_the_schema_refuse_the_same(document, seed):
    """Random damage: both accept, or both refuse."""
    rng = np.random.default_rng(seed)
    validator = jsonschema.Draft202012Validator(json_schema())
    wrong = [None, True, -1, 2.5, "text", "->", [], {}, [1], {"a": 1}]
    refused = 0
    for _ in range(80):
        damaged = copy.deepcopy(document)
        places = [path for path in _places(damaged) if path]
        path = places[rng.integers(len(places))]
        _change(damaged, path, wrong[rng.integers(len(wrong))])
        try:
            msgspec.convert(damaged, Result)
        except msgspec.ValidationError as error:
            ours = error
        else:
            ours = None
        assert validator.is_valid(damaged) == (ours is None), (path, ours)
        refused += ours is not None
    assert refused > 25


def test_damage_is_never_anything_but_an_input_error(document):
    """Also what the schema cannot see, and no traceback of another kind."""
    rng = np.random.default_rng(5)
    wrong = [None, True, -1, 0, 1, 10**400, "text", "v1", "->", [], {}, ["v1"]]
    drawn = 0
    for _ in range(200):
        damaged = copy.deepcopy(document)
        for _ in range(2):
            places = [path for path in _places(damaged) if path]
            _change(damaged, places[rng.integers(len(places))], wrong[rng.integers(len(wrong))])
        with contextlib.suppress(InputError):
            drawn += bool(dcd.report.render(Result.from_dict(damaged)))
    assert drawn < 100  # most damage is refused; what is not can be drawn


def test_the_schema_is_valid_itself_and_the_one_in_the_package():
    """Renew it with `json.dumps(json_schema(), indent=1)` when the format changes."""
    jsonschema.Draft202012Validator.check_schema(json_schema())
    packaged = resources.files(dcd.results).joinpath("schema-1.json").read_text(encoding="utf-8")
    assert json.loads(packaged) == json_schema()
