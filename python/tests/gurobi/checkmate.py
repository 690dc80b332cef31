"""Checkmate's published program (Jain et al., MLSys 2020, section 4), written for gurobipy."""

from __future__ import annotations

from typing import Any


def published(gp: Any, nodes: list[dict[str, Any]], budget: float) -> tuple[Any, Any, int]:
    """The program of a training graph.

    Args:
        gp: The module: ``gurobipy``, or what stands for it.
        nodes: Nodes in execution order: ``cost``, ``output_bytes`` and ``needs`` (positions).
        budget: Memory in bytes, the graph's own resident memory left out.

    Returns:
        The model, its variables ``R[stage, node]``, and its number of rows.
    """
    grb, sum_ = gp.GRB, gp.quicksum
    n = len(nodes)
    edges = [(u, v) for v, node in enumerate(nodes) for u in sorted(node["needs"])]
    readers: list[list[int]] = [[] for _ in range(n)]
    for u, v in edges:
        readers[u].append(v)
    into: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for k, (u, v) in enumerate(edges):
        into[v].append((k, u))
    # Memory is counted in units of the budget: numbers stay near one.
    size = [node["output_bytes"] / budget for node in nodes]
    model = gp.Model("checkmate")
    model.Params.OutputFlag = 0
    r = model.addVars(n, n, vtype=grb.BINARY, name="R")
    s = model.addVars(n, n, vtype=grb.BINARY, name="S")
    u_ = model.addVars(n, n, lb=0.0, ub=1.0, name="U")
    f = model.addVars(n, len(edges), vtype=grb.BINARY, name="FREE_E")
    model.setObjective(
        sum_(r[t, i] * nodes[i]["cost"] for t in range(n) for i in range(n)), grb.MINIMIZE
    )
    above = [(t, i) for t in range(n) for i in range(t + 1, n)]
    model.addLConstr(sum_(r[t, i] for t, i in above), grb.EQUAL, 0)
    model.addLConstr(sum_(s[t, i] for t in range(n) for i in range(t, n)), grb.EQUAL, 0)
    model.addLConstr(sum_(r[t, t] for t in range(n)), grb.EQUAL, n)
    for t in range(n - 1):
        for i in range(n):
            model.addLConstr(s[t + 1, i], grb.LESS_EQUAL, s[t, i] + r[t, i])
    for u, v in edges:
        for t in range(n):
            model.addLConstr(r[t, v], grb.LESS_EQUAL, r[t, u] + s[t, u])
    for k, (u, v) in enumerate(edges):
        later = [w for w in readers[u] if w > v]
        for t in range(n):
            hazards = [1 - r[t, v]] + [r[t, w] for w in later]
            if t + 1 < n:
                hazards.append(s[t + 1, u])
            model.addLConstr(1 - f[t, k], grb.LESS_EQUAL, sum_(hazards))
            model.addLConstr(len(hazards) * (1 - f[t, k]), grb.GREATER_EQUAL, sum_(hazards))
    for t in range(n):
        kept = sum_(s[t, i] * size[i] for i in range(n))
        model.addLConstr(u_[t, 0], grb.EQUAL, r[t, 0] * size[0] + kept)
    for t in range(n):
        for k in range(n - 1):
            freed = sum_(size[u] * f[t, e] for e, u in into[k])
            model.addLConstr(u_[t, k + 1], grb.EQUAL, u_[t, k] + r[t, k + 1] * size[k + 1] - freed)
    model.update()
    return model, r, model.NumConstrs
