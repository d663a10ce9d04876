// The table of links: sort by any column, filter by id, find an id on the map, say why.
function startLinks(table) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);
  const collator = new Intl.Collator("en", { numeric: true });
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value ?? cell.textContent;
  };

  let opened = null;
  function close() {
    if (!opened) return;
    opened.previousElementSibling.querySelector("button.why").setAttribute("aria-expanded", "false");
    opened.remove();
    opened = null;
  }

  // What a score is made of, in a row below its own; the rank is the link's number.
  function explain(row) {
    const again = opened && opened.previousElementSibling === row;
    close();
    if (again) return;
    opened = document.createElement("tr");
    opened.className = "reasons";
    const cell = opened.insertCell();
    cell.colSpan = row.cells.length;
    cell.append(reasonList(report.whys[Number(row.cells[0].textContent) - 1]));
    row.after(opened);
    row.querySelector("button.why").setAttribute("aria-expanded", "true");
  }

  function sort(column) {
    close();
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
    close();
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
    if (event.target.matches("button.why")) explain(event.target.closest("tr"));
    if (!event.target.matches("button.id") || !map) return;
    document.getElementById("map").scrollIntoView();
    search(event.target.textContent);
  });
}

// Kinds of evidence with their shares of the score, and what each consists of.
function reasonList(reasons) {
  const list = document.createElement("dl");
  const line = (tag, name, share) => {
    const item = document.createElement(tag);
    const number = document.createElement("span");
    number.textContent = (share < 0 ? "−" : "+") + Math.abs(share).toFixed(2);
    item.append(number, " " + name);
    list.append(item);
  };
  for (const [kind, share, parts] of reasons) {
    line("dt", kind, share);
    for (const [name, part] of parts) line("dd", name, part);
  }
  const total = reasons.reduce((sum, [, share]) => sum + share, 0);
  line("dt", "score, of which 0 is that of an average candidate", total);
  return list;
}
