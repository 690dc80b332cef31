// Answers about a plan: costs of dropping a tensor, causes of recomputations, the price of memory.

/** Bytes that prices and answers speak of. */
const HUNDRED_MB = 1e8;

/**
 * Cost to have a tensor again right after a moment if it were dropped there: its own recomputation
 * and those of all its inputs that are not in memory then, each once, by the way that the plan
 * last computed them. Infinity if one of them may not be computed again.
 */
class DropCosts {
  constructor(plan, at) {
    const { graph } = plan;
    this.plan = plan;
    this.live = new Uint8Array(graph.names.length);
    for (const { piece } of plan.liveAt(at)) {
      if (plan.pieceKind[piece] === 1 && plan.filled[piece] <= at && plan.pieceNode[piece] >= 0) {
        this.live[plan.pieceNode[piece]] = 1;
      }
    }
    this.at = at;
    this.once = graph.onceSet ??= new Set(graph.once);
    this.gathered = graph.gatheredSet ??= new Set(graph.gathered);
    this.seen = new Uint32Array(graph.names.length);
    this.round = 0;
  }

  wayOf(node) {
    const runs = this.plan.runsOf.at(node);
    const last = runs[above(runs, this.at) - 1];
    return this.plan.graph.ways[node][last === undefined ? 0 : this.plan.way[last]];
  }

  /** Cost and number of the computations. */
  of(node) {
    this.round++;
    const open = [node];
    let [cost, count] = [0, 0];
    this.seen[node] = this.round;
    while (open.length) {
      const next = open.pop();
      if (this.gathered.has(next)) continue;
      if (this.once.has(next)) return { cost: Infinity, count: 0 };
      const [, again, needs] = this.wayOf(next);
      cost += again;
      count++;
      for (const need of needs) {
        if (this.seen[need] !== this.round && (need === node || !this.live[need])) {
          this.seen[need] = this.round;
          open.push(need);
        }
      }
    }
    return { cost, count };
  }
}

/** The tensor that a computation makes again: the time that no copy of it was in memory. */
function absence(plan, at) {
  const node = plan.node[at];
  let gone = -1;
  for (const piece of plan.piecesOf.at(node)) {
    if (plan.pieceBegin[piece] > at || plan.filled[piece] >= at) continue;
    gone = Math.max(gone, plan.pieceEnd[piece]);
  }
  if (gone < 0 || gone > at) return null;
  let fullest = gone;
  for (let k = gone; k < at; k++) if (plan.bytes[k] > plan.bytes[fullest]) fullest = k;
  return { from: gone, fullest: gone < at ? fullest : -1, bytes: plan.graph.bytes[node] };
}

/** A link that selects a moment. */
const momentLink = (plan, at, text = plan.label(at)) =>
  element("a", { href: "#memory", on: { click: (event) => {
    event.preventDefault();
    view.select(at);
    byId("memory").scrollIntoView({ block: "nearest" });
  } } }, text);

/** The chain of readers of a recomputation or a copy, up to a first computation. */
function causes(plan, at) {
  const chain = [];
  for (let next = plan.reader[at]; next > at && chain.length < 12; at = next, next = plan.reader[next]) {
    chain.push(next);
    if (plan.kind[next] === KIND.compute && !plan.again[next]) break;
  }
  return chain;
}

/** Reason for a recomputation or a copy, in words. */
function why(plan, at) {
  const words = [];
  const chain = causes(plan, at);
  if (chain.length) {
    words.push("It is needed by ", momentLink(plan, chain[0]));
    if (chain.length > 1) words.push(", in the end by ", momentLink(plan, chain.at(-1)));
    words.push(". ");
  }
  if (!plan.again[at]) return words;
  const gap = absence(plan, at);
  if (!gap) return words.concat("Another copy of it is still in memory. ");
  if (gap.from > 0) words.push("It was freed after ", momentLink(plan, gap.from - 1), ". ");
  if (gap.fullest < 0) return words;
  const kept = plan.bytes[gap.fullest] + gap.bytes;
  words.push(`Its ${bytesText(gap.bytes)} were free meanwhile: at `, momentLink(plan, gap.fullest),
    `, with ${bytesText(plan.bytes[gap.fullest])} in memory, keeping it would have made ${bytesText(kept)}`);
  if (plan.budget !== null) {
    const over = kept - plan.budget;
    words.push(over > 0
      ? `, ${bytesText(over)} above the budget.`
      : ", which is within the budget: this tensor alone could have stayed.");
  } else {
    words.push(".");
  }
  return words;
}

/** Moments within half a percent of the budget, or of the peak without a budget. */
function binding(plan) {
  const level = Math.min(plan.budget ?? plan.peak, plan.peak) * 0.995;
  const list = [];
  for (let at = 0; at < plan.count; at++) if (plan.bytes[at] >= level) list.push(at);
  return list;
}

/** The price of a moment in costs for 100 MB; 0 without one. */
function priceAt(plan, at) {
  const price = plan.json.prices?.find(([moment]) => moment === at);
  return price ? price[1] * HUNDRED_MB : 0;
}

/** Costs that 100 MB more would save by the prices: each moment's share; null without prices. */
function marginal(plan) {
  const { prices } = plan.json;
  if (!prices?.length) return null;
  const best = prices.reduce((a, b) => (b[1] > a[1] ? b : a));
  const sum = prices.reduce((total, [, price]) => total + price, 0);
  return { saved: sum * HUNDRED_MB, best, moments: prices.length };
}

/** Plans of the subject that cost less and need more memory: within 100 MB more, and the next one. */
function larger(subject, k) {
  const own = subject.json[k];
  const room = Math.max(own.budget_bytes ?? 0, own.peak_bytes);
  const cheaper = subject.json.filter((plan) => plan.cost < own.cost && plan.semantics === own.semantics);
  const within = cheaper.filter((plan) => plan.peak_bytes <= room + HUNDRED_MB);
  const next = cheaper.filter((plan) => plan.peak_bytes > room);
  const least = (list, key) => list.reduce((a, b) => (a && key(a) <= key(b) ? a : b), null);
  return { room, within: least(within, (p) => p.cost), next: least(next, (p) => p.peak_bytes) };
}

/** The most that a proven bound for more memory lets anyone save; null without one. */
function mostSaved(own, room) {
  const valid = DATA.findings.bounds.filter((bound) => bound.budget_bytes >= room + HUNDRED_MB);
  if (!valid.length) return null;
  return Math.max(own.cost - Math.max(...valid.map((bound) => bound.cost)), 0);
}

/** "What would 100 MB more buy?" in words. */
function hundredMore(subject, k, plan) {
  const own = subject.json[k];
  const { room, within, next } = larger(subject, k);
  const words = [];
  const rate = marginal(plan);
  if (rate) {
    const [at, price] = rate.best;
    words.push(`By the prices of memory, about ${costText(rate.saved)} a step, as a marginal rate. `,
      "Memory is most expensive at ", momentLink(plan, at),
      ` (${costText(price * HUNDRED_MB)} for 100 MB there alone). `,
      `It has a price at ${counted(rate.moments, "step")}, and others have memory to spare. `);
  }
  if (within) {
    words.push(`The plan ${within.name} needs ${bytesText(within.peak_bytes)} and saves ${costText(own.cost - within.cost)}. `);
  } else if (next) {
    const [more, saved] = [next.peak_bytes - room, own.cost - next.cost];
    words.push(`The next plan here, ${next.name}, needs ${bytesText(more)} more and saves ${costText(saved)}: ` +
      `${costText((saved / more) * HUNDRED_MB)} for each 100 MB on the way there. `);
  } else if (own.cost <= own.base_cost) {
    words.push("This plan computes nothing again, so memory buys no time. ");
  }
  const most = mostSaved(own, room);
  if (most !== null) words.push(`Proven by the bound for a larger budget: at most ${costText(most)}. `);
  if (!words.length) words.push("Neither prices nor plans for more memory are on this page. Give several plans, for example those of a sweep.");
  return words;
}

/** Questions with their answers for a plan. */
function answers(subject, k, plan) {
  const bound = plan.json.bound;
  const list = [];
  const ask = (question, ...answer) => list.push([question, answer.flat()]);
  const hold = binding(plan);
  const live = plan.liveAt(plan.peakMoment);
  const tensors = live.filter(({ piece }) => plan.pieceKind[piece] === 1);
  ask("Which step binds?", momentLink(plan, plan.peakMoment),
    ` is at the peak of ${bytesText(plan.peak)}`,
    hold.length > 1 ? `; ${counted(hold.length, "step")} are within 0.5% of the ${plan.budget ? "budget" : "peak"}. ` : ". ",
    plan.budget === null ? "" : plan.peak <= plan.budget
      ? `${bytesText(plan.budget - plan.peak)} of the budget stay free.`
      : `It is ${bytesText(plan.peak - plan.budget)} above the budget.`);
  ask("Which tensor binds?", tensors.length
    ? [nameOf(plan.pieceName(tensors[0].piece)), ` is the largest tensor at the peak, with ${bytesText(tensors[0].bytes)} of ` +
      `${bytesText(tensors.reduce((sum, { bytes }) => sum + bytes, 0))} in ${counted(tensors.length, "tensor")}; then `,
      listed(tensors.slice(1, 4).map(({ piece, bytes }) => `${shortened(plan.pieceName(piece), 40)} (${bytesText(bytes)})`)) || "none", "."]
    : "No tensor is in memory at the peak, only fixed memory and workspaces.");
  if (plan.graph.word !== "node") return list;
  ask("What would 100 MB more buy?", hundredMore(subject, k, plan));
  const dear = [];
  for (let at = 0; at < plan.count; at++) if (plan.again[at]) dear.push(at);
  dear.sort((a, b) => plan.end[b] - plan.begin[b] - (plan.end[a] - plan.begin[a]));
  ask("Which recomputation costs most?", dear.length
    ? [momentLink(plan, dear[0]), ` takes ${costText(plan.end[dear[0]] - plan.begin[dear[0]])} of ${costText(plan.recomputedCost)} in `,
      `${counted(dear.length, "recomputation")} of ${counted(plan.recomputedNodes, "node")}. `, why(plan, dear[0])]
    : "No node is computed again.");
  ask("How much better could a plan be?", bound
    ? `At most ${costText(Math.max(plan.json.cost - bound.cost, 0))} (${(Math.max(1 - bound.cost / plan.json.cost, 0) * 100).toFixed(2)}%): ` +
      `the proven bound is ${costText(bound.cost)}${bound.scope ? `, for ${bound.scope.replaceAll("-", " ")}` : ""}.`
    : "No bound is on this page: give the object of solve --json or sweep --json with --log.");
  if (plan.copies.node.length) ask("What are the copies good for?", copyAnswer(plan));
  return list;
}

function copyAnswer(plan) {
  const { copies, json } = plan;
  const sum = (kind) => copies.kind.reduce((bytes, own, k) => bytes + (own === kind ? copies.bytes[k] : 0), 0);
  const moved = COPY_TEXT.map((text, kind) => [sum(kind), text]).filter(([bytes]) => bytes > 0);
  const worst = copies.idle.reduce((best, idle, k) => (idle > copies.idle[best] ? k : best), 0);
  const words = [`${listed(moved.map(([bytes, text]) => `${bytesText(bytes)} ${text}`))}. `];
  if (!json.idle) return words.concat("No computation waits for a copy. ");
  words.push(`Computations wait ${costText(json.idle)} for copies`);
  if (copies.idle[worst] > 0 && copies.reader[worst] >= 0) {
    words.push(`, most at `, momentLink(plan, copies.reader[worst]),
      ` (${costText(copies.idle[worst])} for ${plan.graph.names[copies.node[worst]]})`);
  }
  return words.concat(".");
}
