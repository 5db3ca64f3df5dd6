"""Every public callable with hostile values for each of its parameters, found by introspection.

A new function, class or method is covered as soon as it is public: a parameter whose name is not in
`valid_values` is tried with hostile values alone.
"""

import datetime
import decimal
import fractions
import inspect
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl

import dcd

N = 60
_RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(_RNG.standard_normal((N, 3)), columns=["a", "b", "c"])
TABLE["b"] += TABLE["a"]
GRAPH = dcd.CPDAG.from_dag(["a", "b", "c"], [[0, 1, 0], [0, 0, 0], [0, 1, 0]])
DAG = GRAPH.to_dag().adjacency.to_numpy()

# Types returned to users: nobody creates these by hand, but their methods are called.
RETURNED = {"Audit", "Effect", "Result", "Stability"}
# The same, without methods that take arguments, and the objects that an estimator passes to strategies.
NOT_CALLED = {
    *("AdjustmentDistances", "Comparison", "ExampleData", "Outcome", "SampleWeights", "TableSummary"),
    "ChosenDAG",
    *("Method", "Worker", "Weighting", "measured"),
    *("ConvexWeights.learn", "GrowShrink.boundary", "WholeGraph.find", "HSICDescent.learn"),
    *("HSICDescent.learn_apart", "PartialAssociation.bind", "WeightedAssociation.bind"),
}
# All parameters of an effect are read before its estimator sees any of them.
CHEAP = {"n_resamples": 2, "n_permutations": 2, "progress": False, "time_limit": 10.0, "estimator": "linear"}
FUNCTIONS = {"markov_boundary", "pvalue", "worded"}
NOT_WALKED = {"errors"}  # the exceptions, and the checks themselves


class Odd:
    """A plain object, which is not a valid value of any parameter."""


def hostile_values():
    """New ones at each call: some can be read only once.

    Small whole numbers are 2: as `n_jobs`, existing processes serve the next call too.
    """
    nested = []
    for _ in range(50):
        nested = [nested]
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    return [
        *(None, True, False, 0, -1, 2, 10**30, -(10**30), 0.5, 1.5, -0.5, 1e308, np.nan, np.inf, -np.inf, 1j),
        *(pd.NA, pd.NaT, np.ma.masked, np.int8(2), np.float32(0.5), np.bool_(True), np.complex128(1j)),
        *(np.timedelta64(1, "D"), np.datetime64("2020-01-01"), np.datetime64("NaT"), pd.Timestamp(0)),
        *(decimal.Decimal(1), fractions.Fraction(1, 2), datetime.date(2020, 1, 1), datetime.timedelta(1)),
        *("", "a", "nominal", "nowhere.csv", "\ud800", "a\0b", "x" * 5000, "é\u202e", b"a", bytearray(b"a")),
        *(
            [],
            [1],
            ["a"],
            ["a", "b", "c"],
            ["a", "a"],
            [["a", "b"]],
            [None],
            [[1, 2], [3]],
            nested,
            (),
            ("a", 1),
        ),
        *({}, {"a": 1}, {"a": "nominal"}, {1: pd.NA}, set(), {"a"}, range(3), iter([1, 2]), Odd(), Odd, int),
        *(len, Ellipsis, NotImplemented, np.array(3), np.array("a"), np.array([]), np.array([1, 2])),
        *(np.zeros((2, 2)), np.zeros((3, 3)), np.eye(3), np.full((3, 3), np.nan), np.full((3, 3), "a")),
        *(
            np.zeros((2, 2, 2)),
            np.zeros(N),
            np.ones(N),
            np.array([None] * N),
            np.ma.array([1, 2], mask=[0, 1]),
        ),
        *(
            frame,
            frame["a"],
            frame["b"],
            pl.DataFrame({"a": [1, 2]}),
            pl.Series([1, 2]),
            pd.Index(["a", "b"]),
        ),
        *(TABLE, TABLE.to_numpy(), GRAPH, DAG, dcd.Knowledge(), dcd.RobustDCD(), dcd.GrowShrink()),
    ]


def valid_values(fitted, folder):
    """A value for each parameter that has no default, by its name, or by its function and its name."""
    graphs = ["graph", "cpdag", "true_cpdag", "estimated_cpdag", "true_graph", "estimated_graph"]
    return {
        **dict.fromkeys(["X", "table", "data", "values"], TABLE),
        **dict.fromkeys(graphs, GRAPH),
        **dict.fromkeys(["dag", "adjacency", "directed", "partial", "matrix"], DAG),
        **dict.fromkeys(["member", "name", "treatment", "x_name", "target_name"], "a"),
        **dict.fromkeys(["outcome"], "b"),
        "names": ["a", "b", "c"],
        "target": "a",
        "a": "a",
        "b": "b",
        "saved": {},
        "document": {},
        "n_variables": 4,
        "n_samples": 20,
        "x": 0,
        "y": 1,
        "model": fitted,
        "method": "ges",
        "markov_boundary": lambda target, names: [],
        "weights": np.eye(3),
        "statements": {"roots": ["a"]},
        "result": dcd.summarise(fitted),
        "text": dcd.interop.to_graphml(GRAPH),
        "path": str(folder / "file.txt"),
        "from_dot.text": dcd.interop.to_dot(GRAPH),
        "from_networkx.graph": dcd.interop.to_networkx(GRAPH),
        "plot_boundary.model": dcd.MarkovBoundary(target="a").fit(TABLE),
        "plot_weights.weights": dcd.weights.convex_weights(TABLE),
    }


def public_callables():
    """(path, callable, class or None): functions, constructors and methods, as users can reach them."""
    spaces = {"dcd": dcd} | {f"dcd.{name}": getattr(dcd, name) for name in dir(dcd) if name not in NOT_WALKED}
    seen = set()
    for path, space in spaces.items():
        if not inspect.ismodule(space):
            continue
        for name in getattr(space, "__all__", dir(space)):
            found = getattr(space, name, None)
            # Names that a namespace lists are public, wherever they are defined; other imports are not.
            home = "dcd." if hasattr(space, "__all__") else space.__name__
            ours = getattr(found, "__module__", "").startswith(home)
            error = isinstance(found, type) and issubclass(found, BaseException)
            if not ours or not callable(found) or id(found) in seen or error:
                continue
            if name.startswith("_") or name in NOT_CALLED:
                continue
            seen.add(id(found))
            if name not in RETURNED:
                yield f"{path}.{name}", found, None
            if isinstance(found, type):
                for method, function in inspect.getmembers(found, callable):
                    known = f"{name}.{method}" in NOT_CALLED or method.startswith("_")
                    if not known and getattr(function, "__module__", "").startswith("dcd."):
                        yield f"{path}.{name}.{method}", function, found


def calls(valid, values=hostile_values, *, used=False):
    """(path, parameter, value to show, thunk): every parameter of every public callable with each value.

    Strategies are only checked, unless they are to be `used` in a fit.
    """
    for path, function, owner in public_callables():
        known = {name.removeprefix(f"{function.__name__}."): value for name, value in valid.items()}
        parameters = list(inspect.signature(function).parameters.values())
        for parameter in parameters:
            if parameter.name == "self":
                continue
            kinds = (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            name = "any_option" if parameter.kind in kinds else parameter.name
            for number, value in enumerate(values()):
                if callable(value) and parameter.name in FUNCTIONS:
                    continue  # its exceptions are its own
                others = {
                    other.name: known.get(other.name, value)
                    for other in parameters
                    if other.default is other.empty and other.kind not in kinds and other.name != "self"
                }
                cheap = {
                    other.name: CHEAP[other.name]
                    for other in parameters
                    if other.name in CHEAP and other.default is not other.empty
                }
                arguments = cheap | others | {name: value}
                yield path, name, Shown(number, value), _call(function, owner, arguments, used)


class Shown:
    """A value as text for a message, made only when needed."""

    def __init__(self, number, value):
        self.number, self.value = number, value

    def __str__(self):
        try:
            return f"#{self.number} {repr(self.value)[:60]}".replace("\n", " ")
        except Exception:
            return f"#{self.number} ?"


def _call(function, owner, arguments, used):
    def call():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if owner is not None and "self" in inspect.signature(function).parameters:
                instance = _instance(owner, fitted=function.__name__ != "fit")
                if owner is dcd.MarkovBoundary and "y" in arguments:
                    instance = dcd.MarkovBoundary()  # which reads it, as no column is named
                function(instance, **arguments)
                return
            if function is dcd.RobustDCD:
                arguments.setdefault("search", dcd.WholeGraph(chains=1))
            made = function(**arguments)
            if hasattr(made, "fit"):
                made.fit(
                    TABLE,
                    **({} if not hasattr(made, "target") or made.target is not None else {"y": TABLE["a"]}),
                )
            elif callable(getattr(made, "check", None)):
                made.check()
                if used:
                    _fit_with(made)
            elif inspect.isgenerator(made):
                list(made)

    return call


def _fit_with(strategy):
    """A fit by each estimator that takes such a strategy."""
    quick = {"progress": False}
    if hasattr(strategy, "find"):
        dcd.RobustDCD(search=strategy, **quick).fit(TABLE)
    if hasattr(strategy, "boundary"):
        dcd.MarkovBoundary(target="a", search=strategy).fit(TABLE)
    if hasattr(strategy, "learn"):
        dcd.MarkovBoundary(target="a", method="published", weights=strategy).fit(TABLE)
    if hasattr(strategy, "bind"):
        dcd.RobustDCD(test=strategy, search=dcd.WholeGraph(chains=1), **quick).fit(TABLE)
        dcd.MarkovBoundary(target="a", test=strategy).fit(TABLE)


@cache
def _instance(owner, *, fitted):
    if owner is dcd.CPDAG:
        return GRAPH
    if owner.__name__ in RETURNED:
        return _returned(owner.__name__)
    if owner is dcd.RobustDCD:
        made = quick_robust()
    else:
        made = owner(**({"target": "a"} if "target" in inspect.signature(owner).parameters else {}))
    return made.fit(TABLE) if fitted and hasattr(made, "fit") else made


def quick_robust():
    """The estimator with one chain: its parameters are tested, not its graph."""
    return dcd.RobustDCD(progress=False, search=dcd.WholeGraph(chains=1))


def _returned(name):
    if name == "Audit":
        return dcd.audit(TABLE)
    if name == "Effect":
        return dcd.effect(GRAPH, pd.concat([TABLE, -TABLE]), "a", "b", estimator="linear")
    if name == "Stability":
        return dcd.stability(quick_robust(), TABLE, n_resamples=2, progress=False)
    return dcd.summarise(quick_robust().fit(TABLE))
