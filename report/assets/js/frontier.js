// Charts in SVG: the frontier of time against memory with proven bounds, and searches over time.

const CHART = { width: 560, height: 320, left: 62, right: 18, top: 16, bottom: 44 };

/** A chart's frame: numbers, grid and names of both axes; `x` and `y` map values to pixels. */
function chart(name, [x0, x1], [y0, y1], [xName, yName], xUnit = 1) {
  const { width, height, left, right, top, bottom } = CHART;
  const x = (value) => left + ((value - x0) / (x1 - x0)) * (width - left - right);
  const y = (value) => height - bottom - ((value - y0) / (y1 - y0)) * (height - top - bottom);
  const root = drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": name });
  const [xs, xStep] = ticks(x0 / xUnit, x1 / xUnit, 6);
  const [ys, yStep] = ticks(y0, y1, 5);
  for (const value of xs) {
    root.append(drawn("line", { x1: x(value * xUnit), x2: x(value * xUnit), y1: top, y2: height - bottom, class: "grid" }),
      drawn("text", { x: x(value * xUnit), y: height - bottom + 16, "text-anchor": "middle" }, tickText(value, xStep)));
  }
  for (const value of ys) {
    root.append(drawn("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "grid" }),
      drawn("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, tickText(value, yStep)));
  }
  root.append(drawn("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle", class: "axis" }, xName),
    drawn("text", { x: 14, y: (top + height - bottom) / 2, transform: `rotate(-90 14 ${(top + height - bottom) / 2})`, "text-anchor": "middle", class: "axis" }, yName));
  return { root, x, y };
}

const path = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

function paintFrontier() {
  const subject = SUBJECTS[view.subject];
  const host = byId("frontier");
  const plans = subject.json.map((plan, k) => ({ plan, k }));
  const isGraph = view.model.graph.word === "node" && !DATA.pipeline;
  const isFlat = plans.every(({ plan }) => plan.cost === plans[0].plan.cost);
  host.hidden = !isGraph || isFlat;
  if (host.hidden) return;
  const base = subject.json[0].base_cost || 1;
  const over = (cost) => (cost / base - 1) * 100;
  const { bounds, heuristics } = DATA.findings;
  const most = Math.max(...plans.map(({ plan }) => over(plan.cost)), 0.01);
  const near = heuristics.filter((one) => over(one.cost) <= Math.max(most * 2.5, 5));
  const bytes = [...plans.map(({ plan }) => plan.peak_bytes), ...bounds.map((b) => b.budget_bytes), ...near.map((h) => h.peak_bytes)];
  const [low, high] = [Math.min(...bytes), Math.max(...bytes)];
  const margin = Math.max((high - low) * 0.06, high * 0.01);
  const top = Math.max(most, ...near.map((one) => over(one.cost))) * 1.1;
  const bottom = Math.min(0, ...plans.map(({ plan }) => over(plan.cost)));
  const [unit, name] = byteUnit(high);
  const { root, x, y } = chart("Overhead against peak memory of all plans", [low - margin, high + margin], [bottom, top],
    [`memory (${name})`, "time over no recomputation (%)"], unit);
  boundArea(root, bounds, { x, y, over, low: low - margin });
  for (const one of near) {
    root.append(drawn("path", { d: `M${x(one.peak_bytes) - 3} ${y(over(one.cost)) - 3}l6 6m0 -6l-6 6`, class: "heuristic" },
      drawn("title", {}, `${one.name}: ${over(one.cost).toFixed(2)}% at ${bytesText(one.peak_bytes)}`)));
  }
  root.append(drawn("path", { d: path(stairs(plans, { x, y, over, right: CHART.width - CHART.right })), class: "stairs" }));
  for (const { plan, k } of plans) {
    const chosen = k === view.plan;
    root.append(drawn("circle", {
      cx: x(plan.peak_bytes), cy: y(over(plan.cost)), r: chosen ? 7 : 5, class: `point${chosen ? " chosen" : ""}`,
      tabindex: 0, role: "button", "aria-label": `${plan.name}: ${over(plan.cost).toFixed(2)}% at ${bytesText(plan.peak_bytes)}`,
      on: {
        click: () => view.show(view.subject, k),
        keydown: (event) => event.key === "Enter" && view.show(view.subject, k),
      },
    }, drawn("title", {}, `${plan.name}: ${over(plan.cost).toFixed(2)}%, peak ${bytesText(plan.peak_bytes)}`)));
  }
  const notes = [element("span", { class: "entry" }, element("i", { class: "dot" }), "plans, the filled one is shown")];
  if (bounds.length) notes.push(element("span", { class: "entry" }, element("i", { class: "area" }), "proven: no plan of the bound's class is there"));
  if (near.length) notes.push(element("span", { class: "entry" }, "× known heuristics"));
  byId("frontier-plot").replaceChildren(root, element("p", { class: "entries note" }, notes));
}

/** The cheapest plan within each amount of memory. */
function stairs(plans, { x, y, over, right }) {
  const sorted = plans.map(({ plan }) => plan).sort((a, b) => a.peak_bytes - b.peak_bytes || a.cost - b.cost);
  const points = [];
  let best = Infinity;
  for (const plan of sorted) {
    if (plan.cost >= best) continue;
    if (points.length) points.push([x(plan.peak_bytes), points.at(-1)[1]]);
    points.push([x(plan.peak_bytes), y(over(plan.cost))]);
    best = plan.cost;
  }
  if (points.length) points.push([right, points.at(-1)[1]]);
  return points;
}

/** A bound for a budget holds for all smaller ones: an area that no plan reaches. */
function boundArea(root, bounds, { x, y, over, low }) {
  const sorted = bounds.toSorted((a, b) => a.budget_bytes - b.budget_bytes);
  let from = low;
  sorted.forEach((bound, k) => {
    const cost = Math.max(...sorted.slice(k).map((one) => one.cost));
    const level = y(Math.max(over(cost), 0));
    const floor = y(0);
    if (bound.budget_bytes > from && level < floor) {
      root.append(drawn("rect", { x: x(from), y: level, width: x(bound.budget_bytes) - x(from), height: floor - level, class: "proven" },
        drawn("title", {}, `proven within ${bytesText(bound.budget_bytes)}: at least ${over(cost).toFixed(2)}%`)));
    }
    from = bound.budget_bytes;
  });
}

function paintSearches() {
  const { searches } = DATA.findings;
  byId("searches").hidden = !searches.length;
  byId("searches-body").replaceChildren(...searches.map((search) => {
    const value = search.unit || "objective";
    const values = search.looks.flatMap(([, best, bound]) => [best, bound]).filter((v) => v !== null);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const margin = Math.max((high - low) * 0.08, search.unit ? 0.05 : Math.abs(high) * 1e-3, 1e-6);
    const end = Math.max(search.looks.at(-1)[0], 0.1);
    const { root, x, y } = chart(`${search.name}: best plan and bound over time`, [0, end], [low - margin, high + margin],
      ["seconds", search.unit === "%" ? "time over no recomputation (%)" : value]);
    for (const [k, style] of [[1, "best"], [2, "bound"]]) {
      const points = [];
      for (const look of search.looks) {
        if (look[k] === null) continue;
        if (points.length) points.push([x(look[0]), points.at(-1)[1]]);
        points.push([x(look[0]), y(look[k])]);
      }
      if (!points.length) continue;
      points.push([x(end), points.at(-1)[1]]);
      root.append(drawn("path", { d: path(points), class: `curve ${style}` }),
        drawn("text", { x: points.at(-1)[0] - 6, y: points.at(-1)[1] + (k === 1 ? -8 : 16), "text-anchor": "end" }, k === 1 ? "best plan" : "bound"));
    }
    return element("figure", {}, element("figcaption", { class: "name" }, search.name), root);
  }));
}
