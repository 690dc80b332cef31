// The selected step: what runs, why, and the tensors in memory with the cost of dropping them.

let liveTable = null;

function paintInspector() {
  const plan = view.model;
  const host = byId("inspector");
  if (!plan.count) {
    host.replaceChildren(element("p", {}, "The plan has no steps."));
    return;
  }
  const at = view.selected;
  const table = element("div");
  host.replaceChildren(stepHead(plan, at), stepFacts(plan, at), ...reasons(plan, at), memorySplit(plan, at),
    element("h3", {}, "In memory"), table,
    plan.graph.word === "node"
      ? element("p", { class: "note" }, "“drop”: cost to have the tensor again right after this step if it were dropped here, " +
        "from what is in memory then: its own recomputation and those of missing inputs, each once.")
      : "");
  fillLive(plan, at, table);
  byId("said").textContent = `Step ${at}: ${plan.label(at)}, ${bytesText(plan.bytes[at])}`;
}

function stepHead(plan, at) {
  const { graph } = plan;
  const node = plan.node[at];
  const isCompute = plan.kind[at] === KIND.compute;
  const role = plan.again[at] ? "computed again" : isCompute && graph.word === "node"
    ? ["forward", "by-product", "loss", "backward"][graph.roles[node]] : "";
  const move = (by, text, name) =>
    element("button", { type: "button", "aria-label": name, on: { click: () => view.select(at + by) } }, text);
  return element("div", { class: "step-head" },
    element("div", { class: "bar" },
      element("span", { class: "note" }, `step ${at} of ${plan.count - 1}`),
      element("span", { class: "tools" }, move(-1, "←", "Step before"), move(1, "→", "Next step"),
        element("button", { type: "button", on: { click: () => view.select(plan.peakMoment) } }, "Peak"))),
    element("h2", { class: "name" }, swatch(plan.colour(at)), plan.label(at)),
    role ? element("span", { class: plan.again[at] ? "badge" : "badge quiet" }, role) : "");
}

function stepFacts(plan, at) {
  const { graph } = plan;
  const node = plan.node[at];
  const over = plan.budget === null ? null : plan.budget - plan.bytes[at];
  const facts = [];
  const fact = (name, ...value) => facts.push(element("dt", {}, name), element("dd", {}, ...value));
  fact("memory", bytesText(plan.bytes[at]),
    over === null ? "" : over >= 0 ? ` · ${bytesText(over)} below the budget` : ` · ${bytesText(-over)} above the budget`);
  if (graph.word === "node") {
    fact("time", `${costText(plan.begin[at])}, takes ${costText(plan.end[at] - plan.begin[at])}`);
    if (graph.operators[node]) fact("operator", graph.operators[node]);
    fact("output", [graph.shapes[node], bytesText(graph.bytes[node])].filter(Boolean).join(" · "));
    const price = priceAt(plan, at);
    if (price > 0) fact("price", `100 MB more here save ${costText(price)}`);
    if (plan.kind[at] === KIND.compute) fact("reads", ...inputs(plan, at));
  } else if (graph.operators[node]) {
    fact("operator", graph.operators[node]);
  }
  return element("dl", { class: "facts" }, facts);
}

/** The inputs of a computation, each a link to the computation that made it. */
function inputs(plan, at) {
  const { graph } = plan;
  const [, , needs] = graph.ways[plan.node[at]][plan.way[at]];
  const words = needs.slice(0, 8).map((need, k) => {
    const runs = plan.runsOf.at(need);
    const made = runs[above(runs, at) - 1];
    const link = made === undefined ? graph.names[need] : momentLink(plan, made);
    return [k ? ", " : "", link];
  });
  if (needs.length > 8) words.push(`, and ${needs.length - 8} more`);
  return words.length ? words.flat() : ["nothing"];
}

function reasons(plan, at) {
  const isFetch = plan.kind[at] === KIND.prefetch || plan.kind[at] === KIND.gather;
  if (!plan.again[at] && !isFetch) return [];
  const words = why(plan, at);
  if (!words.length) return [];
  return [element("h3", {}, plan.again[at] ? "Why is it computed again?" : "Why is it copied back?"), element("p", {}, words)];
}

/** A bar of the memory by class. */
function memorySplit(plan, at) {
  const parts = plan.stack.map((band, k) => [k, band[at]]).filter(([, bytes]) => bytes > 0);
  const all = parts.reduce((sum, [, bytes]) => sum + bytes, 0) || 1;
  return element("div", { class: "split-bar", role: "img", "aria-label": "Memory by class" },
    parts.map(([k, bytes]) => element("i", {
      title: `${DATA.classes[k].name}: ${bytesText(bytes)}`,
      style: { "--colour": colours.classes[k], "--share": `${(bytes / all) * 100}%` },
    })));
}

/** Rows of the live pieces. The cost of dropping one is searched when it is first shown. */
function liveRows(plan, at) {
  const live = plan.liveAt(at);
  const isGraph = plan.graph.word === "node";
  const costs = isGraph && new DropCosts(plan, at);
  const isCompute = plan.kind[at] === KIND.compute;
  const needs = isGraph && isCompute ? new Set(plan.graph.ways[plan.node[at]][plan.way[at]][2]) : new Set();
  return live.map((own) => {
    const node = plan.pieceNode[own.piece];
    const row = { ...own, why: "" };
    row.drop = () => (row.known ??= costs.of(node));
    row.next = plan.nextRead(own.piece, at + 1);
    if (!isGraph || plan.pieceKind[own.piece] !== 1 || node < 0) row.why = "–";
    else if (isCompute && node === plan.node[at]) row.why = "made now";
    else if (needs.has(node)) row.why = "read now";
    else if (plan.filled[own.piece] > at) row.why = "arrives";
    else if (row.next < 0) row.why = "not read again";
    return row;
  });
}

function dropCell(row) {
  if (row.why) return element("span", { class: "soft" }, row.why);
  const { cost, count } = row.drop();
  if (cost === Infinity) return element("span", { class: "soft", title: "it, or an input, may not be computed again" }, "must stay");
  return element("span", { title: counted(count, "computation") }, costText(cost));
}

function fillLive(plan, at, host) {
  const rows = liveRows(plan, at);
  const sortKey = (row) => (row.why ? -1 : row.drop().cost);
  const nextTitle = (row) => (row.next < 0 ? "" : `step ${row.next}: ${plan.label(row.next)}`);
  const before = liveTable?.sorted && { title: liveTable.sorted.title, isDown: liveTable.isDown };
  const columns = [
    { title: "", class: "mark", cell: (row) => swatch(row.class) },
    { title: "tensor", class: "wide name", cell: (row) => element("span", { title: plan.pieceName(row.piece) }, shortened(plan.pieceName(row.piece), 27)) },
    { title: "bytes", class: "number", cell: (row) => bytesText(row.bytes), key: (row) => row.bytes },
  ];
  if (plan.graph.word === "node") {
    columns.push(
      { title: "drop", class: "number", cell: dropCell, key: sortKey },
      { title: "next read", class: "number narrow", cell: (row) => element("span", { title: nextTitle(row) }, row.next < 0 ? "–" : String(row.next)), key: (row) => row.next },
    );
  }
  liveTable = new LongTable(host, "Tensors in memory at this step", columns, {
    rows: 13,
    pick: (row) => view.select(plan.filled[row.piece]),
  });
  if (before) {
    liveTable.sorted = columns.find((column) => column.title === before.title);
    liveTable.isDown = !before.isDown;
    if (liveTable.sorted) liveTable.sort(liveTable.sorted);
  }
  liveTable.fill(rows);
}
