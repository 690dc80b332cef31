"""``python -m remat_bb.shadow`` prints a folder for ``PYTHONPATH`` in which ``import gurobipy``
finds :mod:`remat_bb.gurobi`.

.. code-block:: sh

    PYTHONPATH=$(python -m remat_bb.shadow) python script.py
"""

from __future__ import annotations

import pathlib


def folder() -> pathlib.Path:
    """The folder."""
    return pathlib.Path(__file__).with_name("_shadow")


if __name__ == "__main__":
    print(folder())
