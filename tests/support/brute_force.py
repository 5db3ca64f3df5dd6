"""Brute force: the DAGs of a class, those that respect knowledge, the arrows they share."""

from functools import cache
from itertools import combinations, permutations, product

import numpy as np

from dcd import InputError, Knowledge
from dcd.graph.adjacency import directed_part, skeleton_of, topological_order, unshielded_colliders

NAMES = tuple("abcdefgh")


def orientations(skeleton):
    """Every DAG of a skeleton, by trying all orders."""
    found = {}
    for order in permutations(range(len(skeleton))):
        place = np.argsort(order)
        dag = (skeleton & (place[:, None] < place[None, :])).astype(np.int8)
        found[dag.tobytes()] = dag
    return found.values()


@cache
def all_dags(n):
    """Every DAG of n nodes, by trying all relations of all pairs."""
    pairs = list(combinations(range(n), 2))
    found = []
    for relations in product((None, 0, 1), repeat=len(pairs)):
        dag = np.zeros((n, n), dtype=bool)
        for pair, relation in zip(pairs, relations, strict=True):
            if relation is not None:
                dag[pair if relation else pair[::-1]] = True
        if not np.linalg.matrix_power(np.eye(n) + dag, n).diagonal().max() > 1:
            found.append(dag)
    return found


def random_dag(n, rng, share=None):
    """A DAG with a share, random by default, of the edges that a random order allows."""
    order = rng.permutation(n)
    dag = np.zeros((n, n), dtype=bool)
    dag[np.ix_(order, order)] = np.triu(rng.random((n, n)) < (rng.random() if share is None else share), k=1)
    return dag


def members_of_class(cpdag):
    """Every DAG with the skeleton and the unshielded colliders of a graph."""
    wanted = set(unshielded_colliders(cpdag))
    return [dag for dag in orientations(skeleton_of(cpdag)) if set(unshielded_colliders(dag)) == wanted]


def respects(dag, knowledge):
    """Whether a DAG respects all statements, read from them directly."""
    arrows = {(NAMES[i], NAMES[j]) for i, j in np.argwhere(dag)}
    tier = {name: k for k, names in enumerate(knowledge.tiers) for name in names}
    return (
        not arrows & set(knowledge.forbidden)
        and set(knowledge.required) <= arrows
        and not any({(a, b), (b, a)} & arrows for a, b in knowledge.no_edge)
        and not any(tier.get(a, -1) > tier.get(b, 99) for a, b in arrows)
        and not any(effect in knowledge.roots for _, effect in arrows)
        and not any(cause in knowledge.leaves for cause, _ in arrows)
    )


def shared_arrows(dags):
    """The graph of all arrows that the DAGs share; edges whose direction differs are undirected."""
    return np.any(dags, axis=0).astype(np.int8)


def true_knowledge(dag, rng):
    """Random statements, of random kinds, that are true of a DAG."""
    names = NAMES[: len(dag)]
    stated = {}
    arrows = [(names[i], names[j]) for i, j in np.argwhere(dag)]
    absent = [(a, b) for a, b in product(names, names) if a != b and (a, b) not in arrows]
    apart = [(a, b) for a, b in combinations(names, 2) if (a, b) in absent and (b, a) in absent]
    for key, true in (("required", arrows), ("forbidden", absent), ("no_edge", apart)):
        stated[key] = [pair for pair in true if rng.random() < rng.choice([0.0, 0.2, 0.5])]
    if rng.random() < 0.3:
        order = [names[i] for i in topological_order(dag)]
        cuts = sorted(rng.choice(len(names) + 1, size=2))
        stated["tiers"] = [order[: cuts[0]], order[cuts[0] : cuts[1]], order[cuts[1] :]]
    if rng.random() < 0.3:
        stated["roots"] = [names[i] for i in range(len(dag)) if not dag[:, i].any() and rng.random() < 0.5]
        stated["leaves"] = [names[i] for i in range(len(dag)) if not dag[i].any() and rng.random() < 0.5]
    return Knowledge(**stated)


def any_knowledge(n, rng):
    """Random statements that do not contradict each other, true or not."""
    while True:
        pairs = [(a, b) for a, b in product(NAMES[:n], NAMES[:n]) if a != b]
        stated = {
            key: [pair for pair in pairs if rng.random() < rate]
            for key, rate in (("required", 0.06), ("forbidden", 0.25), ("no_edge", 0.03))
        }
        try:
            return Knowledge(**stated)
        except InputError:
            continue


def assert_valid_and_respectful(cpdag, knowledge):
    """The graph represents some DAGs and has all arrows that they share; each respects the knowledge."""
    adjacency = cpdag.adjacency
    dags = [one for one in members_of_class(adjacency) if (one[directed_part(adjacency)] == 1).all()]
    assert dags
    np.testing.assert_array_equal(shared_arrows(dags), adjacency)
    assert all(respects(dag, knowledge) for dag in dags)
