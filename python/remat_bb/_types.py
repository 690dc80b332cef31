"""Types of arguments, for annotations alone."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from typing import Any, Union

from ._native import Instance, Plan

# A networkx.DiGraph is taken as well; NetworkX need not be there, so it is no type of its own here.
InstanceSource = Union[Instance, str, os.PathLike[str], bytes, Mapping[str, Any], Any]
PlanSource = Union[Plan, str, os.PathLike[str], Mapping[str, Any]]
Budget = Union[int, float, str]
Duration = Union[float, str, datetime.timedelta]
