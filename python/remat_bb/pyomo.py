"""remat-bb as a solver of Pyomo, for linear and convex quadratic objectives, with integers or not.

>>> import pyomo.environ as pyo
>>> import remat_bb.pyomo
>>> model = pyo.ConcreteModel()
>>> model.x = pyo.Var(domain=pyo.NonNegativeIntegers)
>>> model.row = pyo.Constraint(expr=2 * model.x <= 5)
>>> model.goal = pyo.Objective(expr=model.x, sense=pyo.maximize)
>>> results = pyo.SolverFactory("remat_bb").solve(model)
>>> model.x.value
2.0

The import registers the solver for ``pyomo.environ.SolverFactory`` and, with results of the newer
kind, for ``pyomo.contrib.solver``.
"""

from __future__ import annotations

import datetime
import io
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyomo.environ as pyo
from pyomo.common.collections import ComponentMap, ComponentSet
from pyomo.common.config import ConfigValue
from pyomo.common.errors import (
    InfeasibleConstraintException,
    InvalidExpressionError,
)
from pyomo.common.tee import TeeStream
from pyomo.common.timing import HierarchicalTimer
from pyomo.contrib.solver.common.base import Availability, SolverBase
from pyomo.contrib.solver.common.config import BranchAndBoundConfig
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import Results, SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.solution_loader import SolutionLoader
from pyomo.contrib.solver.common.util import (
    IncompatibleModelError,
    NoDualsError,
    NoFeasibleSolutionError,
    NoOptimalSolutionError,
    NoReducedCostsError,
    NoSolutionError,
)
from pyomo.core.staleflag import StaleFlagManager
from pyomo.repn import generate_standard_repn
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from ._dropin import reform, running
from ._dropin.log import Log
from ._dropin.options import Settings
from ._native import Answer, Program, __version__
from .errors import NoExactForm

_INF = math.inf
_ENDINGS = {
    "optimal": TerminationCondition.convergenceCriteriaSatisfied,
    "infeasible": TerminationCondition.provenInfeasible,
    "unbounded": TerminationCondition.unbounded,
    "infeasible or unbounded": TerminationCondition.infeasibleOrUnbounded,
    "cutoff": TerminationCondition.objectiveLimit,
    "time limit": TerminationCondition.maxTimeLimit,
    "work limit": TerminationCondition.maxTimeLimit,
    "node limit": TerminationCondition.iterationLimit,
    "iteration limit": TerminationCondition.iterationLimit,
    "interrupted": TerminationCondition.interrupted,
}


class RematConfig(BranchAndBoundConfig):
    """Settings of a solve: the settings of Pyomo's branch-and-bound solvers, and
    ``warmstart_values``."""

    def __init__(
        self,
        description: Any = None,
        doc: Any = None,
        implicit: bool = False,
        implicit_domain: Any = None,
        visibility: int = 0,
    ) -> None:
        super().__init__(
            description=description,
            doc=doc,
            implicit=implicit,
            implicit_domain=implicit_domain,
            visibility=visibility,
        )
        self.warmstart_values: bool = self.declare(
            "warmstart_values",
            ConfigValue(
                default=False,
                domain=bool,
                description="True starts a search from the values of the variables.",
            ),
        )


class RematSolutionLoader(SolutionLoader):
    """Access to the point, the duals and the reduced costs of an answer."""

    def __init__(self, model: Any, built: _Built, answer: Answer) -> None:
        super().__init__()
        self._pyomo_model = model
        self._built = built
        self._answer = answer

    def get_number_of_solutions(self) -> int:
        """1 if there is a point, else 0."""
        return 0 if self._answer.objective is None else 1

    def get_vars(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Values of variables; integer variables have integral values.

        Raises:
            NoSolutionError: there is no point.
        """
        point = self._answer.x()
        if point is None:
            raise NoSolutionError()
        point = reform.snap(point, self._built.switched)
        return self._built.by_variable(point, vars_to_load)

    def get_duals(self, cons_to_load: Sequence[Any] | None = None) -> dict[Any, float]:
        """Changes of the objective per unit of the constraints' sides.

        Raises:
            NoDualsError: the program has integers or is not solved.
        """
        duals = self._answer.duals
        if duals is None:
            raise NoDualsError()
        duals = running.clean(duals)
        wanted = self._built.rows_of if cons_to_load is None else cons_to_load
        return {
            con: max((float(duals[row]) for row in self._built.rows_of[con]), key=abs)
            for con in wanted
        }

    def get_reduced_costs(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Reduced costs of variables.

        Raises:
            NoReducedCostsError: the program has integers or is not solved.
        """
        reduced = self._answer.reduced_costs
        if reduced is None:
            raise NoReducedCostsError()
        return self._built.by_variable(running.clean(reduced), vars_to_load)

    def load_import_suffixes(self) -> None:
        """Loads ``dual`` and ``rc`` if the model has these suffixes and the answer has the
        values."""
        suffixes = self._collect_and_clear_import_suffixes()
        if self._answer.duals is None:
            return
        if "dual" in suffixes:
            suffixes["dual"].update(self.get_duals())
        if "rc" in suffixes:
            suffixes["rc"].update(self.get_reduced_costs())


class Remat(SolverBase):
    """The solver. Each solve builds a new program, so edits of models and parameters take effect.

    ``solver_options`` are settings of :meth:`remat_bb.Program.solve`, or of CBC, Gurobi and HiGHS
    by their names. Quadratic objectives must be convex. Quadratic constraints and other nonlinear
    terms are refused. Ordered sets (``SOSConstraint``) become binary columns, so their variables
    need bounds.
    """

    CONFIG = RematConfig()

    def available(self) -> Availability:
        """``FullLicense``: the solver needs no installation and no licence."""
        return Availability.FullLicense

    def version(self) -> tuple[int, ...]:
        """Version of the package."""
        return tuple(int(part) for part in __version__.split("-")[0].split("."))

    def solve(self, model: Any, **kwds: Any) -> Results:
        """Solves a model.

        Raises:
            IncompatibleModelError: for a quadratic constraint, a nonlinear term, an objective that
                is not convex, several objectives, or an ordered set without bounds.
            NoOptimalSolutionError, NoFeasibleSolutionError: as the settings say.
        """
        stamp = datetime.datetime.now(datetime.timezone.utc)
        begun = time.perf_counter()
        config = self.config(value=kwds, preserve_implicit=True)
        if config.timer is None:
            config.timer = HierarchicalTimer()
        timer = config.timer
        starts = None
        text = io.StringIO()
        timer.start("compile_model")
        try:
            built = _Built(model)
        except InfeasibleConstraintException as error:
            built = None
            text.write(f"The problem was proven to be infeasible during compilation:\n\t{error}\n")
        finally:
            timer.stop("compile_model")
        if built is None:
            results = _refused_by_pyomo(model)
        else:
            if config.warmstart_values:
                starts = built.start()
            StaleFlagManager.mark_all_as_stale()
            timer.start("optimize")
            settings = self._settings(config)
            try:
                with TeeStream(text, *config.tee) as tee:
                    log = Log.to(tee.STDOUT)
                    answer = running.solve(built.program, settings, starts, log)
            except NoExactForm as error:
                raise IncompatibleModelError(str(error)) from error
            finally:
                timer.stop("optimize")
            results = _results(model, built, answer)
        ending = results.termination_condition
        results.solver_name, results.solver_version = self.name, self.version()
        results.solver_config, results.solver_log = config, text.getvalue()
        if (
            ending != TerminationCondition.convergenceCriteriaSatisfied
            and config.raise_exception_on_nonoptimal_result
        ):
            raise NoOptimalSolutionError()
        timer.start("load solution")
        if config.load_solutions:
            if results.solution_status == SolutionStatus.noSolution:
                raise NoFeasibleSolutionError()
            results.solution_loader.load_solution()
        timer.stop("load solution")
        results.timing_info.start_timestamp = stamp
        results.timing_info.wall_time = time.perf_counter() - begun
        results.timing_info.timer = timer
        return results

    def _settings(self, config: Any) -> Settings:
        settings = Settings(
            time_limit=config.time_limit,
            threads=config.threads,
            gap=config.rel_gap,
            absolute_gap=config.abs_gap,
        )
        settings.update(config.solver_options.value(), self.name)
        return settings


class _Built:
    """A model as a program. Columns are its variables and rows its constraints, in order; columns
    of ordered sets follow."""

    def __init__(self, model: Any) -> None:
        sets = list(model.component_data_objects(pyo.SOSConstraint, active=True))
        objectives = list(model.component_data_objects(pyo.Objective, active=True))
        if len(objectives) > 1:
            raise IncompatibleModelError(
                f"remat-bb takes models with one objective or none, not {len(objectives)}"
            )
        try:
            with _inactive(model, pyo.SOSConstraint, pyo.Objective):
                form = LinearStandardFormCompiler().write(model, mixed_form=True)
        except InvalidExpressionError as error:
            raise IncompatibleModelError(f"remat-bb takes linear constraints: {error}") from error
        terms = generate_standard_repn(objectives[0].expr) if objectives else None
        # Names are slow for large models. Only errors about products need them.
        self._named = terms is not None and bool(terms.quadratic_vars)
        self.variables = list(form.columns)
        self.has_objective = bool(objectives)
        self.program = Program()
        self._col = ComponentMap()
        self._add_variables(self.variables)
        self.rows_of: dict[Any, list[int]] = {}
        self._add_rows(form)
        self.switched: list[reform.Switched] = []
        for data in sets:
            self._add_set(data)
        if terms is not None:
            self._set_objective(objectives[0], terms)

    def _set_objective(self, objective: Any, terms: Any) -> None:
        if terms.nonlinear_expr is not None:
            raise IncompatibleModelError(
                f"{objective.name}: remat-bb takes linear and convex quadratic objectives, "
                f"not {terms.nonlinear_expr}"
            )
        pairs = list(terms.quadratic_vars)
        self._add_new([*terms.linear_vars, *(variable for pair in pairs for variable in pair)])
        self.program.offset = float(terms.constant)
        self.program.maximise = objective.sense == pyo.maximize
        for variable, cost in zip(terms.linear_vars, terms.linear_coefs):
            self.program.set_cost(self._col[variable], float(cost))
        if pairs:
            first, second = zip(*pairs)
            self.program.set_products(
                [self._col[variable] for variable in first],
                [self._col[variable] for variable in second],
                [float(value) for value in terms.quadratic_coefs],
            )

    def _add_new(self, variables: Sequence[Any]) -> None:
        new = ComponentSet(variable for variable in variables if variable not in self._col)
        self._add_variables(list(new))
        self.variables.extend(new)

    def _add_variables(self, variables: Sequence[Any]) -> None:
        lower, upper, kinds = [], [], ""
        for variable in variables:
            low, high = variable.bounds
            lower.append(-_INF if low is None else float(low))
            upper.append(_INF if high is None else float(high))
            if not (variable.is_continuous() or variable.is_integer()):
                raise IncompatibleModelError(
                    f"{variable.name}: its domain is neither continuous nor integer"
                )
            kinds += "C" if variable.is_continuous() else "B" if variable.is_binary() else "I"
        names = [variable.name for variable in variables] if self._named else None
        first = self.program.add_cols(lower, upper, [0.0] * len(kinds), kinds, names)
        for k, variable in enumerate(variables):
            self._col[variable] = first + k

    def _add_rows(self, form: Any) -> None:
        if not form.rows:
            return
        matrix = form.A.tocsr()
        sides = [float(side) for side in form.rhs]
        lower = [-_INF if row.bound_type == 1 else side for row, side in zip(form.rows, sides)]
        upper = [_INF if row.bound_type == -1 else side for row, side in zip(form.rows, sides)]
        self.program.add_rows(lower, upper, matrix.indptr, matrix.indices, matrix.data)
        for k, row in enumerate(form.rows):
            self.rows_of.setdefault(row.constraint, []).append(k)

    def _add_set(self, data: Any) -> None:
        items = sorted(data.get_items(), key=lambda item: item[1])
        variables = [variable for variable, _ in items]
        for variable in variables:
            if variable.fixed and variable not in self._col:
                raise IncompatibleModelError(
                    f"{variable.name}: a fixed variable in an ordered set is not supported"
                )
        self._add_new(variables)
        try:
            self.switched += reform.add_sos(
                self.program,
                data.level,
                [self._col[variable] for variable in variables],
                [variable.name for variable in variables],
            )
        except reform.Unbounded as error:
            raise IncompatibleModelError(str(error)) from error

    def by_variable(self, values: Any, wanted: Sequence[Any] | None) -> Mapping[Any, float]:
        """Entries of a vector by variable, for some or all variables."""
        wanted = self.variables if wanted is None else wanted
        return ComponentMap((v, float(values[self._col[v]])) for v in wanted)

    def start(self) -> list[float]:
        """Values of the variables by handle; NaN marks missing ones."""
        values = [math.nan] * self.program.num_cols
        for variable in self.variables:
            if variable.value is not None:
                values[self._col[variable]] = float(variable.value)
        return values


@contextmanager
def _inactive(model: Any, *kinds: type) -> Iterator[None]:
    """Deactivates components of a model in the block, because the compiler of its rows does not
    know them."""
    components = list(model.component_objects(kinds, active=True))
    unused = [data for c in components for data in c.values() if not data.active]
    for component in components:
        component.deactivate()
    try:
        yield
    finally:
        for component in components:
            component.activate()
        for data in unused:
            data.deactivate()


def _results(model: Any, built: _Built, answer: Answer) -> Results:
    results = Results()
    results.solution_loader = RematSolutionLoader(model, built, answer)
    ending = _ENDINGS.get(answer.status, TerminationCondition.unknown)
    results.termination_condition = ending
    if answer.objective is None:
        results.solution_status = SolutionStatus.noSolution
    elif answer.status == "optimal":
        results.solution_status = SolutionStatus.optimal
    else:
        results.solution_status = SolutionStatus.feasible
    if built.has_objective:
        results.incumbent_objective = answer.objective
        results.objective_bound = answer.bound
    results.extra_info.nodes = answer.nodes
    results.extra_info.simplex_iterations = answer.lp_iterations
    results.timing_info.remat_bb_time = answer.seconds
    return results


class _Nothing(SolutionLoader):
    """An empty solution, of a model that was proven infeasible before the solve."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._pyomo_model = model

    def get_number_of_solutions(self) -> int:
        return 0

    def get_vars(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        raise NoSolutionError()

    def get_duals(self, cons_to_load: Sequence[Any] | None = None) -> dict[Any, float]:
        raise NoDualsError()

    def get_reduced_costs(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        raise NoReducedCostsError()

    def load_import_suffixes(self) -> None:
        self._collect_and_clear_import_suffixes()


def _refused_by_pyomo(model: Any) -> Results:
    results = Results()
    results.solution_loader = _Nothing(model)
    results.solution_status = SolutionStatus.noSolution
    results.termination_condition = TerminationCondition.provenInfeasible
    return results


def register() -> None:
    """Registers ``remat_bb`` in both factories of Pyomo."""
    SolverFactory.register(name="remat_bb", doc="Branch and cut of remat-bb")(Remat)


register()
