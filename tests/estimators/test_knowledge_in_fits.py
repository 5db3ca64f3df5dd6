"""Fits with background knowledge: a known graph, contradicting data, and true tiers that help."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from support.brute_force import NAMES, any_knowledge, assert_valid_and_respectful
from support.known_graphs import random_dag
from support.statements import COLUMNS, FULL
from support.tables import collider_with_bystanders, linear

import dcd
from dcd import InputError, Knowledge
from dcd.graph.adjacency import skeleton_of, topological_order
from dcd.graph.equivalence import dag_to_cpdag


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"roots": ["agee"]}, "'roots': 'agee' is not a column. Did you mean 'age'"),
        ({"leaves": ["LAB_*"]}, r"'leaves': 'LAB_\*' matches no column"),
        ({"tiers": [["age"], ["x*"]]}, r"'tiers': 'x\*' matches no column"),
        ({"forbidden": [("age", "Sex")]}, "'forbidden': 'Sex' is not a column. Did you mean 'sex'"),
        ({"required": [("lab", "age")]}, "'required': 'lab' is not a column"),
        ({"no_edge": [("age", "z?")]}, "'no_edge': 'z\\?' matches no column"),
    ],
)
def test_a_name_that_fits_no_column_is_told_before_any_work(stated, message, monkeypatch):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((200, 6)), columns=COLUMNS)
    for model in (dcd.DCD, dcd.RobustDCD):
        monkeypatch.setattr(model, "_discover", None)
        with pytest.raises(InputError, match=message):
            model(knowledge=Knowledge(**stated)).fit(frame)
    with pytest.raises(InputError, match=message):
        dcd.search.construct_cpdag(COLUMNS, None, knowledge=Knowledge(**stated))


@pytest.mark.parametrize("model", [dcd.DCD, dcd.RobustDCD])
def test_a_statement_about_a_column_that_was_left_out(model):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((200, 3)), columns=list("abc"))
    frame["same"] = 1.0
    with pytest.raises(
        InputError, match=r"'roots': names 'same', which was left out of the table \(it has the same"
    ):
        model(knowledge=Knowledge(roots=["same"]), drop_degenerate=True).fit(frame)
    known = Knowledge(tiers=[["a"], ["*"]])
    assert model(knowledge=known, drop_degenerate=True).fit(frame).cpdag_.names == ("a", "b", "c")


@pytest.mark.parametrize("model", [dcd.DCD, dcd.RobustDCD])
def test_a_knowledge_that_is_none_is_refused(model):
    with pytest.raises(InputError, match=r"'knowledge': must be None or a Knowledge, got dict"):
        model(knowledge={"roots": ["a"]}).fit("no table at all")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_robust_is_always_valid_and_always_for_the_knowledge(seed):
    rng = np.random.default_rng(seed)
    for _ in range(4):
        dag, knowledge = random_dag(6, rng), any_knowledge(6, rng)
        frame = pd.DataFrame(linear(dag, seed, n=300), columns=list("abcdef"))
        assert_valid_and_respectful(dcd.RobustDCD(knowledge=knowledge).fit(frame).cpdag_, knowledge)


MODELS = [pytest.param(dcd.DCD(alpha=1e-3), marks=pytest.mark.slow), dcd.RobustDCD(alpha=1e-3)]


def told(model, expected, **stated):
    """A fit of a -> c <- b, c -> d, e unrelated; and the conflicts of one kind, in words."""
    fitted = clone(model).set_params(knowledge=Knowledge(**stated)).fit(collider_with_bystanders(1000, 0))
    return fitted, "\n".join(str(one) for one in fitted.conflicts_ if one.kind == expected)


@pytest.mark.parametrize("model", MODELS, ids=["dcd", "robust"])
def test_what_the_data_contradict_is_told(model):
    fitted, words = told(model, "required_edge", required=[("e", "a")])
    assert words.replace("a - e", "e - a") == (
        "The data show no edge e - a, but e -> a is required. Knowledge took precedence; the edge was drawn."
    )
    assert ("e", "a") in fitted.cpdag_.directed_edges
    assert "e" in fitted.markov_boundaries_["a"]

    fitted, words = told(model, "forbidden_edge", no_edge=[("c", "d")])
    assert "no edge between c and d is allowed" in words
    assert "no edge was drawn" in words
    assert fitted.markov_boundaries_["d"].get("c") in (None, "spouse")

    fitted, words = told(model, "refused_collider", required=[("c", "a")])
    assert "c -> a is required" in words
    assert ("c", "a") in fitted.cpdag_.directed_edges


@pytest.mark.parametrize("model", MODELS, ids=["dcd", "robust"])
def test_a_collider_that_knowledge_of_another_arrow_turns_is_told(model):
    fitted, _ = told(model, "known_collider", forbidden=[("c", "d")])
    assert ("d", "c") in fitted.cpdag_.directed_edges
    assert fitted.conflicts_  # either a -> c <- b goes, or a -> c <- d comes


def test_knowledge_that_agrees_with_the_data_changes_nothing():
    """The data: a -> c <- b, c -> d."""
    frame = collider_with_bystanders(1000, 0)
    known = Knowledge(required=[("a", "c"), ("b", "c")])
    model = dcd.RobustDCD(alpha=1e-3, knowledge=known).fit(frame)
    assert str(model.cpdag_) == "a -> c\nb -> c\nc -> d"
    assert model.cpdag_.background == model.conflicts_ == ()


def simulated(seed, d=6, n=300):
    dag = dcd.simulate.random_dag(d, degree=4, graph="erdos-renyi", random_state=seed)
    values = dcd.simulate.sample(dag, n, mechanism="mlp", noise_std=1.0, random_state=seed)
    return dag, pd.DataFrame(values, columns=NAMES[:d])


def true_tiers(dag, n_tiers=3):
    order = [NAMES[i] for i in topological_order(dag)]
    return [list(part) for part in np.array_split(order, n_tiers)]


@pytest.mark.slow
def test_true_tiers_help():
    """On average the distances to the true class and to the true DAG become smaller."""
    gains, gains_dag = [], []
    for seed in range(8):
        dag, frame = simulated(seed)
        plain = dcd.RobustDCD().fit(frame).cpdag_
        knowing = dcd.RobustDCD(knowledge=Knowledge(tiers=true_tiers(dag))).fit(frame).cpdag_
        truth = dag_to_cpdag(dag)
        before = dcd.metrics.compare(truth, plain.adjacency).shd_c
        gains.append(before - dcd.metrics.compare(truth, knowing.without_background().adjacency).shd_c)
        before = dcd.metrics.compare(dag, plain.adjacency).shd_c
        gains_dag.append(before - dcd.metrics.compare(dag, knowing.adjacency).shd_c)
    assert np.mean(gains) >= 0
    assert np.mean(gains_dag) >= 1


@pytest.mark.parametrize("seed", [0, 1, 2, 5, 8, 13])
def test_against_pc_of_causal_learn_with_the_same_tiers(seed):
    """Where both find the same skeleton, they find the same arrows."""
    from causallearn.graph.GraphNode import GraphNode
    from causallearn.search.ConstraintBased.PC import pc
    from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

    dag = random_dag(5, np.random.default_rng(seed))
    frame = pd.DataFrame(linear(dag, seed, n=3000), columns=list("abcde"))
    tiers, theirs = true_tiers(dag), BackgroundKnowledge()
    for k, tier in enumerate(tiers):
        for name in tier:
            theirs.add_node_to_tier(GraphNode(name), k)
    answer = pc(
        frame.to_numpy(), 0.01, "fisherz", background_knowledge=theirs, node_names=list("abcde"),
        show_progress=False,
    ).G.graph  # fmt: skip
    adjacency = (answer == -1).astype(int)  # -1 is a tail: i -> j or i - j
    ours = dcd.RobustDCD(knowledge=Knowledge(tiers=tiers)).fit(frame).cpdag_.adjacency
    assert (skeleton_of(adjacency) != skeleton_of(ours)).any() or np.array_equal(adjacency, ours)


@pytest.mark.parametrize("model", [dcd.DCD(), dcd.RobustDCD()])
def test_the_result_depends_on_neither_jobs_nor_order_of_columns(model):
    for seed in range(1 if isinstance(model, dcd.DCD) else 4):
        _, frame = simulated(seed, d=5, n=200)
        knowledge = any_knowledge(5, np.random.default_rng(seed))
        model = clone(model).set_params(knowledge=knowledge)
        one = clone(model).fit(frame)
        order = np.random.default_rng(seed).permutation(frame.columns)
        other = clone(model).set_params(n_jobs=2 if seed == 0 else None).fit(frame[order])
        assert one.cpdag_ == other.cpdag_
        assert set(one.cpdag_.background) == set(other.cpdag_.background)
        assert one.conflicts_ == other.conflicts_
        assert list(other.cpdag_.names) == list(order)


@pytest.mark.parametrize("model", [dcd.DCD, dcd.RobustDCD])
def test_a_clone_knows_the_same(model):
    twin = clone(model(knowledge=FULL))
    assert twin.knowledge == FULL
    assert twin.get_params()["knowledge"] == FULL


@pytest.mark.parametrize("model", [dcd.DCD, dcd.RobustDCD])
def test_nothing_known_changes_nothing(model):
    _, frame = simulated(3)
    plain, empty = model().fit(frame), model(knowledge=Knowledge()).fit(frame)
    vacuous = model(knowledge=Knowledge(tiers=[["*"]])).fit(frame)
    assert plain.cpdag_ == empty.cpdag_ == vacuous.cpdag_
    assert plain.conflicts_ == empty.conflicts_ == vacuous.conflicts_
    assert plain.cpdag_.background == ()


def test_a_required_edge_is_in_the_boundary_and_a_forbidden_one_only_as_a_spouse():
    """a -> c <- b: a and b are spouses, which knowledge may keep apart; e is unrelated."""
    frame = collider_with_bystanders(1000, 3)
    for model in (dcd.DCD(alpha=1e-3), dcd.RobustDCD(alpha=1e-3)):
        known = Knowledge(no_edge=[("a", "b")], required=[("e", "d")])
        fitted = model.set_params(knowledge=known).fit(frame)
        assert fitted.markov_boundaries_["a"]["b"] == "spouse"
        assert fitted.markov_boundaries_["d"]["e"] == "parent"
        search = next(one for one in fitted.diagnostics_.searches if one.target == "d")
        assert "e" in search.boundary
        assert "e" in search.neighbours
        assert search.overruled == ("e",)
