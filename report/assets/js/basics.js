// Elements, text and numbers. Names come from files: they enter the page as text nodes alone.

const byId = (id) => document.getElementById(id);

/** An element with attributes and children; children that are no nodes become text. */
function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** As element(), for SVG. */
function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name === "style") {
      for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
    } else if (value === true) {
      node.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, value);
    }
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Bytes as the command line prints them. */
function bytesText(bytes) {
  let [value, k] = [Math.abs(bytes), 0];
  while (value >= 1024 && k + 1 < BYTE_UNITS.length) [value, k] = [value / 1024, k + 1];
  const sign = bytes < 0 ? "−" : "";
  return k === 0 ? `${sign}${value} B` : `${sign}${value.toFixed(2)} ${BYTE_UNITS[k]}`;
}

const TIME_UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

/** The most readable unit for a cost: cost units in it, and its name. */
function timeUnit(cost) {
  if (!DATA.unit.nanoseconds) return [1, DATA.unit.name];
  const nanoseconds = Math.abs(cost) * DATA.unit.nanoseconds;
  const [scale, name] = TIME_UNITS.find(([scale]) => nanoseconds >= scale) ?? [1, "ns"];
  return [scale / DATA.unit.nanoseconds, name];
}

/** A cost as text: a time if the unit is one. */
function costText(cost) {
  if (cost === 0) return "0";
  const [scale, name] = timeUnit(cost);
  if (!DATA.unit.nanoseconds) {
    const amount = Number.isInteger(cost) ? cost : Number(cost.toPrecision(4));
    return `${amount} ${name}${amount === 1 || name.endsWith("s") ? "" : "s"}`;
  }
  return `${(cost / scale).toFixed(3)} ${name}`;
}

/** A fraction as percent, with a sign. */
const percentText = (share, digits = 2) =>
  `${share < 0 ? "−" : "+"}${(Math.abs(share) * 100).toFixed(digits)}%`;

const counted = (count, thing) => `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;

/** A list in words: "a", "a and b", "a, b and c". */
const listed = (words) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

/** A long text with its middle left out; the whole text stays in the title of its element. */
function shortened(text, most) {
  if (text.length <= most) return text;
  const head = Math.ceil((most - 1) * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}

/** A name as an element that breaks lines where it must. */
const nameOf = (text) => element("b", { class: "name", title: text }, text);

/** The multiples of a round step in a range, about `count` of them, and the step. */
function ticks(from, to, count) {
  const rough = Math.max((to - from) / Math.max(count, 1), Number.MIN_VALUE);
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((digit) => rough / magnitude <= digit * 1.2) ?? 10) * magnitude;
  const list = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k++) list.push(k * step);
  return [list, step];
}

/** A tick's number, with as many decimals as the step needs. */
const tickText = (value, step) =>
  value.toFixed(Math.min(Math.max(-Math.floor(Math.log10(step) + 1e-9), 0), 6));

/** First position in a sorted list whose value is above `wanted`. */
function above(list, wanted) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] > wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), Math.max(low, high));

const DATA = JSON.parse(byId("data").textContent);
