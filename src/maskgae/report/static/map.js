// The map of the embedding: colours, hover, search.
const map = report.map && {
  ...report.map,
  place: document.getElementById("chart-map"),
  status: document.getElementById("status"),
  by: null,
  found: null,
  searches: 0,
};

function groupName(kind, number) {
  return number < 0 ? "none" : map.groups[kind].names[number];
}

function hoverText(node) {
  const lines = ["<b>" + label(clipped(map.ids[node], 90)) + "</b>"];
  for (const kind of Object.keys(map.groups)) {
    lines.push(kind + " " + label(clipped(groupName(kind, map.groups[kind].of[node]), 60)));
  }
  lines.push("degree " + count(map.degree[node]));
  return lines.join("<br>");
}

function mapTrace(nodes, name, marker) {
  return {
    type: points,
    mode: "markers",
    name,
    x: nodes.map((node) => map.x[node]),
    y: nodes.map((node) => map.y[node]),
    text: nodes.map(hoverText),
    hovertemplate: "%{text}<extra></extra>",
    marker: { size: map.size, opacity: 0.85, line: { width: 0 }, ...marker },
  };
}

// One trace a group, so that the legend can hide it; the largest groups have a colour each.
function groupTraces(kind) {
  const last = map.palette.length;
  const members = Array.from({ length: last + 1 }, () => []);
  const none = [];
  map.groups[kind].of.forEach((number, node) =>
    (number < 0 ? none : members[Math.min(number, last)]).push(node));
  const trace = (nodes, name, color, symbol) =>
    mapTrace(nodes, label(clipped(name, 26)) + " (" + count(nodes.length) + ")", { color, symbol });
  const traces = [
    trace(none, "no " + kind, map.other, "circle-open"),
    trace(members[last], "other", map.other, "circle"),
  ];
  traces[0].marker.line = { width: 1, color: map.other };
  // Drawn first, beneath the others, and named last.
  traces.forEach((each) => { each.legendrank = 2000; });
  for (let i = 0; i < last; i += 1) {
    const name = (kind === "community" ? "community " : "") + map.groups[kind].names[i];
    traces.push(trace(members[i], name, map.palette[i], map.symbols[i]));
  }
  return traces.filter((each) => each.x.length);
}

function degreeTraces() {
  const nodes = map.ids.map((_, node) => node);
  const color = map.degree.map((degree) => Math.log10(degree + 1));
  const top = color.reduce((a, b) => Math.max(a, b), 0);
  const ticks = [0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 100000, 1000000]
    .filter((degree) => Math.log10(degree + 1) <= top * 1.001);
  const colorbar = {
    title: { text: "degree", side: "top" },
    tickvals: ticks.map((degree) => Math.log10(degree + 1)),
    ticktext: ticks.map(count),
    orientation: "h", thickness: 10, len: 0.5, x: 0, xanchor: "left", y: 0, yanchor: "top",
  };
  return [mapTrace(nodes, "degree", {
    color, colorscale: map.scale.map((tone, i) => [i / (map.scale.length - 1), tone]), cmin: 0, cmax: top || 1, showscale: true, colorbar,
  })];
}

function foundTraces() {
  if (map.found === null) return [];
  const marker = { size: 20, symbol: "circle-open", color: colours().text, opacity: 1, line: { width: 3 } };
  return [{ ...mapTrace([map.found], "", marker), showlegend: false, hoverinfo: "skip", hovertemplate: "" }];
}

function foundNotes() {
  if (map.found === null) return [];
  const { text, card, line } = colours();
  return [{
    x: map.x[map.found], y: map.y[map.found], ay: -38, ax: 0, standoff: 12,
    text: label(clipped(map.ids[map.found], narrow.matches ? 36 : 80)),
    font: { color: text }, bgcolor: card, bordercolor: line, arrowcolor: text, borderpad: 4,
  }];
}

function drawMap() {
  const axis = { showline: false, showticklabels: false, showgrid: false, zeroline: false, ticks: "", range: map.range };
  const layout = themed({
    dragmode: "pan",
    hovermode: "closest",
    showlegend: map.by !== "degree",
    legend: {
      ...(narrow.matches
        ? { orientation: "h", x: 0, y: 0, yanchor: "top" } : { orientation: "v", x: 1.01, y: 0.94 }),
      itemsizing: "constant", font: { size: 12 }, uirevision: map.by,
    },
    margin: { l: 4, r: 4, t: 4, b: 4 },
    xaxis: { ...axis },
    yaxis: { ...axis, scaleanchor: "x" },
    annotations: foundNotes(),
    // The zoom stays until another node is searched for.
    uirevision: map.searches,
  });
  if (map.found !== null) {
    const near = (value) => [value - map.zoom, value + map.zoom];
    layout.xaxis.range = near(map.x[map.found]);
    layout.yaxis.range = near(map.y[map.found]);
  }
  const traces = map.by === "degree" ? degreeTraces() : groupTraces(map.by);
  return Plotly.react(map.place, [...traces, ...foundTraces()], layout, {
    ...config, scrollZoom: true, displayModeBar: true,
    modeBarButtons: [["zoomIn2d", "zoomOut2d", "toImage"]],
  });
}

function say(message, suggestions = []) {
  map.status.textContent = message + " ";
  for (const node of suggestions) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = map.ids[node];
    button.addEventListener("click", () => show(node));
    map.status.append(button);
  }
}

function show(node) {
  map.found = node;
  map.searches += 1;
  document.getElementById("query").value = map.ids[node];
  const facts = Object.keys(map.groups).map((kind) => kind + " " + groupName(kind, map.groups[kind].of[node]));
  say("Found “" + map.ids[node] + "”: " + [...facts, "degree " + count(map.degree[node])].join(", ") + ".");
  return drawMap();
}

// The id itself, else the same in other capitals, else whatever contains it.
function search(query) {
  const exact = map.ids.indexOf(query);
  if (exact >= 0) return show(exact);
  const wanted = query.trim().toLowerCase();
  if (!wanted) return reset();
  const lower = map.ids.map((id) => id.toLowerCase());
  const matches = [];
  lower.forEach((id, node) => { if (id.includes(wanted)) matches.push(node); });
  const same = matches.find((node) => lower[node] === wanted);
  if (same !== undefined || matches.length === 1) return show(same ?? matches[0]);
  map.found = null;
  if (matches.length) {
    say(count(matches.length) + " ids contain “" + query + "”:", matches.slice(0, 8));
  } else {
    const sampled = map.ids.length < map.total
      ? " Only " + count(map.ids.length) + " of " + count(map.total) + " nodes are drawn." : "";
    say("No node is called “" + query + "”." + sampled);
  }
  return drawMap();
}

function reset() {
  map.found = null;
  map.searches += 1;
  document.getElementById("query").value = "";
  say("");
  return drawMap();
}

function startMap() {
  map.range = [-1.06, 1.06];
  map.zoom = map.ids.length > 50 ? 0.25 : 0.6;
  map.size = map.ids.length > 8000 ? 4 : map.ids.length > 1500 ? 6 : 9;
  const select = document.getElementById("colour");
  for (const kind of [...Object.keys(map.groups), "degree"]) select.add(new Option(kind, kind));
  map.by = select.value;
  select.addEventListener("change", () => { map.by = select.value; drawMap(); });
  document.getElementById("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search(document.getElementById("query").value);
  });
  document.getElementById("clear").addEventListener("click", reset);
}
