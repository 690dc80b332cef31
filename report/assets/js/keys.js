// Keys, the theme, and the list of keys.

/** The next moment in a direction that a test accepts, or the selected one. */
function nextWhere(by, accepts) {
  const plan = view.model;
  for (let at = view.selected + by; at >= 0 && at < plan.count; at += by) if (accepts(plan, at)) return at;
  return view.selected;
}

const isAgain = (plan, at) => plan.again[at] === 1;
const isCopy = (plan, at) => plan.kind[at] !== KIND.compute;

const KEYS = [
  [["ArrowRight"], "→", "next step", () => view.select(view.selected + 1)],
  [["ArrowLeft"], "←", "step before", () => view.select(view.selected - 1)],
  [["PageDown"], "Page down", "ten steps on", () => view.select(view.selected + 10)],
  [["PageUp"], "Page up", "ten steps back", () => view.select(view.selected - 10)],
  [["Home"], "Home", "first step", () => view.select(0)],
  [["End"], "End", "last step", () => view.select(view.model.count - 1)],
  [["n"], "n", "next recomputation", () => view.select(nextWhere(1, isAgain))],
  [["N"], "N", "recomputation before", () => view.select(nextWhere(-1, isAgain))],
  [["c"], "c", "next copy or wait", () => view.select(nextWhere(1, isCopy))],
  [["C"], "C", "copy or wait before", () => view.select(nextWhere(-1, isCopy))],
  [["r"], "r", "the step that needs the selected one", () => view.model.reader[view.selected] >= 0 && view.select(view.model.reader[view.selected])],
  [["p"], "p", "the peak", () => view.select(view.model.peakMoment)],
  [["+", "="], "+", "zoom in", () => view.zoom(0.5)],
  [["-"], "−", "zoom out", () => view.zoom(2)],
  [["0"], "0", "the whole step", () => view.range(0, view.span())],
  [["a"], "a", "axis of time or of steps", () => toggleAxis()],
  [["]"], "]", "plan with more memory", () => view.show(view.subject, view.plan + 1)],
  [["["], "[", "plan with less memory", () => view.show(view.subject, view.plan - 1)],
  [["t"], "t", "light or dark", () => toggleTheme()],
  [["/"], "/", "find a step by name", () => byId("find").focus()],
  [["?"], "?", "this list", () => byId("help").showModal()],
];

/** Keys that an element with the focus needs itself. */
function isTaken(event) {
  const { target } = event;
  if (byId("help").open) return true;
  if (target.matches?.("input[type=search], select")) return true;
  const isMove = /^(Arrow|Page|Home|End)/.test(event.key);
  return isMove && Boolean(target.closest?.("input[type=range], .scroller"));
}

function listenKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") showTip(event, null);
    if (event.key === "Escape" && document.activeElement === byId("find")) byId("find").blur();
    if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return;
    const found = KEYS.find(([keys]) => keys.includes(event.key));
    if (!found) return;
    event.preventDefault();
    found[3]();
  });
  byId("help").replaceChildren(
    element("h2", { id: "help-title" }, "Keys"),
    element("dl", { class: "keys" }, KEYS.map(([, shown, meaning]) => [element("dt", {}, element("kbd", {}, shown)), element("dd", {}, meaning)])),
    element("p", { class: "note" }, "With the pointer: click selects, dragging moves, Ctrl with the wheel or a double click zooms, Shift with the wheel moves."),
    element("form", { method: "dialog" }, element("button", {}, "Close")));
  byId("keys").addEventListener("click", () => byId("help").showModal());
}

function toggleAxis() {
  view.toggleAxis();
  nameAxis();
}

function nameAxis() {
  byId("axis").textContent = view.axis === "time" ? "Axis: time" : "Axis: steps";
  byId("axis").hidden = isOrder();
}

function toggleTheme() {
  setTheme(colours.isDark ? "light" : "dark");
}

const darkSystem = matchMedia("(prefers-color-scheme: dark)");

/** The theme that the system prefers. */
function systemTheme() {
  return darkSystem.matches ? "dark" : "light";
}

/** Sets the theme and paints the page in it. */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readColours();
  byId("theme").textContent = colours.isDark ? "Light" : "Dark";
  for (const listener of view.listeners.plan) listener();
  for (const listener of view.listeners.selection) listener();
  view.redraw();
}

function listenTheme() {
  byId("theme").addEventListener("click", toggleTheme);
  darkSystem.addEventListener("change", () => setTheme(systemTheme()));
  byId("print").addEventListener("click", () => window.print());
  // Paper is light.
  let before;
  window.addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    setTheme("light");
    for (const paint of view.painters) paint();
  });
  window.addEventListener("afterprint", () => setTheme(before));
}
