"""Instances from and to ``networkx.DiGraph``.

A graph with the attribute ``schema="remat-instance/1"``, such as one that :func:`graph` made, has
the fields of the native format. The attributes of a node are the fields of its entry, and edges are
needs. Any other graph is read as NetworkX node-link data, with a cost and a size at each node
(``docs/reference/formats.md``).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import InvalidInstance, RematError

SCHEMA = "remat-instance/1"
# Fields that hold references to nodes.
_SINGLE = ("parent", "forward")
_LISTS = ("needs", "passing")


def document(graph: Any) -> dict[str, Any]:
    """The document of a graph: native if its attributes say so, else node-link.

    Raises:
        InvalidInstance: for an undirected graph or one with parallel edges, and for edges that
            contradict the needs of a node's implementations.
    """
    if not graph.is_directed() or graph.is_multigraph():
        kind = "has parallel edges" if graph.is_directed() else "is not directed"
        remedy = "give a networkx.DiGraph with edges from each tensor to its readers"
        raise InvalidInstance(
            f"instance: the graph {kind}; {remedy}", place="instance", remedy=remedy
        )
    if graph.graph.get("schema") == SCHEMA:
        return _native(graph)
    return {
        "directed": True,
        "graph": {key: value for key, value in graph.graph.items() if isinstance(value, str)},
        "nodes": [{**attributes, "id": _key(node)} for node, attributes in graph.nodes(data=True)],
        "links": [{"source": _key(a), "target": _key(b)} for a, b in graph.edges()],
    }


def graph(document: dict[str, Any]) -> Any:
    """The ``networkx.DiGraph`` of a native document: nodes by name, in the order of the document.

    Raises:
        RematError: NetworkX is not installed.
    """
    try:
        networkx = import_module("networkx")
    except ImportError as error:
        remedy = "pip install networkx"
        raise RematError("to_networkx: NetworkX is not installed", remedy=remedy) from error
    nodes = document["nodes"]
    names = [node["name"] for node in nodes]

    def named(fields: dict[str, Any]) -> dict[str, Any]:
        """The fields with names instead of positions."""
        out = dict(fields)
        for field in _SINGLE:
            if field in out:
                out[field] = names[out[field]]
        for field in _LISTS:
            if field in out:
                out[field] = [names[k] for k in out[field]]
        if "in_place" in out:
            out["in_place"] = {**out["in_place"], "on": names[out["in_place"]["on"]]}
        if "implementations" in out:
            out["implementations"] = [named(way) for way in out["implementations"]]
        return out

    head = {key: value for key, value in document.items() if key not in ("nodes", "fixed_bytes")}
    made = networkx.DiGraph(**head)
    for node in nodes:
        fields = named(node)
        fields.setdefault("fixed_bytes", document.get("fixed_bytes", 0))
        made.add_node(fields.pop("name"), **{k: v for k, v in fields.items() if k != "needs"})
    for name, node in zip(names, nodes):
        for need in sorted(_needs(node)):
            made.add_edge(names[need], name)
    return made


def _needs(fields: dict[str, Any]) -> set[Any]:
    """Nodes that a node reads, by any of its implementations."""
    own = set(fields.get("needs", ()))
    if "parent" in fields:
        own.add(fields["parent"])
    for way in fields.get("implementations", ()):
        own.update(way.get("needs", ()))
    return own


def _native(graph: Any) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = []
    for name, attributes in graph.nodes(data=True):
        fields = {**attributes, "name": name if isinstance(name, str) else str(name)}
        before = [n if isinstance(n, str) else str(n) for n in graph.predecessors(name)]
        stated = _needs(fields)
        if "implementations" in fields and stated != set(before):
            remedy = "change the edges and the needs of the implementations together"
            problem = f"the edges into {name!r} are not what its implementations need"
            place = f"nodes[{len(nodes)}]"
            found = f"found edges from {sorted(before)}, needs {sorted(stated)}"
            raise InvalidInstance(
                f"{place}: {problem}, {found}; {remedy}", place=place, remedy=remedy
            )
        if "implementations" not in fields and before:
            fields["needs"] = before
        nodes.append(fields)
    return {**graph.graph, "nodes": nodes}


def _key(node: Any) -> Any:
    """The id of a node in node-link data: text or an integer."""
    if isinstance(node, str) or (isinstance(node, int) and not isinstance(node, bool)):
        return node
    return str(node)
