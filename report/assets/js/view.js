// The state of the page: plan, selected moment, visible range; and the canvases that follow it.

/** Room for the numbers of vertical axes and at the right end, in CSS pixels. */
const LEFT = 78;
const RIGHT = 14;
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

const view = {
  subject: 0,
  plan: 0,
  compare: -1,
  selected: 0,
  axis: "time",
  from: 0,
  to: 1,
  hidden: new Set(),
  hover: -1,
  painters: [],
  listeners: { plan: [], selection: [] },
  isDue: false,
  isMoved: false,

  get model() {
    return SUBJECTS[this.subject].model(this.plan);
  },

  get other() {
    return this.compare >= 0 && this.compare !== this.plan ? SUBJECTS[this.subject].model(this.compare) : null;
  },

  /** Length of the axis: the time of the step, or its number of moments. */
  span(plan = this.model) {
    return this.axis === "time" ? plan.span : Math.max(plan.count, 1);
  },

  left(plan, at) {
    return this.axis === "time" ? plan.begin[at] : at;
  },

  right(plan, at) {
    return this.axis === "time" ? plan.end[at] : at + 1;
  },

  /** The moment at a place of the axis. */
  moment(plan, x) {
    return this.axis === "time" ? plan.momentAt(x) : clamp(Math.floor(x), 0, plan.count - 1);
  },

  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      if (this.isMoved) for (const listener of this.listeners.selection) listener();
      this.isMoved = false;
      for (const paint of this.painters) paint();
    });
  },

  show(subject, plan) {
    const share = [this.from / this.span(), this.to / this.span()];
    const isNew = subject !== this.subject;
    [this.subject, this.plan] = [subject, clamp(plan, 0, SUBJECTS[subject].json.length - 1)];
    if (isNew) this.compare = plainOf(subject);
    const span = this.span();
    [this.from, this.to] = isNew ? [0, span] : [share[0] * span, share[1] * span];
    for (const listener of this.listeners.plan) listener();
    this.select(this.model.peakMoment, false);
  },

  select(at, isSeen = true) {
    const plan = this.model;
    this.selected = clamp(at, 0, plan.count - 1);
    if (isSeen) this.reveal(this.selected);
    this.isMoved = true;
    this.redraw();
  },

  /** Moves the range so that a moment is in it. */
  reveal(at) {
    const plan = this.model;
    const [left, right, width] = [this.left(plan, at), this.right(plan, at), this.to - this.from];
    if (left < this.from || right > this.to) {
      const middle = (left + right) / 2;
      this.range(middle - width / 2, middle + width / 2);
    }
  },

  range(from, to) {
    const span = this.span();
    const width = clamp(to - from, span * 1e-5, span);
    this.from = clamp(from, 0, span - width);
    this.to = this.from + width;
    this.redraw();
  },

  /** Zooms around a place of the axis; the selected moment if none is given and it is visible. */
  zoom(factor, around = null) {
    const plan = this.model;
    const own = (this.left(plan, this.selected) + this.right(plan, this.selected)) / 2;
    const isVisible = own >= this.from && own <= this.to;
    const middle = around ?? (isVisible ? own : (this.from + this.to) / 2);
    const width = clamp((this.to - this.from) * factor, this.span() * 1e-5, this.span());
    const share = (middle - this.from) / (this.to - this.from);
    this.range(middle - share * width, middle + (1 - share) * width);
  },

  toggleAxis() {
    const plan = this.model;
    const ends = [this.moment(plan, this.from), this.moment(plan, this.to)];
    const isAll = this.from <= 0 && this.to >= this.span();
    this.axis = this.axis === "time" ? "steps" : "time";
    if (isAll) this.range(0, this.span());
    else this.range(this.left(plan, ends[0]), this.right(plan, ends[1]));
  },
};

/** Position of the step without recomputation among the plans of a subject, or -1. */
const plainOf = (subject) => SUBJECTS[subject].json.findIndex((plan) => plan.is_plain);

const colours = {};

/** Reads the colours of the theme. */
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ink", "soft", "faint", "paper", "accent", "budget", "mark", "idle"]) {
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  }
  colours.isDark = document.documentElement.dataset.theme === "dark";
  colours.classes = DATA.classes.map((one) => (colours.isDark ? one.dark : one.light));
}

/** A canvas that is drawn in CSS pixels on whole device pixels. */
class Plot {
  constructor(id, height) {
    this.canvas = byId(id);
    this.height = height;
    this.context = this.canvas.getContext("2d");
    new ResizeObserver(() => view.redraw()).observe(this.canvas.parentElement);
  }

  /** Prepares a drawing; false if there is no room for it. */
  start() {
    const width = Math.floor(this.canvas.parentElement.clientWidth);
    if (width < LEFT + RIGHT + 40) return false;
    const ratio = Math.max(window.devicePixelRatio || 1, 1);
    if (this.width !== width || this.ratio !== ratio || this.drawnHeight !== this.height) {
      [this.width, this.ratio, this.drawnHeight] = [width, ratio, this.height];
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(this.height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${this.height}px`;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, width, this.height);
    this.context.font = FONT;
    this.inner = width - LEFT - RIGHT;
    return true;
  }

  /**
   * Draws all that does not depend on the selected moment, or copies it from the last time if the
   * state of the page is the same.
   */
  background(draw) {
    const state = [view.subject, view.plan, view.compare, view.axis, view.from, view.to, [...view.hidden], colours.isDark,
      this.width, this.height, this.ratio].join();
    if (this.state === state) {
      this.context.setTransform(1, 0, 0, 1, 0, 0);
      this.context.drawImage(this.copy, 0, 0);
      this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      return;
    }
    draw();
    this.copy ??= document.createElement("canvas");
    [this.copy.width, this.copy.height] = [this.canvas.width, this.canvas.height];
    this.copy.getContext("2d").drawImage(this.canvas, 0, 0);
    this.state = state;
  }

  /** The pixel of a place on the axis. */
  across(x) {
    return LEFT + ((x - view.from) / (view.to - view.from)) * this.inner;
  }

  /** The place on the axis of a pixel. */
  place(pixel) {
    return view.from + ((pixel - LEFT) / this.inner) * (view.to - view.from);
  }

  text(content, x, y, { align = "left", colour = colours.soft, most = Infinity } = {}) {
    const { context } = this;
    if (most < 14) return;
    let shown = content;
    if (context.measureText(shown).width > most) {
      const each = context.measureText("x").width;
      shown = shortened(content, Math.max(Math.floor(most / each), 2));
      if (shown.length < 7 || context.measureText(shown).width > most) return;
    }
    context.fillStyle = colour;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillText(shown, x, y);
  }

  /** Numbers and lines of a vertical axis from `base` to `top`. */
  levels(top, y, bottom, { unit = 1, name = "", count = 5, base = 0 } = {}) {
    const [list, step] = ticks(base / unit, top / unit, count);
    for (const value of list) {
      const at = Math.round(y(value * unit)) + 0.5;
      this.line(LEFT, at, this.width - RIGHT, at, colours.faint);
      this.text(tickText(value, step), LEFT - 8, at, { align: "right" });
    }
    this.line(LEFT - 0.5, y(top), LEFT - 0.5, bottom, colours.soft);
    if (name) this.text(name, 2, 9);
  }

  line(x0, y0, x1, y1, colour, { width = 1, dash = [] } = {}) {
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    context.setLineDash([]);
  }

  /** The numbers of the common axis, at a height. */
  axis(y) {
    const [scale, name] = view.axis === "time" ? timeUnit(view.span()) : [1, "step"];
    const [list, step] = ticks(view.from / scale, view.to / scale, this.inner / 90);
    for (const value of list) {
      const x = this.across(value * scale);
      this.line(x, y, x, y + 4, colours.soft);
      this.text(tickText(value, step), x, y + 13, { align: "center" });
    }
    this.text(name, LEFT - 26, y + 13, { align: "right" });
  }

  /** A vertical line at the selected moment, over the whole height. */
  cursor(bottom = this.height) {
    const plan = view.model;
    if (!plan.count) return;
    const [left, right] = [this.across(view.left(plan, view.selected)), this.across(view.right(plan, view.selected))];
    if (right < LEFT || left > this.width - RIGHT) return;
    const { context } = this;
    context.fillStyle = colours.mark;
    context.globalAlpha = 0.09;
    context.fillRect(Math.max(left, LEFT), 0, Math.max(Math.min(right, this.width - RIGHT) - Math.max(left, LEFT), 1), bottom);
    context.globalAlpha = 1;
    const x = Math.round(clamp(left, LEFT, this.width - RIGHT)) + 0.5;
    this.line(x, 0, x, bottom, colours.mark);
  }

  /** Cuts the drawing to the frame of the axis. */
  clipped(draw) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, this.inner, this.height);
    context.clip();
    draw();
    context.restore();
  }
}

/**
 * The moments in the visible range by column of pixels: of the moments within one pixel, the one
 * with most memory.
 */
function columns(plot, plan) {
  const first = view.moment(plan, view.from);
  const out = { left: [], right: [], at: [] };
  for (let at = first; at < plan.count; at++) {
    const begin = view.left(plan, at);
    if (begin > view.to) break;
    const left = plot.across(begin);
    const right = plot.across(view.right(plan, at));
    const last = out.at.length - 1;
    // A column has at least a pixel.
    if (last >= 0 && right - out.left[last] < 1) {
      if (plan.bytes[at] > plan.bytes[out.at[last]]) out.at[last] = at;
      out.right[last] = Math.max(out.right[last], right);
    } else {
      out.left.push(last >= 0 ? out.right[last] : left);
      out.right.push(Math.max(right, left));
      out.at.push(at);
    }
  }
  return out;
}
