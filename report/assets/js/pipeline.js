// A pipeline: the passes of all devices over time, with the memory of each device below them.

const PIPE_LANE = 24;
const PIPE_MEMORY = 56;

function paintPipeline() {
  const { pipeline } = DATA;
  const host = byId("pipeline");
  if (!pipeline) return;
  if (host.hidden) {
    host.hidden = false;
    host.replaceChildren(
      element("h2", {}, "Passes of all devices"),
      element("p", { class: "note" }, `${pipeline.schedule}, ${counted(pipeline.microbatches, "micro-batch").replace("batchs", "batches")} on ` +
        `${counted(pipeline.devices.length, "device")}: ${costText(pipeline.makespan)} in the replay of all events, ` +
        `${(pipeline.idle_share * 100).toFixed(1)}% of the devices' time idle. Click a pass to see the plan of its stage below.`),
      element("div", { class: "entries", id: "pipe-legend" }),
      element("div", { class: "plot" }, element("canvas", { id: "passes", role: "img" })));
    pipePlot = new Plot("passes", 0);
    pointedPipeline();
  }
  pipePlot.height = 10 + pipeline.devices.length * (PIPE_LANE + PIPE_MEMORY + 14) + 24;
  if (!pipePlot.start()) return;
  const { context, width, inner } = pipePlot;
  const across = (time) => LEFT + (time / pipeline.makespan) * inner;
  const most = Math.max(...pipeline.devices.map((one) => Math.max(one.peak_bytes, one.budget_bytes))) * 1.05;
  byId("pipe-legend").replaceChildren(
    ...[["forward", CLASS.passing], ["backward", CLASS.gradient], ["recomputing", CLASS.again], ["fixed memory", CLASS.fixed],
      ["waiting micro-batches", CLASS.waiting], ["the pass that runs", CLASS.kept]]
      .map(([name, k]) => element("span", { class: "entry" }, swatch(k), name)));
  pipeline.devices.forEach((device, d) => {
    const top = pipeTop(d);
    pipePlot.text(`device ${d}`, LEFT - 8, top + PIPE_LANE / 2, { align: "right" });
    context.fillStyle = colours.faint;
    context.fillRect(LEFT, top, inner, PIPE_LANE);
    for (const pass of device.passes) paintPass(pass, top, across);
    paintDevice(device, top + PIPE_LANE + PIPE_MEMORY + 2, most, across);
  });
  const bottom = pipePlot.height - 22;
  const [scale, name] = timeUnit(pipeline.makespan);
  const [list, step] = ticks(0, pipeline.makespan / scale, inner / 90);
  for (const value of list) pipePlot.text(tickText(value, step), across(value * scale), bottom + 12, { align: "center" });
  pipePlot.text(name, LEFT - 18, bottom + 12, { align: "right" });
  pipePlot.canvas.setAttribute("aria-label", `Passes of ${counted(pipeline.devices.length, "device")} over ${costText(pipeline.makespan)}`);
  void width;
}

let pipePlot = null;
const pipeTop = (device) => 10 + device * (PIPE_LANE + PIPE_MEMORY + 14);

function paintPass([stage, microbatch, isBackward, begin, end], top, across) {
  const { context } = pipePlot;
  const { again } = DATA.pipeline;
  const [left, right] = [across(begin), Math.max(across(end), across(begin) + 1)];
  context.fillStyle = colours.classes[isBackward ? CLASS.gradient : CLASS.passing];
  context.globalAlpha = stage === view.subject ? 1 : 0.62;
  context.fillRect(left, top, right - left, PIPE_LANE);
  const share = again[stage][isBackward];
  context.fillStyle = colours.classes[CLASS.again];
  context.fillRect(right - share * (right - left), top, share * (right - left), PIPE_LANE);
  context.globalAlpha = 1;
  if (right - left > 3) pipePlot.line(left, top, left, top + PIPE_LANE, colours.paper);
  if (right - left > 16) {
    pipePlot.text(String(microbatch), (left + right) / 2, top + PIPE_LANE / 2 + 1, {
      align: "center", colour: colours.isDark ? "#0b0f14" : "#111",
    });
  }
}

function paintDevice(device, floor, most, across) {
  const { context, inner } = pipePlot;
  const tall = (bytes) => (bytes / most) * PIPE_MEMORY;
  const fill = (colour, left, right, from, bytes) => {
    context.fillStyle = colour;
    context.fillRect(left, floor - tall(from + bytes), Math.max(right - left, 0.5), tall(bytes));
  };
  for (const [begin, end, waiting, running] of device.memory) {
    const [left, right] = [across(begin), across(end)];
    fill(colours.classes[CLASS.fixed], left, right, 0, device.fixed_bytes);
    fill(colours.classes[CLASS.waiting], left, right, device.fixed_bytes, waiting);
    fill(colours.classes[CLASS.kept], left, right, device.fixed_bytes + waiting, running);
  }
  pipePlot.line(LEFT, floor, LEFT + inner, floor, colours.soft);
  const level = floor - tall(device.budget_bytes);
  pipePlot.line(LEFT, level, LEFT + inner, level, colours.budget, { dash: [6, 4] });
  pipePlot.text(bytesText(device.peak_bytes), LEFT - 8, floor - PIPE_MEMORY / 2, { align: "right" });
}

/** The pass at a pixel. */
function passAt(event) {
  const box = pipePlot.canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const { devices, makespan } = DATA.pipeline;
  const d = devices.findIndex((_, d) => y >= pipeTop(d) && y < pipeTop(d + 1));
  const time = ((x - LEFT) / pipePlot.inner) * makespan;
  const pass = devices[d]?.passes.find(([, , , begin, end]) => begin <= time && time < end);
  return pass && { device: d, pass };
}

function pointedPipeline() {
  pipePlot.canvas.addEventListener("click", (event) => {
    const found = passAt(event);
    if (found) view.show(found.pass[0], SUBJECTS[found.pass[0]].first);
  });
  pipePlot.canvas.addEventListener("pointermove", (event) => {
    const found = passAt(event);
    if (!found) return showTip(event, null);
    const [stage, microbatch, isBackward, begin, end] = found.pass;
    const memory = DATA.pipeline.devices[found.device].memory.find(([from, to]) => from <= begin && begin < to);
    return showTip(event, [
      element("b", {}, `stage ${stage}, ${isBackward ? "backward" : "forward"} of micro-batch ${microbatch}`),
      element("div", {}, `${costText(begin)} to ${costText(end)}, ${(DATA.pipeline.again[stage][isBackward] * 100).toFixed(1)}% recomputing`),
      memory ? element("div", {}, `${bytesText(memory[3])} running, ${bytesText(memory[2])} waiting`) : "",
    ]);
  });
  pipePlot.canvas.addEventListener("pointerleave", (event) => showTip(event, null));
}
