"""`effect`: the average effect of one variable on another, in every possible graph.

graphs -> adjustment sets (`graph.adjustment_sets`) -> one estimate each (`effect_estimates`) -> `Effect`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student_t

from dcd.estimators.effect_answers import OVER, Effect, EffectAnswer, Over
from dcd.estimators.effect_cautions import (
    cautions_of_estimates,
    cautions_of_fit,
    cautions_of_graphs,
    cautions_of_rows,
)
from dcd.estimators.effect_columns import EffectTable, contrast_of, event_of, sample_of
from dcd.estimators.effect_estimates import METHODS, Estimate, Method, Sample, estimate
from dcd.graph.adjacency import check_adjacency, directed_part, skeleton_of, unshielded_colliders
from dcd.graph.adjustment_sets import (
    RULES,
    Adjustment,
    Adjustments,
    Rule,
    class_adjustments,
    reached,
    sampled_adjustments,
)
from dcd.graph.cpdag import CPDAG
from dcd.graph.equivalence import consistent_extension, with_arrows
from dcd.graph.knowledge import Knowledge, bind_knowledge
from dcd.runtime.array_types import BoolArray
from dcd.runtime.errors import InputError, check_choice, check_number, make_generator, suggest
from dcd.table.columns import Kind
from dcd.table.dataset import TableOptions
from dcd.table.row_weights import repeated

_MOST_ANSWERS = 12
_ENOUGH = 0.95  # of the sampled graphs, beyond which rarer adjustments are not estimated


@dataclass(frozen=True)
class EffectOptions:
    """How an effect is estimated; see `effect`."""

    levels: Any = None
    adjustment: Rule = "optimal"
    estimator: Method = "flexible"
    confidence: float = 0.95
    random_state: int | np.random.Generator | None = 0

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_choice("adjustment", self.adjustment, RULES)
        check_choice("estimator", self.estimator, METHODS)
        check_number("confidence", self.confidence, above=0, below=1, suggestion=0.95)


@dataclass(frozen=True)
class FittedGraphs:
    """The graphs of a fit.

    Attributes
    ----------
    cpdag : the graph.
    sampled : (k, d, d) DAGs sampled by the chains; None if there are none.
    knowledge : as given to the fit.
    kinds : of the columns.
    cautions : caveats about the rows.
    n_chains : the chains whose DAGs are in `sampled`, one chain after another; None if their order is lost.
    n_complete : rows on which the graph was found, if only rows complete in all columns; otherwise None.
    n_against_knowledge : how many statements of the knowledge the data contradict.
    drift : of the chains; None without chains.
    """

    cpdag: CPDAG
    sampled: BoolArray | None = None
    knowledge: Knowledge | None = None
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()
    n_chains: int | None = None
    n_complete: int | None = None
    n_against_knowledge: int = 0
    drift: float | None = None

    def adjustments(self, pair: tuple[str, str], over: Over | None, rule: Rule) -> tuple[Adjustments, Over]:
        """The adjustment sets of the graphs, and which graphs were used: by default the sampled ones."""
        over = ("class" if self.sampled is None else "posterior") if over is None else over
        check_choice("over", over, OVER)
        if over == "class":
            return class_adjustments(self.cpdag, *pair, rule), over
        if self.sampled is None:
            problem = "is 'posterior', but this fit has no posterior"
            raise InputError("parameter 'over'", problem, "Try 'class'.")
        forbidden = bind_knowledge(self.knowledge, self.cpdag.names).forbidden
        x, y = (self.cpdag.index(name) for name in pair)
        oriented = forbidden.T & ~forbidden
        return sampled_adjustments(self.sampled, oriented, x, y, rule, n_chains=self.n_chains), over

    def order_is_known(self, treatment: str, outcome: str) -> bool:
        """Whether knowledge allows an arrow in one direction only, or requires a path between the two."""
        known = bind_knowledge(self.knowledge, self.cpdag.names)
        x, y = self.cpdag.index(treatment), self.cpdag.index(outcome)
        stated = known.forbidden[x, y] != known.forbidden[y, x]
        return bool(stated or reached(known.required, x)[y] or reached(known.required, y)[x])


@runtime_checkable
class HasGraphs(Protocol):
    """A saved result."""

    def fitted_graphs(self) -> FittedGraphs:
        """The graphs of the fit."""
        ...


def effect(
    graph: CPDAG | pd.DataFrame | HasGraphs,
    X: Any,
    treatment: str,
    outcome: str,
    *,
    knowledge: Knowledge | None = None,
    levels: tuple[Any, Any] | None = None,
    adjustment: Rule = "optimal",
    estimator: Method = "flexible",
    confidence: float = 0.95,
    kinds: Mapping[str, Kind] | None = None,
    sample_weight: Any = None,
    counts: Any = None,
    groups: Any = None,
    random_state: int | np.random.Generator | None = 0,
) -> Effect:
    """The average effect of a treatment on an outcome, over all graphs that a CPDAG represents.

    Each graph determines which variables to hold fixed, or that the treatment is not a cause. The effect is
    estimated once for each different adjustment, and the result is the range of these estimates. Rows with a
    missing value in a column that is used are left out.

    Parameters
    ----------
    graph : CPDAG, labelled DataFrame or saved result
        Uncertain arrows of a CPDAG may also be reversed. The arrows of a labelled adjacency matrix are taken
        as known: a DAG has one answer. A saved result with sampled graphs gives the same answer as its model,
        over these graphs, unless `knowledge` is passed; then the answer is over its class.
    X : table, with a column for each variable that is needed.
    treatment, outcome : str
        Two variables of the graph.
    knowledge : Knowledge or None
        Only graphs that agree with it are considered.
    levels : (from, to) or None
        Two levels of the treatment to compare. With None, the effect of a numeric treatment is per unit, and
        a treatment with two levels is compared between them. A treatment with more categories requires it.
    adjustment : "optimal" or "parents", default="optimal"
        Hold fixed the set that gives the least variance, or the direct causes of the treatment, which depend
        on less of the graph.
    estimator : "flexible" or "linear", default="flexible"
        Doubly robust estimation with cross-fitted curves, products and trees, or least squares.
    confidence : float, default=0.95
        Confidence level of the interval of each estimate, which takes the graph as given.
    kinds, sample_weight, counts, groups : as for `RobustDCD` and its `fit`. Rows of one group are in the same
        fold of cross-fitting, and standard errors allow for any dependence among them.
    random_state : int, Generator or None, default=0
        Seed of the folds of cross-fitting.

    Examples
    --------
    >>> import dcd, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> age, clinic = rng.standard_normal((2, 500))
    >>> dose = age + clinic + rng.standard_normal(500)
    >>> table = pd.DataFrame({"age": age, "clinic": clinic, "dose": dose})
    >>> graph = dcd.CPDAG.from_dag(table.columns, [[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    >>> print(dcd.effect(graph, table, "age", "dose", estimator="linear").sentence)
    The effect of age on dose is 1.03 per unit of age (95 % confidence: 0.938 to 1.11).
    """
    options = EffectOptions(levels, adjustment, estimator, confidence, random_state)
    options.check()
    fitted = graph.fitted_graphs() if isinstance(graph, HasGraphs) else FittedGraphs(as_given(graph))
    if knowledge is not None:
        restricted = with_knowledge(fitted.cpdag, knowledge)
        fitted = replace(fitted, cpdag=restricted, sampled=None, knowledge=knowledge, n_against_knowledge=0)
    TableOptions(kinds=kinds).check()
    fitted = replace(fitted, kinds={**fitted.kinds, **(kinds or {})})
    X, _ = repeated(X, counts, sample_weight, groups)
    read = (X, sample_weight, groups)
    return effect_of_fit(fitted, (treatment, outcome), None, options, lambda: read)


def effect_of_fit(
    fitted: FittedGraphs,
    pair: tuple[str, str],
    over: Over | None,
    options: EffectOptions,
    read: Callable[[], tuple[Any, Any, Any]],
) -> Effect:
    """The effect of one variable of a pair on the other; `read` returns the table, its weights and groups."""
    check_pair(*pair, fitted.cpdag.names)
    adjustments, over = fitted.adjustments(pair, over, options.adjustment)
    X, sample_weight, groups = read()
    of_fit = cautions_of_fit(fitted.n_against_knowledge, fitted.drift if over == "posterior" else None)
    table = EffectTable(X, fitted.kinds, sample_weight, groups, (*fitted.cautions, *of_fit))
    known = fitted.order_is_known(*pair)
    context = Context(known, fitted.n_complete)
    return estimated(fitted.cpdag.names, adjustments, table, pair, over, options, context)


def check_pair(treatment: object, outcome: object, names: Sequence[str], where: str = "graph") -> None:
    """Raise `InputError` unless treatment and outcome are two different variables of a graph or table."""
    for parameter, name in {"treatment": treatment, "outcome": outcome}.items():
        if not isinstance(name, (str, int)) or name not in names:
            problem = f"is {name!r:.80}, which is not in the {where}"
            raise InputError(f"parameter '{parameter}'", problem, suggest(name, [str(one) for one in names]))
    if treatment == outcome:
        raise InputError("parameter 'outcome'", f"is the treatment, {treatment!r}", "Name another variable.")


def as_given(graph: object) -> CPDAG:
    """The graph; the arrows of an adjacency matrix are taken as known."""
    if isinstance(graph, CPDAG):
        return graph
    if not isinstance(graph, pd.DataFrame):
        problem = f"must be a CPDAG, a labelled adjacency matrix or a result, got {type(graph).__name__}"
        raise InputError("parameter 'graph'", problem, "Pass model.cpdag_, or a DataFrame of 0 and 1.")
    adjacency, names = check_adjacency(graph, "graph"), tuple(map(str, graph.columns))
    dag = consistent_extension(adjacency)
    if dag is None:
        remedy = "Remove a directed cycle, or direct some of its edges."
        raise InputError("parameter 'graph'", "fits no directed acyclic graph", remedy)
    known = [(names[i], names[j]) for i, j in np.argwhere(directed_part(adjacency))]
    return CPDAG.from_dag(names, dag, known)


def with_knowledge(cpdag: CPDAG, knowledge: Knowledge | None) -> CPDAG:
    """The graphs of the class that agree with knowledge; raises `InputError` if none does."""
    known = bind_knowledge(knowledge, cpdag.names)
    if not known.says_something:
        return cpdag
    skeleton, names, graph = skeleton_of(cpdag.adjacency), cpdag.names, cpdag.adjacency.copy()
    told = known.arrows(skeleton)
    refused = (skeleton & known.apart) | (known.joined & ~skeleton) | (told & (cpdag.drawn == 0))
    if refused.any():
        i, j = np.argwhere(refused)[0]
        stated = known.required[i, j] or known.forbidden[i, j]
        sentence = known.reason(i, j) if stated else known.reason(j, i)
        problem = f"contradicts the graph about {names[i]} and {names[j]}: {sentence}"
        raise InputError(
            "parameter 'knowledge'", problem, "Change one of the two, or fit the graph with this knowledge."
        )
    reversed_ = told & (graph == 0)
    graph[reversed_], graph[reversed_.T] = 1, 0
    closed = with_arrows(graph, [(int(i), int(j)) for i, j in np.argwhere(told)])
    dag = consistent_extension(closed)
    if dag is None or set(unshielded_colliders(dag)) != set(unshielded_colliders(graph)):
        problem = "allows no graph of the class"
        raise InputError("parameter 'knowledge'", problem, "Fit the graph with this knowledge.")
    restricted = CPDAG.from_dag(
        names, dag, [(names[i], names[j]) for i, j in np.argwhere(directed_part(closed))]
    )
    known_now = {(names[i], names[j]) for i, j in np.argwhere(told | told.T)}
    uncertain = tuple(arrow for arrow in cpdag.uncertain if arrow not in known_now)
    return CPDAG(names, restricted.adjacency, restricted.background, uncertain)


# --- estimates -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Context:
    """What caveats depend on besides the answers.

    Attributes
    ----------
    order_is_known : whether knowledge decides which of treatment and outcome comes first.
    n_complete : as in `FittedGraphs`.
    """

    order_is_known: bool = False
    n_complete: int | None = None


def estimated(
    names: Sequence[str],
    adjustments: Adjustments,
    table: EffectTable,
    pair: tuple[str, str],
    over: Over,
    options: EffectOptions,
    context: Context,
) -> Effect:
    """The effect of one variable of a pair on the other, given the adjustments that graphs need."""
    treatment, outcome = pair
    levels, level_names = contrast_of(table, treatment, options.levels) or (None, None)
    event, event_name = event_of(table, outcome) or (None, None)
    seed = int(make_generator(options.random_state).integers(2**31))  # the same folds for every answer
    chosen, left_out = _most_probable(adjustments, over)
    counted = over == "posterior" or adjustments.counted
    answers, estimates = [], []
    for adjustment in chosen:
        share = adjustments.shares[adjustment] if counted else None
        error = adjustments.errors.get(adjustment)
        if adjustment is None:
            answers.append(EffectAnswer(None, 0.0, 0.0, (0.0, 0.0), share, 0, share_error=error))
            continue
        fixed = tuple(sorted(names[v] for v in adjustment))
        sample = sample_of(table, pair, fixed, levels, event)
        found = estimate(sample, options.estimator, np.random.default_rng(seed))
        answer = _answer(found, sample, pair, fixed, share, options.confidence)
        answers.append(replace(answer, share_error=error))
        estimates.append((fixed, found))
    result = Effect(
        treatment=treatment,
        outcome=outcome,
        levels=level_names,
        outcome_level=event_name,
        answers=tuple(answers),
        over=over,
        confidence=float(options.confidence),
        estimator=options.estimator,
        left_out=left_out,
        n_rows=table.n_rows,
        no_effect_left_out=adjustments.shares.get(None, 0.0) if counted and None not in chosen else 0.0,
    )
    cautions = (
        *cautions_of_estimates(treatment, estimates),
        *cautions_of_rows(result, context.n_complete),
        *cautions_of_graphs(result, adjustments, context.order_is_known),
        *table.cautions,
    )
    return replace(result, cautions=cautions)


def _most_probable(adjustments: Adjustments, over: Over) -> tuple[list[Adjustment], float]:
    """The adjustments to estimate, and the share of the others."""
    chosen: list[Adjustment] = []
    covered = 0.0
    for adjustment, share in adjustments.shares.items():
        if len(chosen) == _MOST_ANSWERS or (over == "posterior" and covered >= _ENOUGH):
            return chosen, 1.0 - covered
        chosen.append(adjustment)
        covered += share
    return chosen, 0.0


def _answer(
    found: Estimate,
    sample: Sample,
    pair: tuple[str, str],
    fixed: tuple[str, ...],
    share: float | None,
    confidence: float,
) -> EffectAnswer:
    if np.isnan(found.value):
        problem = f"is determined by {', '.join(fixed)}, which has to be held fixed"
        raise InputError(f"column {pair[0]!r}", problem, "Remove its copies from the graph.")
    errors = norm if sample.groups is None else student_t(int(sample.groups.max()))
    half = float(errors.ppf(0.5 + confidence / 2)) * found.standard_error
    interval = (found.value - half, found.value + half)
    caution = " ".join(cautions_of_estimates(pair[0], [(fixed, found)]))
    return EffectAnswer(
        fixed, found.value, found.standard_error, interval, share, len(sample.outcome), caution
    )
