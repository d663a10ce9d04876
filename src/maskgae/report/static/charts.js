// Charts: Plotly draws them; here they only get the colours of the page.
"use strict";

const report = JSON.parse(document.getElementById("data").textContent);
const config = { responsive: true, displaylogo: false, displayModeBar: false };

// Plotly reads tags and entities in every text it draws.
const label = (text) =>
  String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const clipped = (text, length) => {
  const letters = Array.from(String(text));
  return letters.length > length ? letters.slice(0, length - 1).join("") + "…" : String(text);
};
const count = (number) => number.toLocaleString("en");

// As in the style sheet.
const narrow = window.matchMedia("(max-width: 40rem)");

// Where there is no WebGL, many points are drawn slowly rather than not at all.
let points = "scattergl";

// The page's own colours, as the browser resolved them for light or dark.
function colours() {
  const page = getComputedStyle(document.body);
  const section = getComputedStyle(document.querySelector("section"));
  return {
    text: page.color,
    font: page.fontFamily,
    card: section.backgroundColor,
    line: section.borderTopColor,
  };
}

function themed(layout) {
  const { text, font, card, line } = colours();
  const axis = (given) => ({ gridcolor: line, linecolor: line, ...given });
  return {
    margin: { l: 8, r: 16, t: 16, b: 8 },
    legend: { orientation: "h", y: 1, yanchor: "bottom", x: 0 },
    ...layout,
    paper_bgcolor: card,
    plot_bgcolor: card,
    font: { color: text, family: font, size: 13 },
    hoverlabel: { bgcolor: card, bordercolor: line, font: { color: text, family: font }, align: "left" },
    xaxis: axis(layout.xaxis),
    yaxis: axis(layout.yaxis),
  };
}

function drawCharts() {
  return Object.entries(report.charts).map(([name, figure]) => {
    const place = document.getElementById("chart-" + name);
    place.setAttribute("aria-label", figure.alt);
    const data = figure.data.map((trace) =>
      trace.type === "scattergl" ? { ...trace, type: points } : trace);
    return Plotly.react(place, data, themed(figure.layout), config);
  });
}
