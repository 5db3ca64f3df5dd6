"""Small tables and what both estimators make of them, as plain values, for the regression net."""

import hashlib
import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd

import dcd


def curved(seed, n=250):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    c = np.sin(1.5 * a) + b**2 / 2 + 0.5 * rng.normal(size=n)
    e = np.tanh(2 * c) + 0.4 * rng.normal(size=n)
    f = np.abs(b) + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "e": e, "f": f})


def linear(seed, n=300):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    for child, parents in ((2, (0, 1)), (3, (2,)), (4, (1, 3)), (5, (0,))):
        x[:, child] += 0.9 * x[:, list(parents)].sum(axis=1)
    return pd.DataFrame(x, columns=list("uvwxyz"))


def wide(seed, n=420):
    """Linear with 22 variables: the search over orders."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 22))
    for child in range(2, 22):
        x[:, child] += 0.8 * x[:, child // 2] - 0.7 * x[:, child - 2]
    return pd.DataFrame(x, columns=[f"v{i}" for i in range(22)])


def products(seed, n=300):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    return pd.DataFrame(
        {
            "a": a,
            "b": b,
            "p": a * b + 0.5 * rng.normal(size=n),
            "q": a * b + a + 0.5 * rng.normal(size=n),
        }
    )


def mixed(seed, n=300):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    age = rng.normal(50, 10, n)
    score = age / 10 + np.array([0.0, 2.0, -1.0])[group] + rng.normal(size=n)
    ill = rng.random(n) < 1 / (1 + np.exp(4.5 - score))
    return pd.DataFrame(
        {
            "group": np.array(["red", "green", "blue"])[group],
            "age": age,
            "score": score,
            "ill": ill,
            "stage": rng.integers(0, 4, n),
        }
    )


def with_missing(frame, seed):
    rng = np.random.default_rng(seed)
    return frame.mask(pd.DataFrame(rng.random(frame.shape) < 0.04, columns=frame.columns))


def survey_weights(n, seed):
    return np.random.default_rng(seed).uniform(0.5, 3.0, n)


KNOWLEDGE = dcd.Knowledge(forbidden=[("c", "a")], required=[("a", "c")])
QUIET = {"progress": False}

FITS = {
    "curved, robust": lambda: (dcd.RobustDCD(**QUIET), curved(1), {}),
    "curved, published": lambda: (dcd.DCD(**QUIET), curved(1), {}),
    "curved, pruned": lambda: (dcd.DCD(subsets="pruned", **QUIET), curved(2), {}),
    "linear, robust": lambda: (dcd.RobustDCD(**QUIET), linear(3), {}),
    "linear, published": lambda: (dcd.DCD(alpha=0.01, **QUIET), linear(3), {}),
    "wide linear, robust": lambda: (dcd.RobustDCD(**QUIET), wide(4), {}),
    "products, robust": lambda: (dcd.RobustDCD(**QUIET), products(5), {}),
    "products, weighted test": lambda: (
        dcd.RobustDCD(test=dcd.WeightedAssociation(), **QUIET),
        products(5),
        {},
    ),
    "mixed, robust": lambda: (dcd.RobustDCD(**QUIET), mixed(6), {}),
    "mixed, published": lambda: (dcd.DCD(**QUIET), mixed(6), {}),
    "missing, robust": lambda: (
        dcd.RobustDCD(missing="testwise", **QUIET),
        with_missing(curved(7), 7),
        {},
    ),
    "missing, published": lambda: (
        dcd.DCD(missing="complete-rows", **QUIET),
        with_missing(curved(7), 7),
        {},
    ),
    "weighted, robust": lambda: (
        dcd.RobustDCD(**QUIET),
        curved(8),
        {"sample_weight": survey_weights(250, 8)},
    ),
    "weighted, published": lambda: (
        dcd.DCD(**QUIET),
        curved(8),
        {"sample_weight": survey_weights(250, 8)},
    ),
    "knowledge, robust": lambda: (dcd.RobustDCD(knowledge=KNOWLEDGE, **QUIET), curved(9), {}),
    "knowledge, published": lambda: (dcd.DCD(knowledge=KNOWLEDGE, **QUIET), curved(9), {}),
}

BOUNDARIES = {
    "boundary, published": lambda: (dcd.MarkovBoundary(target="c", method="published"), curved(1)),
    "boundary, robust": lambda: (dcd.MarkovBoundary(target="c"), curved(1)),
    "boundary, mixed": lambda: (dcd.MarkovBoundary(target="score"), mixed(6)),
}

COMMANDS = {
    "discover": ["discover", "linear.csv"],
    "discover published": ["discover", "linear.csv", "--method", "dcd"],
    "boundary": ["boundary", "curved.csv", "--target", "c"],
    "audit": ["audit", "mixed.csv"],
    "compare": ["compare", "linear.csv", "--methods", "robust-dcd,dcd"],
}


def account_of_fit(name):
    """Graph, p-values and the saved result of one fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, frame, options = FITS[name]()
        model.fit(frame, **options)
        document = dcd.summarise(model, title="net").to_dict()
    document.pop("reproduction")
    searches = model.diagnostics_.searches
    return {
        "graph": [sorted(model.cpdag_.directed_edges), sorted(model.cpdag_.undirected_edges)],
        "boundaries": model.markov_boundaries_,
        "conflicts": [[c.kind, list(c.variables)] for c in model.conflicts_],
        "pvalues": {s.target: dict(sorted(s.neighbours.items())) for s in searches},
        "result": document,
    }


def account_of_boundary(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, frame = BOUNDARIES[name]()
        model.fit(frame)
    return {
        "boundary": list(model.boundary_),
        "pvalues": model.pvalues_.tolist(),
        "weights": model.weights_[:20].tolist(),
        "ess": float(model.effective_sample_size_),
    }


def account_of_command(name, folder):
    for made, frame in (("linear", linear(3)), ("curved", curved(1)), ("mixed", mixed(6))):
        frame.to_csv(folder / f"{made}.csv", index=False)
    arguments = [str(folder / word) if word.endswith(".csv") else word for word in COMMANDS[name]]
    command = [sys.executable, "-m", "dcd", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if name != "compare" or "DCD" not in line]  # times
    return {"exit": done.returncode, "output": lines, "errors": done.stderr.replace(str(folder), "")}


def digest(value):
    """A short digest; numbers count with six digits."""
    return hashlib.sha256(json.dumps(_rounded(value), sort_keys=True).encode()).hexdigest()[:12]


def _rounded(value):
    if isinstance(value, dict):
        return {str(key): _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.5g}") if abs(value) > 1e-12 else 0.0
    return value
