"""Matrices of lingam, checked in an environment of its own: `make test-dowhy`.

lingam needs older NumPy and SciPy. The main suite imports these checks if lingam is installed; otherwise it
skips them with the reason.
"""

import warnings

import numpy as np
import pytest

from dcd import CPDAG, interop
from dcd.evaluation.simulate import random_dag

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    lingam = pytest.importorskip("lingam", reason="lingam holds back NumPy and SciPy: make test-dowhy")


def test_direct_lingam_finds_the_matrix_that_goes_out():
    """The table follows x_j = sum over i -> j of x_i + noise, without any matrix of lingam."""
    for seed in range(3):
        dag = random_dag(5, graph="erdos-renyi", degree=2, random_state=seed)
        noise = np.random.default_rng(seed).exponential(size=(3000, 5))
        table = noise @ np.linalg.inv(np.eye(5) - dag)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = lingam.DirectLiNGAM().fit(table).adjacency_matrix_
        cpdag = CPDAG.from_dag([f"x{i}" for i in range(5)], dag)
        assert interop.from_lingam(found, threshold=0.3) == cpdag
        true_arrows = {(int(j), int(i)) for i, j in np.argwhere(np.abs(found) > 0.3)}  # B[i, j] is j -> i
        assert true_arrows == {(int(i), int(j)) for i, j in np.argwhere(dag)}


def test_lingam_draws_our_matrix_with_the_same_arrows():
    collider = CPDAG(("a", "b", "c"), [[0, 1, 0], [0, 0, 0], [0, 1, 0]])  # a -> b <- c
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = lingam.utils.make_dot(interop.to_lingam(collider), labels=["a", "b", "c"]).source
    assert interop.from_dot(drawn) == collider
