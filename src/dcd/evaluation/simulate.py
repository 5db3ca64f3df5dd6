r"""Random graphs and data by the protocol of Section 4.

Data follow :math:`X_i = f_i(\mathrm{Pa}(X_i)) + \epsilon_i`, the signal :math:`f_i` standardised to zero mean
and unit variance before the noise is added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.graph.adjacency import check_adjacency, topological_order
from dcd.runtime.array_types import FloatArray, IntArray
from dcd.runtime.errors import InputError, check_choice, check_flag, check_number, make_generator

GRAPHS = ("scale-free", "erdos-renyi")
MECHANISMS = ("func", "bounded", "linear", "mlp", "product")
NOISES = ("gaussian", "laplace", "student-t", "uniform")
NOISE_MEASURES = ("deviation", "scale")

_MOST_VARIABLES = 10_000
_MOST_CELLS = 2**31  # of a table
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

# No row contributes more than a few times the average to such a signal, however many rows there are. With exp
# and x³ a single row can contribute most of it, so that more rows make a relation harder to detect.
_BOUNDED_FUNCTIONS: tuple[Callable[[FloatArray], FloatArray], ...] = (
    np.tanh,
    lambda x: np.sin(2.0 * x),
    lambda x: np.exp(-np.square(x)),
    lambda x: x / (1.0 + np.square(x)),
    lambda x: np.tanh(2.0 * (np.abs(x) - 0.7)),
)

_FUNCTIONS_OF = {"func": _FUNCTIONS, "bounded": _BOUNDED_FUNCTIONS, "linear": _FUNCTIONS[:1]}


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
    graph : "scale-free" grows by preferential attachment (Barabási–Albert), edges from the older to
        the newer node; "erdos-renyi" is a uniform random tree (Prüfer sequence) with random edges added
        until the average degree is reached, directed along a random order. Both are connected, and the
        labels are shuffled.
    degree : average number of neighbours, even: degree 2 attaches each new node to one older one.
    random_state : seed or generator.
    """
    check_number("n_variables", n_variables, at_least=3, at_most=_MOST_VARIABLES, whole=True, suggestion=10)
    check_choice("graph", graph, GRAPHS)
    check_number("degree", degree, at_least=2, whole=True, suggestion=2)
    if degree % 2 or degree >= n_variables:
        problem = f"must be even and below the number of variables ({n_variables}), got {degree}"
        raise InputError("parameter 'degree'", problem, "Try degree=2.")
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
        ends = np.array(edges).ravel()  # each node once per edge
        chosen: set[int] = set()
        while len(chosen) < attachment:
            chosen.add(int(rng.choice(ends)))
        edges += [(older, newer) for older in sorted(chosen)]
    return edges


def _erdos_renyi_edges(n: int, edges_per_node: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """A uniform random tree plus random edges up to `n * edges_per_node`; pairs in increasing order."""
    edges = _random_tree(n, rng)
    free = [pair for pair in combinations(range(n), 2) if pair not in edges]
    n_extra = min(n * edges_per_node - len(edges), len(free))
    extra = rng.permutation(len(free))[:n_extra]
    return sorted(edges | {free[index] for index in extra})


def _random_tree(n: int, rng: np.random.Generator) -> set[tuple[int, int]]:
    """Decode a random Prüfer sequence."""
    sequence = rng.integers(n, size=n - 2)
    remaining = np.bincount(sequence, minlength=n) + 1
    edges = set()
    for node in sequence.tolist():
        leaf = int(np.flatnonzero(remaining == 1)[0])
        edges.add((min(leaf, node), max(leaf, node)))
        remaining[[leaf, node]] -= 1
    last, other = np.flatnonzero(remaining == 1).tolist()
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
        "bounded", the same with the sum of parents standardised and `g` one of five bounded functions, two of
        them even, so that no single row dominates a signal: for large samples and for calibration; "linear",
        `w · parents`, linear Gaussian with `noise="gaussian"`; "mlp", a random tanh network of five layers,
        20 units wide; "product", the sum of products of random pairs of standardised parents (with an odd
        number, one enters alone).
    noise : "gaussian", "laplace", "student-t" (5 degrees of freedom) or "uniform"; by default each node
        draws one of the four.
    noise_std : standard deviation of the noise; the signal has standard deviation 1.
    noise_measure : "deviation" uses `noise_std` as standard deviation. "scale" uses it as the scale parameter
        of the Laplace and Student distributions, whose deviations are then 1.41 and 1.29 times as large; only
        this agrees with the paper's Table 1.
    noise_in_mechanism : add the noise inside, `g(w · parents + noise)`, and standardise the sum of parents
        and the result; "func" and "bounded" only.
    biases : give the layers of "mlp" biases, drawn like the weights, and standardise the output of each
        layer. Without biases the network is an odd, largely linear function; only biases agree with Table 1.
    random_state : seed or generator.
    """
    adjacency = _checked(dag, n_samples)
    check_choice("mechanism", mechanism, MECHANISMS)
    if noise is not None:
        check_choice("noise", noise, NOISES)
    check_number("noise_std", noise_std, above=0, suggestion=2.0)
    check_choice("noise_measure", noise_measure, NOISE_MEASURES)
    check_flag("noise_in_mechanism", noise_in_mechanism)
    check_flag("biases", biases)
    if noise_in_mechanism and mechanism not in ("func", "bounded"):
        problem = f"has no effect with mechanism {mechanism!r}"
        raise InputError("parameter 'noise_in_mechanism'", problem, "Use 'func' or 'bounded'.")
    rng = make_generator(random_state)
    values = np.empty((n_samples, adjacency.shape[0]))
    for node in topological_order(adjacency):
        parents = values[:, np.flatnonzero(adjacency[:, node])]
        disturbance = noise_std * _unit_noise(noise or rng.choice(NOISES), noise_measure, n_samples, rng)
        if parents.shape[1] == 0:
            values[:, node] = disturbance
        elif mechanism == "mlp":
            values[:, node] = _standardise(_random_network(parents, rng, biases)) + disturbance
        elif mechanism == "product":
            values[:, node] = _standardise(_products_of_pairs(parents, rng)) + disturbance
        else:
            combined = parents @ _random_weights((parents.shape[1],), rng)
            functions = _FUNCTIONS_OF[mechanism]
            function = functions[rng.integers(len(functions))]
            combined = _standardise(combined) if mechanism == "bounded" else combined
            with np.errstate(over="ignore", invalid="ignore"):  # `_standardise` checks the result
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
    """Mixed data from a structural model over `dag`, columns "x0", "x1", ....

    Each category of a nominal parent (two to five, called "a", "b", ... in random order) has its own effect;
    continuous parents have linear effects. A continuous variable is the standardised sum of these effects
    plus noise; a nominal one follows a multinomial logistic model.

    Parameters
    ----------
    dag : adjacency matrix, `dag[i, j] = 1` for `i -> j`.
    share_nominal : probability that a variable is nominal.
    noise_std : standard deviation of the noise; the signal has 1, and that of categories 2 / noise_std.
    random_state : seed or generator.
    """
    adjacency = _checked(dag, n_samples)
    check_number("share_nominal", share_nominal, at_least=0, at_most=1, suggestion=0.5)
    check_number("noise_std", noise_std, above=0, suggestion=1.0)
    rng = make_generator(random_state)
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


def _checked(dag: npt.ArrayLike, n_samples: int) -> IntArray:
    """The adjacency matrix, if this many samples of its variables are possible."""
    adjacency = check_adjacency(dag, "dag")
    most = _MOST_CELLS // max(1, len(adjacency))
    check_number("n_samples", n_samples, at_least=2, at_most=most, whole=True, suggestion=800)
    return adjacency


def _sum_of_effects(
    parents: Sequence[FloatArray], shape: tuple[int, int], rng: np.random.Generator
) -> FloatArray:
    """Standardised sums (n, k) of random effects of the parents; 0 without parents.

    With several columns only their differences matter, so rows are centred.
    """
    total = np.zeros(shape)
    for block in parents:
        effect = block @ rng.standard_normal((block.shape[1], shape[1]))
        if shape[1] > 1:
            effect = effect - effect.mean(axis=1, keepdims=True)
        total += rng.uniform(0.5, 1.5) * _standardise(effect)
    return _standardise(total)


def _products_of_pairs(parents: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Sum of products of random pairs of standardised parents."""
    factors = [_standardise(parents[:, index]) for index in rng.permutation(parents.shape[1])]
    signs = rng.choice([-1.0, 1.0], size=len(factors))
    pairs = zip(factors[::2], [*factors[1::2], np.ones(len(parents))], strict=False)
    return np.sum([sign * x * y for sign, (x, y) in zip(signs, pairs, strict=False)], axis=0)


def _unit_noise(kind: str, measure: str, n: int, rng: np.random.Generator) -> FloatArray:
    """Noise with mean 0 and standard deviation (or scale) 1."""
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
    """U(0.5, 2) with random signs, divided by the square root of the number of inputs."""
    return rng.uniform(0.5, 2.0, size=shape) * rng.choice([-1.0, 1.0], size=shape) / np.sqrt(shape[0])


def _random_network(inputs: FloatArray, rng: np.random.Generator, biases: bool) -> FloatArray:
    """A random tanh network; layers have scaled inputs or, with biases, standardised outputs."""
    hidden = inputs
    for _ in range(_HIDDEN_LAYERS):
        hidden = hidden @ _random_weights((hidden.shape[1], _HIDDEN_UNITS), rng)
        if biases:
            hidden = _standardise(np.tanh(hidden + _random_weights((1, _HIDDEN_UNITS), rng)))
        else:
            hidden = np.tanh(hidden / hidden.std())
    output: FloatArray = hidden @ _random_weights((_HIDDEN_UNITS,), rng)
    return output


def _standardise(signal: FloatArray) -> FloatArray:
    """Zero mean and unit variance."""
    centred = signal - signal.mean()
    scale = centred.std()
    if not np.isfinite(scale):
        raise InputError("parameter 'noise_std'", "is so large that a mechanism overflows", "Use 10 or less.")
    return centred / scale if scale > 0 else centred
