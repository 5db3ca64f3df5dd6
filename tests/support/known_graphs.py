"""Graphs to test on: all small ones, and random ones of any density."""

from itertools import combinations, permutations, product

import numpy as np

from dcd.graph.adjacency import is_acyclic
from dcd.graph.equivalence import dag_to_cpdag


def all_dags(n):
    """Every DAG on n labelled nodes, by trying absent, forward and backward for each pair."""
    pairs = list(combinations(range(n), 2))
    for choice in product((0, 1, 2), repeat=len(pairs)):
        dag = np.zeros((n, n), dtype=np.int8)
        for (i, j), direction in zip(pairs, choice, strict=True):
            if direction:
                dag[(i, j) if direction == 1 else (j, i)] = 1
        if is_acyclic(dag):
            yield dag


def classes_up_to_names(n):
    """`(dag, n_namings)`: a DAG of each equivalence class up to the names of its nodes, and its namings.

    Every DAG has an order in which all arrows point forwards, so upper triangular matrices cover all shapes.
    """
    upper, shapes = np.triu_indices(n, 1), {}
    renamings = [np.array(order)[:, None] * n + np.array(order) for order in permutations(range(n))]
    for arrows in product((0, 1), repeat=len(upper[0])):
        dag = np.zeros((n, n), dtype=np.int8)
        dag[upper] = arrows
        cpdag = dag_to_cpdag(dag).ravel()
        namings = {cpdag[renaming].tobytes() for renaming in renamings}
        shapes.setdefault(min(namings), (dag, len(namings)))
    return list(shapes.values())


def random_dag(n, rng):
    """A DAG on n nodes with a random density, labels shuffled."""
    order = rng.permutation(n)
    dag = np.triu(rng.random((n, n)) < rng.uniform(0.1, 0.7), k=1).astype(np.int8)
    return dag[np.ix_(order, order)]
