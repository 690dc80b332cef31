"""Memory that kernels take besides their results and free at their end."""

from __future__ import annotations

from typing import Any


class Workspaces:
    """No workspaces: kernels are not run."""

    def bytes(self, function: Any, args: Any, kwargs: Any, results: Any) -> int:
        """Peak of a call over the memory before it, results included; 0 if unknown."""
        return 0
