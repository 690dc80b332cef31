// Addresses over time: a box for each piece of memory at its place in the arena.

const mapPlot = new Plot("map", 420);

function paintAddresses() {
  const plan = view.model;
  byId("addresses").hidden = !plan.offset;
  if (!plan.offset || !mapPlot.start()) return;
  const { context, height } = mapPlot;
  const top = plan.json.arena_bytes || plan.peak;
  const bottom = height - 24;
  const y = (address) => bottom - (address / (top * 1.02)) * (bottom - 18);
  const [unit, name] = byteUnit(top);
  mapPlot.levels(top * 1.02, y, bottom, { unit, name: `address (${name})` });
  mapPlot.clipped(() => {
    for (const box of mapBoxes(plan, y)) {
      context.fillStyle = colours.classes[box.class];
      context.globalAlpha = box.isChosen ? 1 : 0.72;
      context.fillRect(box.left, box.top, box.width, box.height);
      context.globalAlpha = 1;
      if (box.width > 3 && box.height > 2) {
        context.lineWidth = box.isChosen ? 2 : 0.75;
        context.strokeStyle = box.isChosen ? colours.ink : colours.paper;
        context.strokeRect(box.left, box.top, box.width, box.height);
      }
      if (box.width > 36 && box.height > 13) {
        const left = Math.max(box.left, LEFT);
        const shown = Math.min(box.left + box.width, mapPlot.width - RIGHT) - left;
        mapPlot.text(plan.pieceName(box.piece), left + shown / 2, box.top + box.height / 2 + 1, {
          align: "center", most: shown - 6, colour: colours.isDark ? "#0b0f14" : readable(colours.classes[box.class]),
        });
      }
    }
  });
  mapPlot.line(LEFT, y(top), mapPlot.width - RIGHT, y(top), colours.budget, { dash: [7, 5] });
  mapPlot.text(`arena ${bytesText(top)}`, mapPlot.width - RIGHT - 4, y(top) - 8, { align: "right", colour: colours.budget });
  mapPlot.cursor(bottom);
  mapPlot.axis(bottom);
  byId("addresses-note").textContent =
    `Arena of ${bytesText(top)} for a largest load of ${bytesText(plan.addressed)}: ${percentText(top / plan.addressed - 1, 3)}. Click a box to see the step that fills it.`;
}

/** Boxes of the pieces in the visible range. */
function* mapBoxes(plan, y) {
  for (let k = 0; k < plan.segPiece.length; k++) {
    const piece = plan.segPiece[k];
    // Other micro-batches, and resident memory of orders, have no address.
    if (plan.offset[piece] === undefined) continue;
    if (plan.pieceKind[piece] === 3) continue;
    const left = mapPlot.across(view.left(plan, plan.segBegin[k]));
    const right = mapPlot.across(view.right(plan, plan.segEnd[k] - 1));
    if (right < LEFT || left > mapPlot.width) continue;
    const [low, high] = [y(plan.offset[piece]), y(plan.offset[piece] + plan.segBytes[k])];
    yield {
      piece, class: plan.segClass[k], left, top: high, width: Math.max(right - left, 0.6), height: Math.max(low - high, 0.4),
      isChosen: plan.segBegin[k] <= view.selected && view.selected < plan.segEnd[k] && plan.filled[piece] === view.selected,
    };
  }
}

/** The piece at a pixel, or -1. */
function pieceAt(x, y) {
  const plan = view.model;
  const top = plan.json.arena_bytes || plan.peak;
  const bottom = mapPlot.height - 24;
  const up = (address) => bottom - (address / (top * 1.02)) * (bottom - 18);
  for (const box of mapBoxes(plan, up)) {
    if (box.left <= x && x <= box.left + box.width && box.top <= y && y <= box.top + box.height) return box.piece;
  }
  return -1;
}

function pointedMap() {
  let chosen = -1;
  pointed(mapPlot, {
    pick: (x, y) => {
      chosen = pieceAt(x, y);
      return chosen >= 0 ? view.model.filled[chosen] : -1;
    },
    tip: (plan) => [
      element("b", {}, plan.pieceName(chosen)),
      element("div", {}, `${bytesText(plan.pieceBytes[chosen])} at ${plan.offset[chosen].toLocaleString("en")}`),
      element("div", {}, `steps ${plan.pieceBegin[chosen]} to ${plan.pieceEnd[chosen] - 1}`),
    ],
  });
}
