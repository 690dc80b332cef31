"""Replay of tags: the graph that torchtitan's executor makes of them, its peak and its time.

A tag says of a forward node whether its value is saved, recomputed or offloaded.
``apply_cpu_offload_pass`` and ``selective_activation_remat_pass`` of torchtitan build the graph.
:class:`Replay` makes the same edits on lists of numbers. The peak counts the storages that are
alive after each node: a storage lives from its maker to the last reader of any of its holders, and
inputs stay. Bytes on the host do not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .link import Link
from .step_graph import HEAD, NO_LAYER, StepGraph, copy_ns

SAVED, RECOMPUTED, OFFLOADED = "saved", "recomputed", "offloaded"
"""Tags."""

ORIGINAL, COPY, OFFLOAD, WAIT_OUT, RELOAD, WAIT_IN, VIEW_AGAIN, ATTRIBUTE = range(8)
"""Kinds of nodes in the executed graph: of the traced graph, recomputed, the four of a copy to the
host and back, a view made again after it, and a body named again."""

Tags = Mapping[int, str]
"""Tags by the place of a node in the traced graph."""


@dataclass(frozen=True)
class Executed:
    """What the executor makes of tags.

    Attributes:
        peak_bytes: Counted peak, with resident memory.
        time_ns: Length of the step: runs of nodes, and waits for copies to and from the host.
        host_bytes: Bytes of all copies on the host.
        at: Position of the peak in the order.
        alive: Places of the traced nodes that made the storages alive at the peak.
        order: Nodes in execution order, each with its kind and the place of its traced node.
        reads: Positions of the nodes that each node reads.
    """

    peak_bytes: int
    time_ns: int
    host_bytes: int
    at: int
    alive: frozenset[int]
    order: tuple[tuple[int, int], ...]
    reads: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Layout:
    """Where the offload pass puts copies, in layers.

    Attributes:
        prefetch: ``compile.cpu_offload_prefetch_n_layers``.
        defer: ``compile.cpu_offload_defer_n_layers``.
    """

    prefetch: int = 1
    defer: int = 1


class Replay:
    """The executed graph of tags.

    Args:
        step: The traced step.
        tags: Tags; a node without one is saved.
        link: Link to the host, for the time of copies.
        layout: Places of copies.
    """

    def __init__(self, step: StepGraph, tags: Tags, link: Link, layout: Layout) -> None:
        count = len(step.nodes)
        self.step = step
        self.link = link
        self.layout = layout
        self.recomputed = {k for k, tag in tags.items() if tag == RECOMPUTED}
        self.kind = [ORIGINAL] * count
        self.source = list(range(count))
        self.next = [*range(1, count), -1]
        self.before = [-1, *range(count - 1)]
        self.reads: list[tuple[int, ...]] = list(step.inputs)
        self.first = 0
        self.wait_in: dict[int, int] = {}
        self.redirected: set[int] = set()
        self.pinned: set[int] = set()
        self.erased: set[int] = set()
        offloaded = [k for k in sorted(tags) if tags[k] == OFFLOADED]
        if offloaded:
            self._offload(offloaded)
        if self.recomputed:
            self._recompute()

    # Lists.

    def _new(self, kind: int, source: int, reads: tuple[int, ...]) -> int:
        self.kind.append(kind)
        self.source.append(source)
        self.reads.append(reads)
        self.next.append(-1)
        self.before.append(-1)
        return len(self.kind) - 1

    def _cut(self, n: int) -> None:
        before, after = self.before[n], self.next[n]
        if before >= 0:
            self.next[before] = after
        else:
            self.first = after
        if after >= 0:
            self.before[after] = before

    def _put_before(self, n: int, place: int) -> None:
        before = self.before[place]
        self.before[n], self.next[n] = before, place
        self.before[place] = n
        if before >= 0:
            self.next[before] = n
        else:
            self.first = n

    def _put_after(self, n: int, place: int) -> None:
        after = self.next[place]
        self.before[n], self.next[n] = place, after
        self.next[place] = n
        if after >= 0:
            self.before[after] = n

    def _move_before(self, n: int, place: int) -> None:
        if n != place:
            self._cut(n)
            self._put_before(n, place)

    def _move_after(self, n: int, place: int) -> None:
        # As fx does it: in front of the next node, which may be the node itself.
        after = self.next[place]
        if after != n and n != place:
            self._cut(n)
            self._put_after(n, place)

    def sequence(self) -> list[int]:
        """Nodes in execution order."""
        found = []
        n = self.first
        while n >= 0:
            found.append(n)
            n = self.next[n]
        return found

    def _is_backward(self, n: int) -> bool:
        kind = self.kind[n]
        if kind == ORIGINAL:
            return self.step.backward[n]
        return kind not in (OFFLOAD, WAIT_OUT, ATTRIBUTE)

    # apply_cpu_offload_pass.

    def _offload(self, offloaded: list[int]) -> None:
        step = self.step
        plans = []
        for k in offloaded:
            views = step.view_chain(k)
            direct = [u for u in step.users[k] if step.backward[u]]
            through = [(v, u) for v in views for u in step.users[v] if step.backward[u]]
            users = direct + [u for _, u in through]
            if users:
                plans.append((k, direct, views, through, min(users)))
        waits: list[tuple[int, int, int | None]] = []
        reloads: list[int] = []
        for k, direct, views, through, reader in plans:
            stands = step.last_reader[k][1]
            out = self._new(OFFLOAD, k, (k,))
            self._put_after(out, k)
            read = (out, k) if stands is None else (out, k, stands)
            wait = self._new(WAIT_OUT, k, read)
            self._put_after(wait, out)
            if stands is not None:
                self.pinned.add(stands)
            waits.append((k, wait, stands))
            reload = self._new(RELOAD, k, (wait,))
            self._put_before(reload, reader)
            back = self._new(WAIT_IN, k, (reload, wait))
            self._put_before(back, reader)
            self.wait_in[k] = back
            reloads.append(reload)
            for user in direct:
                self._redirect(user, k, back)
            again = {k: back}
            for view in sorted(views):
                reads = tuple(again.get(s, s) for s in step.inputs[view])
                again[view] = self._new(VIEW_AGAIN, view, reads)
                self._put_before(again[view], reader)
            for view, user in through:
                self._redirect(user, view, again[view])
            self.redirected.update((k, *views))
        if self.layout.defer > 0:
            self._defer(waits)
        if self.layout.prefetch > 0:
            self._prefetch()

    def _redirect(self, n: int, old: int, new: int) -> None:
        self.reads[n] = tuple(new if s == old else s for s in self.reads[n])

    def _defer(self, waits: list[tuple[int, int, int | None]]) -> None:
        step = self.step
        anchors: list[int] = []
        region: dict[int, int] = {}
        current: int | None = None
        last: int | None = None
        number = -1
        for n in self.sequence():
            if not self._is_call(n):
                continue
            if self._is_backward(n):
                break
            layer = step.layer[self.source[n]]
            if layer != current:
                if last is not None:
                    anchors.append(last)
                number += 1
                current = layer
            region[n] = number
            last = n
        if last is not None:
            anchors.append(last)
        for k, wait, stands in waits:
            own = region.get(k)
            if own is None:
                continue
            until = own if stands is None else region.get(stands, own)
            target = min(max(own + self.layout.defer, until), len(anchors) - 1)
            self._move_after(wait, anchors[target])

    def _is_call(self, n: int) -> bool:
        return self.kind[n] != ATTRIBUTE and self.step.is_call[self.source[n]]

    def _prefetch(self) -> None:
        step = self.step
        anchors: list[int] = []
        first: dict[int, int] = {}
        current: int | None = None
        reloads = []
        for n in self.sequence():
            if self.kind[n] == RELOAD:
                reloads.append(n)
            if not self._is_call(n) or not self._is_backward(n):
                continue
            if self.kind[n] in (RELOAD, WAIT_IN):
                continue
            layer = step.layer[self.source[n]]
            if layer != current:
                anchors.append(n)
                if layer != NO_LAYER and layer not in first:
                    first[layer] = len(anchors) - 1
                current = layer
        if not anchors:
            return
        layers = sorted(first, key=first.__getitem__)
        position = {layer: k for k, layer in enumerate(layers)}
        for reload in reloads:
            layer = step.layer[self.source[reload]]
            if layer not in first:
                continue
            earlier = position[layer] - self.layout.prefetch
            target = 0 if earlier < 0 else first[layers[earlier]]
            if target < first[layer]:
                self._move_before(reload, anchors[target])

    # selective_activation_remat_pass.

    def _recompute(self) -> None:
        step = self.step
        sequence = self.sequence()
        order = {n: k for k, n in enumerate(sequence)} if self.wait_in else None
        place = order.__getitem__ if order is not None else int
        region = self._region(sequence)
        targets = self._targets(region, place)
        if not targets:
            return
        copies: dict[int, int] = {}
        moved: dict[int, int] = {}
        for k in sorted(targets):
            target = targets[k]
            for source in step.inputs[k]:
                if source in self.wait_in:
                    self._hoist(self.wait_in[source], target, moved, place)
            replaced: dict[int, int] = {}
            if step.body[k]:
                for source in step.inputs[k]:
                    if step.nodes[source].op == "get_attr" and not step.slots[source]:
                        replaced[source] = self._new(ATTRIBUTE, source, ())
                        self._put_before(replaced[source], target)
            reads = tuple(
                replaced.get(s) or copies.get(s) or self.wait_in.get(s, s) for s in step.inputs[k]
            )
            copies[k] = self._new(COPY, k, reads)
            self._put_before(copies[k], target)
        for k, copy in copies.items():
            if k not in self.redirected:
                for user in step.users[k]:
                    if step.backward[user]:
                        self._redirect(user, k, copy)
        for k in sorted(copies, reverse=True):
            kept = any(u not in self.erased and not step.backward[u] for u in step.users[k])
            if not kept and k not in self.pinned:
                self.erased.add(k)
                self._cut(k)
        self._raise_picks()

    def _region(self, sequence: list[int]) -> set[int]:
        """Backward nodes in front of which copies are made."""
        step = self.step
        start = 0
        for k, n in enumerate(sequence):
            # Nodes of the traced graph decide, because no others belong to the loss or the head.
            if self.kind[n] in (ORIGINAL, VIEW_AGAIN) and step.module[self.source[n]] in HEAD:
                start = k + 1
        # Other runs of backward nodes read nothing that is recomputed.
        return set(sequence[start:]) & {n for n in sequence if self._is_backward(n)}

    def _targets(self, region: set[int], place) -> dict[int, int]:  # type: ignore[no-untyped-def]
        """For each node that runs again the backward node that it precedes."""
        step = self.step
        targets: dict[int, int] = {}
        for k in sorted(self.recomputed, reverse=True):
            best: int | None = None
            for user in step.users[k]:
                if step.backward[user]:
                    if user not in region or k in self.redirected:
                        continue
                    at = user
                elif user in targets:
                    at = targets[user]
                else:
                    continue
                if best is None or place(at) < place(best):
                    best = at
            if best is not None:
                targets[k] = best
        return targets

    def _hoist(self, wait: int, target: int, moved: dict[int, int], place) -> None:  # type: ignore[no-untyped-def]
        """Moves a reload and its wait in front of a node, if they are behind it."""
        chain = []
        stack = [wait]
        while stack:
            n = stack.pop()
            if n in chain or self.kind[n] not in (RELOAD, WAIT_IN):
                continue
            anchor = moved.get(n)
            if place(n if anchor is None else anchor) <= place(target):
                continue
            chain.append(n)
            stack.extend(self.reads[n])
        for n in sorted(chain, key=place):
            self._move_before(n, target)
            moved[n] = target

    def _raise_picks(self) -> None:
        step = self.step
        for n in reversed(self.sequence()):
            if self.kind[n] in (ORIGINAL, COPY) and step.getitem[self.source[n]]:
                parent = self.reads[n][0]
                if self.next[parent] != n:
                    self._move_after(n, parent)

    # Counting.

    def executed(self, with_order: bool = False) -> Executed:
        """Peak and time of the executed graph; ``with_order`` tells its nodes as well."""
        step = self.step
        kind, source, reads = self.kind, self.source, self.reads
        sequence = self.sequence()
        last = [-1] * len(kind)
        for p, n in enumerate(sequence):
            for s in reads[n]:
                last[s] = p
        held: list[tuple[int, ...]] = [()] * len(kind)
        size: list[int] = []
        born: list[int] = []
        dies: list[int] = []
        host = 0
        slots = step.slots
        for p, n in enumerate(sequence):
            k = source[n]
            until = last[n] if last[n] > p else p
            what = kind[n]
            if what == WAIT_IN:
                own = held[reads[n][0]]
            elif what in (OFFLOAD, WAIT_OUT, ATTRIBUTE):
                host += step.slot_bytes(k) if what == OFFLOAD else 0
                continue
            else:
                made = ((-1, step.slot_bytes(k)),) if what == RELOAD else slots[k]
                parts = []
                for owner, part in made:
                    if owner < 0:
                        parts.append(len(size))
                        size.append(part)
                        born.append(p)
                        dies.append(until)
                    else:
                        parts.append(held[reads[n][owner]][part])
                own = tuple(parts)
            held[n] = own
            for storage in own:
                if dies[storage] < until:
                    dies[storage] = until
        maker = [source[sequence[p]] for p in born]
        change = [0] * (len(sequence) + 1)
        for storage, amount in enumerate(size):
            change[born[storage]] += amount
            change[dies[storage] + 1] -= amount
        position = {n: p for p, n in enumerate(sequence)} if with_order else {}
        live = most = at = 0
        for p in range(len(sequence)):
            live += change[p]
            if live > most:
                most, at = live, p
        return Executed(
            step.resident_bytes + most,
            self._time(sequence),
            host,
            at,
            frozenset(m for m, a, b in zip(maker, born, dies) if a <= at <= b),
            tuple((kind[n], source[n]) for n in sequence) if with_order else (),
            tuple(tuple(sorted({position[s] for s in reads[n]})) for n in sequence)
            if with_order
            else (),
        )

    def _time(self, sequence: list[int]) -> int:
        """Length of the step with one stream for operators and one for copies."""
        step, kind, source = self.step, self.kind, self.source
        now = 0
        if not self.wait_in:
            return sum(step.cost_ns[source[n]] for n in sequence)
        free = 0
        ends: dict[int, int] = {}
        for n in sequence:
            what, k = kind[n], source[n]
            if what in (ORIGINAL, COPY, VIEW_AGAIN):
                now += step.cost_ns[k]
            elif what in (OFFLOAD, RELOAD):
                free = max(free, now) + copy_ns(self.link, step.slot_bytes(k), what == OFFLOAD)
                ends[n] = free
            elif what in (WAIT_OUT, WAIT_IN):
                now = max(now, ends[self.reads[n][0]])
        return now


def replay(
    step: StepGraph, tags: Tags, link: Link, layout: Layout = Layout(), order: bool = False
) -> Executed:
    """What the executor makes of tags.

    >>> replay(step, {7: "recomputed"}, link).peak_bytes     # doctest: +SKIP
    """
    return Replay(step, tags, link, layout).executed(order)
