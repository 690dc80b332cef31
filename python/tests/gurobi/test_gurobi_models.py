"""Models as code for gurobipy writes them: columns, rows, attributes, statuses."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy")
gp = pytest.importorskip("remat_bb.gurobi")
GRB = gp.GRB


def quiet(name: str = "") -> gp.Model:
    model = gp.Model(name)
    model.Params.OutputFlag = 0
    return model


def diet() -> tuple[gp.Model, gp.tupledict]:
    model = quiet("diet")
    x = model.addVars(
        ["oats", "milk"], vtype=GRB.INTEGER, obj=[3, 2], ub=[9, GRB.INFINITY], name="x"
    )
    model.ModelSense = GRB.MAXIMIZE
    model.addConstr(2 * x["oats"] + x["milk"] <= 7.5, "first")
    model.addConstr(x.sum() + 2 * x["milk"] <= 6, name="second")
    return model, x


def test_a_model_is_solved_and_read_back() -> None:
    model, x = diet()
    assert model.Status == GRB.LOADED
    model.optimize()
    assert model.status == GRB.OPTIMAL == 2
    assert (model.ObjVal, model.solCount, model.numvars, model.NumConstrs) == (11.0, 1, 2, 2)
    assert [x[k].X for k in x] == [3.0, 1.0]
    assert x["oats"].VarName == "x[oats]" and x["oats"].varname == "x[oats]"
    assert model.getVarByName("x[milk]").sameAs(x["milk"])
    assert model.getConstrByName("second").Slack == 0.0
    assert model.getAttr("X", x) == {"oats": 3.0, "milk": 1.0}
    assert model.getAttr("x", model.getVars()) == [3.0, 1.0]
    assert (model.IsMIP, model.NumIntVars, model.NumBinVars, model.NumNZs) == (1, 2, 0, 4)
    assert model.MIPGap <= 1e-4 and model.ObjBound >= model.ObjVal


def test_duals_have_gurobis_signs() -> None:
    model = quiet()
    x = model.addVar(name="x")
    y = model.addVar(ub=10, name="y")
    model.setObjective(2 * x + 3 * y, GRB.MINIMIZE)
    low = model.addConstr(x + y >= 4)
    high = model.addConstr(x <= 3)
    model.optimize()
    # One more unit of the side of `x + y >= 4` is made by y at 3; of `x <= 3` it saves 1.
    assert (model.ObjVal, low.Pi, high.Pi) == (9.0, 3.0, -1.0)
    assert (x.RC, y.RC, x.VBasis, y.VBasis) == (0.0, 0.0, 0, 0)
    assert model.getAttr(GRB.Attr.Pi, model.getConstrs()) == [3.0, -1.0]
    model.setObjective(2 * x + y, GRB.MAXIMIZE)
    model.optimize()
    assert (model.ObjVal, high.Pi, low.Pi, y.RC) == (16.0, 2.0, 0.0, 1.0)


def test_statuses_and_missing_values() -> None:
    model = quiet()
    x = model.addVar(ub=1, vtype="B", name="x")
    row = model.addConstr(x >= 2)
    model.optimize()
    assert (model.Status, model.SolCount) == (GRB.INFEASIBLE, 0)
    for name in ("ObjVal", "MIPGap2"):
        with pytest.raises(AttributeError):
            getattr(model, name)
    with pytest.raises(gp.GurobiError) as caught:
        _ = x.X
    assert caught.value.errno == GRB.Error.DATA_NOT_AVAILABLE
    assert caught.value.message == "Unable to retrieve attribute 'x'"
    model.remove(row)
    z = model.addVar(lb=-GRB.INFINITY, obj=1.0)
    model.optimize()
    assert model.Status == GRB.UNBOUNDED
    model.remove(z)
    model.optimize()
    assert model.Status == GRB.OPTIMAL and model.NumVars == 1


def test_a_farkas_proof() -> None:
    model = quiet()
    x, y = model.addVars(2, lb=-GRB.INFINITY).values()
    rows = [model.addConstr(x + y <= 1), model.addConstr(x + y >= 3)]
    model.Params.InfUnbdInfo = 1
    model.optimize()
    assert model.Status == GRB.INFEASIBLE
    first, second = (row.FarkasDual for row in rows)
    # first * (x + y) <= first and second * (x + y) <= 3 second contradict each other.
    assert first > 0 > second and first + second == pytest.approx(0) and first + 3 * second < 0


def test_expressions() -> None:
    model = quiet()
    x = model.addVars(3, name="x")
    rows = [
        model.addConstr(2 * x[0] - x[1] / 2 + 3 <= x[2] * np.float32(4) - np.int64(1), "a"),
        model.addConstr(5 >= gp.quicksum(x.values()), "b"),
        model.addLConstr(x[0], GRB.EQUAL, 1 - x[1], "c"),
        model.addLConstr(gp.LinExpr([1, 2], [x[0], x[1]]), "<", True, name="d"),
        model.addLConstr(1, ">", x[0]),
        model.addConstr(-x[0] + (x[0] + x[1]) * 2 - (x[1] - 1) == np.ones(1)[0]),
    ]
    text = [
        (
            dict(
                zip(
                    (row.getVar(k).VarName for k in range(row.size())),
                    map(row.getCoeff, range(row.size())),
                )
            )
        )
        for row in map(model.getRow, rows)
    ]
    assert text == [
        {"x[0]": 2.0, "x[1]": -0.5, "x[2]": -4.0},
        {"x[0]": 1.0, "x[1]": 1.0, "x[2]": 1.0},
        {"x[0]": 1.0, "x[1]": 1.0},
        {"x[0]": 1.0, "x[1]": 2.0},
        {"x[0]": -1.0},
        {"x[0]": 1.0, "x[1]": 1.0},
    ]
    assert [(row.Sense, row.RHS) for row in rows] == [
        *(("<", -4.0), ("<", 5.0), ("=", 1.0), ("<", 1.0), (">", -1.0), ("=", 0.0))
    ]
    assert rows[0].ConstrName == "a" and rows[4].ConstrName == "R4"


def test_expressions_in_place_and_their_parts() -> None:
    model = quiet()
    x, y = model.addVar(name="x"), model.addVar(name="y")
    e = gp.LinExpr()
    for k in range(3):
        e += k * x
    e.add(y, 2.0)
    e.addTerms([1.0, 4.0], [x, y])
    e.addConstant(7)
    e -= 1
    twin = e.copy()
    e.remove(x)
    assert (e.size(), twin.size(), e.getConstant()) == (2, 6, 6.0)
    assert [(e.getVar(k).VarName, e.getCoeff(k)) for k in range(2)] == [("y", 2.0), ("y", 4.0)]
    e += e
    assert [e.getCoeff(k) for k in range(2)] == [4.0, 8.0] and e.getConstant() == 12.0
    with pytest.raises(gp.GurobiError):
        e.getCoeff(5)
    with pytest.raises(TypeError):
        int(x)
    with pytest.raises(gp.GurobiError, match="neither true nor false"):
        bool(x <= 1)
    with pytest.raises(gp.GurobiError, match="no expression"):
        gp.quicksum([x, "y"])
    with pytest.raises(ZeroDivisionError):
        x / 0


def test_relations_of_two_sides_and_of_none() -> None:
    model = quiet()
    x = model.addVar(lb=-10, obj=1.0)
    row = model.addConstr(x + 1 == [2, 5], name="both")
    model.addConstr(True)
    model.optimize()
    assert model.ObjVal == 1.0 and model.getVarByName("Rgboth").UB == 3.0
    model.ModelSense = GRB.MAXIMIZE
    model.optimize()
    assert model.ObjVal == 4.0
    ranged = model.addRange(x, -1, 2.5, "native")
    model.optimize()
    assert model.ObjVal == 2.5 and ranged.Sense == "=" and row.Sense == "="
    model.addConstr(False)
    model.optimize()
    assert model.Status == GRB.INFEASIBLE
    with pytest.raises(gp.GurobiError, match="no list of two sides"):
        x == [1, 2, 3]  # noqa: B015


def test_a_time_limit_of_nothing_ends_a_linear_program() -> None:
    model = diet()[0].relax()
    model.Params.OutputFlag, model.Params.TimeLimit = 0, 0
    model.optimize()
    assert (model.Status, model.SolCount) == (GRB.TIME_LIMIT, 0)


def test_variables_as_keys() -> None:
    model = quiet()
    x = model.addVars(1000)
    values = {var: k for k, var in x.items()}
    other = quiet().addVar()
    assert [values[var] for var in model.getVars()] == list(range(1000))
    assert other not in values and len(set(model.getVars()) | {other}) == 1001
    assert x[3].index == 3
    model.remove([x[0], x[2]])
    assert (x[3].index, x[0].index, model.NumVars) == (1, -2, 998)


def test_keys_of_variables_and_constraints() -> None:
    model = quiet()
    arcs = gp.tuplelist([("a", "b"), ("a", "c"), ("b", "c")])
    flow = model.addVars(arcs, name="flow", ub={arc: k for k, arc in enumerate(arcs)})
    grid = model.addVars(2, [5, 7], vtype=[GRB.BINARY] * 4, name="grid")
    assert list(grid) == [(0, 5), (0, 7), (1, 5), (1, 7)] and grid[1, 5].VarName == "grid[1,5]"
    assert flow["a", "c"].UB == 1.0
    assert arcs.select("a", "*") == [("a", "b"), ("a", "c")]
    assert [v.VarName for v in flow.select("*", "c")] == ["flow[a,c]", "flow[b,c]"]
    out = model.addConstrs((flow.sum(i, "*") <= 1 for i in "ab"), name="out")
    assert list(out) == ["a", "b"] and out["b"].ConstrName == "out[b]"
    both = model.addConstrs(
        (
            gp.quicksum(grid[i, j] for _ in range(2)) <= flow[i2, j2]
            for i in range(2)
            for j in (5, 7)
            for i2, j2 in arcs
            if i2 == "a"
        ),
        "both",
    )
    assert list(both)[:2] == [(0, 5, "a", "b"), (0, 5, "a", "c")]
    assert both[1, 7, "a", "c"].ConstrName == "both[1,7,a,c]" and len(both) == 8
    priced = flow.prod({("a", "b"): 3.0, ("b", "c"): 4.0, ("x", "y"): 1.0})
    assert priced.size() == 2 and priced.getCoeff(1) == 4.0
    keys, low, high = gp.multidict({"a": [1, 2], "b": [3, 4]})
    assert keys == ["a", "b"] and low.sum().getConstant() == 4
    assert high["b"] == 4


def test_parameters() -> None:
    model = quiet()
    model.setParam("timelimit", 10)
    assert model.Params.TimeLimit == model.params.timelimit == 10.0
    model.setParam(GRB.Param.MIPGap, 0.5)
    model.setParam("MIPGap", "default")
    assert model.Params.MIPGap == 1e-4
    with pytest.raises(AttributeError):
        model.Params.NoSuchThing = 3
    with pytest.raises(gp.GurobiError) as caught:
        model.Params.MIPFocus = 9
    assert caught.value.errno == GRB.Error.VALUE_OUT_OF_RANGE
    model.Params.NodefileStart = 0.5
    model.Params.ConcurrentMIP = 2
    assert "NodefileStart" in gp.ignored() and "TimeLimit" not in gp.ignored()
    assert "ConcurrentMIP" in gp.ignored()
    with gp.Env(params={"OutputFlag": 0, "Threads": 1}) as env:
        inner = gp.Model("inner", env=env)
    inner.addVar(obj=1, lb=2)
    inner.optimize()
    assert inner.ObjVal == 2.0 and inner.Params.Threads == 1
    assert model.getParamInfo("Threads")[:3] == ("Threads", int, 0)
    with pytest.raises(gp.GurobiError, match="Unknown parameter 'maxtime'"):
        env.setParam("maxtime", 3)
    with pytest.raises(gp.GurobiError):
        gp.Env.OtherEnv("")


def test_an_unknown_parameter_of_a_model_is_warned_of_once(
    capfd: pytest.CaptureFixture[str],
) -> None:
    model = quiet()
    for _ in range(2):
        model.setParam("miprelstop", 1e-4)
    assert capfd.readouterr().err.count("miprelstop") == 1


def test_limits_and_callbacks() -> None:
    draw = random.Random(1)
    model = quiet()
    x = model.addVars(50, vtype="B")
    slack = model.addVars(12, obj=1.0)
    for i in range(6):
        row = [draw.randrange(100) for _ in range(50)]
        sides = slack[2 * i] - slack[2 * i + 1]
        model.addConstr(gp.quicksum(a * x[k] for k, a in enumerate(row)) + sides == sum(row) // 2)
    model.Params.TimeLimit = 1.0
    seen = []

    def watch(where_model: gp.Model, where: int) -> None:
        seen.append(where)
        if where == GRB.Callback.MIP:
            assert where_model.cbGet(GRB.Callback.MIP_OBJBND) <= where_model.cbGet(
                GRB.Callback.MIP_OBJBST
            )
            where_model._nodes = where_model.cbGet(GRB.Callback.MIP_NODCNT)
        if where == GRB.Callback.MIPSOL:
            values = where_model.cbGetSolution(x)
            assert set(values.values()) <= {0.0, 1.0}
            assert where_model.cbGet(GRB.Callback.MIPSOL_OBJ) >= 0

    model.optimize(watch)
    assert model.Status == GRB.TIME_LIMIT and model.SolCount == 1
    assert {GRB.Callback.PRESOLVE, GRB.Callback.MIP, GRB.Callback.MIPSOL} <= set(seen)
    assert model._nodes > 0
    with pytest.raises(gp.GurobiError):
        model.cbGet(GRB.Callback.RUNTIME)
    model.reset()
    model.optimize(lambda m, where: m.terminate() if where == GRB.Callback.MIPSOL else None)
    assert model.Status == GRB.INTERRUPTED and model.SolCount == 1
    model.reset()
    model.Params.SolutionLimit = 1
    model.optimize()
    assert model.Status == GRB.SOLUTION_LIMIT
    model.Params.SolutionLimit = "default"
    model.Params.BestObjStop = 1e9
    model.reset()
    model.optimize()
    assert model.Status == GRB.USER_OBJ_LIMIT

    def fail(*_: object) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        model.optimize(fail)


def test_the_next_solve_starts_from_the_last_point() -> None:
    model, x = diet()
    model.optimize()
    seeds = []
    model.Params.NodeLimit = 0
    model.optimize(
        lambda m, where: (
            seeds.append(m.cbGet(GRB.Callback.MIPSOL_OBJ)) if where == GRB.Callback.MIPSOL else None
        )
    )
    assert seeds and seeds[0] == 11.0
    model, x = diet()
    x["oats"].Start, x["milk"].Start = 0, 2
    model.optimize(
        lambda m, where: (
            seeds.append(m.cbGet(GRB.Callback.MIPSOL_OBJ)) if where == GRB.Callback.MIPSOL else None
        )
    )
    assert 4.0 in seeds and model.ObjVal == 11.0


def test_edits_between_solves() -> None:
    model, x = diet()
    row = model.getConstrByName("first")
    model.optimize()
    row.RHS = 20
    model.chgCoeff(row, x["milk"], 3.0)
    x["oats"].UB = 4
    x["milk"].Obj = 5
    assert model.getCoeff(row, x["milk"]) == 3.0
    model.optimize()
    best = max(
        3 * a + 5 * b for a in range(5) for b in range(7) if 2 * a + 3 * b <= 20 and a + 3 * b <= 6
    )
    assert model.ObjVal == best
    assert model.getObjective().getValue() == best
    relaxed = model.relax()
    relaxed.optimize()
    assert relaxed.IsMIP == 0 and relaxed.ObjVal >= best
    fixed = model.fixed()
    fixed.optimize()
    assert fixed.ObjVal == best and fixed.IsMIP == 0
    assert model.copy().NumVars == 2


def test_files(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # type: ignore[arg-type]
    model, x = diet()
    model.optimize()
    for name in ("a.lp", "a.mps", "a.mps.gz"):
        model.write(name)
        again = gp.read(name)
        again.Params.OutputFlag = 0
        again.optimize()
        assert again.ObjVal == 11.0 and again.getVarByName("x[oats]").X == 3.0
    model.write("a.sol")
    lines = open("a.sol").read().splitlines()
    assert lines[1:] == ["# Objective value = 11", "x[oats] 3", "x[milk] 1"]
    fresh, y = diet()
    fresh.read("a.sol")
    assert y["oats"].Start == 3.0
    fresh.write("b.mst")
    fresh.Params.TimeLimit = 5
    fresh.write("a.prm")
    other, _ = diet()
    other.read("a.prm")
    assert other.Params.TimeLimit == 5.0
    with pytest.raises(gp.GurobiError, match="nix.lp"):
        gp.read("nix.lp")
    with pytest.raises(gp.GurobiError):
        model.write("a.xyz")


def test_arrays() -> None:
    scipy = pytest.importorskip("scipy.sparse")
    draw = np.random.default_rng(3)
    A = np.round(draw.uniform(-3, 3, (4, 6)))
    b = np.abs(draw.uniform(3, 9, 4))
    costs = draw.uniform(-1, 2, 6)
    objectives = []
    for form in ("dense", "sparse", "rows"):
        model = quiet()
        x = model.addMVar(6, ub=2.0, obj=-costs, name="x")
        if form == "rows":
            rows = model.addMConstr(scipy.csr_matrix(A), x, "<", b)
        else:
            rows = model.addConstr((A if form == "dense" else scipy.csr_matrix(A)) @ x <= b)
        model.optimize()
        objectives.append(model.ObjVal)
        assert (A @ x.X <= b + 1e-6).all() and rows.Pi.shape == (4,)
        assert x[2].X == x.X[2] and x[1:3].shape == (2,)
        assert (model.getA().todense() == A).all()
    assert objectives == pytest.approx([objectives[0]] * 3)
    model = quiet()
    y = model.addMVar((2, 3), vtype="B")
    model.addConstr(y.sum(axis=0) == 1)
    model.addConstr(y[0, :] <= np.array([1, 0, 1]))
    model.setObjective((np.arange(6).reshape(2, 3) * y).sum())
    model.optimize()
    assert model.ObjVal == 0 + 4 + 2 and y.X.sum() == 3
    one = np.array([2.5]) * model.addVar(lb=1, ub=3)
    model.setObjective(gp.quicksum([one]))
    model.optimize()
    assert model.ObjVal == 2.5


def test_random_programs_against_enumeration() -> None:
    draw = random.Random(11)
    for _ in range(40):
        n, m = draw.randint(1, 6), draw.randint(1, 4)
        model = quiet()
        x = model.addVars(n, vtype=GRB.INTEGER, ub=2)
        costs = [draw.randint(-9, 9) for _ in range(n)]
        sense = draw.choice([GRB.MINIMIZE, GRB.MAXIMIZE])
        model.setObjective(gp.quicksum(c * x[k] for k, c in enumerate(costs)) + 1, sense)
        rows = [([draw.randint(-4, 4) for _ in range(n)], draw.randint(-3, 6)) for _ in range(m)]
        for row, side in rows:
            model.addConstr(gp.quicksum(a * x[k] for k, a in enumerate(row)) <= side)
        model.optimize()
        fit = [
            p
            for p in itertools.product(range(3), repeat=n)
            if all(np.dot(row, p) <= side for row, side in rows)
        ]
        if not fit:
            assert model.Status == GRB.INFEASIBLE
            continue
        best = (max if sense == GRB.MAXIMIZE else min)(np.dot(costs, p) for p in fit) + 1
        assert (model.Status, model.ObjVal) == (GRB.OPTIMAL, best)
        assert all(x[k].X == int(x[k].X) for k in x)


def test_a_star_import_leaks_sys() -> None:
    code = "from remat_bb.gurobi import *\nprint(sys.version_info[0], gurobi.platform(), Model)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("3 remat-bb")


def test_a_log_is_written(tmp_path: object) -> None:
    path = os.path.join(str(tmp_path), "log.txt")
    model, _ = diet()
    model.Params.OutputFlag = 1
    model.Params.LogToConsole = 0
    model.Params.LogFile = path
    model.optimize()
    assert "optimal: objective 11" in open(path).read()
