// Memory over the step: bands by class, the budget, the peak, the other plan, and prices below.

const stackPlot = new Plot("stack", 380);
const pricePlot = new Plot("prices", 62);
const overviewPlot = new Plot("overview", 54);

/** Memory of a moment in the classes that are shown. */
function shownBytes(plan, at) {
  if (!view.hidden.size) return plan.bytes[at];
  let sum = 0;
  plan.stack.forEach((band, k) => {
    if (!view.hidden.has(k)) sum += band[at];
  });
  return sum;
}

/** The most that is shown at any moment. */
function highest(plan) {
  if (!view.hidden.size) return plan.peak;
  let most = 0;
  for (let at = 0; at < plan.count; at++) most = Math.max(most, shownBytes(plan, at));
  return most;
}

/** Begin of the vertical axis: 0, unless memory that is always there fills most of the picture. */
function axisBase(plan, top) {
  plan.least ??= plan.bytes.reduce((least, bytes) => Math.min(least, bytes), Infinity);
  if (view.hidden.size || plan.least < top * 0.5) return 0;
  return Math.max(plan.least - (top - plan.least) * 0.12, 0);
}

function byteUnit(bytes) {
  const k = clamp(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), 0, BYTE_UNITS.length - 1);
  return [1024 ** k, BYTE_UNITS[k]];
}

function paintStack() {
  const plan = view.model;
  if (!stackPlot.start() || !plan.count) return;
  stackPlot.background(() => paintMemory(plan));
  stackPlot.cursor(stackPlot.height - 24);
}

function paintMemory(plan) {
  const { context, height } = stackPlot;
  const other = view.hidden.size ? null : view.other;
  const budget = view.hidden.size ? null : plan.budget;
  const high = highest(plan);
  const isNear = budget !== null && budget <= high * 1.6;
  const top = Math.max(high, isNear ? budget : 0, other && other.peak < high * 1.4 ? other.peak : 0, 1) * 1.07;
  const bottom = height - 24;
  const base = axisBase(plan, top);
  const y = (bytes) => bottom - (Math.max(bytes - base, 0) / (top - base)) * (bottom - 22);
  const [unit, name] = byteUnit(top);
  stackPlot.levels(top, y, bottom, { unit, name, base });
  const list = columns(stackPlot, plan);
  stackPlot.clipped(() => {
    bands(plan, list, y);
    passes(plan, bottom);
    if (other) outline(other, y, top);
    cornerLine(plan, list, y);
    if (budget !== null) budgetLine(budget, y, top, isNear);
    peakMark(plan, y);
  });
  if (base) label(`the axis begins at ${bytesText(base)}`, LEFT + 8, bottom - 10, "left", colours.soft);
  stackPlot.axis(bottom);
  const words = `Memory over the step of ${plan.name}: peak ${bytesText(plan.peak)} at ${plan.label(plan.peakMoment)}`;
  stackPlot.canvas.setAttribute("aria-label", words);
  context.globalAlpha = 1;
}

/** The classes above one another. */
function bands(plan, list, y) {
  const { context } = stackPlot;
  const floor = new Float64Array(list.at.length);
  plan.stack.forEach((band, k) => {
    if (view.hidden.has(k) || !plan.usedClasses[k]) return;
    context.fillStyle = colours.classes[k];
    for (let c = 0; c < list.at.length; c++) {
      const bytes = band[list.at[c]];
      if (bytes <= 0) continue;
      const [low, high] = [y(floor[c]), y(floor[c] + bytes)];
      floor[c] += bytes;
      const left = Math.floor(list.left[c]);
      context.fillRect(left, high, Math.max(Math.floor(list.right[c]) - left, 1), low - high);
    }
  });
}

/** The upper edge of the bands. */
function cornerLine(plan, list, y) {
  const { context } = stackPlot;
  context.strokeStyle = colours.ink;
  context.globalAlpha = 0.75;
  context.lineWidth = 1;
  context.beginPath();
  for (let c = 0; c < list.at.length; c++) {
    const level = y(shownBytes(plan, list.at[c]));
    if (c === 0) context.moveTo(list.left[c], level);
    else context.lineTo(list.left[c], level);
    context.lineTo(list.right[c], level);
  }
  context.stroke();
  context.globalAlpha = 1;
}

/** The memory of another plan as a line, on the same axis. */
function outline(other, y, top) {
  const { context } = stackPlot;
  const list = columns(stackPlot, other);
  context.strokeStyle = colours.ink;
  context.setLineDash([2, 3]);
  context.lineWidth = 1.5;
  context.beginPath();
  for (let c = 0; c < list.at.length; c++) {
    const level = y(other.bytes[list.at[c]]);
    if (c === 0) context.moveTo(list.left[c], level);
    else context.lineTo(list.left[c], level);
    context.lineTo(list.right[c], level);
  }
  context.stroke();
  context.setLineDash([]);
  const x = stackPlot.across((view.left(other, other.peakMoment) + view.right(other, other.peakMoment)) / 2);
  if (other.peak > top && x > LEFT && x < stackPlot.width - RIGHT) {
    label(`↑ ${other.name}: ${bytesText(other.peak)}`, clamp(x + 8, LEFT + 8, stackPlot.width - 260), 28, "left", colours.soft);
  }
}

/** Where the backward pass begins. */
function passes(plan, bottom) {
  if (plan.backward < 0) return;
  const x = stackPlot.across(view.left(plan, plan.backward));
  if (x < LEFT || x > stackPlot.width - RIGHT) return;
  stackPlot.line(x, 16, x, bottom, colours.soft, { dash: [1, 3] });
  if (x - LEFT > 60) stackPlot.text("forward", x - 6, 10, { align: "right" });
  if (stackPlot.width - RIGHT - x > 70) stackPlot.text("backward", x + 6, 10);
}

function budgetLine(budget, y, top, isNear) {
  const right = stackPlot.width - RIGHT;
  const words = `budget ${bytesText(budget)}`;
  if (!isNear) {
    stackPlot.text(`${words}, above the picture`, right - 4, 24, { align: "right", colour: colours.budget });
    return;
  }
  const level = y(budget);
  stackPlot.line(LEFT, level, right, level, colours.budget, { width: 1.75, dash: [7, 5] });
  label(words, right - 6, level - 9, "right", colours.budget);
}

/** A text on a small patch of paper. */
function label(words, x, y, align, colour) {
  const { context } = stackPlot;
  const width = context.measureText(words).width + 8;
  context.fillStyle = colours.paper;
  context.globalAlpha = 0.82;
  context.fillRect(align === "right" ? x - width + 4 : x - 4, y - 8, width, 16);
  context.globalAlpha = 1;
  stackPlot.text(words, x, y, { align, colour });
}

function peakMark(plan, y) {
  const at = plan.peakMoment;
  const x = stackPlot.across((view.left(plan, at) + view.right(plan, at)) / 2);
  if (x < LEFT || x > stackPlot.width - RIGHT || view.hidden.size) return;
  const { context } = stackPlot;
  context.beginPath();
  context.arc(x, y(plan.peak), 4.5, 0, 2 * Math.PI);
  context.fillStyle = colours.paper;
  context.fill();
  context.lineWidth = 2;
  context.strokeStyle = colours.ink;
  context.stroke();
  const align = x > LEFT + stackPlot.inner * 0.6 ? "right" : "left";
  const words = `peak ${bytesText(plan.peak)} at ${shortened(plan.label(at), 32)}`;
  label(words, align === "right" ? x - 12 : x + 12, y(plan.peak) + 18, align, colours.ink);
}

/** Prices of memory, below the memory on the same axis. */
function paintPrices() {
  const plan = view.model;
  const { prices } = plan.json;
  byId("prices-plot").hidden = !prices?.length;
  if (!prices?.length || !pricePlot.start()) return;
  pricePlot.background(() => paintPriceBars(prices, plan));
  pricePlot.cursor(pricePlot.height - 8);
}

function paintPriceBars(prices, plan) {
  const { context, height } = pricePlot;
  const most = Math.max(...prices.map(([, price]) => price), Number.MIN_VALUE) * HUNDRED_MB;
  const bottom = height - 8;
  const [scale, name] = timeUnit(most);
  const y = (cost) => bottom - (cost / (most * 1.1)) * (bottom - 20);
  pricePlot.levels(most * 1.1, y, bottom, { unit: scale, count: 2 });
  pricePlot.text(`price of memory: ${name} saved by 100 MB more at a moment`, LEFT + 4, 9);
  pricePlot.clipped(() => {
    context.fillStyle = colours.budget;
    context.beginPath();
    for (const [at, price] of prices) {
      const left = pricePlot.across(view.left(plan, at));
      const right = Math.max(pricePlot.across(view.right(plan, at)), left + 2);
      if (right < LEFT || left > pricePlot.width) continue;
      const level = y(price * HUNDRED_MB);
      context.rect(left, level, right - left, bottom - level);
    }
    context.fill();
  });
  const sum = marginal(plan);
  pricePlot.canvas.setAttribute("aria-label", `Prices of memory; 100 MB more save about ${costText(sum.saved)}`);
}

/** The whole step, with the visible part in a window. */
function paintOverview() {
  const plan = view.model;
  if (!overviewPlot.start() || !plan.count) return;
  const { height, inner } = overviewPlot;
  const span = view.span();
  overviewPlot.background(() => paintWhole(plan, span));
  const mark = LEFT + ((view.left(plan, view.selected) + view.right(plan, view.selected)) / 2 / span) * inner;
  overviewPlot.line(mark, 2, mark, height - 2, colours.mark);
}

function paintWhole(plan, span) {
  const { context, height, inner } = overviewPlot;
  const across = (x) => LEFT + (x / span) * inner;
  const steps = Math.min(inner, plan.count * 4);
  const y = (bytes) => height - 4 - (bytes / (plan.peak * 1.1)) * (height - 8);
  context.fillStyle = colours.idle;
  context.beginPath();
  context.moveTo(LEFT, height - 4);
  let at = 0;
  for (let k = 0; k < steps; k++) {
    let most = 0;
    const end = ((k + 1) / steps) * span;
    do {
      most = Math.max(most, plan.bytes[at]);
    } while (view.right(plan, at) < end && at + 1 < plan.count && ++at);
    context.lineTo(LEFT + (k / steps) * inner, y(most));
    context.lineTo(LEFT + ((k + 1) / steps) * inner, y(most));
  }
  context.lineTo(LEFT + inner, height - 4);
  context.fill();
  const [left, right] = [across(view.from), across(view.to)];
  context.fillStyle = colours.accent;
  context.globalAlpha = 0.15;
  context.fillRect(left, 2, Math.max(right - left, 2), height - 4);
  context.globalAlpha = 1;
  context.strokeStyle = colours.accent;
  context.lineWidth = 1.5;
  context.strokeRect(left, 2, Math.max(right - left, 2), height - 4);
  overviewPlot.text("whole step", LEFT - 8, height / 2, { align: "right" });
}

/** Buttons that show and hide classes. */
function paintLegend() {
  const plan = view.model;
  const toggle = (k) => {
    if (view.hidden.has(k)) view.hidden.delete(k);
    else view.hidden.add(k);
    paintLegend();
    view.redraw();
  };
  const entries = DATA.classes.map((one, k) => {
    if (!plan.usedClasses[k]) return null;
    const isShown = !view.hidden.has(k);
    return element(
      "button",
      { type: "button", class: "entry", "aria-pressed": String(isShown), on: { click: () => toggle(k) } },
      element("i", { class: "swatch", style: { "--colour": colours.classes[k] } }),
      isOrder() && k === CLASS.passing ? "tensors" : one.name,
    );
  });
  const other = view.other;
  const line = other && element("span", { class: "entry" }, element("i", { class: "dotted" }), other.name);
  byId("legend").replaceChildren(...entries.filter(Boolean), ...(line ? [line] : []));
}

/** Returns whether the subject is an order or a table of lives, which never recomputes. */
const isOrder = () => view.model.graph.word !== "node";

/** Text beside the pointer over a plot of the common axis. */
function tipText(plan, at) {
  const time = view.axis === "time" ? ` · ${costText(plan.begin[at])}` : "";
  const parts = plan.stack.map((band, k) => [band[at], k]).filter(([bytes]) => bytes > 0);
  parts.sort((a, b) => b[0] - a[0]);
  return [
    element("b", {}, plan.label(at), plan.again[at] ? " (again)" : ""),
    element("div", {}, `step ${at}${time} · ${bytesText(plan.bytes[at])}`),
    ...parts.slice(0, 5).map(([bytes, k]) =>
      element("div", {}, element("i", { class: "swatch", style: { "--colour": colours.classes[k] } }),
        `${bytesText(bytes)} ${isOrder() && k === CLASS.passing ? "tensors" : DATA.classes[k].name}`)),
  ];
}

/** Shows a tip beside the pointer; none without content. */
function showTip(event, content) {
  const tip = byId("tip");
  tip.hidden = !content;
  if (!content) return;
  tip.replaceChildren(...content);
  const { clientX: x, clientY: y } = event;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${clamp(x + 14, 4, window.innerWidth - box.width - 4)}px`;
  tip.style.top = `${clamp(y + 16, 4, window.innerHeight - box.height - 4)}px`;
}

/** Lets the pointer select, drag and zoom on a plot; `pick` finds the moment at a place. */
function pointed(plot, { pick = null, tip = tipText } = {}) {
  const { canvas } = plot;
  let drag = null;
  const found = (event) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (x < LEFT || x > plot.width - RIGHT) return -1;
    return pick ? pick(x, y) : view.moment(view.model, plot.place(x));
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { x: event.clientX, from: view.from, to: view.to, isMoved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) {
      const at = found(event);
      showTip(event, at >= 0 ? tip(view.model, at) : null);
      return;
    }
    const moved = event.clientX - drag.x;
    if (Math.abs(moved) > 4) drag.isMoved = true;
    if (!drag.isMoved) return;
    showTip(event, null);
    const by = (-moved / plot.inner) * (drag.to - drag.from);
    view.range(drag.from + by, drag.to + by);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.isMoved) {
      const at = found(event);
      if (at >= 0) view.select(at, false);
    }
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => (drag = null));
  canvas.addEventListener("pointerleave", (event) => showTip(event, null));
  canvas.addEventListener("dblclick", (event) => {
    const box = canvas.getBoundingClientRect();
    view.zoom(0.4, plot.place(event.clientX - box.left));
  });
  canvas.addEventListener("wheel", (event) => {
    const box = canvas.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      view.zoom(Math.exp(clamp(event.deltaY, -60, 60) * 0.01), plot.place(event.clientX - box.left));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const by = ((event.deltaX || event.deltaY) / plot.inner) * (view.to - view.from);
      view.range(view.from + by, view.to + by);
    }
  }, { passive: false });
}

/** Lets the pointer move the window of the overview. */
function pointedOverview() {
  const { canvas } = overviewPlot;
  let isDown = false;
  const move = (event) => {
    const box = canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left - LEFT) / overviewPlot.inner) * view.span();
    const half = (view.to - view.from) / 2;
    view.range(x - half, x + half);
  };
  canvas.addEventListener("pointerdown", (event) => {
    isDown = true;
    canvas.setPointerCapture(event.pointerId);
    if (view.to - view.from > view.span() * 0.98) view.range(0, view.span() * 0.2);
    move(event);
  });
  canvas.addEventListener("pointermove", (event) => isDown && move(event));
  canvas.addEventListener("pointerup", () => (isDown = false));
}
