"""Hand-over to and from other packages: one pair of functions for each, `to_x(graph)` and `from_x(graph)`.

`to_x` takes a `CPDAG`, or the one DAG that `CPDAG.to_dag()` chose. `from_x` takes a DAG or a partially
directed graph and returns the `CPDAG` of its class. What no CPDAG can say (a cycle, a bidirected edge, the
circles of a PAG) is an `InputError` that names the edge. The outside package is loaded when it is used.

Inside there is one encoding, `adjacency[i, j] = 1, adjacency[j, i] = 0` for `i -> j` and both 1 for `i - j`.
Outside:

| package | `i -> j` | `i - j` |
|---|---|---|
| networkx, GraphML | the edge (i, j) of a `DiGraph` | (i, j) and (j, i) |
| causal-learn | `graph[i, j] = -1, graph[j, i] = 1` | both -1 |
| pgmpy | a directed edge of `DAG` or `PDAG` | an undirected edge of `PDAG` |
| pywhy-graphs | a directed edge of `CPDAG` | an undirected edge |
| gCastle | `matrix[i, j] = 1` | `matrix[i, j] = matrix[j, i] = 1` |
| lingam | `matrix[j, i] = 1` | `matrix[i, j] = matrix[j, i] = 1` |
| DOT | `i -> j` | `i -> j [dir=none]` |
"""

from dcd.interop.causal_learn import from_causal_learn, to_causal_learn
from dcd.interop.dot import from_dot, to_dot
from dcd.interop.dowhy import to_dowhy
from dcd.interop.graphml import from_graphml, to_graphml
from dcd.interop.matrices import from_gcastle, from_lingam, to_gcastle, to_lingam
from dcd.interop.networkx import from_networkx, to_networkx
from dcd.interop.pgmpy import from_pgmpy, to_pgmpy
from dcd.interop.pywhy import from_pywhy, to_pywhy

__all__ = [
    "from_causal_learn",
    "from_dot",
    "from_gcastle",
    "from_graphml",
    "from_lingam",
    "from_networkx",
    "from_pgmpy",
    "from_pywhy",
    "to_causal_learn",
    "to_dot",
    "to_dowhy",
    "to_gcastle",
    "to_graphml",
    "to_lingam",
    "to_networkx",
    "to_pgmpy",
    "to_pywhy",
]
