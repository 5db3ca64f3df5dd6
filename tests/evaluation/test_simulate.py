import networkx as nx
import numpy as np
import pytest
from scipy import stats

import dcd
from dcd import InputError
from dcd.evaluation import simulate
from dcd.graph.adjacency import is_acyclic, unshielded_colliders

SEEDS = range(20)
EDGES_OF_TEN_NODES = {
    ("scale-free", 2): 9, ("scale-free", 4): 16, ("erdos-renyi", 2): 10, ("erdos-renyi", 4): 20,
}  # fmt: skip


@pytest.mark.parametrize("degree", [2, 4])
@pytest.mark.parametrize("graph", simulate.GRAPHS)
def test_graphs_are_connected_dags_of_the_asked_degree(graph, degree):
    for seed in SEEDS:
        dag = simulate.random_dag(10, graph=graph, degree=degree, random_state=seed)
        assert is_acyclic(dag)
        assert nx.is_weakly_connected(nx.from_numpy_array(dag, create_using=nx.DiGraph))
        expected = {
            ("scale-free", 2): 9,
            ("scale-free", 4): 16,
            ("erdos-renyi", 2): 10,
            ("erdos-renyi", 4): 20,
        }
        assert dag.sum() == expected[graph, degree]


def test_scale_free_of_degree_two_is_a_tree_from_one_root():
    for seed in SEEDS:
        dag = simulate.random_dag(20, random_state=seed)
        assert sorted(dag.sum(axis=0)) == [0] + [1] * 19
        assert not list(unshielded_colliders(dag))


def test_scale_free_has_hubs_and_erdos_renyi_has_not():
    def largest_degree(graph):
        dags = [simulate.random_dag(40, graph=graph, random_state=seed) for seed in range(60)]
        return np.mean([(dag + dag.T).sum(axis=0).max() for dag in dags])

    assert largest_degree("scale-free") > largest_degree("erdos-renyi") + 2


def test_prufer_trees_are_uniform():
    """Cayley: 16 labelled trees on 4 nodes, all equally likely."""
    rng = np.random.default_rng(0)
    counts = {}
    for _ in range(3200):
        tree = frozenset(simulate._random_tree(4, rng))
        counts[tree] = counts.get(tree, 0) + 1
    assert len(counts) == 16
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


def test_labels_carry_no_information():
    """The root of a scale-free graph is every label about equally often."""
    roots = [int(np.argmin(simulate.random_dag(5, random_state=s).sum(axis=0))) for s in range(500)]
    assert stats.chisquare(np.bincount(roots, minlength=5)).pvalue > 1e-4


@pytest.mark.parametrize("noise", simulate.NOISES)
def test_noise_has_the_asked_deviation_and_shape(noise):
    empty = np.zeros((2, 2))
    values = simulate.sample(empty, 100_000, noise=noise, noise_std=2.0, random_state=0)
    np.testing.assert_allclose(values.std(axis=0), 2.0, rtol=0.05)
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=0.05)
    reference = {
        "gaussian": stats.norm(scale=2),
        "laplace": stats.laplace(scale=np.sqrt(2)),
        "student-t": stats.t(5, scale=2 * np.sqrt(3 / 5)),
        "uniform": stats.uniform(-2 * np.sqrt(3), 4 * np.sqrt(3)),
    }[noise]
    assert stats.kstest(values[:, 0], reference.cdf).pvalue > 1e-4


@pytest.mark.parametrize("mechanism", simulate.MECHANISMS)
def test_signal_is_standardised(mechanism):
    for seed in SEEDS:
        dag = simulate.random_dag(6, graph="erdos-renyi", degree=4, random_state=seed)
        values = simulate.sample(dag, 5000, mechanism=mechanism, noise_std=1e-9, random_state=seed)
        children = dag.any(axis=0)
        np.testing.assert_allclose(values[:, children].std(axis=0), 1.0, atol=1e-6)
        assert np.isfinite(values).all()


def test_linear_effects_are_lines():
    for seed in SEEDS:
        dag = simulate.random_dag(6, graph="erdos-renyi", degree=4, random_state=seed)
        values = simulate.sample(dag, 500, mechanism="linear", noise_std=1e-6, random_state=seed)
        for node in np.flatnonzero(dag.any(axis=0)):
            design = np.column_stack([np.ones(500), values[:, dag[:, node] > 0]])
            fitted = design @ np.linalg.lstsq(design, values[:, node])[0]
            np.testing.assert_allclose(values[:, node], fitted, atol=1e-4)


@pytest.mark.slow
def test_every_function_occurs_and_is_what_it_says():
    edge = np.array([[0, 1], [0, 0]])
    shapes = {
        "x": lambda x: x, "x²": np.square, "x³": lambda x: x**3, "tanh": np.tanh, "exp": np.exp,
        "log": lambda x: np.log(np.abs(x)),
    }  # fmt: skip
    seen = set()
    for seed in range(60):
        cause, effect = simulate.sample(edge, 400, noise_std=1e-3, noise="gaussian", random_state=seed).T
        # Up to the weight inside, which lies between 0.5 and 2 with a sign, one of the shapes fits.
        fits = {
            name: max(
                abs(np.corrcoef(shape(weight * cause), effect)[0, 1])
                for weight in np.r_[np.linspace(0.5, 2, 61), -np.linspace(0.5, 2, 61)]
            )
            for name, shape in shapes.items()
        }
        best = max(fits, key=fits.get)
        assert fits[best] > 0.99
        seen.add(best)
    assert seen == set(shapes)


def test_no_row_dominates_a_bounded_signal():
    """The largest share that one row in a thousand has of a signal, over many mechanisms."""
    edge = np.array([[0, 1], [0, 0]])

    def largest_share(mechanism):
        shares = []
        for seed in range(40):
            signal = simulate.sample(edge, 20_000, mechanism=mechanism, noise_std=1e-9, random_state=seed)[
                :, 1
            ]
            squares = np.sort((signal - np.median(signal)) ** 2)
            shares.append(squares[-20:].sum() / squares.sum())
        return max(shares)

    # A root with a deviation of 1e-9 is scaled back by "bounded" alone; "func" gets one of deviation 2.
    assert largest_share("bounded") < 0.02
    values = [simulate.sample(edge, 20_000, random_state=seed)[:, 1] for seed in range(40)]
    assert (
        max(np.sort(v**2)[-20:].sum() / (v**2).sum() for v in values) > 0.15
    )  # of 1 / 5; noise has the rest


@pytest.mark.parametrize("in_mechanism", [False, True])
def test_bounded_signals_follow_their_parents(in_mechanism):
    edge = np.array([[0, 1], [0, 0]])
    for seed in SEEDS:
        values = simulate.sample(
            edge, 1000, mechanism="bounded", noise_std=0.3, noise_in_mechanism=in_mechanism, random_state=seed
        )
        assert dcd.IndependenceTest(values)(0, 1) < 1e-6


def test_noise_in_the_mechanism_is_transformed_with_it():
    edge = np.array([[0, 1], [0, 0]])
    for seed in SEEDS:
        values = simulate.sample(edge, 2000, noise_in_mechanism=True, random_state=seed)
        assert np.isfinite(values).all()
        assert values[:, 1].std() == pytest.approx(1.0)


def test_same_seed_same_data():
    def draw(seed):
        dag = simulate.random_dag(8, random_state=seed)
        return dag, simulate.sample(dag, 50, random_state=seed)

    for first, second in zip(draw(3), draw(3), strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.array_equal(draw(3)[1], draw(4)[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate.random_dag(1), "'n_variables'"),
        (lambda: simulate.random_dag(5, graph="scalefree"), "Did you mean 'scale-free'"),
        (lambda: simulate.random_dag(5, degree=3), "'degree': must be even"),
        (lambda: simulate.random_dag(4, degree=4), r"'degree': must be even and below .* \(4\), got 4"),
        (lambda: simulate.random_dag(5, random_state="a"), "'random_state'"),
        (lambda: simulate.sample(np.zeros((2, 2)), 10, random_state=-1), "'random_state'"),
        (
            lambda: [simulate.sample([[0, 1], [0, 0]], 99, noise_std=1e5, random_state=s) for s in range(40)],
            "overflows",
        ),
        (lambda: simulate.sample(np.zeros((2, 2)), 10, mechanism="quadratic"), "'mechanism'"),
        (lambda: simulate.sample(np.zeros((2, 2)), 10, mechanism="bound"), "Did you mean 'bounded'"),
        (lambda: simulate.sample(np.zeros((2, 2)), 10, noise="normal"), "'noise'"),
        (lambda: simulate.sample(np.zeros((2, 2)), 10, noise_std=-1), "'noise_std'"),
        (lambda: simulate.sample(np.zeros((2, 2)), 1), "'n_samples'"),
        (lambda: simulate.sample(np.ones((2, 2)) - np.eye(2), 10), "directed cycle"),
        (
            lambda: simulate.sample(np.zeros((2, 2)), 10, mechanism="mlp", noise_in_mechanism=True),
            "'noise_in_mechanism'",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_mixed_tables_follow_the_graph():
    seen = []
    for seed in range(5):
        dag = simulate.random_dag(6, graph="erdos-renyi", degree=2, random_state=seed)
        table = simulate.sample_mixed(dag, 3000, random_state=seed)
        assert list(table.columns) == [f"x{i}" for i in range(6)]
        assert table.equals(simulate.sample_mixed(dag, 3000, random_state=seed))
        test = dcd.IndependenceTest(table)
        for i, j in np.argwhere(dag):
            parents = [f"x{p}" for p in np.flatnonzero(dag[:, j]) if p != i]
            seen.append(test(f"x{i}", f"x{j}", parents) < 0.01)
    assert np.mean(seen) > 0.9
    numbers = simulate.sample_mixed(dag, 100, share_nominal=0, random_state=0)
    assert (numbers.dtypes == np.float64).all()
    with pytest.raises(InputError, match="share_nominal"):
        simulate.sample_mixed(dag, 100, share_nominal=2)
