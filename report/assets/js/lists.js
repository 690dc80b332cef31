// Long tables that make rows for the visible part alone, and the table of steps.

const ROW = 26;

/**
 * A table of rows of equal height. `columns` have a title, a class and a function that returns the
 * content of a cell; `pick` is called with the position of a row that is chosen.
 */
class LongTable {
  constructor(host, name, columns, { pick = null, rows = 14, isMarked = () => false } = {}) {
    Object.assign(this, { columns, pick, isMarked, items: [], first: -1, most: rows });
    this.space = element("div", { class: "rows", role: "rowgroup" });
    this.head = element("div", { class: "row head", role: "row" });
    this.scroller = element("div", { class: "scroller", tabindex: "0" }, this.space);
    this.box = element("div", { class: "table", role: "table", "aria-label": name }, this.head, this.scroller);
    host.replaceChildren(this.box);
    this.#heads();
    this.scroller.addEventListener("scroll", () => this.draw());
    this.space.addEventListener("click", (event) => {
      const row = event.target.closest("[data-row]");
      if (row && this.pick) this.pick(this.items[Number(row.dataset.row)]);
    });
  }

  /** The heads of the columns; those with a key sort the rows. */
  #heads() {
    this.head.replaceChildren(...this.columns.map((column) =>
      element("div", { class: `cell ${column.class ?? ""}`, role: "columnheader", "aria-sort": this.sorted === column ? (this.isDown ? "descending" : "ascending") : null },
        column.key
          ? element("button", { type: "button", class: "sort", on: { click: () => this.sort(column) } },
              column.title, this.sorted === column ? (this.isDown ? " ▾" : " ▴") : "")
          : column.title)));
  }

  sort(column) {
    this.isDown = this.sorted === column ? !this.isDown : true;
    this.sorted = column;
    this.#heads();
    this.fill(this.items);
  }

  fill(items) {
    this.items = items.slice();
    if (this.sorted) {
      const { key } = this.sorted;
      const sign = this.isDown ? -1 : 1;
      this.items.sort((a, b) => sign * (key(a) - key(b)) || 0);
    }
    this.first = -1;
    this.box.setAttribute("aria-rowcount", String(items.length + 1));
    this.space.style.height = `${items.length * ROW}px`;
    this.scroller.style.height = `${Math.min(Math.max(items.length, 1), this.most) * ROW + 2}px`;
    this.draw(true);
  }

  /** Makes the rows in view, and some before and after. */
  draw(isForced = false) {
    const first = Math.max(Math.floor(this.scroller.scrollTop / ROW) - 8, 0);
    const last = Math.min(first + this.most + 18, this.items.length);
    if (!isForced && first === this.first) return;
    this.first = first;
    const rows = [];
    for (let k = first; k < last; k++) rows.push(this.#row(k));
    this.space.replaceChildren(...rows);
    if (!this.items.length) this.space.replaceChildren(element("div", { class: "empty" }, "none"));
  }

  #row(k) {
    const item = this.items[k];
    const cells = this.columns.map((column) =>
      element("div", { class: `cell ${column.class ?? ""}`, role: "cell" }, column.cell(item)));
    const row = element("div", {
      class: `row${this.isMarked(item) ? " marked" : ""}`, role: "row", "data-row": k, "aria-rowindex": k + 2,
      "aria-current": this.isMarked(item) ? "true" : null,
    }, cells);
    row.style.top = `${k * ROW}px`;
    return row;
  }

  /** Scrolls so that an item is in view. */
  reveal(item) {
    const k = this.items.indexOf(item);
    if (k < 0) return;
    const { scrollTop, clientHeight } = this.scroller;
    if (k * ROW < scrollTop || (k + 1) * ROW > scrollTop + clientHeight) {
      this.scroller.scrollTop = k * ROW - clientHeight / 2;
    }
  }
}

const swatch = (k) => element("i", { class: "swatch", style: { "--colour": colours.classes[k] } });

const FILTERS = [
  ["all steps", () => true],
  ["computed again", (plan, at) => plan.again[at]],
  ["copies and waits", (plan, at) => plan.kind[at] !== KIND.compute],
  ["within 5% of the peak", (plan, at) => plan.bytes[at] >= plan.peak * 0.95],
  ["backward pass", (plan, at) => plan.graph.roles[plan.node[at]] === ROLE.backward],
];

let stepTable = null;

function makeSteps() {
  const plan = () => view.model;
  const duration = (at) => plan().end[at] - plan().begin[at];
  const columns = [
    { title: "step", class: "number narrow", cell: (at) => String(at) },
    { title: "", class: "mark", cell: (at) => swatch(plan().colour(at)) },
    { title: "name", class: "wide name", cell: (at) => element("span", { title: plan().label(at) }, plan().label(at)) },
    { title: "", class: "narrow", cell: (at) => (plan().again[at] ? element("span", { class: "badge" }, "again") : "") },
    { title: "operator", class: "medium name", cell: (at) => plan().graph.operators[plan().node[at]] },
    !isOrder() && { title: "begin", class: "number roomy", cell: (at) => costText(plan().begin[at]), key: (at) => at },
    !isOrder() && { title: "takes", class: "number", cell: (at) => costText(duration(at)), key: duration },
    { title: "memory", class: "number roomy", cell: (at) => bytesText(plan().bytes[at]), key: (at) => plan().bytes[at] },
    { title: "", class: "gauge", cell: (at) => gauge(plan().bytes[at] / Math.max(plan().peak, 1)) },
  ];
  stepTable = new LongTable(byId("step-list"), "Steps of the plan", columns.filter(Boolean), {
    pick: (at) => view.select(at), isMarked: (at) => at === view.selected,
  });
  byId("which").replaceChildren(...FILTERS.map(([name], k) => element("option", { value: k }, name)));
  byId("which").addEventListener("change", fillSteps);
  byId("find").addEventListener("input", fillSteps);
  byId("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && stepTable.items.length) {
      const next = stepTable.items.find((at) => at > view.selected) ?? stepTable.items[0];
      view.select(next);
    }
  });
}

const gauge = (share) =>
  element("i", { class: "fill", style: { "--share": `${(clamp(share, 0, 1) * 100).toFixed(1)}%` } });

/** The steps that the search field and the choice leave. */
function fillSteps() {
  const plan = view.model;
  const wanted = byId("find").value.trim().toLowerCase();
  const [, accepts] = FILTERS[Number(byId("which").value) || 0];
  const { names, operators } = plan.graph;
  const list = [];
  for (let at = 0; at < plan.count; at++) {
    if (!accepts(plan, at)) continue;
    const node = plan.node[at];
    if (wanted && !names[node].toLowerCase().includes(wanted) && !operators[node].toLowerCase().includes(wanted)) continue;
    list.push(at);
  }
  byId("found").textContent = counted(list.length, "step");
  stepTable.fill(list);
}
