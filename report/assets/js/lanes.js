// Steps over time in lanes: computations, recomputations, copies; arrows to their causes.

const lanesPlot = new Plot("lanes", 120);
const LANE = 26;
const ROOM = 12;
/** Most arrows at one time, beside those of the selected step. */
const MOST_ARROWS = 160;

/** The lanes of a plan: names, and what is on them. */
function lanesOf(plan) {
  if (plan.lanes) return plan.lanes;
  const list = [{ name: "computes", kind: "compute" }];
  if (plan.recomputations) list.push({ name: "again", kind: "again" });
  LANE_TEXT.forEach((text, kind) => {
    if (plan.copies.kind.includes(kind)) list.push({ name: text, kind });
  });
  return (plan.lanes = list);
}

const laneTop = (k) => ROOM + k * (LANE + 8);

function paintLanes() {
  const plan = view.model;
  const lanes = lanesOf(plan);
  const bottom = laneTop(lanes.length) - 4;
  lanesPlot.height = bottom + 24;
  if (!lanesPlot.start() || !plan.count) return;
  lanesPlot.background(() => paintAllLanes(plan, lanes, bottom));
  lanesPlot.clipped(() => paintChosen(plan, lanes));
  lanesPlot.cursor(bottom);
}

function paintAllLanes(plan, lanes, bottom) {
  lanes.forEach((lane, k) => {
    const top = laneTop(k);
    lanesPlot.text(lane.name, LEFT - 8, top + LANE / 2, { align: "right", most: LEFT - 8 });
    lanesPlot.context.fillStyle = colours.faint;
    lanesPlot.context.fillRect(LEFT, top, lanesPlot.inner, LANE);
  });
  lanesPlot.clipped(() => {
    lanes.forEach((lane, k) => {
      if (typeof lane.kind === "number") paintCopies(plan, lane.kind, laneTop(k));
      else paintComputations(plan, lane.kind, laneTop(k));
    });
    paintArrows(plan, lanes);
  });
  lanesPlot.axis(bottom);
}

/** Computations of a lane; neighbours within one pixel share it. */
function paintComputations(plan, kind, top) {
  const isAgain = kind === "again";
  const boxes = new Boxes(top);
  for (let at = view.moment(plan, view.from); at < plan.count; at++) {
    const begin = view.left(plan, at);
    if (begin > view.to) break;
    if (plan.kind[at] === KIND.compute) {
      if (Boolean(plan.again[at]) !== isAgain) continue;
      boxes.add(lanesPlot.across(begin), lanesPlot.across(view.right(plan, at)), colours.classes[plan.colour(at)], at);
    } else if (!isAgain && plan.end[at] > plan.begin[at]) {
      boxes.add(lanesPlot.across(begin), lanesPlot.across(view.right(plan, at)), colours.idle, at);
    }
  }
  boxes.draw((at) => (plan.kind[at] === KIND.compute ? plan.label(at) : "waits"), plan);
}

function paintCopies(plan, kind, top) {
  const { copies } = plan;
  const boxes = new Boxes(top);
  const colour = colours.classes[kind === 1 || kind === 2 ? CLASS.fetched : CLASS.copying];
  for (let k = 0; k < copies.node.length; k++) {
    if (copies.kind[k] !== kind) continue;
    const [left, right] = copyEnds(plan, k);
    if (right < LEFT || left > lanesPlot.width) continue;
    boxes.add(left, right, colour, k);
  }
  boxes.draw((k) => plan.graph.names[copies.node[k]], plan);
}

/** Pixels of a copy; on the axis of steps it spans the moments that run meanwhile. */
function copyEnds(plan, k) {
  const { begin, end } = plan.copies;
  if (view.axis === "time") return [lanesPlot.across(begin[k]), lanesPlot.across(end[k])];
  const place = (time) => {
    const at = plan.momentAt(time);
    const width = plan.end[at] - plan.begin[at];
    return lanesPlot.across(at + (width > 0 ? clamp((time - plan.begin[at]) / width, 0, 1) : 0));
  };
  return [place(begin[k]), place(end[k])];
}

/** Boxes of a lane, from left to right. */
class Boxes {
  constructor(top) {
    this.top = top;
    this.list = [];
  }

  add(left, right, colour, of) {
    const last = this.list.at(-1);
    const width = right - left;
    // Of the boxes within a pixel the widest gives the colour.
    if (last && right - last.left < 1) {
      last.right = Math.max(last.right, right);
      if (width > last.width) Object.assign(last, { colour, of, width });
      last.isShared = true;
      return;
    }
    this.list.push({ left, right, colour, of, width, isShared: false });
  }

  draw(name, plan) {
    const { context } = lanesPlot;
    for (const box of this.list) {
      // Whole pixels: neighbours neither overlap nor leave gaps.
      const left = Math.floor(box.left);
      const width = Math.max(Math.floor(box.right) - left, 1);
      context.fillStyle = box.colour;
      context.fillRect(left, this.top, width > 3 ? width - 1 : width, LANE);
      if (width > 34) {
        const start = Math.max(left, LEFT);
        const shown = Math.min(left + width, lanesPlot.width - RIGHT) - start;
        lanesPlot.text(name(box.of, plan), start + shown / 2, this.top + LANE / 2 + 1, {
          align: "center", most: shown - 8, colour: colours.isDark ? "#0b0f14" : readable(box.colour),
        });
      }
    }
  }
}

/** Black or white, by the brightness of a colour. */
function readable(colour) {
  const [red, green, blue] = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
  return red * 0.299 + green * 0.587 + blue * 0.114 > 140 || Number.isNaN(red) ? "#111" : "#fff";
}

/** Arrows from recomputations and copies to the steps that need them. */
function paintArrows(plan, lanes) {
  const again = lanes.findIndex((lane) => lane.kind === "again");
  const first = view.moment(plan, view.from);
  const sources = [];
  for (let at = first; at < plan.count && view.left(plan, at) <= view.to && sources.length <= MOST_ARROWS; at++) {
    if (plan.again[at] && plan.reader[at] >= 0) sources.push(at);
  }
  if (sources.length <= MOST_ARROWS) for (const at of sources) arrow(plan, at, again, 0.4, 1);
  if (plan.copies.node.length > MOST_ARROWS) return;
  plan.copies.node.forEach((_, k) => copyArrow(plan, lanes, k, 0.4, 1));
}

/** Arrows of the selected step: from the copies that it waits for, and to the steps that need it. */
function paintChosen(plan, lanes) {
  const again = lanes.findIndex((lane) => lane.kind === "again");
  const chosen = [view.selected, ...causes(plan, view.selected)];
  for (const at of chosen) {
    if (plan.again[at] || plan.kind[at] === KIND.prefetch || plan.kind[at] === KIND.gather) arrow(plan, at, again, 1, 2);
  }
  plan.copies.node.forEach((_, k) => {
    if (plan.copies.reader[k] === view.selected) copyArrow(plan, lanes, k, 1, 2);
  });
}

function copyArrow(plan, lanes, k, strength, width) {
  const kind = plan.copies.kind[k];
  const reader = plan.copies.reader[k];
  if ((kind !== 1 && kind !== 2) || reader < 0) return;
  const lane = lanes.findIndex((one) => one.kind === kind);
  const [, right] = copyEnds(plan, k);
  const to = lanesPlot.across(view.left(plan, reader));
  if (Math.max(right, to) < LEFT || Math.min(right, to) > lanesPlot.width) return;
  curve(right, laneTop(lane), to, laneTop(0) + LANE, strength, width);
}

function arrow(plan, at, again, strength, width) {
  const reader = plan.reader[at];
  if (reader < 0) return;
  const lane = plan.again[at] ? again : 0;
  const target = plan.again[reader] ? again : 0;
  const from = lanesPlot.across((view.left(plan, at) + view.right(plan, at)) / 2);
  const to = lanesPlot.across((view.left(plan, reader) + view.right(plan, reader)) / 2);
  if (Math.max(from, to) < LEFT || Math.min(from, to) > lanesPlot.width) return;
  if (lane === target) curve(from, laneTop(lane) + LANE, to, laneTop(target) + LANE, strength, width, 8);
  else curve(from, laneTop(lane), to, laneTop(target) + LANE, strength, width);
}

/** A curve with a head; `bow` bends one that begins and ends in the same lane. */
function curve(x0, y0, x1, y1, strength, width, bow = 0) {
  const { context } = lanesPlot;
  context.globalAlpha = strength;
  context.strokeStyle = colours.ink;
  context.fillStyle = colours.ink;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x0, y0);
  if (bow) context.quadraticCurveTo((x0 + x1) / 2, y0 + bow, x1, y1);
  else context.bezierCurveTo(x0, y0 - 6, x1, y1 + 6, x1, y1);
  context.stroke();
  const size = width > 1 ? 5 : 3.5;
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - size * 0.7, y1 + size);
  context.lineTo(x1 + size * 0.7, y1 + size);
  context.fill();
  context.globalAlpha = 1;
}

/** The moment at a pixel of the lanes: on a lane of copies, the one that needs the copy. */
function pickLane(x, y) {
  const plan = view.model;
  const lanes = lanesOf(plan);
  const lane = lanes[Math.floor((y - ROOM + 4) / (LANE + 8))];
  const at = view.moment(plan, lanesPlot.place(x));
  if (lane && typeof lane.kind === "number") {
    const k = plan.copies.kind.findIndex((kind, k) => {
      const [left, right] = kind === lane.kind ? copyEnds(plan, k) : [Infinity, 0];
      return left - 1 <= x && x <= Math.max(right, left + 1) + 1;
    });
    if (k >= 0 && plan.copies.reader[k] >= 0) return plan.copies.reader[k];
    return at;
  }
  if (lane?.kind === "again" && !plan.again[at]) {
    // The nearest recomputation within a few pixels.
    for (let by = 1; by < 60; by++) {
      for (const near of [at - by, at + by]) {
        if (plan.again[near] && Math.abs(lanesPlot.across(view.left(plan, near)) - x) < 6) return near;
      }
    }
  }
  return at;
}

/** Text beside the pointer over the lanes. */
function laneTip(plan, at) {
  const reader = plan.reader[at];
  const lines = tipText(plan, at).slice(0, 2);
  lines.push(element("div", {}, `takes ${costText(plan.end[at] - plan.begin[at])}`));
  if (plan.again[at] && reader >= 0) lines.push(element("div", {}, `needed by ${plan.label(reader)}`));
  return lines;
}
