// The plans on the page: a slider, the figures of the plan, questions, and the difference of two.

function paintPlans() {
  const host = byId("plans");
  const subject = SUBJECTS[view.subject];
  const many = subject.json.length > 1;
  const stages = SUBJECTS.length > 1;
  if (!many && !stages) {
    host.hidden = true;
    return;
  }
  const focused = document.activeElement?.id;
  const own = subject.json[view.plan];
  const children = [];
  if (stages) {
    children.push(element("label", {}, "Stage ", element("select", { id: "stage", on: { change: (e) => view.show(Number(e.target.value), SUBJECTS[Number(e.target.value)].first) } },
      SUBJECTS.map((one, k) => element("option", { value: k, selected: k === view.subject }, one.name)))));
  }
  if (many) {
    children.push(
      element("label", { class: "slider" }, "Plan ",
        element("input", { id: "plan", type: "range", min: 0, max: subject.json.length - 1, step: 1, value: view.plan,
          "aria-valuetext": own.name, on: { input: (e) => view.show(view.subject, Number(e.target.value)) } })),
      element("output", { class: "plan-name name", title: own.name }, own.name,
        own.budget_bytes === null ? "" : element("span", { class: "note" }, ` budget ${bytesText(own.budget_bytes)}`)),
      element("label", {}, "Compare with ", element("select", { id: "compare", on: { change: (e) => compareWith(Number(e.target.value)) } },
        element("option", { value: -1 }, "no other plan"),
        subject.json.map((plan, k) => element("option", { value: k, selected: k === view.compare, disabled: k === view.plan }, plan.name)))),
    );
  }
  host.hidden = false;
  host.replaceChildren(...children);
  if (["plan", "stage", "compare"].includes(focused)) byId(focused)?.focus();
}

function compareWith(k) {
  view.compare = k;
  paintLegend();
  paintDifference();
  view.redraw();
}

function card(name, value, note, isWarning = false) {
  return element("div", { class: `card${isWarning ? " warning" : ""}` },
    element("span", { class: "card-name" }, name), element("strong", {}, value), element("span", { class: "note" }, note));
}

function paintCards() {
  const plan = view.model;
  const { json } = plan;
  const cards = [];
  const isGraph = plan.graph.word === "node";
  if (isGraph) {
    cards.push(card("Time of the step", costText(json.cost), json.is_plain ? "nothing is computed again"
      : Math.abs(plan.overhead) < 5e-5 ? "as long as without recomputation" : `${percentText(plan.overhead)} over no recomputation`));
  }
  const over = plan.budget === null ? 0 : plan.peak - plan.budget;
  cards.push(card("Peak memory", bytesText(plan.peak), plan.budget === null ? `at ${shortened(plan.label(plan.peakMoment), 28)}`
    : over <= 0 ? `${bytesText(-over)} below the budget of ${bytesText(plan.budget)}` : `${bytesText(over)} above the budget`, over > 0));
  if (isGraph) {
    cards.push(card("Computed again", counted(plan.recomputations, "time"),
      plan.recomputations ? `${counted(plan.recomputedNodes, "node")}, ${costText(plan.recomputedCost)}` : "no node"));
  } else {
    cards.push(card("Steps", plan.count.toLocaleString("en"), plan.graph.word === "operator" ? "one for each operator" : "moments with equal memory"));
  }
  if (plan.copies.node.length) {
    const moved = plan.copies.bytes.reduce((a, b) => a + b, 0);
    cards.push(card("Copies", bytesText(moved), json.idle ? `computations wait ${costText(json.idle)}` : "no computation waits"));
  }
  if (json.bound) {
    const gap = Math.max(1 - json.bound.cost / json.cost, 0);
    cards.push(card("Proven gap", `${(gap * 100).toFixed(2)}%`, `bound ${costText(json.bound.cost)}`));
  }
  if (json.arena_bytes !== null) {
    const lost = json.arena_bytes / plan.addressed - 1;
    cards.push(card("Arena", bytesText(json.arena_bytes), Math.abs(lost) < 5e-5 ? "as small as can be" : `${percentText(lost)} over the largest load`));
  }
  byId("cards").replaceChildren(...cards);
  byId("subtitle").textContent = [
    plan.graph.word === "moment" ? "" : counted(plan.graph.names.length, plan.graph.word),
    isGraph ? `${json.semantics} semantics` : "",
    counted(SUBJECTS[view.subject].json.length, "plan"),
  ].filter(Boolean).join(" · ");
}

function paintAnswers() {
  const list = answers(SUBJECTS[view.subject], view.plan, view.model);
  byId("answer-list").replaceChildren(...list.map(([question, answer]) =>
    element("div", { class: "answer" }, element("h3", {}, question), element("p", {}, answer))));
}

/** Nodes with the number and cost of their recomputations, by name; and names of copied tensors. */
function extras(plan) {
  const again = new Map();
  for (let at = 0; at < plan.count; at++) {
    if (!plan.again[at]) continue;
    const name = plan.graph.names[plan.node[at]];
    const entry = again.get(name) ?? { name, times: 0, cost: 0, at };
    entry.times++;
    entry.cost += plan.end[at] - plan.begin[at];
    again.set(name, entry);
  }
  const copied = new Map();
  plan.copies.node.forEach((node, k) => {
    if (plan.copies.kind[k] > 1) return;
    const name = plan.graph.names[node];
    copied.set(name, (copied.get(name) ?? 0) + plan.copies.bytes[k]);
  });
  return { again, copied };
}

function paintDifference() {
  const [plan, other] = [view.model, view.other];
  const host = byId("difference");
  host.hidden = !other || plan.graph.word !== "node";
  if (host.hidden) return;
  const [own, their] = [extras(plan), extras(other)];
  const sign = (value, text) => `${value > 0 ? "+" : value < 0 ? "−" : "±"}${text(Math.abs(value))}`;
  const body = byId("difference-body");
  const only = (a, b) => [...a.values()].filter(({ name }) => !b.has(name)).sort((x, y) => y.cost - x.cost);
  const onlyCopied = (a, b) => [...a].filter(([name]) => !b.has(name)).sort((x, y) => y[1] - x[1]);
  const table = element("table", { class: "small" },
    element("thead", {}, element("tr", {}, ["", "this plan", "the other", "difference"].map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, [
      ["time", plan.json.cost, other.json.cost, costText],
      ["peak", plan.peak, other.peak, bytesText],
      ["recomputations", plan.recomputations, other.recomputations, (n) => String(n)],
      ["time of them", plan.recomputedCost, other.recomputedCost, costText],
    ].map(([name, a, b, text]) => element("tr", {}, element("th", { scope: "row" }, name),
      [text(a), text(b), sign(a - b, text)].map((content) => element("td", {}, content))))));
  body.replaceChildren(
    element("p", { class: "note" }, "The other plan: ", element("b", { class: "name" }, other.name), ", dotted above."), table,
    ...namesList("Computed again in this plan only", only(own.again, their.again), (entry) =>
      [momentLink(plan, entry.at, entry.name), ` ${costText(entry.cost)}`]),
    ...namesList("Computed again in the other only", only(their.again, own.again), ({ name, cost }) => [nameOf(name), ` ${costText(cost)}`]),
    ...namesList("Copied in this plan only", onlyCopied(own.copied, their.copied), ([name, bytes]) => [nameOf(name), ` ${bytesText(bytes)}`]),
    ...namesList("Copied in the other only", onlyCopied(their.copied, own.copied), ([name, bytes]) => [nameOf(name), ` ${bytesText(bytes)}`]),
  );
}

/** A folded list under a heading with its length; empty lists are left out. */
function namesList(heading, list, item) {
  if (!list.length) return [];
  const most = 200;
  const rows = element("ul", {}, list.slice(0, most).map((one) => element("li", {}, item(one))));
  if (list.length > most) rows.append(element("li", { class: "note" }, `and ${list.length - most} more`));
  return [element("details", { open: list.length <= 12 }, element("summary", {}, `${heading}: ${list.length}`), rows)];
}
