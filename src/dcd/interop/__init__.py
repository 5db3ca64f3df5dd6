"""Conversion to and from graphs of other packages: `to_x(graph)` and `from_x(graph)`.

`to_x` takes a `CPDAG`, or the DAG chosen by `CPDAG.to_dag()`. `from_x` takes a DAG or a partially directed
graph and returns the `CPDAG` of its equivalence class; cycles, bidirected edges and circles of a PAG raise an
`InputError` that names the edge. The other package is imported when used.

The encodings:

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
from dcd.interop.graphml import from_graphml, to_graphml
from dcd.interop.matrices import from_gcastle, from_lingam, to_gcastle, to_lingam
from dcd.interop.networkx import (
    from_networkx,
    from_pgmpy,
    from_pywhy,
    to_dowhy,
    to_networkx,
    to_pgmpy,
    to_pywhy,
)

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
