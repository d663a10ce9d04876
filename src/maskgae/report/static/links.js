// The table of links: sort by any column, filter by id, find an id on the map.
function startLinks(table) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);
  const collator = new Intl.Collator("en", { numeric: true });
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value ?? cell.textContent;
  };

  function sort(column) {
    const numeric = rows.every((row) => value(row, column).trim() !== "" && !isNaN(value(row, column)));
    const before = heads[column].getAttribute("aria-sort");
    const down = before === "ascending" || (before === "none" && heads[column].dataset.first === "down");
    const sign = down ? -1 : 1;
    const keys = new Map(rows.map((row) => [row, numeric ? Number(value(row, column)) : value(row, column)]));
    const compare = numeric ? (a, b) => a - b : collator.compare;
    rows.sort((a, b) => sign * compare(keys.get(a), keys.get(b)));
    heads.forEach((head) => head.setAttribute("aria-sort", "none"));
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows);
  }

  function filter(query) {
    const wanted = query.trim().toLowerCase();
    let left = 0;
    for (const row of rows) {
      const ids = [row.cells[1].textContent, row.cells[2].textContent];
      row.hidden = !ids.some((id) => id.toLowerCase().includes(wanted));
      left += row.hidden ? 0 : 1;
    }
    document.getElementById("filtered").textContent =
      wanted ? count(left) + " of " + count(rows.length) + " links" : "";
  }

  heads.forEach((head, column) => head.firstChild.addEventListener("click", () => sort(column)));
  document.getElementById("filter").addEventListener("input", (event) => filter(event.target.value));
  body.addEventListener("click", (event) => {
    if (!event.target.matches("button.id") || !map) return;
    document.getElementById("map").scrollIntoView();
    search(event.target.textContent);
  });
}
