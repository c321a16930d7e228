"""The trees that a network of n nodes can have, as parents: node k has parent `parents[k]`, the root itself.

Seed 000 leaves open how a tree is built. A topology is a word: `binary` (complete, root 0), `star` (all
others are children of 0), `path` (each node's parent is the one before it), `K-ary` (complete, K children
each) or the parents of all nodes in their order, as in `p2,p3,p3,p3`, where the root names itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from microcosm.errors import ProtocolError

TOPOLOGIES = "binary, star, path, K-ary (3-ary), or the parents of all nodes (p2,p3,p3,p3)"

Parents = dict[int, int]


def complete_tree(size: int, arity: int) -> Parents:
    """A complete tree of nodes 0 to size - 1, root 0, in which nodes have up to `arity` children.

    Cost: linear.

    >>> complete_tree(6, 2)
    {0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2}
    """
    return {node: (node - 1) // arity if node else 0 for node in range(size)}


def binary_tree(size: int) -> Parents:
    """The parents in a complete binary tree of nodes 0 to size - 1, root 0. Cost: linear."""
    return complete_tree(size, 2)


def tree_of(topology: str, size: int) -> Parents:
    """The parents that a word stands for. Raises `ProtocolError` for what is no tree of so many nodes.

    Cost: linear.

    >>> tree_of("path", 3), tree_of("p2,p2,p2", 3)
    ({0: 0, 1: 0, 2: 1}, {0: 1, 1: 1, 2: 1})
    """
    if topology == "binary":
        return binary_tree(size)
    if topology == "star":
        return complete_tree(size, max(1, size))
    if topology == "path":
        return complete_tree(size, 1)
    if found := re.fullmatch(r"([1-9]\d{0,8})-ary", topology):
        return complete_tree(size, int(found[1]))
    listed = [re.fullmatch(r"p([1-9]\d{0,8})", part.strip()) for part in topology.split(",")]
    parents = {node: int(part[1]) - 1 for node, part in enumerate(listed) if part}
    if len(parents) != len(listed):
        raise ProtocolError(f"no topology {topology!r}; there are {TOPOLOGIES}")
    if len(parents) != size:
        raise ProtocolError(f"{len(parents)} parents for {size} nodes")
    check_tree(parents)
    return parents


def check_tree(parents: Mapping[int, int]) -> None:
    """Seed 000, Definition 3.2: every parent is a node, there is one root, and no circle. Cost: linear.

    Raises `ProtocolError` where it is no tree.
    """
    roots = [node for node, parent in parents.items() if node == parent]
    for node, parent in parents.items():
        if parent not in parents:
            raise ProtocolError(f"the parent of {node} is no node: {parent}")
    if len(roots) != 1:
        raise ProtocolError(f"a tree has one root, not {len(roots)}")
    near: dict[int, list[int]] = {}
    for node, parent in parents.items():
        if node != parent:
            near.setdefault(parent, []).append(node)
    reached, stack = 0, roots[:]
    while stack:
        reached += 1
        stack += near.get(stack.pop(), [])
    if reached != len(parents):
        raise ProtocolError("a tree has no circle")
