"""Lives of storages during a step, and the peaks of their sum."""

from __future__ import annotations

from dataclasses import dataclass, field

BEFORE = "before"
FORWARD = "forward"
BACKWARD = "backward"
FIRST = "first optimizer step"
OPTIMIZER = "optimizer"


@dataclass(slots=True, eq=False)
class Life:
    """A storage from its allocation to its release.

    Attributes:
        begin, end: Times, in numbers of earlier events; ``end`` is ``None`` if it is never freed.
        size: Bytes, rounded as the allocator of its device does.
        phase: The phase of its allocation.
        module: Full name of the module that made it.
        operator: The operator that made it.
        kind: Its entry in the breakdown; empty until :meth:`Timeline.name_kinds`.
    """

    begin: int
    end: int | None
    size: int
    phase: str
    module: str
    operator: str
    kind: str


@dataclass(frozen=True)
class Moment:
    """A moment of a step: the memory of its storages in bytes, and its time."""

    bytes: int
    time: int


@dataclass
class Timeline:
    """All storages of a step in the order of their events.

    Attributes:
        phase: The present phase.
        starts: Time of the start of each phase.
    """

    phase: str = BEFORE
    starts: dict[str, int] = field(default_factory=lambda: {BEFORE: 0})
    events: list[tuple[Life, int]] = field(default_factory=list)

    def enter(self, phase: str) -> None:
        """Begins a phase."""
        self.phase = phase
        self.starts[phase] = len(self.events)

    def allocate(self, size: int, module: str, operator: str, kind: str = "") -> Life:
        """Adds a storage."""
        life = Life(len(self.events), None, size, self.phase, module, operator, kind)
        self.events.append((life, size))
        return life

    def free(self, life: Life) -> None:
        """Ends the life of a storage."""
        life.end = len(self.events)
        self.events.append((life, -life.size))

    def name_kinds(self) -> None:
        """Names the kinds of all storages that have no name yet.

        A storage of the forward pass is an activation if it outlives this pass. A storage that
        outlives the first step of the optimizer is a state.
        """
        backward = self.starts.get(BACKWARD, len(self.events))
        for life, size in self.events:
            if life.kind or size < 0:
                continue
            outlives = life.end is None or life.end >= backward
            if life.phase == FORWARD and outlives:
                life.kind = "activations"
            elif life.phase in (FIRST, OPTIMIZER) and life.end is None:
                life.kind = "optimizer states"
            else:
                life.kind = "temporaries"

    def peaks(self) -> dict[str, Moment]:
        """The first moment of most memory of each phase."""
        found: dict[str, Moment] = {}
        order = sorted(self.starts, key=lambda phase: self.starts[phase])
        ends = [self.starts[phase] for phase in order[1:]] + [len(self.events)]
        held = 0
        for phase, end in zip(order, ends):
            best = Moment(held, self.starts[phase] - 1)
            for time in range(self.starts[phase], end):
                held += self.events[time][1]
                if held > best.bytes:
                    best = Moment(held, time)
            found[phase] = best
        return found

    def live(self, time: int) -> list[Life]:
        """Storages in memory at a time."""
        lives = (life for life, size in self.events[: time + 1] if size >= 0)
        return [life for life in lives if life.end is None or life.end > time]
