r"""The posterior distribution over graphs: for each pair of variables the probability of each type of edge.

**Sampling.** Markov chains over DAGs (`graph_chain`) run on the scores of random subsamples of the rows, each
from the best graph of its subsample. Subsamples show how much scores depend on the sample, and on rows that
fit the model poorly. Averages over chains are bagged posteriors (Huggins and Miller 2020), which are less
certain than the posterior of a model that is assumed to be exact.

**Prior.** The share of pairs that are joined is uniform, so an edge needs less evidence if there are many.
The share of edges that lead to a variable with other parents is uniform up to a half, as in the search. Each
edge has an additional price, since the misfit of a curve looks like another parent.

**The graph** is the one with the least expected SHD_c over the sampled graphs, with directions made less
certain (`calibration`), and with the best graph included in the average: unlike those of sampled graphs, its
edges and colliders have been confirmed by tests, and on trees and bounded curves it has fewer errors than the
graph that the posterior alone would give.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import betaln

from dcd.features.subsamples import Subsamples
from dcd.graph.pattern import VariablePair
from dcd.graph.probabilities import ABSENT, BACKWARD, FORWARD
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray, Positions
from dcd.runtime.parallel import Shared, as_done
from dcd.runtime.threads import one_blas_thread
from dcd.search.base import GraphTask, Posterior
from dcd.search.best_graph import BestGraph, collider_log_prior
from dcd.search.calibration import Pairs, calibrated, traits_of, types_for_choice
from dcd.search.family_score import ScoreModel
from dcd.search.graph_chain import Plan, chain_state, partner_scores, preferred_curves, run_chain
from dcd.search.graph_class import class_types, improve_loss, loss_of
from dcd.search.score_model import with_samples

# Chosen from 1 to 5 on seeds 1,200,000 to 1,300,009, for edges; `calibration` does the rest.
_TEMPER = 1.5
# If all relations are curved, and if all are linear: at 1, a plain linear collider has probability 0.75. With
# many variables the prior on the number of edges adds a price of its own; the sum of both has an upper limit.
_EDGE_PRICE, _LINEAR_EDGE_PRICE, _LINEAR_EDGE_TOTAL = 1.0, 2.5, 3.2
_PRICES = (4.0, 0.0)  # of colliders, in the search that each chain starts from
_STEPS_A_PAIR, _KEPT = 200, 100
_SAMPLED, _SAMPLED_CELLS = 20, 2_000_000  # graphs kept from a chain, and the limit on their cells
_ALL_PAIRS, _PARTNERS = 12, 6  # up to 12 variables, steps change all pairs; beyond, partners of each variable
_MOST_EDGES_A_VARIABLE = 6
# Weight of the confirmed best graph, from 0 to 1, chosen on seeds 1,810,000 to 1,810,009 of nine settings.
_BEST_GRAPH = 0.4
_LIKELY = 0.02  # edges with a lower probability are not considered


@dataclass(frozen=True)
class _ChainTask:
    """The data shared by all chains; `oriented` is true where knowledge allows only one direction."""

    model: ScoreModel
    order: Positions
    subsamples: Subsamples | None
    oriented: BoolArray
    seed: int


def sample_posterior(task: GraphTask, best: BestGraph, n_chains: int) -> tuple[Posterior, list[IntArray]]:
    """The posterior of a table, and the graphs that its chains started from."""
    seed = int(task.rng.integers(2**31))
    subsamples = None
    if task.columns is not None and Subsamples.fits(task.columns):
        rng = np.random.default_rng(seed)
        subsamples = Subsamples(task.columns, task.categories, rng, best.model.n_samples, task.n_jobs)
    shared = Shared(_ChainTask(best.model, best.order, subsamples, oriented(task), seed))

    def compute(pending: list[int]) -> Generator[tuple[int, Any], None, None]:
        return as_done(_run_chain, pending, shared=shared, n_jobs=task.n_jobs)

    chains = task.run.gather("chains", range(n_chains), compute, label="chains over graphs")
    halves = np.mean([counts / counts.sum(axis=1, keepdims=True) for _, counts, _ in chains], axis=0)
    off_diagonal = ~np.eye(halves.shape[-1], dtype=bool)
    drift = float(np.abs(halves[0] - halves[1])[:, off_diagonal].max(initial=0.0))
    sampled = halves.mean(axis=0)
    traits = traits_of(sampled, best.model)
    unconfirmed = np.zeros(sampled.shape[1:], dtype=bool)  # until the graph is known
    types = calibrated(sampled, traits, _pairs(task, sampled, unconfirmed, best.separated))
    graphs = np.concatenate([some for *_, some in chains])
    posterior = Posterior(task.names, types, sampled, traits, drift, n_chains, subsamples is not None, graphs)
    return posterior, [dag for dag, *_ in chains]


def with_tests(
    posterior: Posterior, task: GraphTask, confirmed: BoolArray | None, separated: Sequence[VariablePair]
) -> Posterior:
    """The probabilities after tests of edges and of the arrows of the graph.

    Without tests no arrow counts as confirmed.
    """
    sampled = posterior.sampled
    agreed = (sampled[FORWARD] > sampled[BACKWARD]) & (False if confirmed is None else confirmed)
    types = calibrated(sampled, posterior.traits, _pairs(task, sampled, agreed | agreed.T, separated))
    return replace(posterior, types=types, confirmed=confirmed)


def _pairs(
    task: GraphTask, sampled: FloatArray, confirmed: BoolArray, separated: Sequence[VariablePair]
) -> Pairs:
    """What knowledge and tests say of the pairs."""
    apart = np.zeros(confirmed.shape, dtype=bool)
    for x, y in separated:
        apart[x, y] = apart[y, x] = True
    knowledge = task.knowledge
    return Pairs(_settled(task, sampled), knowledge.joined, ~knowledge.forbidden, confirmed, apart)


def _settled(task: GraphTask, sampled: FloatArray) -> BoolArray:
    """Pairs whose direction is decided by knowledge, or cannot be decided."""
    known = oriented(task)
    return np.asarray(known | known.T | _alone(sampled))


def oriented(task: GraphTask) -> BoolArray:
    """(d, d) where knowledge allows only one direction."""
    forbidden = task.knowledge.forbidden
    return np.ascontiguousarray(forbidden.T & ~forbidden)


def _alone(sampled: FloatArray) -> BoolArray:
    """Pairs without other neighbours: no collider can direct their edge."""
    joined = 1.0 - sampled[ABSENT]
    degree = joined.sum(axis=0)
    return np.asarray(degree[:, None] + degree - 2.0 * joined < _LIKELY)


def _run_chain(task: _ChainTask, index: int) -> tuple[IntArray, FloatArray, BoolArray]:
    """The starting graph of a chain, the counts of the types of all pairs along it, and sampled graphs."""
    rng = np.random.default_rng([task.seed, index])
    with one_blas_thread():
        model = _own(task.model)
        if task.subsamples is not None:
            model = with_samples(model, *task.subsamples.draw(rng))
        dag = BestGraph(model, rng, 0, _PRICES, task.order).best()
        model = model._replace(edge_price=_TEMPER * _edge_price(model), collider_price=0.0)
        curves = preferred_curves(model)
        pairs = _pairs_of_steps(model, dag, curves)
        state = chain_state(dag, max(1, min(_SAMPLED, _SAMPLED_CELLS // dag.size)))
        prior = _log_prior(len(dag), int(dag.sum()))
        plan = Plan(curves, pairs, prior, task.oriented, _TEMPER)
        counts = run_chain(model, state, plan, _STEPS_A_PAIR * len(pairs), _KEPT, rng)
    return dag, counts, state.sampled


def _own(model: ScoreModel) -> ScoreModel:
    """The model with its own cache: threads share arrays, and those from another process are read-only."""
    return model._replace(keys=model.keys.copy(), known=model.known.copy())


def _edge_price(model: ScoreModel) -> float:
    """The cost of an edge in the log posterior besides the prior, by the share of children with curves."""
    curved = float((model.may_curve | (model.may_cross > 0)).mean())
    # The cost of an edge by the prior on the number of edges, if variables have three neighbours.
    by_number = np.log(max(len(model.allowed) - 4.0, 1.0) / 3.0)
    linear = float(np.clip(_LINEAR_EDGE_TOTAL - by_number, 0.0, _LINEAR_EDGE_PRICE))
    return linear + curved * (_EDGE_PRICE - linear)


def _log_prior(n_variables: int, n_first: int) -> FloatArray:
    """The log prior of a graph by its number of edges N and of parents beyond the first V, as `[N, V]`.

    It has space for more edges than the `n_first` of the starting graph.
    """
    n_pairs = n_variables * (n_variables - 1) // 2
    most = _MOST_EDGES_A_VARIABLE * n_variables + 20
    return _prior_table(n_pairs, min(n_pairs, most if n_first < most else n_first + n_variables))


@lru_cache(maxsize=2)  # a microsecond for each entry, the same for all chains of a table
def _prior_table(n_pairs: int, most: int) -> FloatArray:
    n_edges, n_shared = np.arange(most + 1.0)[:, None], np.arange(most + 1.0)[None, :]
    return collider_log_prior(n_shared, n_edges) + betaln(n_edges + 1.0, n_pairs - n_edges + 1.0)


def _pairs_of_steps(model: ScoreModel, dag: IntArray, curves: BoolArray) -> Positions:
    """The pairs (p, 2) that steps change: all, or with many variables neighbours and promising partners."""
    n_variables = len(dag)
    chosen = (dag + dag.T) > 0
    if n_variables <= _ALL_PAIRS:
        chosen[:] = True
    else:
        for scores in partner_scores(model, dag.astype(bool), curves):
            best = np.argsort(-scores, axis=0, kind="stable")[:_PARTNERS]
            chosen[best, np.arange(n_variables)] = True
    chosen &= model.allowed | model.allowed.T
    # `argwhere` returns two or more pairs by columns; compiled code needs them by rows.
    return np.argwhere(np.triu(chosen | chosen.T, k=1)).astype(np.int64, order="C")


# --- the graph -------------------------------------------------------------------------------------------


def types_with_best_graph(posterior: Posterior, dag: IntArray, task: GraphTask) -> FloatArray:
    """The shares of types, with directions less certain, averaged with the graph that tests confirmed."""
    types = types_for_choice(posterior.sampled, posterior.traits, _settled(task, posterior.sampled))
    confirmed = class_types(dag.astype(bool), oriented(task))
    return (1.0 - _BEST_GRAPH) * types + _BEST_GRAPH * np.array(
        [confirmed == one for one in range(len(types))]
    )


def least_error_dag(
    types: FloatArray, starts: Sequence[IntArray], model: ScoreModel, task: GraphTask
) -> IntArray:
    """A DAG of the class with the least expected SHD_c.

    The search starts from the best of `starts`; pairs that the model does not allow are not joined.
    """
    allowed, known = model.allowed, oriented(task)
    joinable = allowed | allowed.T
    error = 1.0 - types
    graphs = [(dag * joinable).astype(bool) for dag in starts]
    best = min(graphs, key=lambda dag: loss_of(dag, error, known))
    likely = (types[ABSENT] < 1.0 - _LIKELY) & joinable
    possible = (likely | best | best.T) & ~task.knowledge.joined
    return improve_loss(best, error, possible, allowed, known).astype(np.int8)
