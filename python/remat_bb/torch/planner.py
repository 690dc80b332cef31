"""The planning partitioner: from a joint graph to the forward and backward graph of a plan."""

from __future__ import annotations

import functools
import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

import torch

from .. import _native
from .._amounts import amount
from ..errors import InfeasibleBudget, InvalidArgument, RematError
from . import _compat, latest, tags
from ._compat import fx
from .accumulate import Accumulation, Given, accumulation
from .bounded import Bounds
from .bucket import Buckets
from .budget import budget_bytes, cuda_device, warm_up
from .collectives import allow_gathers
from .cost import Costs, Measured, Roofline, name_of
from .decisions import chooses_by_time, draws_elsewhere
from .instance import document
from .kept import Kept
from .link import Copying, Link
from .memory import Peak, peak, state_bytes, waiting_bytes
from .optimizer_states import OptimizerMemory
from .outputs import warn_of_outside_loss
from .partition import Joint
from .ranks import Ranks
from .rates import KNOWN
from .reorder_plan import reorder_both
from .report import Report
from .retained import widen
from .rewrite import Rewritten, rewrite
from .search import keep, searched
from .size_buckets import POWERS
from .stage_schedule import StageBytes, StageSchedule
from .stage_sizes import buffers_before, received, sizes_before, stage_peak
from .updates import updater, with_optimizer

TIGHTENINGS = 4
"""Times that a budget is lowered because the graphs of its plan need more than the plan says."""
PROBE_SHARE = 0.25
"""Share of the solver's time that a plan gets whose graphs may need more than it says, or that is
asked for again."""
SPARE_SHARE = 0.002
"""Share of the budget that is left to states of generators without a try how many there are."""
AUTO_SECONDS = (0.6, 0.005, 10.0)
"""Seconds of the solver for any graph, for each node besides, and at most, where it copies."""
PLANS_TOLD = 32
"""Plans of one planner at which a warning asks for fewer sizes."""
AUTO_GAP = 0.001
"""Proven gap that ends the search where no time is named: costs are measured no better."""


@dataclass(frozen=True)
class Settings:
    """Settings of a plan, besides the graph.

    Attributes:
        budget: Memory of the whole step: bytes, an amount such as ``"6GiB"``, a share of the peak
            without recomputation such as ``"80%"``, or ``"device"``: the free memory of the device.
        costs: ``"measured"``, ``"roofline"`` (workspaces are measured), ``"static"`` (no operator
            is run), the same with the rates of a device (``"h200"``), or an object with the methods
            of :class:`Costs`.
        time_limit: Seconds for the solver. ``"auto"`` is a fixed amount of work, some seconds, so
            that the plan does not depend on the clock; the solver stops at a proven gap of 0.1%.
            With copies to the host ``"auto"`` is 0.6 s and 5 ms for each node, at most 10 s.
            ``None`` is a fixed amount of work that takes minutes.
        extra_bytes: Memory held during the step besides the inputs of the graph and their
            gradients, such as states of an optimizer. ``None``: the other memory allocated on the
            device at compile time; 0 on the processor.
        threads: Threads of the solver.
        agree: True if all processes of the default group of ``torch.distributed`` compile the same
            graphs in the same order: all use the plans of the first process. Steps of modules of
            ``fully_shard`` always agree.
        cache: True if Inductor may use compiled graphs of an earlier process, which have no report.
        tags: ``"plan"`` ignores the marks of ``torch.utils.checkpoint``. ``"keep"`` obeys them:
            values that it must save are not recomputed, and values that it recomputes are not
            saved.
        plan_cache: True if plans are kept for later processes, by graph, budget, kind of costs,
            effort, device and versions, in the user's cache (``~/.cache/remat-bb/plans``, or the
            environment variable ``REMAT_BB_PLAN_CACHE``); a folder; or False. A plan that was
            proven optimal is used without a bound, because its bound is for earlier costs. Other
            plans start the search.
        reorder: True puts the operators of both graphs of a plan, and of graphs without gradients,
            in the order of least peak. Only with ``inner="eager"``, because Inductor orders its
            kernels itself.
        offload: The link over which plans may copy tensors to host memory and back:
            ``"pcie4"``, ``"12GB/s"`` and other texts as for :func:`remat_bb.solve`, or a
            :class:`Link`, for example from :func:`remat_bb.torch.measure_link`. ``None``: no
            copies. Not with ``reorder``, and with ``inner="inductor"`` not with ``cache``.
        host_memory: Host memory for the copies of one step: bytes or an amount such as
            ``"64GiB"``; ``None`` without a limit.
        offload_phase: ``"any"``, or ``"loss"`` for copies to the host in the forward graph and
            copies back in the backward graph.
        accumulate: True counts gradients of parameters from earlier backward passes, to which the
            step adds. ``None`` counts them if a parameter has a gradient at compile time. If a
            later step that adds to gradients exceeds the budget, another plan is made for it. False
            does not count them.
        optimizer: The optimizer, its class, or a function that makes one from a list of
            parameters. Its states count from the first step on, and its own step has to keep the
            budget. ``None``: states count if they are in ``extra_bytes``.
        in_flight: Forward passes that may be pending, with the one that runs: micro-batches in
            flight on a stage of a pipeline. The budget holds for all of them. With a
            :class:`StageSchedule` it also holds for the buffers and sent tensors of the schedule.
            Only with ``inner="eager"``, without copies, ``reorder`` and ``plan_class``.
        plan_class: The best plan that a training stack can execute: ``"tags"``, ``"regions"``,
            ``"blocks"`` or ``"names"``. ``None``: any plan. Without copies and ``reorder``.
        buckets: Changing sizes that share a plan, made for the largest: ``"powers of two"``, the
            ratio of successive bounds, such as 1.25, bounds such as ``[512, 1024]``, a dictionary
            of these by dimension of the inputs, or ``None``: each size has its own plan.
        updates: ``"in_backward"`` runs ``optimizer`` for each parameter when its gradient is ready,
            and frees it. Only with ``inner="eager"``, in one process. ``None``: after the step.
    """

    budget: int | str
    costs: str | Costs = "measured"
    time_limit: float | str | None = "auto"
    extra_bytes: int | None = None
    threads: int | None = None
    agree: bool = False
    cache: bool = False
    tags: str = "plan"
    plan_cache: bool | str = True
    reorder: bool = False
    offload: str | Link | None = None
    host_memory: int | str | None = None
    offload_phase: str = "any"
    accumulate: bool | None = None
    plan_class: str | None = None
    optimizer: Any = None
    in_flight: int | StageSchedule = 1
    buckets: Any = POWERS
    updates: str | None = None

    @property
    def stage(self) -> StageSchedule | None:
        """The place in a schedule of a pipeline; ``None`` if it is unknown."""
        return self.in_flight if isinstance(self.in_flight, StageSchedule) else None

    @property
    def pending(self) -> int:
        """Forward passes that may be pending, with the one that runs."""
        given = self.in_flight
        return given.in_flight if isinstance(given, StageSchedule) else given

    def copying(self) -> Copying | None:
        """The copies of these settings; ``None`` without copies.

        Raises:
            InvalidArgument, InvalidBudget: for an invalid link, amount or phase, and for settings
                that exclude copies.
        """
        if self.offload_phase not in ("any", "loss"):
            raise InvalidArgument(
                f"offload_phase: {self.offload_phase!r} is no time for copies",
                remedy='give "any" or "loss"',
            )
        if self.offload is None:
            if self.host_memory is not None:
                raise InvalidArgument(
                    "host_memory: nothing is copied to the host", remedy="name a link: offload="
                )
            return None
        if self.reorder:
            raise InvalidArgument(
                "reorder: graphs that copy to the host keep the order of their plan",
                remedy="leave out reorder, or offload",
            )
        memory = None if self.host_memory is None else 0
        if self.host_memory is not None and self.host_memory != 0:
            memory = amount(self.host_memory, "host_memory")
        return Copying(Link.of(self.offload), memory, self.offload_phase)

    def cost_model(self) -> Costs:
        """The costs of these settings.

        Raises:
            RematError: for an unknown word.
        """
        if isinstance(self.costs, Costs):
            return self.costs
        models: dict[str, Callable[[], Costs]] = {
            "measured": Measured,
            "roofline": lambda: Measured(times=False),
            "static": Roofline,
        }
        models |= {name: partial(Roofline, device=name) for name in KNOWN}
        if self.costs not in models:
            raise RematError(
                f"costs: {self.costs!r} is no cost model", remedy=f"one of {', '.join(models)}"
            )
        return models[self.costs]()

    def effort(self, instance: _native.Instance) -> dict[str, Any]:
        """Limits as arguments of the solver.

        Raises:
            RematError: for an unknown word.
        """
        if not isinstance(self.time_limit, str):
            return {"time_limit": self.time_limit}
        if self.time_limit != "auto":
            raise RematError(
                f"time_limit: {self.time_limit!r} is no time", remedy='seconds, "auto" or None'
            )
        if self.offload is None:
            return {"effort": "quick", "gap": AUTO_GAP}
        # There is no quick effort with copies.
        least, each, most = AUTO_SECONDS
        return {"time_limit": min(most, least + each * len(instance.nodes)), "gap": AUTO_GAP}


class Planned(Exception):
    """The end of a compilation that only plans."""

    def __init__(self, outcome: Any) -> None:
        super().__init__("planned")
        self.outcome = outcome


class Planner(_compat.CustomPartitionerFn):
    """A partitioner for AOTAutograd and Inductor.

    Args:
        settings: Settings of its plans.
        stop: ``"instance"``, ``"plan"`` or ``"policies"`` ends the compilation with
            :class:`Planned`, which holds the instance, the report, or the data for policies.
    """

    def __init__(self, settings: Settings, stop: str | None = None) -> None:
        self.settings = settings
        self.stop = stop
        self._own = uuid4()
        self.reports: list[Report] = []
        # The graph break at the end of the current graph, and the inputs of the graph.
        self.broken: str | None = None
        self.given: Given | None = None
        # Numbers of inputs that the latest graph changes, and the keeper of state around trials.
        self.changed: set[int] | None = None
        self.kept: Kept | None = None
        # The report of the latest graph that ran.
        self.ran: Report | None = None
        self.latest: Report | None = None
        self._device: torch.device | None = None
        self.holds_loss = True  # False if graphs end before the loss on purpose.
        # Memory of wrappers of the step, and the agreement of the ranks about the latest graph.
        self.wrapper_bytes = 0
        self.ranks = Ranks(settings.agree)
        # Plans of other sizes of a graph, and the symbolic sizes of the current one.
        self.buckets = Buckets()
        self.bounds: Bounds | None = None
        self.compilations = 0
        # Memory of a stage of a pipeline, without its plan.
        self.sizes = StageBytes()

    def __deepcopy__(self, memo: Any) -> Planner:
        # Inductor copies its configuration, but all reports belong to one planner.
        return self

    def __reduce__(self) -> Any:
        return (Planner, (self.settings, self.stop))

    def fresh(self) -> Planner:
        """A new planner with the same settings and no plans."""
        return type(self)(self.settings, self.stop)

    def uuid(self) -> str:
        """Key of Inductor's cache: version of this package and of torch, and the settings.

        Without ``settings.cache`` each planner has its own key. ``None`` is not enough: torch 2.11
        then uses graphs that were compiled without a partitioner.
        """
        words = f"{_native.__version__} {torch.__version__} {self.settings!r}"
        if not self.settings.cache:
            words += f" {self._own}"
        return hashlib.sha256(words.encode()).hexdigest()

    def __call__(
        self, gm: fx.GraphModule, joint_inputs: Any, **options: Any
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        self.ranks = Ranks(self.settings.agree)
        with self.ranks.meeting():
            return self._partitioned(gm, joint_inputs, **options)

    def _partitioned(
        self, gm: fx.GraphModule, joint_inputs: Any, **options: Any
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        if _compat.is_region(joint_inputs):
            return _compat.partition_region(gm, joint_inputs, **options)
        tags.check(self.settings.tags)
        if self.settings.tags == "keep":
            tags.split(gm)
        if self.bounds is None:
            return self._graphs(gm, joint_inputs, **options)
        run = functools.partial(self._graphs, gm, joint_inputs, **options)
        return self.bounds.within(gm, run, narrows=not self.settings.agree)

    def _graphs(
        self, gm: fx.GraphModule, joint_inputs: Any, **options: Any
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        joint = Joint(gm, options["num_fwd_outputs"])
        if self.settings.agree:
            allow_gathers(joint)
        self.changed = joint.changed_inputs()
        self._device = device = cuda_device(joint)
        if device is not None:
            for call in joint.calls:
                call.once |= call.random and draws_elsewhere(call.node, device)
        if self.settings.tags == "keep":
            for call in joint.calls:
                call.once |= tags.must_save(call.node)
        if joint.tangents and self.broken is not None:
            raise RematError(
                f"the step breaks into several graphs, and a budget holds for one: {self.broken}",
                remedy="take what breaks it out of the step, or compile it with fullgraph=True to "
                "see all that does",
            )
        if self.holds_loss:
            warn_of_outside_loss(joint)
        if not joint.tangents:
            options.pop("compiler", None)
            if self.bounds is not None:
                self.bounds.restore(gm)
            return _compat.default_partition(gm, joint_inputs, **options)
        report, graphs = self.planned(joint)
        report.host, report.marked = graphs.host, tags.marked(gm, self.settings.tags)
        report.gpu = self._device
        self._keep_kernels(joint, report)
        report.compilation = self.compilations
        report.sizes = [] if self.bounds is None else self.bounds.buckets()
        if self.stop == "plan":
            raise Planned(report)
        if self.stop == "policies":
            raise Planned((joint, report, graphs))
        if graphs.host is not None:
            graphs.host.reserve()
        self.reports.append(report)
        latest.note(report)
        if len(self.reports) == PLANS_TOLD:
            warnings.warn(
                f"{PLANS_TOLD} plans so far, for buckets of sizes and for each number that is not "
                "multiplied with tensors; wider buckets need fewer, and so do numbers as tensors",
                stacklevel=2,
            )
        self.latest = report
        return graphs.forward, graphs.backward

    def planned(self, joint: Joint) -> tuple[Report, Rewritten]:
        """The plan of a joint graph, and its graphs.

        Raises:
            InfeasibleBudget, LimitReached: as the solver does.
        """
        costs, copying = self.settings.cost_model(), self.settings.copying()
        for call in joint.calls:
            widen(call.node, costs.storages(call))
        costs.settle(joint.calls)
        gradients = self._accumulated(joint)
        joint.in_place = self.adds_in_place
        if joint.in_place and gradients.counted:
            joint.accumulate(gradients.places)
        costs, states = with_optimizer(self.settings, joint, gradients.places, costs)
        self.changed = joint.changed_inputs()
        extra = self._extra_bytes(joint, states)
        fixed = joint.input_bytes() + extra + gradients.counted
        if (stage := self.settings.stage) is not None:
            places = self._arguments(joint)
            self.sizes = sizes_before(joint, places, extra, gradients.bytes)
            fixed = stage.constant_bytes(self.sizes)
        written = document(joint, costs, fixed, name_of(costs), copying)
        if self.settings.pending > 1:
            written["in_flight"] = self.settings.pending
        instance = _native.Instance(written)
        if self.stop == "instance":
            raise Planned(instance)
        if states is not None and self.settings.updates is None:
            budget = budget_bytes(self.settings.budget, instance, joint)
            states.check(budget, fixed - gradients.counted, gradients.bytes)
        report, graphs = self._plan(joint, instance, costs, fixed)
        report.states_bytes = 0 if states is None else states.states_bytes
        report.optimizer = updater(self.settings)
        return self.with_gradients(report, graphs, joint, costs, gradients), graphs

    def _keep_kernels(self, joint: Joint, report: Report) -> None:
        """Turns cuDNN's trials off for graphs that run a convolution again."""
        again = set(report.plan.recomputed)
        report.without_trials = any(
            call.name in again and chooses_by_time(call.node) for call in joint.calls
        )
        if report.without_trials:
            warnings.warn(
                "torch.backends.cudnn.benchmark is on, and the plan runs convolutions again: this "
                "step runs with it off, because trials may choose another kernel, with other bits",
                stacklevel=2,
            )

    @property
    def adds_in_place(self) -> bool:
        """True if backward graphs add to present gradients in place. With other passes pending,
        autograd adds them."""
        return not self.settings.reorder and self.settings.pending == 1

    def _accumulated(self, joint: Joint) -> Accumulation:
        """Gradients held before the step."""
        asked = self.settings.accumulate
        if (stage := self.settings.stage) is not None:
            asked = stage.microbatches > 1 or stage.keeps_gradients
        if asked is None and self.settings.pending > 1:
            # The first backward pass makes gradients while other passes are pending.
            asked = True
        if asked is None:
            asked = self.given is not None and self.given.present
        if self.settings.updates is not None:
            # A gradient is gone before the next step.
            return replace(accumulation(joint, self.given, False), bytes=0)
        # Gradients of what a stage receives are sent, so they do not accumulate.
        sent = frozenset() if stage is None else self._arguments(joint)
        return accumulation(joint, self.given, asked, sent)

    def _arguments(self, joint: Joint) -> frozenset[int]:
        """Inputs of a joint graph that are arguments of the call."""
        return received(joint, self.given.arguments if self.given else frozenset())

    def wants_another(self, report: Report) -> bool:
        """Returns true if a plan leaves out gradients of earlier backward passes and steps that add
        to these exceed the budget."""
        return (
            self.settings.accumulate is None
            and not report.accumulated_bytes
            and report.accumulating_bytes > report.budget_bytes
        )

    def _waiting_bytes(self, graphs: Rewritten, inputs: set[str]) -> int:
        """Memory of the other micro-batches in flight."""
        others = self.settings.pending - 1
        return others * waiting_bytes(graphs, inputs) if others else 0

    def with_gradients(
        self,
        report: Report,
        graphs: Rewritten,
        joint: Joint,
        costs: Costs,
        gradients: Accumulation,
    ) -> Report:
        """Completes a report with the peak of steps that add to gradients of earlier ones."""
        report.accumulated_bytes = gradients.counted
        report.counts_workspaces = costs.counts_workspaces
        report.estimated = dict(costs.estimated())
        adds = joint.added | (gradients.places if self.adds_in_place else frozenset())
        inputs = {node.name for node in joint.primals}
        report.waiting_bytes = self._waiting_bytes(graphs, inputs)
        if self.settings.stage is not None:
            report.stage, report.accumulating_bytes = graphs.stage, report.predicted_bytes
            return report
        found = peak(graphs, costs, inputs, adds).bytes + report.waiting_bytes
        before = report.fixed_bytes - gradients.counted
        report.accumulating_bytes = before + gradients.bytes + found
        return report

    def _plan(
        self, joint: Joint, instance: _native.Instance, costs: Costs, fixed: int
    ) -> tuple[Report, Rewritten]:
        ranks = self.ranks
        budget = ranks.check(instance, budget_bytes(self.settings.budget, instance, joint), fixed)
        inputs = {node.name for node in joint.primals}
        copying, stage = self.settings.copying(), self.settings.stage

        def written(plan: _native.Plan) -> tuple[Rewritten, Peak]:
            graphs = rewrite(joint, plan.steps)
            if graphs.host is not None and copying is not None:
                graphs.host.half = copying.link.duplex == "half"
            if self.settings.reorder:
                reorder_both(graphs, costs, inputs, self.settings.threads)
            if stage is not None:
                found = stage_peak(stage, self.sizes, graphs, costs, inputs, joint.added)
                return graphs, Peak(ranks.worst(found.bytes - fixed) + fixed, found.at)
            found = peak(graphs, costs, inputs, joint.added)
            waiting = self._waiting_bytes(graphs, inputs)
            return graphs, Peak(ranks.worst(found.bytes) + fixed + waiting, found.at)

        if not self.settings.agree and budget < instance.peak_memory_bytes:
            near = self.buckets.near(instance)
            if near is not None and (made := written(near))[1].bytes <= budget:
                return self._reported(instance, near, budget, made, fixed)
        # Graphs that keep states of generators need more memory than their plan. Without
        # recomputation they keep no states.
        states = state_bytes(joint)
        needed = budget < instance.peak_memory_bytes
        spare = states if needed and states <= SPARE_SHARE * budget else 0
        allowed = budget - spare
        share = PROBE_SHARE if states > spare else 1.0
        for doubling in range(1 + TIGHTENINGS):
            plan, status = self._solved(instance, allowed, share)
            graphs, found = written(plan)
            if found.bytes <= budget:
                break
            # The next plan must need less than this one, so its budget is below both.
            excess = found.bytes - budget
            allowed = min(allowed, plan.peak_memory_bytes) - (excess << doubling)
            share = PROBE_SHARE
            if allowed <= fixed:
                break
        if found.bytes > budget:
            raise InfeasibleBudget(
                f"every plan found needs more than the budget of {budget} bytes once it is code: "
                f"{found.at} needs {found.bytes} bytes",
                remedy=f"give {found.bytes} bytes",
                budget_bytes=budget,
                needed_bytes=found.bytes,
                node=found.at,
            )
        # The rest of the time is for a better plan than the first one that fits. A plan from the
        # cache has no status.
        unproven = status not in ("optimal", None)
        if share < 1.0 and unproven and self.settings.time_limit is not None:
            # Solves with copies take no starts.
            starts = [plan] if copying is None else []
            better, _ = self._solved(instance, allowed, 1.0 - share, starts=starts)
            if ranks.same(better.objective < plan.objective):
                other_graphs, other = written(better)
                if other.bytes <= budget:
                    plan, graphs, found = better, other_graphs, other
                    keep(self.settings, self._device, allowed, share, plan)
        if self.settings.reorder and plan.recomputed and found.bytes < budget:
            # Reordered graphs need less memory than their plan, so a plan for a larger budget may
            # fit.
            more = allowed + budget - found.bytes
            other_plan, _ = self._solved(instance, more, PROBE_SHARE, starts=[plan])
            if ranks.same(other_plan.objective < plan.objective):
                other_graphs, other = written(other_plan)
                if other.bytes <= budget:
                    plan, graphs, found = other_plan, other_graphs, other
        self.buckets.keep(instance, plan)
        return self._reported(instance, plan, budget, (graphs, found), fixed)

    def _reported(
        self,
        instance: _native.Instance,
        plan: _native.Plan,
        budget: int,
        made: tuple[Rewritten, Peak],
        fixed: int,
    ) -> tuple[Report, Rewritten]:
        graphs, found = made
        report = Report(instance, plan, budget, found.bytes, found.at, fixed)
        report.reordered = graphs.reordered
        self.ranks.sign(instance, plan, [graphs.forward.code, graphs.backward.code])
        report.digest = self.ranks.digest
        return report, graphs

    def _solved(
        self,
        instance: _native.Instance,
        budget: int,
        share: float,
        starts: Sequence[_native.Plan] = (),
    ) -> tuple[_native.Plan, str | None]:
        """A plan of this process, or of the first process if all are to agree, and its status.

        Args:
            share: The share of the solver's time.
            starts: Plans to start from.

        Raises:
            RematError: errors of the solver.
        """
        options: dict[str, Any] = {"threads": self.settings.threads, "starts": list(starts)}
        options |= self.settings.effort(instance)
        if self.settings.plan_class is not None:
            options["plan_class"] = self.settings.plan_class
        if options.get("time_limit") is not None:
            options["time_limit"] *= share
        if (copying := self.settings.copying()) is not None:
            options |= {"offload": "on", "offload_phase": copying.phase}
        return self.ranks.solved(
            instance,
            lambda: searched(self.settings, self._device, instance, budget, share, options),
        )

    def _extra_bytes(self, joint: Joint, states: OptimizerMemory | None) -> int:
        """Memory held during the step besides the inputs of the graph and their gradients."""
        device = cuda_device(joint)
        asked = self.settings.extra_bytes
        if asked is not None or device is None:
            return (asked or 0) + self.wrapper_bytes + (states.states_bytes if states else 0)
        warm_up(device)
        before = joint.input_bytes() + (self.given.gradient_bytes if self.given else 0)
        if (stage := self.settings.stage) is not None:
            before += buffers_before(joint, self._arguments(joint), stage)
        found = max(0, torch.cuda.memory_allocated(device) - before)
        return found + (states.missing_bytes if states else 0)
