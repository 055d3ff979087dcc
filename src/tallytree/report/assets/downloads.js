// ---- What is shown, as CSV ----

/** A field; text that a spreadsheet would take for a formula is marked as text. */
function csvField(value) {
  let text = typeof value === "number" ? (Number.isFinite(value) ? String(value) : "") : value;
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(rows) {
  return rows.map((row) => `${row.map(csvField).join(",")}\r\n`).join("");
}

function regionColumns(regions, node) {
  const path = regions.path(node);
  return [...regions.levels.map((_, depth) => (depth < path.length ? regions.name(path[depth]) : "")), regions.levelName(node)];
}

function listShown(regions, nodes, from, to) {
  const hasEnds = regions.facts.coverage !== null;
  const ends = hasEnds ? ["groups_low", "groups_high"] : [];
  const classes = regions.facts.classes;
  const rows = [[...regions.levels.map((level) => level.name), "level", "size", ...(classes ? ["size_high"] : []), "groups", ...ends, "share", ...(hasEnds ? [] : ["groups_up_to_size"])]];
  for (const node of nodes) {
    const distribution = regions.distribution(node);
    const place = regionColumns(regions, node);
    for (let size = from; size <= to; size++) {
      const groups = distribution.at(size);
      const own = classes ? [classes[size].first, classes[size].last ?? ""] : [size];
      rows.push([...place, ...own, groups, ...(distribution.interval(size) ?? []), distribution.total ? groups / distribution.total : NaN, ...(hasEnds ? [] : [distribution.atMost(size)])]);
    }
  }
  return csv(rows);
}

function listAll(regions) {
  const hasEnds = regions.facts.coverage !== null;
  const names = ({ column }) => [column, ...(hasEnds ? [`${column}_low`, `${column}_high`] : [])];
  const rows = [[...regions.levels.map((level) => level.name), "level", ...regions.figures.flatMap(names)]];
  for (let node = 0; node < regions.count; node++) {
    const values = (figure) => [regions.value(node, figure), ...(hasEnds ? (regions.interval(node, figure) ?? [NaN, NaN]) : [])];
    rows.push([...regionColumns(regions, node), ...regions.figures.flatMap(values)]);
  }
  return csv(rows);
}
