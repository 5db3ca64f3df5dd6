"""What limits the estimator: errors by kind, and fits that are told a part of the truth."""

import numpy as np
import pytest

import dcd

pytest.importorskip("flopsearch", reason="pip install --group benchmark")
from benchmarks import limits
from benchmarks.evaluation.cells import CELLS

SEED = 6_700_000  # others than those of the evaluation


def test_errors_by_kind_against_the_distance_between_graphs():
    """Each wrong pair is missing, extra or has a wrong direction."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        truth, found = (
            dcd.graph.dag_to_cpdag(
                dcd.simulate.random_dag(6, graph="erdos-renyi", degree=2, random_state=rng)
            )
            for _ in range(2)
        )
        errors = limits.errors(truth, found)
        assert errors["shd_c"] == dcd.metrics.compare(truth, found).shd_c
        assert errors["shd_c"] == errors["missing"] + errors["extra"] + errors["direction"]


@pytest.mark.parametrize(
    ("truth", "found", "kind"),
    [
        ([(0, 1)], [], "missing"),
        ([], [(0, 1)], "extra"),
        ([(0, 2), (1, 2)], [(2, 0), (2, 1)], "direction"),
    ],
)
def test_the_kind_of_an_error(truth, found, kind):
    graphs = []
    for arrows in (truth, found):
        dag = np.zeros((3, 3), dtype=np.int8)
        for arrow in arrows:
            dag[arrow] = 1
        graphs.append(dcd.graph.dag_to_cpdag(dag))
    errors = limits.errors(*graphs)
    assert errors[kind] == errors["shd_c"] > 0


@pytest.mark.parametrize("cell", ["er4-linear", "sf-func", "er4-mlp"])
def test_no_edge_beyond_a_skeleton_that_is_told(cell):
    problem = CELLS[cell].draw(SEED)
    assert limits.errors(problem.cpdag.adjacency, limits.skeleton(problem))["extra"] == 0


def test_a_known_order_removes_errors():
    """On dense linear graphs, whose directions are hard to find without it."""
    told = {"nothing": limits.nothing, "order": limits.order}
    problems = [CELLS["er4-linear"].draw(seed) for seed in range(SEED, SEED + 24)]
    errors = {
        name: sum(limits.errors(problem.cpdag.adjacency, find(problem))["shd_c"] for problem in problems)
        for name, find in told.items()
    }
    assert errors["order"] < 0.75 * errors["nothing"]


def test_the_true_form_finds_most_edges():
    for seed in range(SEED, SEED + 3):
        problem = CELLS["er4-linear"].draw(seed)
        errors = limits.errors(problem.cpdag.adjacency, limits.form(problem))
        assert errors["missing"] + errors["extra"] < problem.cpdag.adjacency.sum() / 4


def test_one_row_for_each_part_of_the_truth_that_a_cell_has():
    tasks = limits.tasks(["er4-linear", "er4-mlp"], 2)
    told = {cell: [part for name, part, _ in tasks if name == cell] for cell in ("er4-linear", "er4-mlp")}
    assert told["er4-linear"] == 2 * ["nothing", "skeleton", "order", "form"]
    assert told["er4-mlp"] == 2 * ["nothing", "skeleton", "order"]
