"""Results made by hand, without a fit: any graph, any names, any size."""

import copy
from itertools import combinations

import numpy as np
import pytest

from dcd import CPDAG, InputError
from dcd.graph.adjacency import unshielded_colliders
from dcd.graph.probabilities import drawn_edges
from dcd.results import Result

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"quotes\" & 'more' `ticks`",
    "n" * 200,
    "مرحبا بالعالم",
    "👩‍👩‍👧 emoji 🧬",
    "a\u202eb\u0000c",
    " ",
    "javascript:alert(3)",
    "--><!--",
    "]]>",
    "{{7*7}}",
)


def random_cpdag(names, n_edges, seed=0):
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(np.triu(np.ones((len(names), len(names))), 1))
    dag = np.zeros((len(names), len(names)), dtype=int)
    for i, j in pairs[rng.permutation(len(pairs))[:n_edges]]:
        dag[i, j] = 1
    return CPDAG.from_dag(names, dag)


def boundary_of(cpdag, target, rng, n_bins=4):
    index = cpdag.names.index(target)
    roles = {name: cpdag.role(name, target) for name in cpdag.names if name != target}
    members = {name: role for name, role in roles.items() if role is not None}
    for x, _, y in unshielded_colliders(cpdag.adjacency):
        if index in (x, y):
            members.setdefault(cpdag.names[y if index == x else x], "spouse")
    view = {
        "decoupled": list(members),
        "n_rows": 400,
        "ess": 260.5,
        "status": "balanced",
        "dependence_before": 7.5,
        "dependence": 0.9,
        "bins": [0.5 * step for step in range(n_bins + 1)],
        "counts": [int(count) for count in rng.integers(0, 200, n_bins)],
    }
    described = [
        {
            "name": name,
            "role": role,
            "pvalue": float(10.0 ** -rng.uniform(2, 30)),
            "measure": "rank correlation",
            "before": float(np.round(rng.uniform(-1, 1), 3)),
            "after": float(np.round(rng.uniform(-1, 1), 3)),
        }
        for name, role in members.items()
    ]
    return {"target": target, "members": described, "view": view if members else None}


def edges_of(cpdag, rng, resampled):
    frequencies = {"forward": 0.5, "backward": 0.125, "undirected": 0.25}
    return [
        {
            "first": first,
            "second": second,
            "type": kind,
            "uncertain": uncertain,
            "pvalue": float(10.0 ** -rng.uniform(2, 30)),
            "background": False,
            "probabilities": None,
            "frequencies": frequencies if resampled else None,
            "confirmed": None,
        }
        for kind, first, second, uncertain in drawn_edges(cpdag)
    ]


def shares(rng, edge):
    """Probabilities that agree with an edge as drawn, to three digits."""
    absent = round(float(rng.uniform(0, 0.4)), 3)
    low, high = {True: (0.3, 0.65), False: (0.71, 0.99)}[edge["uncertain"]]
    main = round((1 - absent) * float(rng.uniform(low, high)), 3)
    rest = round(1 - absent - main, 6)
    if edge["type"] == "->" or edge["uncertain"]:
        return {"forward": main, "backward": 0.0, "undirected": rest, "absent": absent}
    return {"forward": rest, "backward": 0.0, "undirected": main, "absent": absent}


def add_posterior(document, seed=0):
    """The document with probabilities of its edges and, if there is one, of a pair without an edge."""
    rng = np.random.default_rng(seed)
    for index, edge in enumerate(document["edges"]):
        edge["probabilities"] = shares(rng, edge)
        if edge["type"] == "->" or edge["uncertain"]:
            edge["confirmed"] = index % 2 == 0
    keys = ("first", "second", "probabilities")
    pairs = [{key: edge[key] for key in keys} for edge in document["edges"]]
    joined = [{edge["first"], edge["second"]} for edge in document["edges"]]
    apart = [pair for pair in combinations(document["names"], 2) if set(pair) not in joined]
    near_miss = {"forward": 0.1, "backward": 0.2, "undirected": 0.125, "absent": 0.575}
    pairs += [{"first": a, "second": b, "probabilities": near_miss} for a, b in apart[:1]]
    document["posterior"] = {
        "arrow_probability": 0.75,
        "n_chains": 16,
        "drift": 0.05,
        "subsampled": True,
        "pairs": pairs,
        "graphs": graphs_of(document["edges"]),
    }
    return document


def graphs_of(edges):
    """Two sampled graphs: all edges as arrows, and all but the first."""
    whole = 2 ** len(edges) - 1
    n_digits = max(1, -(-len(edges) // 4))
    arrows = [[edge["first"], edge["second"]] for edge in edges]
    return {"arrows": arrows, "graphs": [f"{n:0{n_digits}x}" for n in (whole, whole - 1)], "counts": [15, 5]}


def with_uncertain(cpdag, n_uncertain=1):
    """The graph with its first arrows too uncertain to be drawn."""
    return CPDAG(cpdag.names, cpdag.adjacency, uncertain=cpdag.directed_edges[:n_uncertain])


def data_of(names, levels):
    """The table of a result."""
    return {
        "n_rows": 400,
        "n_rows_used": 400,
        "columns": [
            {
                "name": name,
                "kind": "nominal" if name in levels else "continuous",
                "why": "",
                "n_missing": 0,
                "levels": list(levels[name]) if name in levels else None,
            }
            for name in names
        ],
        "dropped": {},
        "weighted": False,
        "n_groups": None,
        "fingerprint": "ab" * 32,
    }


def sample_of(names, levels, rng, n_sample):
    """Some rows of the table."""
    return {
        "rows": sorted(int(row) for row in rng.permutation(400)[:n_sample]),
        "values": {
            name: rng.integers(0, len(levels[name]), n_sample).astype(float).tolist()
            if name in levels
            else rng.standard_normal(n_sample).round(4).tolist()
            for name in names
        },
        "weights": {name: rng.exponential(size=n_sample).round(4).tolist() for name in names},
    }


def make_document(cpdag, seed=0, n_sample=300, *, resampled=False, levels=None):
    """The plain form of a result; `levels` maps some names to the labels of their levels."""
    rng = np.random.default_rng(seed)
    levels = levels or {}
    names = list(cpdag.names)
    edges = edges_of(cpdag, rng, resampled)
    pairs = [{"first": e["first"], "second": e["second"], "frequencies": e["frequencies"]} for e in edges]
    return {
        "schema": 3,
        "title": "A made result",
        "names": names,
        "level": 0.01,
        "data": data_of(names, levels),
        "edges": edges,
        "posterior": None,
        "colliders": [
            {"first": names[x], "middle": names[z], "second": names[y]}
            for x, z, y in unshielded_colliders(cpdag.drawn)
        ],
        "boundaries": [boundary_of(cpdag, name, rng) for name in names],
        "separated": [],
        "conflicts": [
            {
                "kind": "asymmetric_boundary",
                "variables": [edges[0]["first"], edges[0]["second"]],
                "problem": f"{edges[0]['first']} and {edges[0]['second']} contradict each other.",
                "action": "One side is enough for an edge.",
            }
        ],
        "cautions": [{"kind": "few-rows", "variables": [names[0]], "text": f"Be careful with {names[0]}."}],
        "resampling": {
            "n_resamples": 8,
            "n_failed": 0,
            "scheme": "bootstrap",
            "fraction": None,
            "seed": 0,
            "pairs": pairs,
        }
        if resampled
        else None,
        "knowledge": [],
        "sample": sample_of(names, levels, rng, n_sample),
        "reproduction": {
            "versions": {"dcd": "0.1.0"},
            "estimator": "RobustDCD",
            "parameters": {"alpha": 0.05, "test": {"class": "PartialAssociation"}},
            "seed": 0,
            "code": 'import dcd\nmodel = dcd.RobustDCD().fit(table)  # "quoted" </code>',
        },
        "questions": [],
    }


def make_result(*args, **options):
    return Result.from_dict(make_document(*args, **options))


def assert_refused(document, tamper, message):
    """The document is a valid result, and is refused once tampered with."""
    damaged = copy.deepcopy(document)
    assert Result.from_dict(damaged).to_dict() == document
    tamper(damaged)
    with pytest.raises(InputError) as caught:
        Result.from_dict(damaged)
    assert message in str(caught.value)
