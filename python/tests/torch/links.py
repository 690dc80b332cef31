"""Stand-ins for a link and for streams, and plans with copies at random places."""

import contextlib
import random

import torch

from remat_bb.torch.carrier import Streams

POISON = 255


class Late:
    """A carrier whose copies are made when they are waited for, as late as they may be. Their
    targets hold no numbers before."""

    def __init__(self):
        self.begun = 0

    def begin(self):
        self.begun += 1

    def to_host(self, source, target):
        return self._later(source, target, None)

    def from_host(self, source, target, after):
        return self._later(source, target, after)

    def _later(self, source, target, after):
        target.fill_(POISON)
        return [(source, target, after)]

    def wait(self, done):
        while done:
            source, target, after = done.pop()
            if after is not None:
                self.wait(after)
            target.copy_(source)


class FakeEvent:
    """A place in a stream."""

    def record(self, stream):
        self.stream, self.place = stream, len(stream.todo)


class FakeStream:
    """A stream whose work is done when somebody has to wait for it, in its order."""

    def __init__(self, device=None):
        self.todo, self.done = [], 0

    def wait_event(self, event):
        self.todo.append(lambda: event.stream.run(event.place))

    def wait_stream(self, stream):
        place = len(stream.todo)
        self.todo.append(lambda: stream.run(place))

    def run(self, place):
        while self.done < place:
            self.done += 1
            self.todo[self.done - 1]()


class Computing(FakeStream):
    """The stream that computes: it has done whatever it was asked to."""

    def wait_event(self, event):
        event.stream.run(event.place)


class FakeCuda:
    """As much of ``torch.cuda`` as copies need."""

    Event, Stream = FakeEvent, FakeStream

    def __init__(self):
        self.computing = Computing()
        self.within = None

    def current_stream(self, device=None):
        return self.within or self.computing

    @contextlib.contextmanager
    def stream(self, stream):
        self.within = stream
        yield
        self.within = None


class FakeStreams(Streams):
    """Streams of a GPU that is none."""

    def __init__(self, half=False):
        super().__init__(torch.device("cpu"), half, FakeCuda())

    def _move(self, source, target):
        target.fill_(POISON)
        self.cuda.within.todo.append(lambda: target.copy_(source))


def with_copies(instance, steps, seed, share=0.5):
    """The statements of a plan with copies at random places: between two readers of a tensor, or
    before the first, it is on the host alone. Memory of the device is nowhere more than before."""
    random_ = random.Random(seed)
    nodes = {node["name"]: node for node in instance["nodes"]}
    names = [node["name"] for node in instance["nodes"]]
    points, home, newest, copied = {}, {}, {}, set()
    for place, step in enumerate(steps):
        if step[0] == "compute":
            for need in nodes[step[1]].get("needs", ()):
                need = names[need] if isinstance(need, int) else need
                points[newest[need]].append(place)
            newest[step[1]], points[step[2]], home[step[2]] = step[2], [place], step[1]
        elif step[0] == "prefetch":
            fetched = next(s for s in reversed(steps[:place]) if s[:2] == ("allocate", step[2]))
            newest[fetched[2]], points[step[2]], home[step[2]] = step[2], [], fetched[2]
        elif step[0] == "deallocate":
            found = points.pop(step[1])
            points[step[1], place] = [] if step[1] in copied else found
            copied.discard(step[1])
            home[step[1], place] = home.pop(step[1])
        elif step[0] == "offload":
            # A tensor that leaves already does so once.
            copied.add(step[1])
    register = 1 + max(s[1] for s in steps if s[0] == "allocate")
    buffer = 1 + max((s[2] for s in steps if s[0] == "offload"), default=-1)
    added, renamed = [], []
    for key, places in sorted(points.items(), key=lambda item: str(item[0])):
        node = nodes[home[key]]
        own = key[0] if isinstance(key, tuple) else key
        stays = node.get("offload") is False or not node["output_bytes"]
        if stays or len(places) < 2 or random_.random() > share:
            continue
        gap = random_.randrange(len(places) - 1)
        first, last = places[gap], places[gap + 1]
        if first == last:
            continue
        out = random_.randrange(places[0], last)
        wait = random_.randrange(max(out, first), last)
        back = random_.randrange(wait, last)
        if random_.random() < 0.3:
            # Back at once, to be read much later.
            out = wait = back = first
        end = random_.randrange(last, min(last + 4, len(steps)))
        added += [(out, 0, ("offload", own, buffer)), (wait, 1, ("wait", buffer))]
        added += [(wait, 2, ("deallocate", own)), (back, 3, ("allocate", register, node["name"]))]
        added += [(back, 4, ("prefetch", buffer, register)), (end, 5, ("release", buffer))]
        if isinstance(key, tuple):
            renamed.append((key[1], register))
        register, buffer = register + 1, buffer + 1
    out = []
    moved = dict(renamed)
    for place, step in enumerate(steps):
        out.append(("deallocate", moved[place]) if place in moved else step)
        out += [s for _, _, s in sorted(a for a in added if a[0] == place)]
    return out
