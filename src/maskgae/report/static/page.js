// The page: light and dark, and everything started.
const root = document.documentElement;
const theme = document.getElementById("theme");
const preference = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme || (preference.matches ? "dark" : "light")) === "dark";

// A browser may refuse storage to a local file.
function stored(value) {
  try {
    if (value === undefined) return localStorage.getItem("maskgae-theme");
    localStorage.setItem("maskgae-theme", value);
  } catch (error) { /* the choice lasts as long as the page */ }
  return null;
}

function draw() {
  theme.textContent = isDark() ? "☀ Light" : "☾ Dark";
  return Promise.all([...drawCharts(), ...(map ? [drawMap()] : [])]).then(() => {
    const failed = Array.from(document.querySelectorAll(".chart:has(.no-webgl)"));
    if (!failed.length || points === "scatter") return null;
    points = "scatter";
    failed.forEach((place) => Plotly.purge(place));
    return draw();
  });
}

function start() {
  const kept = stored();
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    stored(root.dataset.theme);
    draw();
  });
  preference.addEventListener("change", draw);
  narrow.addEventListener("change", draw);
  const links = document.getElementById("link-table");
  if (links) startLinks(links);
  if (map) startMap();
  draw().then(() => { root.dataset.ready = "true"; });
}

start();
