r"""Random graphs and data by the protocol of Section 4.

Data follow :math:`X_i = f_i(\mathrm{Pa}(X_i)) + \epsilon_i`, the signal :math:`f_i` standardised to zero mean
and unit variance before the noise is added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.graph.adjacency import topological_order
from dcd.runtime.array_types import FloatArray, IntArray
from dcd.runtime.errors import InputError, check_choice, check_number, make_generator

GRAPHS = ("scale-free", "erdos-renyi")
MECHANISMS = ("func", "mlp", "product")
NOISES = ("gaussian", "laplace", "student-t", "uniform")
NOISE_MEASURES = ("deviation", "scale")

_HIDDEN_UNITS = 20
_HIDDEN_LAYERS = 4  # five layers of weights
_STUDENT_T_DEGREES = 5

_FUNCTIONS: tuple[Callable[[FloatArray], FloatArray], ...] = (
    lambda x: x,
    np.square,
    lambda x: x**3,
    np.tanh,
    np.exp,
    lambda x: np.log(np.abs(x) + np.finfo(float).tiny),
)


def random_dag(
    n_variables: int,
    *,
    graph: str = "scale-free",
    degree: int = 2,
    random_state: int | np.random.Generator | None = None,
) -> IntArray:
    """A random DAG as an adjacency matrix, `adjacency[i, j] = 1` for `i -> j`.

    Parameters
    ----------
    n_variables : number of nodes.
    graph : "scale-free" grows by preferential attachment (Barabási–Albert), each edge from the older to
        the newer node; "erdos-renyi" is a uniform random tree (Prüfer sequence) with random edges added
        until the average degree is reached, directed along a random order. Both are connected, and the
        labels are shuffled.
    degree : average number of neighbours, even: degree 2 attaches each new node to one older one.
    random_state : seed or generator.
    """
    check_number("n_variables", n_variables, at_least=3, whole=True, suggestion=10)
    check_choice("graph", graph, GRAPHS)
    check_number("degree", degree, at_least=2, whole=True, suggestion=2)
    if degree % 2 or degree >= n_variables:
        raise InputError(
            "parameter 'degree'",
            f"must be even and below the number of variables ({n_variables}), got {degree}",
            "Try degree=2.",
        )
    rng = make_generator(random_state)
    draw = _scale_free_edges if graph == "scale-free" else _erdos_renyi_edges
    label = rng.permutation(n_variables)
    adjacency = np.zeros((n_variables, n_variables), dtype=np.int8)
    for older, newer in draw(n_variables, degree // 2, rng):
        adjacency[label[older], label[newer]] = 1
    return adjacency


def _scale_free_edges(n: int, attachment: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Barabási–Albert from a star of `attachment + 1` nodes; (older, newer) pairs."""
    edges = [(0, newer) for newer in range(1, attachment + 1)]
    for newer in range(attachment + 1, n):
        ends = np.array(edges).ravel()  # a node appears here once for each of its edges
        chosen: set[int] = set()
        while len(chosen) < attachment:
            chosen.add(int(rng.choice(ends)))
        edges += [(older, newer) for older in sorted(chosen)]
    return edges


def _erdos_renyi_edges(n: int, edges_per_node: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """A uniform random tree plus random edges up to `n * edges_per_node`; pairs in increasing order."""
    edges = _random_tree(n, rng)
    free = [(i, j) for i in range(n) for j in range(i + 1, n) if (i, j) not in edges]
    n_extra = min(n * edges_per_node - len(edges), len(free))
    extra = rng.permutation(len(free))[:n_extra]
    return sorted(edges | {free[index] for index in extra})


def _random_tree(n: int, rng: np.random.Generator) -> set[tuple[int, int]]:
    """Decode a random Prüfer sequence."""
    sequence = rng.integers(n, size=n - 2)
    remaining = np.bincount(sequence, minlength=n) + 1
    edges = set()
    for node in sequence:
        leaf = int(np.flatnonzero(remaining == 1)[0])
        edges.add((min(leaf, int(node)), max(leaf, int(node))))
        remaining[leaf] -= 1
        remaining[node] -= 1
    last, other = (int(node) for node in np.flatnonzero(remaining == 1))
    return edges | {(last, other)}


def sample(
    dag: npt.ArrayLike,
    n_samples: int,
    *,
    mechanism: str = "func",
    noise: str | None = None,
    noise_std: float = 2.0,
    noise_measure: str = "deviation",
    noise_in_mechanism: bool = False,
    biases: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> FloatArray:
    """Data from a structural model over `dag`, shape (n_samples, n_variables).

    Parameters
    ----------
    dag : adjacency matrix, `dag[i, j] = 1` for `i -> j`.
    mechanism : "func", `g(w · parents)` with `g` one of x, x², x³, tanh, exp, log|x| drawn for each node;
        "mlp", a random network of five layers, 20 units wide, tanh between layers; "product", the sum of the
        products of two parents each, standardised, in random pairs (the odd one out enters as it is).
    noise : "gaussian", "laplace", "student-t" (5 degrees of freedom) or "uniform"; by default each node
        draws one of the four.
    noise_std : standard deviation of the noise, beside a signal of standard deviation 1.
    noise_measure : "deviation" takes `noise_std` for what its name says. "scale" takes it for the scale
        parameter of Laplace's and Student's distributions, whose deviations are then 1.41 and 1.29 times as
        large; the numbers of the paper's Table 1 agree with this only.
    noise_in_mechanism : add the noise inside, `g(w · parents + noise)`, with the sum of parents
        standardised before and the result after; "func" only.
    biases : give the layers of "mlp" biases, drawn like the weights, and standardise the output of each
        layer. Without biases the network is an odd function, with much that is linear in it; the numbers of
        Table 1 agree with biases only.
    random_state : seed or generator.
    """
    check_number("n_samples", n_samples, at_least=2, whole=True, suggestion=800)
    check_choice("mechanism", mechanism, MECHANISMS)
    if noise is not None:
        check_choice("noise", noise, NOISES)
    check_number("noise_std", noise_std, above=0, suggestion=2.0)
    check_choice("noise_measure", noise_measure, NOISE_MEASURES)
    if noise_in_mechanism and mechanism != "func":
        raise InputError(
            "parameter 'noise_in_mechanism'", f"has no meaning for mechanism {mechanism!r}", "Use 'func'."
        )
    rng = make_generator(random_state)
    adjacency = np.asarray(dag)
    values = np.empty((n_samples, adjacency.shape[0]))
    for node in topological_order(adjacency):
        parents = values[:, np.flatnonzero(adjacency[:, node])]
        disturbance = noise_std * _unit_noise(noise or rng.choice(NOISES), noise_measure, n_samples, rng)
        if parents.shape[1] == 0:
            values[:, node] = disturbance
        elif mechanism == "mlp":
            network = _random_network_with_biases if biases else _random_network
            values[:, node] = _standardise(network(parents, rng)) + disturbance
        elif mechanism == "product":
            values[:, node] = _standardise(_products_of_pairs(parents, rng)) + disturbance
        else:
            combined = parents @ _random_weights((parents.shape[1],), rng)
            function = _FUNCTIONS[rng.integers(len(_FUNCTIONS))]
            with np.errstate(over="ignore", invalid="ignore"):  # `_standardise` looks at the outcome
                if noise_in_mechanism:
                    values[:, node] = _standardise(function(_standardise(combined) + disturbance))
                else:
                    values[:, node] = _standardise(function(combined)) + disturbance
    return values


def sample_mixed(
    dag: npt.ArrayLike,
    n_samples: int,
    *,
    share_nominal: float = 0.5,
    noise_std: float = 1.0,
    random_state: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """A table of measurements and categories from a structural model over `dag`, columns "x0", "x1", ....

    Every category of a nominal parent (two to five, called "a", "b", ... in random order) has an effect of
    its own, and a measured parent a linear one. A measurement is the sum of its effects, standardised, plus
    noise; a nominal variable has such a sum for each of its categories, and takes the one that is largest
    with Gumbel noise added (a multinomial logistic model).

    Parameters
    ----------
    dag : adjacency matrix, `dag[i, j] = 1` for `i -> j`.
    share_nominal : chance of each variable to be nominal.
    noise_std : standard deviation of the noise beside a signal of standard deviation 1; the signals of
        categories have a standard deviation of 2 / noise_std.
    random_state : seed or generator.
    """
    check_number("n_samples", n_samples, at_least=2, whole=True, suggestion=800)
    check_number("share_nominal", share_nominal, at_least=0, at_most=1, suggestion=0.5)
    check_number("noise_std", noise_std, above=0, suggestion=1.0)
    rng = make_generator(random_state)
    adjacency = np.asarray(dag)
    columns: dict[int, npt.NDArray[Any]] = {}
    features: dict[int, FloatArray] = {}
    for node in topological_order(adjacency):
        parents = [features[parent] for parent in np.flatnonzero(adjacency[:, node]).tolist()]
        if rng.random() < share_nominal:
            n_levels = int(rng.integers(2, 6))
            signals = 2.0 / noise_std * _sum_of_effects(parents, (n_samples, n_levels), rng)
            codes = np.argmax(signals + rng.gumbel(size=signals.shape), axis=1)
            columns[node] = rng.permutation(list("abcde"))[codes]
            features[node] = (codes[:, None] == np.arange(n_levels)).astype(np.float64)
        else:
            signal = _sum_of_effects(parents, (n_samples, 1), rng)[:, 0]
            columns[node] = signal + noise_std * rng.standard_normal(n_samples)
            features[node] = _standardise(columns[node])[:, None]
    return pd.DataFrame({f"x{node}": columns[node] for node in range(len(adjacency))})


def _sum_of_effects(
    parents: Sequence[FloatArray], shape: tuple[int, int], rng: np.random.Generator
) -> FloatArray:
    """Sums (n, k) over parents of random effects of their columns, standardised; 0 without parents.

    With several columns only their differences matter, so the mean of each row is taken off.
    """
    total = np.zeros(shape)
    for block in parents:
        effect = block @ rng.standard_normal((block.shape[1], shape[1]))
        if shape[1] > 1:
            effect = effect - effect.mean(axis=1, keepdims=True)
        total += rng.uniform(0.5, 1.5) * _standardise(effect)
    return _standardise(total)


def _products_of_pairs(parents: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Sum of products of two standardised parents each, in random pairs."""
    factors = [_standardise(parents[:, index]) for index in rng.permutation(parents.shape[1])]
    signs = rng.choice([-1.0, 1.0], size=len(factors))
    pairs = zip(factors[::2], [*factors[1::2], np.ones(len(parents))], strict=False)
    return np.sum([sign * left * right for sign, (left, right) in zip(signs, pairs, strict=False)], axis=0)


def _unit_noise(kind: str, measure: str, n: int, rng: np.random.Generator) -> FloatArray:
    """Noise of mean 0 and standard deviation 1, or scale 1 where the distribution has a scale."""
    if kind == "gaussian":
        return rng.standard_normal(n)
    if kind == "laplace":
        return rng.laplace(scale=1.0 if measure == "scale" else np.sqrt(0.5), size=n)
    if kind == "student-t":
        degrees = _STUDENT_T_DEGREES
        scale = 1.0 if measure == "scale" else np.sqrt((degrees - 2) / degrees)
        return rng.standard_t(degrees, size=n) * scale
    return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size=n)


def _random_weights(shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Magnitudes from U(0.5, 2) with random signs, over the square root of the number of inputs."""
    return rng.uniform(0.5, 2.0, size=shape) * rng.choice([-1.0, 1.0], size=shape) / np.sqrt(shape[0])


def _random_network(inputs: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A random tanh network; each layer is scaled so that its output has unit variance on average."""
    hidden = inputs
    for _ in range(_HIDDEN_LAYERS):
        hidden = hidden @ _random_weights((hidden.shape[1], _HIDDEN_UNITS), rng)
        hidden = np.tanh(hidden / hidden.std())
    output: FloatArray = hidden @ _random_weights((_HIDDEN_UNITS,), rng)
    return output


def _random_network_with_biases(inputs: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The same with biases, and layers whose output has zero mean and unit variance on average."""
    hidden = inputs
    for _ in range(_HIDDEN_LAYERS):
        hidden = hidden @ _random_weights((hidden.shape[1], _HIDDEN_UNITS), rng)
        hidden = _standardise(np.tanh(hidden + _random_weights((1, _HIDDEN_UNITS), rng)))
    output: FloatArray = hidden @ _random_weights((_HIDDEN_UNITS,), rng)
    return output


def _standardise(signal: FloatArray) -> FloatArray:
    """Zero mean and unit variance."""
    centred = signal - signal.mean()
    scale = centred.std()
    if not np.isfinite(scale):
        raise InputError("parameter 'noise_std'", "is so large that a mechanism overflows", "Use 10 or less.")
    return centred / scale if scale > 0 else centred
