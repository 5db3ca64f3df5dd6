"""Graphs in one encoding: CPDAG, Meek's rules, d-separation, background knowledge, stability, drawing."""

from dcd.graph.adjacency import (
    check_adjacency,
    directed_part,
    is_acyclic,
    skeleton_of,
    topological_order,
    undirected_part,
    unshielded_colliders,
)
from dcd.graph.cpdag import CPDAG, ChosenDAG
from dcd.graph.equivalence import apply_meek_rules, consistent_extension, dag_to_cpdag, prune_cycles, to_cpdag
from dcd.graph.separation import d_separated, oracle

__all__ = [
    "CPDAG",
    "ChosenDAG",
    "apply_meek_rules",
    "check_adjacency",
    "consistent_extension",
    "d_separated",
    "dag_to_cpdag",
    "directed_part",
    "is_acyclic",
    "oracle",
    "prune_cycles",
    "skeleton_of",
    "to_cpdag",
    "topological_order",
    "undirected_part",
    "unshielded_colliders",
]
