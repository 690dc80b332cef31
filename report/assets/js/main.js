// The start of the page.

function start() {
  document.documentElement.dataset.theme = systemTheme();
  byId("title").textContent = DATA.title;
  byId("footer").textContent = `remat-bb ${DATA.version}. All figures are those of the replay.`;
  if (!SUBJECTS.length) return;
  readColours();
  byId("theme").textContent = colours.isDark ? "Light" : "Dark";
  view.plan = SUBJECTS[0].first;
  view.compare = plainOf(0);
  const plan = view.model;
  // Steps of an order have no times.
  if (isOrder()) view.axis = plan.graph.word === "moment" ? "time" : "steps";
  [view.from, view.to] = [0, view.span()];
  view.selected = plan.peakMoment;
  makeSteps();
  nameAxis();
  view.painters.push(paintPipeline, paintStack, paintPrices, paintLanes, paintOverview, paintAddresses);
  view.listeners.plan.push(paintPlans, paintCards, paintLegend, paintAnswers, paintFrontier, paintDifference, fillSteps);
  view.listeners.selection.push(paintInspector, () => {
    stepTable.draw(true);
    stepTable.reveal(view.selected);
  });
  for (const listener of view.listeners.plan) listener();
  for (const listener of view.listeners.selection) listener();
  paintSearches();
  pointed(stackPlot);
  pointed(lanesPlot, { pick: pickLane, tip: laneTip });
  pointed(pricePlot);
  pointedMap();
  pointedOverview();
  byId("axis").addEventListener("click", toggleAxis);
  byId("in").addEventListener("click", () => view.zoom(0.5));
  byId("out").addEventListener("click", () => view.zoom(2));
  byId("fit").addEventListener("click", () => view.range(0, view.span()));
  listenKeys();
  listenTheme();
  for (const paint of view.painters) paint();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start();
