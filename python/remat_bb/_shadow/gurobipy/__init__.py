"""Stands for :mod:`remat_bb.gurobi`, which is compatible with code written for gurobipy."""

import sys

import remat_bb.gurobi

sys.modules[__name__] = remat_bb.gurobi
