"""Sortability: by hand, by its definition with paths one by one, and its limits."""

import numpy as np
import pytest
from support.known_graphs import random_dag

import dcd
from dcd.evaluation.sorting import criterion, sortability

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def columns(*deviations):
    """Independent columns of exactly these deviations."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((50, len(deviations)))
    return (values - values.mean(axis=0)) / values.std(axis=0) * deviations


@pytest.mark.parametrize(
    ("deviations", "expected"),
    [
        ((1, 2, 3), 1.0),
        ((3, 2, 1), 0.0),
        ((1, 3, 2), 2 / 3),  # right for 0 -> 1 and 0 -> 1 -> 2, wrong for 1 -> 2
        ((2, 2, 2), 0.5),
    ],
)
def test_a_chain(deviations, expected):
    assert sortability(CHAIN, columns(*deviations)) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_paths_are_counted_by_their_lengths(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(6, rng)
    dag[0, 1] |= not dag.any()
    values = rng.standard_normal((40, 6)) * rng.uniform(1, 3, 6)
    variances = values.var(axis=0)
    right = total = 0
    for length in range(1, 6):
        for i, j in np.argwhere(np.linalg.matrix_power(dag.astype(int), length)):
            total += 1
            right += variances[i] < variances[j]
    assert sortability(dag, values) == pytest.approx(right / total)


@pytest.mark.parametrize("seed", range(3))
def test_r2_is_that_of_regressions(seed):
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(seed)
    values = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 4))
    for column, share in enumerate(criterion(values, "r2")):
        others = np.delete(values, column, axis=1)
        assert share == pytest.approx(
            LinearRegression().fit(others, values[:, column]).score(others, values[:, column])
        )
    combined = np.column_stack([values, values[:, 0] + values[:, 1]])
    assert criterion(combined, "r2")[[0, 1, 4]] == pytest.approx(1.0)


def test_scale_matters_to_variance_only():
    rng = np.random.default_rng(0)
    dag = dcd.simulate.random_dag(8, graph="erdos-renyi", degree=4, random_state=rng)
    values = dcd.simulate.sample(dag, 500, random_state=rng)
    scaled = values * rng.uniform(0.1, 10, 8)
    assert sortability(dag, values, by="r2") == pytest.approx(sortability(dag, scaled, by="r2"))
    assert sortability(dag, values) != sortability(dag, scaled)


def test_a_graph_without_edges_has_none():
    assert np.isnan(sortability(np.zeros((2, 2)), columns(1, 2)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((CHAIN + CHAIN.T, columns(1, 2, 3)), "'dag': must be a directed graph"),
        ((CHAIN, columns(1, 2)), r"'values': has shape \(50, 2\)"),
        ((CHAIN, columns(1, 2, 3) * [1, 0, 1]), "none of its columns constant"),
        ((CHAIN, columns(1, 2, 3) * [1, np.nan, 1]), "finite"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(dcd.InputError, match=message):
        sortability(*arguments)
    with pytest.raises(dcd.InputError, match="'by'"):
        sortability(CHAIN, columns(1, 2, 3), by="range")
