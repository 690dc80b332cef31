"""Calls in the shape of ``highspy``, against ``highspy`` where it is installed."""

import importlib.util
import random

import pytest

np = pytest.importorskip("numpy")

from remat_bb import highs  # noqa: E402
from remat_bb.highs import Highs, HighsModelStatus, HighsStatus, HighsVarType  # noqa: E402

INF = highs.kHighsInf


def quiet(module=highs):
    solver = module.Highs()
    solver.setOptionValue("output_flag", False)
    return solver


def built(module, solver, draw: random.Random, integers: bool):
    """Builds the same random model in either module."""
    n, m = draw.randint(1, 5), draw.randint(1, 4)
    for _ in range(n):
        solver.addVar(draw.choice((-1.0, 0.0)), draw.choice((2.0, 3.0, module.kHighsInf)))
    for j in range(n):
        solver.changeColCost(j, float(draw.randint(-5, 5)))
        if integers and draw.random() < 0.6:
            solver.changeColIntegrality(j, module.HighsVarType.kInteger)
    for _ in range(m):
        cols = draw.sample(range(n), draw.randint(1, n))
        values = [float(draw.choice((-2, -1, 1, 2, 3))) for _ in cols]
        low, high = draw.choice(((-module.kHighsInf, 4.0), (1.0, module.kHighsInf), (0.0, 5.0)))
        solver.addRow(low, high, len(cols), np.array(cols, np.int32), np.array(values))
    if draw.random() < 0.5:
        solver.changeObjectiveSense(module.ObjSense.kMaximize)
    solver.changeObjectiveOffset(float(draw.randint(-3, 3)))
    return solver


@pytest.mark.skipif(importlib.util.find_spec("highspy") is None, reason="highspy is not there")
@pytest.mark.parametrize("integers", [False, True])
def test_random_models_against_highspy(integers: bool) -> None:
    import highspy

    seen = set()
    for seed in range(40):
        own = built(highs, quiet(), random.Random(seed), integers)
        theirs = built(highspy, quiet(highspy), random.Random(seed), integers)
        assert own.run() == HighsStatus.kOk
        theirs.run()
        status, other = own.getModelStatus(), theirs.getModelStatus()
        if other.name == "kUnboundedOrInfeasible":
            assert status.name in ("kUnbounded", "kInfeasible")
            continue
        assert status.name == other.name and int(status) == int(other)
        seen.add(status)
        if status != HighsModelStatus.kOptimal:
            continue
        assert own.getObjectiveValue() == pytest.approx(theirs.getObjectiveValue(), abs=1e-6)
        first, second = own.getSolution(), theirs.getSolution()
        assert first.dual_valid == second.dual_valid
        if np.allclose(first.col_value, second.col_value):
            assert np.allclose(first.row_value, second.row_value, atol=1e-5)
        if first.dual_valid:
            # Reduced costs are what duals leave of costs, with highspy's signs.
            lp = own.getLp()
            rest = np.array(lp.col_cost_)
            for row in range(lp.num_row_):
                start, end = lp.a_matrix_.start_[row : row + 2]
                for at in range(start, end):
                    rest[lp.a_matrix_.index_[at]] -= first.row_dual[row] * lp.a_matrix_.value_[at]
            assert np.allclose(rest, first.col_dual)
    assert HighsModelStatus.kOptimal in seen and len(seen) >= 2


@pytest.mark.skipif(importlib.util.find_spec("highspy") is None, reason="highspy is not there")
def test_numbers_of_the_enumerations() -> None:
    import highspy

    for name in ("HighsModelStatus", "HighsStatus", "HighsVarType", "ObjSense", "HighsBasisStatus"):
        own, theirs = getattr(highs, name), getattr(highspy, name)
        assert {m: int(v) for m, v in own.__members__.items()} == {
            m: int(v) for m, v in theirs.__members__.items()
        }
    solver, other = Highs(), highspy.Highs()
    for option, value in highs.DEFAULTS.items():
        assert other.getOptionValue(option) == (highspy.HighsStatus.kOk, value), option
        assert solver.getOptionValue(option) == (HighsStatus.kOk, value)


def lp(format_: highs.MatrixFormat) -> highs.HighsLp:
    model = highs.HighsLp(num_col_=2, num_row_=2)
    model.col_cost_, model.sense_ = [3.0, 2.0], highs.ObjSense.kMaximize
    model.col_lower_, model.col_upper_ = [0.0, 0.0], [9.0, INF]
    model.row_lower_, model.row_upper_ = [-INF, -INF], [7.5, 6.0]
    model.a_matrix_.format_ = format_
    rows = ([0, 2, 4], [0, 1, 0, 1], [2.0, 1.0, 1.0, 3.0])
    cols = ([0, 2, 4], [0, 1, 0, 1], [2.0, 1.0, 1.0, 3.0])
    parts = rows if format_ == highs.MatrixFormat.kRowwise else cols
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = parts
    model.integrality_ = [HighsVarType.kInteger, HighsVarType.kContinuous]
    return model


@pytest.mark.parametrize("format_", list(highs.MatrixFormat))
def test_models_as_arrays(format_: highs.MatrixFormat) -> None:
    solver = quiet()
    assert solver.passModel(lp(format_)) == HighsStatus.kOk
    assert solver.run() == HighsStatus.kOk
    assert solver.getSolution().col_value == [3.0, 1.0]
    info = solver.getInfo()
    assert (info.objective_function_value, info.primal_solution_status) == (11.0, 2)
    assert info.mip_node_count >= 0 and info.mip_dual_bound >= 11.0
    again = quiet()
    assert again.passModel(solver.getLp()) == HighsStatus.kOk
    again.run()
    assert again.getObjectiveValue() == 11.0
    flat = lp(format_)
    matrix = flat.a_matrix_
    arguments = (2, 2, 4, format_, flat.sense_, 0.0, flat.col_cost_, flat.col_lower_)
    arguments += (flat.col_upper_, flat.row_lower_, flat.row_upper_, matrix.start_)
    assert again.passModel(*arguments, matrix.index_, matrix.value_, flat.integrality_) == 0
    again.run()
    assert again.getObjectiveValue() == 11.0
    model = highs.HighsModel(lp(format_))
    model.lp_.a_matrix_.value_ = [1.0]
    assert again.passModel(model) == HighsStatus.kError


def test_edits_move_positions() -> None:
    solver = quiet()
    solver.passModel(lp(highs.MatrixFormat.kRowwise))
    solver.addCol(10.0, 0.0, 5.0, 1, [0], [2.0])
    solver.changeColIntegrality(2, HighsVarType.kInteger)
    solver.addRow(-INF, 3.0, 2, [2, 1], [2.0, 1.0])
    assert (solver.getNumCol(), solver.getNumRow(), solver.getNumNz()) == (3, 3, 7)
    solver.deleteCols(1, [0])
    solver.run()
    assert solver.getSolution().col_value == [1.0, 1.0]
    assert solver.getSolution().row_value == [3.0, 3.0, 3.0]
    solver.changeCoeff(2, 1, 1.0)
    solver.changeColBounds(1, 0.0, 2.0)
    solver.changeRowBounds(0, -INF, 100.0)
    solver.deleteRows(1, [1])
    solver.run()
    assert solver.getSolution().col_value == [1.0, 2.0]
    assert solver.getModelStatus() == HighsModelStatus.kOptimal
    assert solver.changeColCost(7, 1.0) == HighsStatus.kError
    assert solver.addRow(0.0, 1.0, 1, [9], [1.0]) == HighsStatus.kError


def test_options_limits_starts_and_kinds(tmp_path) -> None:
    solver = quiet()
    assert solver.setOptionValue("spam", 1) == HighsStatus.kError
    assert solver.getOptionValue("spam")[0] == HighsStatus.kError
    draw = random.Random(1)
    for _ in range(50):
        solver.addVar(0.0, 1.0)
    for _ in range(12):
        solver.addVar(0.0, INF)
    solver.changeColsCost(12, range(50, 62), [1.0] * 12)
    solver.changeColsIntegrality(50, range(50), [HighsVarType.kInteger] * 50)
    for i in range(6):
        row = [draw.randrange(100) for _ in range(50)]
        cols = [*range(50), 50 + 2 * i, 51 + 2 * i]
        solver.addRow(sum(row) // 2, sum(row) // 2, 52, cols, [*map(float, row), 1.0, -1.0])
    solver.setOptionValue("time_limit", 1.0)
    solver.setOptionValue("threads", 1)
    assert solver.run() == HighsStatus.kWarning
    assert solver.getModelStatus() == HighsModelStatus.kTimeLimit
    point, value = solver.getSolution(), solver.getObjectiveValue()
    assert set(point.col_value[:50]) <= {0.0, 1.0} and not point.dual_valid
    solver.setOptionValue("mip_max_nodes", 1)
    assert solver.setSolution(50, range(50), point.col_value[:50]) == HighsStatus.kOk
    solver.run()
    assert solver.getModelStatus() == HighsModelStatus.kSolutionLimit
    assert solver.getObjectiveValue() <= value + 1e-6
    assert solver.writeModel(str(tmp_path / "model.lp")) == HighsStatus.kOk
    again = quiet()
    assert again.readModel(str(tmp_path / "model.lp")) == HighsStatus.kOk
    assert (again.getNumCol(), again.getNumRow()) == (62, 6)
    assert again.readModel(str(tmp_path / "none.lp")) == HighsStatus.kError


def test_semicontinuous_columns_come_and_go() -> None:
    solver = quiet()
    solver.addVar(2.0, 5.0)
    solver.changeColCost(0, 1.0)
    solver.changeColIntegrality(0, HighsVarType.kSemiContinuous)
    solver.run()
    assert solver.getSolution().col_value == [0.0]
    solver.addRow(0.5, INF, 1, [0], [1.0])
    solver.run()
    assert solver.getSolution().col_value == [2.0]
    assert (solver.getNumCol(), solver.getNumRow()) == (1, 1)
    assert solver.getLp().col_lower_ == [2.0]


def test_rays() -> None:
    solver = quiet()
    solver.addVar(0.0, INF)
    solver.changeColCost(0, -1.0)
    solver.run()
    assert solver.getModelStatus() == HighsModelStatus.kUnbounded
    status, there, ray = solver.getPrimalRay()
    assert there and ray[0] > 0
    solver.addRow(-INF, -1.0, 1, [0], [1.0])
    solver.run()
    assert solver.getModelStatus() == HighsModelStatus.kInfeasible
    status, there, ray = solver.getDualRay()
    assert there and len(ray) == 1 and ray[0] != 0
    assert solver.modelStatusToString(solver.getModelStatus()) == "Infeasible"


def test_a_hessian() -> None:
    solver = quiet()
    solver.addVars(2, [0, 0], [9, 9])
    solver.changeColsCost(2, [0, 1], [-2, -6])
    solver.addRow(-INF, 2, 2, [0, 1], [1, 1])
    solver.addRow(-INF, 2, 2, [0, 1], [-1, 2])
    # One triangle of [[1, -1], [-1, 2]].
    assert solver.passHessian(2, 3, 1, [0, 2], [0, 1, 1], [1, -1, 2]) == HighsStatus.kOk
    assert solver.run() == HighsStatus.kOk
    assert solver.getObjectiveValue() == pytest.approx(-74 / 9, abs=1e-7)
    assert solver.getSolution().col_value == pytest.approx([2 / 3, 4 / 3], abs=1e-6)
    assert solver.getSolution().dual_valid and not solver.getBasis().valid
    whole = highs.HighsHessian(2, highs.HessianFormat.kSquare, [0, 2], [0, 1, 0, 1], [1, -1, -1, 2])
    assert solver.passHessian(whole) == HighsStatus.kOk
    solver.changeColsIntegrality(2, [0, 1], [HighsVarType.kInteger] * 2)
    assert solver.run() == HighsStatus.kOk and solver.getObjectiveValue() == -7.5
    # The other sign is not convex, and no bound makes a product of these integers hard.
    assert solver.passHessian(2, 1, 1, [0, 1], [0], [-1]) == HighsStatus.kOk
    solver.changeColsIntegrality(2, [0, 1], [HighsVarType.kContinuous] * 2)
    assert solver.run() == HighsStatus.kError
