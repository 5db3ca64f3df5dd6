"""The methods by name. A new one is a function and an entry here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Literal

from dcd.runtime.array_types import IntArray
from dcd.runtime.errors import InputError, MissingLibraryError, check_choice

# From checked values (n, d) and a seed to an adjacency matrix: of a DAG, a CPDAG or another partial graph.
Adapter = Callable[..., IntArray]
Cost = Literal["low", "kernel", "network"]

# extra of this package -> the packages it installs -> their modules
_EXTRAS = {
    "causal-learn": {"causal-learn": "causallearn"},
    "dagma": {"dagma": "dagma"},
    "flop": {"flopsearch": "flopsearch"},
    "gcastle": {"gcastle": "castle", "torch": "torch"},
    "pgmpy": {"pgmpy": "pgmpy"},
    "rcd": {"rcd": "rcd"},
}


@dataclass(frozen=True)
class Method:
    """A method of causal discovery, as an entry of `METHODS`.

    Attributes
    ----------
    label : name in tables and figures.
    module, function : of the adapter.
    extra : the extra of this package that installs its dependencies, if any.
    cost : "low" for seconds per fit, "kernel" for kernel matrices, "network" for a neural network.
    discrete : made for categorical data.
    combinations : accepts columns that are linear combinations of others.
    takes_kinds : uses the kinds of the columns.
    takes_knowledge : uses required and forbidden arrows, as `knowledge` with lists of pairs of positions.
    """

    label: str
    module: str
    function: str
    extra: str | None = None
    cost: Cost = "low"
    discrete: bool = False
    combinations: bool = False
    takes_kinds: bool = False
    takes_knowledge: bool = False

    @property
    def packages(self) -> dict[str, str]:
        """The packages that it needs, with their modules."""
        return _EXTRAS[self.extra] if self.extra else {}

    def load(self) -> Adapter:
        """The adapter function; imports the outside library."""
        adapter: Adapter = getattr(importlib.import_module(self.module), self.function)
        return adapter


def _causal_learn(label: str, function: str, cost: Cost = "low", discrete: bool = False) -> Method:
    combinations = discrete or cost == "kernel"  # the others invert covariances
    module = "dcd.evaluation.baselines.causal_learn_methods"
    return Method(label, module, function, "causal-learn", cost, discrete, combinations)


def _pc(label: str, function: str, cost: Cost = "low", discrete: bool = False) -> Method:
    return replace(_causal_learn(label, function, cost, discrete), takes_knowledge=True)


def _gcastle(label: str, function: str, cost: Cost = "low", combinations: bool = False) -> Method:
    module = "dcd.evaluation.baselines.gcastle_methods"
    return Method(label, module, function, "gcastle", cost, combinations=combinations)


def _own(label: str, function: str) -> Method:
    module = "dcd.evaluation.baselines.own"
    return Method(label, module, function, takes_kinds=True, takes_knowledge=True)


def _control(label: str, function: str, takes_kinds: bool = False) -> Method:
    return Method(label, "dcd.evaluation.baselines.controls", function, takes_kinds=takes_kinds)


METHODS: dict[str, Method] = {
    "dcd": _own("DCD", "dcd"),
    "pc-fisherz": _pc("PC (FisherZ)", "pc_fisherz"),
    "pc-e-fisherz": _pc("PC (E-FisherZ)", "pc_ensemble_fisherz"),
    "pc-kcit": _pc("PC (KCIT)", "pc_kcit", cost="kernel"),
    "pc-e-kcit": _pc("PC (E-KCIT)", "pc_ensemble_kcit", cost="kernel"),
    "ges": _causal_learn("GES", "ges"),
    "icalingam": _gcastle("ICALiNGAM", "icalingam"),
    "directlingam": _gcastle("DirectLiNGAM", "directlingam"),
    "notears": _gcastle("Notears", "notears", combinations=True),
    "grandag": _gcastle("GraNDAG", "grandag", cost="network", combinations=True),
    "golem": _gcastle("GOLEM", "golem", cost="network", combinations=True),
    "robust-dcd": _own("Robust DCD", "robust"),
    "robust-dcd-equal": _own("Robust DCD, equal weights", "robust_equal_weights"),
    "robust-dcd-always": _own("Robust DCD, always weights", "robust_always_weights"),
    "robust-dcd-unadjusted": _own("Robust DCD, weights alone", "robust_weights_only"),
    "pc-dcd": _pc("PC (decoupling test)", "pc_dcd"),
    "rsl-dcd": Method("RSL (decoupling)", "dcd.evaluation.baselines.removable", "rsl", "rcd"),
    "marvel-dcd": Method("MARVEL (decoupling)", "dcd.evaluation.baselines.removable", "marvel", "rcd"),
    "pc-gsq": _pc("PC (G²)", "pc_gsq", discrete=True),
    "ges-bdeu": _causal_learn("GES (BDeu)", "ges_bdeu", discrete=True),
    "ges-general": _causal_learn("GES (generalised score)", "ges_general", cost="kernel"),
    "ges-cg": Method(
        "GES (conditional Gaussian)",
        "dcd.evaluation.baselines.pgmpy_methods",
        "ges_cg",
        "pgmpy",
        combinations=True,
        takes_kinds=True,
    ),
    "boss": _causal_learn("BOSS", "boss"),
    "grasp": _causal_learn("GRaSP", "grasp"),
    "flop": Method("FLOP", "dcd.evaluation.baselines.flop", "flop", "flop"),
    "dagma": Method("DAGMA", "dcd.evaluation.baselines.dagma_methods", "dagma", "dagma", combinations=True),
    "empty": _control("No edges", "empty", takes_kinds=True),
    "spanning-tree": _control("Spanning tree", "spanning_tree", takes_kinds=True),
    "sort-variance": _control("Sorted by variance", "sort_variance"),
    "sort-r2": _control("Sorted by R²", "sort_r2"),
    "sort-falling-r2": _control("Sorted by falling R²", "sort_falling_r2"),
}


def find_method(name: str) -> Method:
    """The entry of a name; raises `InputError` if there is none, `MissingLibraryError` if it cannot run."""
    same_start = [known for known in METHODS if known.startswith(str(name).casefold())]
    if isinstance(name, str) and name not in METHODS and same_start:
        raise InputError(
            "parameter 'method'",
            f"must be a known method, got {name!r}",
            f"Choose {' or '.join(same_start)}.",
        )
    check_choice("method", name, tuple(METHODS))
    if not installed(name):
        extra = METHODS[name].extra
        remedy = f"pip install 'causal-dcd[{extra}]'"
        raise MissingLibraryError(f"method {name!r}", f"needs the extra {extra!r}", remedy)
    return METHODS[name]


def installed(name: str) -> bool:
    """Whether the libraries of a method are installed; does not import them."""
    check_choice("name", name, tuple(METHODS))
    return all(find_spec(module) is not None for module in METHODS[name].packages.values())
