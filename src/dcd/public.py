"""The public names, imported all at once. `dcd.DCD` and the like come from here; see `dcd/__init__.py`."""

from dcd import baselines, datasets, graph, metrics, plot, simulate
from dcd.association import PartialAssociation, WeightedAssociation
from dcd.balancing import ConvexWeights, convex_weights
from dcd.construction import SearchCutWarning, construct_cpdag
from dcd.data import SmallSampleWarning
from dcd.decoupling import decoupling_weights
from dcd.discovery import DCD
from dcd.graph import CPDAG, dag_to_cpdag
from dcd.growth import GrowShrink
from dcd.independence import IndependenceTest, ci_test
from dcd.orientation import ColliderEvidence
from dcd.robust import RobustDCD
from dcd.selection import MarkovBoundary
from dcd.validation import InputError

__all__ = [
    "CPDAG",
    "DCD",
    "ColliderEvidence",
    "ConvexWeights",
    "GrowShrink",
    "IndependenceTest",
    "InputError",
    "MarkovBoundary",
    "PartialAssociation",
    "RobustDCD",
    "SearchCutWarning",
    "SmallSampleWarning",
    "WeightedAssociation",
    "baselines",
    "ci_test",
    "construct_cpdag",
    "convex_weights",
    "dag_to_cpdag",
    "datasets",
    "decoupling_weights",
    "graph",
    "metrics",
    "plot",
    "simulate",
]
