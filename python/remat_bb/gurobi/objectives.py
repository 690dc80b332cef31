"""Several objectives, by priority."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .constants import GRB
from .errors import AttributeUnavailable, GurobiError


@dataclass
class Objective:
    """One of several objectives.

    Attributes:
        expr: The expression.
        priority: Objectives with a higher priority are solved first.
        weight: Factor among objectives of equal priority; a negative one reverses the sense.
        abstol, reltol: Tolerated loss by later objectives.
        name: Its name.
    """

    expr: Any
    priority: int = 0
    weight: float = 1.0
    abstol: float = 1e-6
    reltol: float = 0.0
    name: str = ""


def set_objective(
    model: Any,
    expr: Any,
    index: int,
    priority: int = 0,
    weight: float = 1.0,
    abstol: float = 1e-6,
    reltol: float = 0.0,
    name: str = "",
) -> None:
    """Sets one of several objectives.

    Raises:
        GurobiError: for a number beyond the next one, and for products of variables.
    """
    if not 0 <= index <= len(model._objectives):
        raise GurobiError(
            GRB.Error.INDEX_OUT_OF_RANGE,
            f"setObjectiveN: objective {index}, where {len(model._objectives)} are set",
        )
    one = Objective(expr, int(priority), float(weight), float(abstol), float(reltol), name)
    model._objectives[index : index + 1] = [one]


_ATTRIBUTES = {
    "objnpriority": "priority",
    "objnweight": "weight",
    "objnabstol": "abstol",
    "objnreltol": "reltol",
    "objnname": "name",
}


def _chosen(model: Any) -> Objective:
    number = model._values["ObjNumber"]
    if number >= len(model._objectives):
        raise GurobiError(
            GRB.Error.INDEX_OUT_OF_RANGE,
            f"objective {number}, where {len(model._objectives)} are set",
        )
    return model._objectives[number]  # type: ignore[no-any-return]


def attribute(model: Any, name: str) -> Any:
    """An attribute of the objective selected by the parameter ``ObjNumber``; ``None`` for another
    name."""
    field = _ATTRIBUTES.get(name)
    return None if field is None else getattr(_chosen(model), field)


def value(model: Any) -> float:
    """Value at the best point of the objective selected by the parameter ``ObjNumber``.

    Raises:
        AttributeUnavailable: there is no point.
    """
    chosen = _chosen(model)
    values = [] if model._answer is None else model._answer.objective_values
    if not values:
        raise AttributeUnavailable(
            GRB.Error.DATA_NOT_AVAILABLE, "Unable to retrieve attribute 'ObjNVal'"
        )
    return float(values[model._objectives.index(chosen)])


def set_attribute(model: Any, name: str, value: Any) -> bool:
    """Sets an attribute of the objective selected by the parameter ``ObjNumber``; false for another
    name."""
    field = _ATTRIBUTES.get(name)
    if field is None:
        return False
    setattr(_chosen(model), field, type(getattr(Objective(None), field))(value))
    return True


def solve(model: Any, **options: Any) -> Any:
    """Solves a model; several objectives are solved in turn."""
    several = [
        (model._terms_of(o.expr), o.priority, o.weight, o.abstol, o.reltol)
        for o in model._objectives
    ]
    if several:
        options["objectives"] = several
    return model._program.solve(**options)
