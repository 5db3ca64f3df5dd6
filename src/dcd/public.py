"""The public names, imported all at once. `dcd.DCD` and the like come from here; see `dcd/__init__.py`."""

from dcd import graph, interop, results, weights
from dcd.estimators.dcd import DCD
from dcd.estimators.markov_boundary import MarkovBoundary
from dcd.estimators.resampling import FailedResamplesWarning, bootstrap
from dcd.estimators.robust import RobustDCD
from dcd.estimators.stability import Stability
from dcd.evaluation import baselines, datasets, metrics, simulate
from dcd.graph.cpdag import CPDAG
from dcd.graph.equivalence import dag_to_cpdag
from dcd.graph.knowledge import Knowledge
from dcd.independence.association import PartialAssociation, WeightedAssociation
from dcd.independence.pvalues import IndependenceTest, ci_test
from dcd.results import Result, load_result, plot, report, summarise
from dcd.runtime.errors import InputError
from dcd.runtime.runs import TimeLimitError
from dcd.search.algorithm1 import SearchCutWarning, construct_cpdag
from dcd.search.colliders import ColliderEvidence
from dcd.search.grow_shrink import GrowShrink
from dcd.table.audit import Audit, audit
from dcd.table.dataset import RowsLostWarning, SmallSampleWarning, TableSummary
from dcd.weights.convex import ConvexWeights, convex_weights
from dcd.weights.hsic_descent import decoupling_weights

__all__ = [
    "CPDAG",
    "DCD",
    "Audit",
    "ColliderEvidence",
    "ConvexWeights",
    "FailedResamplesWarning",
    "GrowShrink",
    "IndependenceTest",
    "InputError",
    "Knowledge",
    "MarkovBoundary",
    "PartialAssociation",
    "Result",
    "RobustDCD",
    "RowsLostWarning",
    "SearchCutWarning",
    "SmallSampleWarning",
    "Stability",
    "TableSummary",
    "TimeLimitError",
    "WeightedAssociation",
    "audit",
    "baselines",
    "bootstrap",
    "ci_test",
    "construct_cpdag",
    "convex_weights",
    "dag_to_cpdag",
    "datasets",
    "decoupling_weights",
    "graph",
    "interop",
    "load_result",
    "metrics",
    "plot",
    "report",
    "results",
    "simulate",
    "summarise",
    "weights",
]
