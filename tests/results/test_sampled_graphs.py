"""The sampled graphs of a saved result: exact, small, refused if tampered with, and usable for effects."""

import json

import numpy as np
import pandas as pd
import pytest
from support.made_results import add_posterior, assert_refused, make_document, random_cpdag

import dcd
from dcd import RobustDCD, load_result, summarise
from dcd.results import Result
from dcd.results.model import SampledGraphs
from dcd.results.sampled import packed, unpacked

LARGEST = 200_000  # bytes at 20 variables


def random_dags(rng, n_graphs, n_variables):
    """Graphs with different edges and orders."""
    upper = np.triu(rng.random((n_graphs, n_variables, n_variables)) < rng.uniform(0.05, 0.5), k=1)
    return np.array(
        [graph[np.ix_(order, order)] for graph in upper for order in [rng.permutation(n_variables)]]
    )


def counted(graphs):
    return sorted(graph.tobytes() for graph in graphs)


@pytest.mark.parametrize("seed", range(8))
def test_packing_is_exact(seed):
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(rng.integers(2, 12))]
    few = random_dags(rng, 5, len(names))
    graphs = few[rng.integers(5, size=30)]
    kept = SampledGraphs(*packed(graphs, names))
    assert sum(kept.counts) == 30
    assert len(kept.graphs) == len(set(kept.graphs)) <= 5
    assert counted(unpacked(kept, names)) == counted(graphs)


def test_graphs_without_arrows_are_graphs_too():
    graphs = np.zeros((7, 3, 3), dtype=bool)
    kept = SampledGraphs(*packed(graphs, ["a", "b", "c"]))
    assert (kept.arrows, kept.graphs, kept.counts) == ((), ("0",), (7,))
    assert counted(unpacked(kept, ["a", "b", "c"])) == counted(graphs)


def test_640_different_dense_graphs_of_20_variables_are_small_enough():
    names = [f"a column with a long name {i}" for i in range(20)]
    graphs = random_dags(np.random.default_rng(0), 640, 20)
    assert len(set(counted(graphs))) == 640
    assert len(json.dumps(packed(graphs, names))) < LARGEST


@pytest.fixture(scope="module", params=["plain", "with knowledge"])
def fitted(request):
    """A model of a table of mixed columns, its table, and its result after a round trip through a file."""
    rng = np.random.default_rng(3)
    age, diet = rng.standard_normal((2, 300))
    dose = age + diet + rng.standard_normal(300)
    cured = np.where(dose + diet + rng.standard_normal(300) > 0, "yes", "no")
    table = pd.DataFrame({"age": age, "diet": diet, "dose": dose, "cured": cured})
    table["visits"] = np.round(dose + rng.standard_normal(300))
    knowledge = dcd.Knowledge(roots=["age"], tiers=[["age", "diet"], ["*"]])
    knowledge = knowledge if request.param == "with knowledge" else None
    return RobustDCD(knowledge=knowledge).fit(table), table


@pytest.mark.parametrize("pair", [("dose", "cured"), ("cured", "age"), ("diet", "visits")])
@pytest.mark.parametrize("adjustment", ["optimal", "parents"])
def test_a_saved_result_gives_the_effect_of_its_model(fitted, tmp_path, pair, adjustment):
    model, table = fitted
    model.save(tmp_path / "result.json")
    result = load_result(tmp_path / "result.json")
    options = {"adjustment": adjustment, "estimator": "linear"}
    own = model.effect(*pair, **options)
    assert own.over == "posterior"
    assert dcd.effect(result, table, *pair, **options) == own


def test_more_knowledge_answers_over_the_class(fitted):
    model, table = fitted
    known = dcd.Knowledge(leaves=["cured"])
    found = dcd.effect(summarise(model), table, "dose", "cured", knowledge=known, estimator="linear")
    assert found.over == "class"
    of_class = dcd.effect(model.cpdag_, table, "dose", "cured", knowledge=known, estimator="linear")
    assert found.answers == of_class.answers


def test_a_result_without_sampled_graphs_answers_over_its_class(fitted):
    model, table = fitted
    document = summarise(model).to_dict()
    document["posterior"]["graphs"] = None
    found = dcd.effect(Result.from_dict(document), table, "dose", "cured", estimator="linear")
    assert found == model.effect("dose", "cured", over="class", estimator="linear")


NAMES = ["a", "b", "c", "d", "e"]


def tampered(part, value):
    def tamper(document):
        document["posterior"]["graphs"][part] = value

    return tamper


def cycle(document):
    arrows = [["a", "b"], ["b", "c"], ["c", "a"]]
    document["posterior"]["graphs"] = {"arrows": arrows, "graphs": ["3", "7"], "counts": [1, 2]}


def no_knowledge(stated):
    def tamper(document):
        document["reproduction"]["parameters"]["knowledge"] = stated

    return tamper


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (cycle, "posterior.graphs.graphs[1] has a directed cycle. Save the result again"),
        (tampered("arrows", [["a", "nobody"]] * 6), "posterior.graphs.arrows[0] names 'nobody'"),
        (
            tampered("arrows", [["a", "a"]]),
            "posterior.graphs.arrows has an arrow twice, or from a variable to",
        ),
        (
            tampered("arrows", [["a", "b"], ["a", "b"]]),
            "posterior.graphs.arrows has an arrow twice, or from a",
        ),
        (tampered("arrows", [["a"]]), "posterior.graphs.arrows[0]: expected `array` of length 2, got 1"),
        (tampered("counts", [20]), "posterior.graphs.counts must be 2 numbers, got 1"),
        (tampered("counts", [20, 0]), "posterior.graphs.counts[1]: expected `int` >= 1, got 0"),
        (tampered("graphs", ["3f", "3f"]), "posterior.graphs.graphs has a graph twice"),
        (
            tampered("graphs", ["3f", "ff"]),
            "posterior.graphs.graphs[1] must be 2 hexadecimal digits, a bit for",
        ),
        (tampered("graphs", ["3f", "03e"]), "posterior.graphs.graphs[1] must be 2 hexadecimal digits"),
        (tampered("graphs", ["3f", "-1"]), "posterior.graphs.graphs[1]: expected `str` matching regex"),
        (tampered("graphs", []), "posterior.graphs.graphs: expected `array` of length >= 1, got []"),
        (
            no_knowledge({"roots": ["nobody"]}),
            "reproduction.parameters.knowledge is not knowledge about these",
        ),
        (no_knowledge("much"), "reproduction.parameters.knowledge is not knowledge about these variables"),
    ],
)
def test_tampered_graphs_are_refused(tamper, message):
    document = add_posterior(make_document(random_cpdag(NAMES, 6), n_sample=3))
    assert_refused(document, tamper, message)
