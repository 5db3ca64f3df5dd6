r"""The posterior distribution over graphs: for each pair of variables the probability of each type of edge.

**Sampling.** Markov chains over DAGs (`graph_chain`) run on the scores of random parts of the rows, each from
the best graph of its part, found from a random order. Parts show how far scores depend on the sample, and on
samples that fit the model less; starts at random show how far a graph depends on the start of its search.
Averages over chains are posterior probabilities that hold where the model is not exact (bagged posteriors,
Huggins and Miller 2020).

**Prior.** The share of pairs that are joined is uniform, so that each edge needs less evidence where there
are many. The share of edges that lead to a variable with other parents is uniform up to a half, as in the
search. Each edge has a further price, since the misfit of a curve looks like another parent.

**The graph** is that of least expected SHD_c: of each pair, its type is wrong with one minus the probability
of that type. Given its skeleton, arrows below a least probability are left undirected, unless every graph
with this skeleton has such an arrow.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import betainc, betaln

from dcd.runtime.array_types import BoolArray, FloatArray, IntArray, Positions

FORWARD, BACKWARD, UNDIRECTED, ABSENT = range(4)
# Chosen on seeds 1,200,000 and up: with these, edges and arrows come true as often as they are told.
TEMPER = 1.5
_EDGE_PRICE = 1.0
_STEPS_A_PAIR, _KEPT = 400, 100
_PARTNERS = 6  # of each variable, which steps of the chain concern beside its neighbours
_ALL_PAIRS = 12  # up to so many variables, steps concern all pairs
_MOST_EDGES_A_VARIABLE = 6
_WEAK = 1.0  # what an arrow below the least probability costs
_FEW = 0.02  # probability from which on an edge is considered


@dataclass(frozen=True)
class Posterior:
    """Probabilities of the types of all pairs.

    Attributes
    ----------
    types : (4, d, d) the probability that the class of the graph has i -> j, j -> i, an undirected edge
        between them, and no edge.
    drift : the largest difference of any of these between the first half of the chains and the second.
    n_chains : number of chains.
    subsampled : whether chains ran on parts of the rows.
    """

    types: FloatArray = field(repr=False)
    drift: float
    n_chains: int
    subsampled: bool

    @property
    def edges(self) -> FloatArray:
        """(d, d) the probability of an edge."""
        return np.asarray(1.0 - self.types[ABSENT])


def average(chains: list[FloatArray], *, subsampled: bool) -> Posterior:
    """The posterior of several chains, from their counts (2, 4, d, d) of types in their two halves."""
    halves = np.mean(
        [counts / counts.sum(axis=1).max(axis=(1, 2))[:, None, None, None] for counts in chains], axis=0
    )
    off_diagonal = ~np.eye(halves.shape[-1], dtype=bool)
    drift = float(np.abs(halves[0] - halves[1])[:, off_diagonal].max(initial=0.0))
    return Posterior(halves.mean(axis=0), drift, len(chains), subsampled)


def log_prior(n_variables: int, edge_price: float, temper: float = TEMPER) -> FloatArray:
    """The log prior of a graph by its number of edges N and of parents beyond the first V, as `[N, V]`.

    Family scores contain an `edge_price` for each edge, which is taken off here.
    """
    n_pairs = n_variables * (n_variables - 1) // 2
    most = min(n_pairs, _MOST_EDGES_A_VARIABLE * n_variables + 20)
    n_edges, n_shared = np.arange(most + 1)[:, None], np.arange(most + 1)[None, :]
    apart = np.maximum(n_edges - n_shared, 0)
    shares = betaln(n_shared + 1, apart + 1) + np.log(
        np.maximum(betainc(n_shared + 1, apart + 1, 0.5), 1e-300)
    )
    density = betaln(n_edges + 1, n_pairs - n_edges + 1)
    return np.where(
        n_shared <= n_edges, shares + density + (edge_price / temper - _EDGE_PRICE) * n_edges, -np.inf
    )


def sample_chain(model, dag: IntArray, oriented: BoolArray, rng: np.random.Generator) -> FloatArray:  # type: ignore[no-untyped-def]
    """Counts of the types of all pairs in a chain that starts at a graph."""
    from dcd.search.graph_chain import (  # Numba takes a second to load
        chain_state,
        preferred_curves,
        run_chain,
    )

    curves = preferred_curves(model)
    pairs = chain_pairs(model, dag, curves)
    counts: FloatArray = run_chain(
        model,
        chain_state(dag),
        curves,
        pairs,
        log_prior(len(dag), model.edge_price),
        TEMPER,
        _STEPS_A_PAIR * len(pairs),
        _KEPT,
        oriented,
        rng,
    )
    return counts


def chain_pairs(model, dag: IntArray, curves: BoolArray) -> Positions:  # type: ignore[no-untyped-def]
    """The pairs that steps concern: all of few variables, else neighbours and the most promising partners."""
    from dcd.search.graph_chain import partner_scores

    n_variables = len(dag)
    chosen = (dag + dag.T) > 0
    if n_variables <= _ALL_PAIRS:
        chosen[:] = True
    else:
        for scores in partner_scores(model, dag.astype(bool), curves):
            best = np.argsort(-scores, axis=0, kind="stable")[:_PARTNERS]
            chosen[best, np.arange(n_variables)] = True
    chosen &= model.allowed | model.allowed.T
    return np.argwhere(np.triu(chosen | chosen.T, k=1)).astype(np.int64)


# --- the graph -------------------------------------------------------------------------------------------


def least_loss_dag(
    types: FloatArray,
    starts: list[IntArray],
    allowed: BoolArray,
    oriented: BoolArray,
    least_arrow: float,
) -> IntArray:
    """A DAG of the class with the least expected SHD_c, then with as few arrows below `least_arrow`."""
    from dcd.search.graph_class import improve_loss, loss_of

    loss = 1.0 - types
    possible = (types[ABSENT] < 1.0 - _FEW) & (allowed | allowed.T)
    best = min(starts, key=lambda dag: loss_of(dag.astype(bool), loss, oriented))
    graph = improve_loss(best.astype(bool), loss, possible, allowed, oriented, True)
    weak = loss.copy()
    for way in (FORWARD, BACKWARD):
        weak[way] += _WEAK * ((types[way] < least_arrow) & ~oriented & ~oriented.T)
    graph = improve_loss(graph, weak, possible, allowed, oriented, False)
    return np.asarray(graph, dtype=np.int8)
