"""Causal discovery by decoupling: from a table of measurements to the causal graph behind it.

`RobustDCD` is the recommended estimator. It returns a `CPDAG`, a graph whose arrows are those that the data
determine; an edge whose direction they leave open is undirected.

>>> import dcd
>>> data = dcd.datasets.load_sachs()
>>> model = dcd.RobustDCD().fit(data.frame)
>>> print(model.cpdag_.role("Raf", "Mek"))
neighbour

`DCD` is the published method; `MarkovBoundary` selects the variables that matter for one target.
`model.effect` and `dcd.effect` estimate how much one variable changes another; `dcd.stability` counts how
often each edge is found in subsamples. `dcd.summarise` and `dcd.report` document a fit, `dcd.audit` checks a
table beforehand, and `dcd.falsify` tests any graph against data.
"""

from typing import TYPE_CHECKING

# NumPy, pandas and scikit-learn take a second or two to import, so each name is imported at its first use:
# `dcd --help` needs none of them.
if TYPE_CHECKING:
    from dcd import graph as graph
    from dcd import interop as interop
    from dcd import results as results
    from dcd import search as search
    from dcd import weights as weights
    from dcd.estimators.dcd import DCD as DCD
    from dcd.estimators.effects import effect as effect
    from dcd.estimators.markov_boundary import MarkovBoundary as MarkovBoundary
    from dcd.estimators.resampling import stability as stability
    from dcd.estimators.robust import RobustDCD as RobustDCD
    from dcd.evaluation import baselines as baselines
    from dcd.evaluation import datasets as datasets
    from dcd.evaluation import metrics as metrics
    from dcd.evaluation import simulate as simulate
    from dcd.evaluation.falsification import falsify as falsify
    from dcd.graph.cpdag import CPDAG as CPDAG
    from dcd.graph.knowledge import Knowledge as Knowledge
    from dcd.independence.association import PartialAssociation as PartialAssociation
    from dcd.independence.association import WeightedAssociation as WeightedAssociation
    from dcd.independence.pvalues import IndependenceTest as IndependenceTest
    from dcd.results import load_result as load_result
    from dcd.results import plot as plot
    from dcd.results import report as report
    from dcd.results import summarise as summarise
    from dcd.runtime import errors as errors
    from dcd.runtime.errors import InputError as InputError
    from dcd.runtime.version import __version__ as __version__
    from dcd.search.grow_shrink import GrowShrink as GrowShrink
    from dcd.search.whole_graph import WholeGraph as WholeGraph
    from dcd.table.audit import audit as audit
    from dcd.weights.convex import ConvexWeights as ConvexWeights
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submodules=["graph", "interop", "results", "search", "weights"],
        submod_attrs={
            "estimators.dcd": ["DCD"],
            "estimators.effects": ["effect"],
            "estimators.markov_boundary": ["MarkovBoundary"],
            "estimators.resampling": ["stability"],
            "estimators.robust": ["RobustDCD"],
            "evaluation": ["baselines", "datasets", "metrics", "simulate"],
            "evaluation.falsification": ["falsify"],
            "graph.cpdag": ["CPDAG"],
            "graph.knowledge": ["Knowledge"],
            "independence.association": ["PartialAssociation", "WeightedAssociation"],
            "independence.pvalues": ["IndependenceTest"],
            "results": ["load_result", "plot", "report", "summarise"],
            "runtime": ["errors"],
            "runtime.errors": ["InputError"],
            "runtime.version": ["__version__"],
            "search.grow_shrink": ["GrowShrink"],
            "search.whole_graph": ["WholeGraph"],
            "table.audit": ["audit"],
            "weights.convex": ["ConvexWeights"],
        },
    )
