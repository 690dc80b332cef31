// Plans as typed arrays: moments, pieces of memory and their classes.

const KIND = { compute: 0, stall: 1, offload: 2, wait: 3, prefetch: 4, gather: 5, scatter: 6, free: 7 };
const KIND_TEXT = [
  "computes", "waits for a copy before", "copies to the host", "waits for the copy of", "copies back",
  "gathers", "scatters", "waits for the scatter of",
];
const CLASS = { fixed: 0, added: 1, waiting: 2, kept: 3, passing: 4, again: 5, fetched: 6, copying: 7, gradient: 8, workspace: 9 };
const ROLE = { forward: 0, byProduct: 1, loss: 2, backward: 3 };
const COPY_TEXT = ["to the host", "from the host", "gathered", "scattered"];
const LANE_TEXT = ["to host", "from host", "gathers", "scatters"];

/** Lists of numbers by key, in two arrays: `at(key)` is the list. */
function grouped(keys, count, values = null) {
  const start = new Uint32Array(count + 1);
  for (const key of keys) if (key >= 0) start[key + 1]++;
  for (let k = 0; k < count; k++) start[k + 1] += start[k];
  const list = new Uint32Array(start[count]);
  const next = start.slice();
  keys.forEach((key, k) => {
    if (key >= 0) list[next[key]++] = values ? values[k] : k;
  });
  return { at: (key) => list.subarray(start[key], start[key + 1]) };
}

class PlanModel {
  constructor(json, graph) {
    Object.assign(this, { json, graph, name: json.name, budget: json.budget_bytes, peak: json.peak_bytes });
    const { moments, pieces, segments } = json;
    this.count = moments.kind.length;
    this.kind = Uint8Array.from(moments.kind);
    this.node = Int32Array.from(moments.node);
    this.begin = Float64Array.from(moments.begin);
    this.end = Float64Array.from(moments.end);
    this.bytes = Float64Array.from(moments.bytes);
    this.way = Uint16Array.from(moments.way);
    this.reader = Int32Array.from(moments.reader);
    this.span = Math.max(json.cost, this.count ? this.end[this.count - 1] : 0, Number.MIN_VALUE);
    this.pieceKind = Uint8Array.from(pieces.kind);
    this.pieceNode = Int32Array.from(pieces.node);
    this.filled = Int32Array.from(pieces.filled);
    this.offset = pieces.offset ? Float64Array.from(pieces.offset) : null;
    this.pieceNames = pieces.names;
    this.segPiece = Uint32Array.from(segments.piece);
    this.segBegin = Uint32Array.from(segments.begin);
    this.segEnd = Uint32Array.from(segments.end);
    this.segBytes = Float64Array.from(segments.bytes);
    this.segClass = Uint8Array.from(segments.class);
    this.copies = json.copies;
    this.peakMoment = Math.max(this.bytes.indexOf(this.peak), 0);
    this.#runs();
    this.#lives();
  }

  /** Computations of each node; which of them are recomputations. */
  #runs() {
    const nodes = this.graph.names.length;
    this.again = new Uint8Array(this.count);
    this.mark = new Uint8Array(this.count);
    const seen = new Uint8Array(nodes);
    const runs = Array.from({ length: this.count }, (_, at) => (this.kind[at] === KIND.compute ? this.node[at] : -1));
    [this.recomputations, this.recomputedCost, this.backward] = [0, 0, -1];
    const [readNode, readAt] = [[], []];
    for (let at = 0; at < this.count; at++) {
      if (this.kind[at] !== KIND.compute) continue;
      const node = this.node[at];
      if (seen[node] && this.graph.word !== "moment") {
        this.again[at] = 1;
        this.recomputations++;
        this.recomputedCost += this.end[at] - this.begin[at];
      }
      seen[node] = 1;
      if (this.backward < 0 && this.graph.roles[node] === ROLE.backward) this.backward = at;
      for (const need of this.graph.ways[node][this.way[at]][2]) {
        readNode.push(need);
        readAt.push(at);
      }
    }
    this.runsOf = grouped(runs, nodes);
    this.readsOf = grouped(readNode, nodes, readAt);
    this.recomputedNodes = new Set(runs.filter((_, at) => this.again[at])).size;
  }

  /** Begin and end of each piece, the memory of each class at each moment. */
  #lives() {
    const pieces = this.pieceKind.length;
    this.pieceBegin = new Uint32Array(pieces).fill(this.count);
    this.pieceEnd = new Uint32Array(pieces);
    this.pieceBytes = new Float64Array(pieces);
    this.stack = DATA.classes.map(() => new Float64Array(this.count + 1));
    for (let k = 0; k < this.segPiece.length; k++) {
      const piece = this.segPiece[k];
      this.pieceBegin[piece] = Math.min(this.pieceBegin[piece], this.segBegin[k]);
      this.pieceEnd[piece] = Math.max(this.pieceEnd[piece], this.segEnd[k]);
      this.pieceBytes[piece] = Math.max(this.pieceBytes[piece], this.segBytes[k]);
      const band = this.stack[this.segClass[k]];
      band[this.segBegin[k]] += this.segBytes[k];
      band[this.segEnd[k]] -= this.segBytes[k];
    }
    for (const band of this.stack) for (let at = 1; at < this.count; at++) band[at] += band[at - 1];
    // The replay counts less where a workspace is negative: the bands give way from the top.
    for (const [at, excess] of this.json.credits) {
      let rest = excess;
      for (let k = this.stack.length - 1; k >= 0 && rest > 0; k--) {
        const less = Math.min(rest, this.stack[k][at]);
        this.stack[k][at] -= less;
        rest -= less;
      }
    }
    this.usedClasses = this.stack.map((band) => band.subarray(0, this.count).some((bytes) => bytes > 0));
    this.piecesOf = grouped(
      Array.from(this.pieceNode, (node, k) => (this.pieceKind[k] === 1 ? node : -1)),
      this.graph.names.length,
    );
  }

  /** Pieces in memory at a moment, the largest first. */
  liveAt(at) {
    const list = [];
    for (let k = 0; k < this.segPiece.length; k++) {
      if (this.segBegin[k] <= at && at < this.segEnd[k]) {
        list.push({ piece: this.segPiece[k], bytes: this.segBytes[k], class: this.segClass[k] });
      }
    }
    return list.sort((a, b) => b.bytes - a.bytes || a.piece - b.piece);
  }

  pieceName(piece) {
    const own = this.pieceNames?.[piece];
    if (own) return own;
    const node = this.pieceNode[piece];
    const name = node >= 0 ? this.graph.names[node] : "";
    switch (this.pieceKind[piece]) {
      case 0: return node >= 0 ? `fixed memory from ${name}` : "fixed memory";
      case 2: return `workspace of ${name}`;
      case 3: return "other micro-batches";
      default: return name;
    }
  }

  /** The next computation from a moment on that reads a piece, or -1. */
  nextRead(piece, at) {
    const node = this.pieceNode[piece];
    if (this.pieceKind[piece] !== 1 || node < 0) return -1;
    const reads = this.readsOf.at(node);
    const next = reads[above(reads, at - 0.5)];
    return next !== undefined && next < this.pieceEnd[piece] ? next : -1;
  }

  /** Peak of the memory that has addresses: without other micro-batches, and without resident
   * memory of orders. */
  get addressed() {
    const isOutside = (piece) => this.pieceKind[piece] === 3 || this.offset[piece] === undefined;
    const outside = this.pieceBytes.reduce((sum, bytes, piece) => (isOutside(piece) ? sum + bytes : sum), 0);
    return Math.max(this.peak - outside, 1);
  }

  /** Overhead over the step without recomputation, as a fraction. */
  get overhead() {
    return this.json.base_cost ? this.json.cost / this.json.base_cost - 1 : 0;
  }

  /** What a moment does, in words. */
  label(at) {
    const name = this.graph.names[this.node[at]];
    if (this.kind[at] === KIND.compute) {
      if (this.graph.word === "moment") return `moment ${this.begin[at]}`;
      return name || `${this.graph.word} ${this.node[at]}`;
    }
    return `${KIND_TEXT[this.kind[at]]} ${name}`;
  }

  /** The moment that runs at a time. */
  momentAt(time) {
    return clamp(above(this.end, time), 0, this.count - 1);
  }

  colour(at) {
    if (this.again[at]) return CLASS.again;
    if (this.kind[at] !== KIND.compute) return CLASS.copying;
    return this.graph.roles[this.node[at]] === ROLE.backward ? CLASS.gradient : CLASS.kept;
  }
}

/** Subjects with their plans, by budget; the step without recomputation comes last. */
const SUBJECTS = DATA.subjects.map((subject) => {
  const plans = subject.plans.map((plan) => ({ plan, graph: subject.graphs[plan.graph] }));
  const key = ({ plan }) => [plan.is_plain ? 1 : 0, plan.budget_bytes ?? plan.peak_bytes, plan.peak_bytes];
  const order = plans.map((one, given) => ({ ...one, given, key: key(one) }));
  order.sort((a, b) => a.key[0] - b.key[0] || a.key[1] - b.key[1] || a.key[2] - b.key[2] || a.given - b.given);
  // A model is made when its plan is first shown.
  const models = order.map(() => null);
  return {
    name: subject.name,
    json: order.map(({ plan }) => plan),
    first: Math.max(order.findIndex(({ given }) => given === 0), 0),
    model(k) {
      return (models[k] ??= new PlanModel(order[k].plan, order[k].graph));
    },
  };
});
