"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const states = data.states, refuted = states.indexOf("refuted");
  const classOf = (state) => "s-" + states[state].replace(/ /g, "-");
  // An element with children; text is only ever text.
  const make = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const show = (selector) => document.querySelectorAll(selector).forEach((e) => { e.hidden = false; });
  const has = (ranks, rank) => ranks.split(", ").some((range) => {
    const [ends, step] = range.split(" by "), [first, last] = ends.split("-").map(Number);
    return first <= rank && rank <= (last ?? first) && (rank - first) % Number(step ?? 1) === 0;
  });
  const ranksText = (ranks) => ranks === "" ? "" : (/^\d+$/.test(ranks) ? "rank " : "ranks ") + ranks;
  const many = (count, word) => count.toLocaleString("en") + " " + word + (count === 1 ? "" : "s");

  // A drawing that is larger than its window shows what is suspected, or what is to come out.
  document.querySelectorAll("figure .scroll").forEach((view) => {
    const box = view.querySelector(".suspect") || view.querySelector(".target");
    if (!box) return;
    const inside = view.getBoundingClientRect(), at = box.getBoundingClientRect();
    view.scrollLeft += at.left + at.width / 2 - inside.left - inside.width / 2;
    view.scrollTop += Math.max(0, at.bottom + 60 - inside.bottom);
  });

  // The map: a grid with one stop of the Tab key, in which arrow keys move.
  const map = data.map, grid = document.getElementById("grid");
  let current = null;
  const entries = (row, kind) => map.rows[row].cells.filter((cell) => cell[0] === kind);

  const describe = (td) => {
    const detail = document.getElementById("cell");
    const tr = td.parentNode, row = Number(tr.dataset.row), kind = td.cellIndex - 1;
    const list = make("ul", { class: "mono" });
    for (const [, state, ranks, count, operators] of entries(row, kind)) {
      const where = ranksText(map.ranks[ranks]);
      const item = make("li", {}, make("span", { class: "tag " + classOf(state) }, states[state]),
        " " + many(count, "operator") + (where ? " on " + where : ""));
      const names = operators.slice(0, 200).map((name) => map.operators[name]);
      if (names.length) {
        const rest = operators.length - names.length;
        item.append(": " + names.join(", ") + (rest > 0 ? " and " + rest + " more" : ""));
      }
      list.append(item);
    }
    const title = map.kinds[kind] + " in " + tr.cells[0].firstChild.textContent;
    detail.replaceChildren(make("h3", {}, title),
      list.children.length ? list : make("p", { class: "note" }, "no such operator"));
    detail.hidden = false;
  };
  const moveTo = (td) => {
    if (!td || td.tagName !== "TD") return;
    if (current) current.tabIndex = -1;
    current = td;
    td.tabIndex = 0;
    td.focus();
  };
  const rowsOf = () => [...grid.tBodies[0].rows];
  const onKey = (event) => {
    const td = event.target.closest("td");
    if (!td || event.ctrlKey || event.altKey || event.metaKey) return;
    const rows = rowsOf(), row = rows.indexOf(td.parentNode), column = td.cellIndex;
    const last = map.kinds.length;
    const at = (r, c) => rows[Math.max(0, Math.min(rows.length - 1, r))].cells[Math.max(1, Math.min(last, c))];
    const moves = {
      ArrowRight: () => at(row, column + 1), ArrowLeft: () => at(row, column - 1),
      ArrowDown: () => at(row + 1, column), ArrowUp: () => at(row - 1, column),
      Home: () => at(row, 1), End: () => at(row, last),
      PageDown: () => at(row + 10, column), PageUp: () => at(row - 10, column),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moveTo(moves[event.key]());
  };
  const unfold = (every) => {
    const body = grid.tBodies[0];
    for (const tr of rowsOf()) if (tr.dataset.copy) tr.remove();
    for (const tr of rowsOf()) {
      const { name, layers } = map.rows[Number(tr.dataset.row)];
      const label = tr.cells[0].firstChild;
      label.textContent = every && layers.length > 1 ? layers[0] : name;
      let after = tr;
      for (const layer of every ? layers.slice(1) : []) {
        const copy = tr.cloneNode(true);
        copy.dataset.copy = "1";
        copy.cells[0].firstChild.textContent = layer;
        copy.querySelectorAll("td").forEach((td) => { td.tabIndex = -1; });
        body.insertBefore(copy, after.nextSibling);
        after = copy;
      }
    }
    if (!current || !current.isConnected) {
      current = grid.tBodies[0].querySelector("td");
      if (current) current.tabIndex = 0;
    }
  };
  const filter = (rank) => {
    const cells = map.rows.map(() => new Set());
    map.rows.forEach((row, r) => row.cells.forEach(([kind, , ranks]) => {
      if (rank === "" || map.ranks[ranks] === "" || has(map.ranks[ranks], Number(rank))) cells[r].add(kind);
    }));
    for (const tr of rowsOf()) {
      for (const td of tr.querySelectorAll("td")) {
        td.classList.toggle("off", !td.classList.contains("none") &&
          !cells[Number(tr.dataset.row)].has(td.cellIndex - 1));
      }
    }
  };
  if (grid) {
    grid.setAttribute("role", "grid");
    grid.querySelectorAll("td").forEach((td) => { td.tabIndex = -1; td.setAttribute("role", "gridcell"); });
    const worst = map.rows.findIndex((row) => row.cells.some((cell) => cell[1] === refuted));
    current = rowsOf()[Math.max(0, worst)].cells[
      worst < 0 ? 1 : 1 + map.rows[worst].cells.find((cell) => cell[1] === refuted)[0]];
    if (current) current.tabIndex = 0;
    grid.parentNode.tabIndex = -1;
    grid.addEventListener("keydown", onKey);
    grid.addEventListener("focusin", (event) => {
      const td = event.target.closest("td");
      if (td) describe(td);
    });
    grid.addEventListener("click", (event) => moveTo(event.target.closest("td")));
    document.getElementById("rank").addEventListener("input", (event) => filter(event.target.value));
    document.getElementById("unfold").addEventListener("change", (event) => {
      unfold(event.target.checked);
      filter(document.getElementById("rank").value);
    });
    show("#map .controls");
  }

  // The stages: the worst first, at most so many at a time.
  const find = document.getElementById("find"), most = 50;
  if (find) {
    const order = data.stages.map((_, i) => i).sort((a, b) =>
      data.stages[b][1] - data.stages[a][1] || a - b);
    const select = document.getElementById("state");
    for (const state of [...new Set(order.map((i) => data.stages[i][1]))]) {
      select.append(make("option", { value: state }, states[state]));
    }
    const line = (i) => {
      const [stage, state, ranks, method, relation, required, place, reason] = data.stages[i];
      const rows = make("dl");
      const row = (label, text) => { if (text) rows.append(make("dt", {}, label), make("dd", {}, text)); };
      row("required", required);
      row("lineage", relation);
      row("held by", ranksText(data.ranks[ranks]));
      row("by", data.methods[method]);
      row("in files", place);
      row("because", reason);
      return make("details", { class: "stage" }, make("summary", {}, make("code", {}, stage),
        make("span", { class: "tag " + classOf(state) }, states[state])), rows);
    };
    const update = () => {
      const text = find.value.toLowerCase(), state = select.value;
      const found = order.filter((i) => (state === "" || data.stages[i][1] === Number(state)) &&
        (text === "" || (data.stages[i][0] + " " + data.stages[i][4]).toLowerCase().includes(text)));
      document.getElementById("list").replaceChildren(...found.slice(0, most).map(line));
      document.getElementById("found").textContent = many(found.length, "stage") +
        (found.length > most ? ", the first " + most + " are listed" : "");
    };
    find.addEventListener("input", update);
    select.addEventListener("change", update);
    update();
    show("#stages .controls");
  }
})();
