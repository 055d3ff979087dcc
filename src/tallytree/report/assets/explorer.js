// ---- The explorer: which regions are shown, and how ----

const FEWEST_SIZES = 8;
const MOST_ROWS = 2000;

class Explorer {
  constructor(regions, mapBytes) {
    this.regions = regions;
    this.shades = new Shades(regions);
    this.marks = { a: 0, b: null };
    this.active = "a";
    this.cursor = 0;
    this.view = "icicle";
    this.show = { measure: "groups", axis: "linear", cumulative: false };
    this.range = regions.facts.classes ? "all" : "most";
    this.narrow = window.matchMedia("(max-width: 40rem)");
    this.narrow.addEventListener("change", () => this.#drawSummary());
    byId("explorer").hidden = false;
    byId("range").closest(".bar").hidden = regions.high - regions.low < FEWEST_SIZES; // all ranges are the same
    const picking = { pick: (node, options) => this.pick(node, options), compare: (node) => this.compare(node) };
    this.icicle = new Icicle(regions, this.shades, picking);
    this.map = mapBytes && new RegionMap(regions, this.shades, mapBytes, picking.pick);
    this.chart = new Chart(byId("chart"), byId("readout"), (from, to) => this.#setRange("own", from, to));
    this.search = new Search(regions, (node) => this.pick(node));
    this.multiples = regions.levels.length > 1 ? new Multiples(regions, (node) => this.#open(node)) : null;
    this.#offerSums();
    this.#connect();
    this.#explainLeftOut();
    this.map?.shade();
    this.shades.drawLegend(byId("legend"));
    this.#draw();
  }

  #connect() {
    for (const radio of document.querySelectorAll("input[name=slot]")) {
      radio.checked = radio.value === this.active;
      radio.addEventListener("change", () => {
        this.active = radio.value;
        this.#drawAdd();
      });
    }
    byId("swap").addEventListener("click", () => {
      [this.marks.a, this.marks.b] = [this.marks.b, this.marks.a];
      this.cursor = this.marks[this.active];
      this.#draw();
      this.#say("A and B were swapped.");
    });
    byId("clear").addEventListener("click", () => {
      this.marks.b = null;
      this.cursor = this.marks.a;
      this.#activate("a");
      this.#draw();
      this.#say("Region B was removed.");
      byId("query").focus();
    });
    this.pressMeasure = chooseOne(byId("measure"), (value) => {
      this.hasChosen = true;
      this.#change({ measure: value });
    });
    chooseOne(byId("axis"), (value) => this.#change({ axis: value }));
    byId("cumulative").addEventListener("change", (event) => this.#change({ cumulative: event.target.checked }));
    this.pressRange = chooseOne(byId("range"), (value) => this.#setRange(value));
    for (const id of ["from", "to"]) byId(id).addEventListener("change", () => this.#readRange());
    byId("shade").addEventListener("change", (event) => this.#shade(event.target.value));
    byId("numbers").addEventListener("toggle", () => this.#drawTable());
    byId("save").addEventListener("click", () => download(`${this.#file()}.csv`, listShown(this.regions, this.#nodes(), this.from, this.to)));
    byId("save-all").addEventListener("click", () => download(`${this.regions.facts.file}-regions.csv`, listAll(this.regions)));
    byId("shade").closest("label").hidden = this.shades.measures.length === 1;
    byId("cumulative").closest("label").hidden = this.regions.facts.coverage !== null; // there are no intervals of sums
    byId("shade").append(...this.shades.measures.map(({ column, shade }) => html("option", { value: column }, shade.toLowerCase())));
    if (this.map) {
      byId("views").hidden = false;
      chooseOne(byId("views"), (value) => this.#look(value));
    }
  }

  /** Several regions together, or why there are none. */
  #offerSums() {
    const { why } = this.regions.facts.sums;
    byId("combine").hidden = byId("to-combine").hidden = false;
    byId("no-sums").hidden = !why;
    if (why) return byId("no-sums").replaceChildren(why);
    this.combiner = new Combiner(this.regions);
    byId("add").hidden = false;
    byId("add").addEventListener("click", async () => {
      const { active, marks } = this;
      await this.combiner.add(active, [marks[active]]);
      this.#say(byId(`note-${active}`).textContent);
    });
  }

  #explainLeftOut() {
    const names = this.regions.facts.leftOut.map((name) => shorten(name, 40));
    byId("left-out").hidden = !names.length;
    if (names.length) byId("left-out").textContent = `This page leaves out the level ${names.join(" and ")}: it has too many regions for one page. They are in release.parquet.`;
  }

  pick(node, { focus = false } = {}) {
    this.marks[this.active] = node;
    this.cursor = node;
    this.#draw(focus);
    this.#say(`Region ${this.active.toUpperCase()}: ${shorten(this.regions.name(node))}, ${this.regions.describeGroups(node)}; ${this.shades.describe(node)}.`);
  }

  /** Picks a region somewhere else on the page, and leads the reader to it. */
  #open(node) {
    this.pick(node);
    byId("slots").scrollIntoView({ block: "start" });
    byId("region-name").focus({ preventScroll: true });
  }

  compare(node) {
    this.marks.b = node;
    this.#draw();
    this.#say(`Region B: ${shorten(this.regions.name(node))}.`);
  }

  #activate(slot) {
    this.active = slot;
    for (const radio of document.querySelectorAll("input[name=slot]")) radio.checked = radio.value === slot;
  }

  #look(view) {
    this.view = view;
    byId("icicle-view").hidden = view !== "icicle";
    byId("map-view").hidden = view !== "map";
    this.#drawFinder(false);
  }

  #shade(measure) {
    this.shades.choose(measure);
    this.map?.shade();
    this.shades.drawLegend(byId("legend"));
    this.#drawFinder(false);
  }

  #change(changes) {
    Object.assign(this.show, changes);
    this.#drawChart();
    this.#drawTable();
  }

  #say(text) {
    byId("announcer").textContent = text;
  }

  #nodes() {
    return [this.marks.a, this.marks.b].filter((node) => node !== null);
  }

  #distributions() {
    return this.#nodes().map((node) => this.regions.distribution(node));
  }

  #file() {
    const plain = (node) => this.regions.name(node).toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 30).replace(/^-|-$/g, "");
    return [...new Set([this.regions.facts.file, ...this.#nodes().map(plain)])].filter(Boolean).join("-");
  }

  /** Two regions are compared by shares, if nothing else was asked for: their numbers may be far apart. */
  #chooseMeasure() {
    if (this.hasChosen) return;
    this.show.measure = this.marks.b === null ? "groups" : "share";
    this.pressMeasure(this.show.measure);
  }

  #draw(focus = false) {
    this.#chooseMeasure();
    this.#drawFinder(focus);
    this.#drawSlots();
    this.#drawHeading();
    this.#drawSummary();
    this.#explainPrecision();
    this.#setRange(this.range, this.from, this.to);
  }

  #drawFinder(focus) {
    if (this.view === "icicle") this.icicle.draw(this.cursor, this.marks, focus);
    else this.map.mark(this.cursor, this.marks, focus);
  }

  #drawSlots() {
    const { regions, marks } = this;
    const place = (node) => (node === null ? ", to compare" : `: ${shorten(regions.levelName(node), 24)}${node ? ` in ${shorten(regions.name(regions.parent[node]), 30)}` : ""}`);
    byId("slot-a-place").textContent = place(marks.a);
    byId("slot-b-place").textContent = place(marks.b);
    byId("slot-a-name").textContent = shorten(regions.name(marks.a), 80);
    byId("slot-b-name").textContent = marks.b === null ? "none yet: choose here, then pick" : shorten(regions.name(marks.b), 80);
    byId("slot-b-name").classList.toggle("empty", marks.b === null);
    byId("swap").hidden = byId("clear").hidden = marks.b === null;
    this.#drawAdd();
  }

  #drawAdd() {
    byId("add").disabled = this.marks[this.active] === null;
    byId("add").textContent = `Add it to selection ${this.active.toUpperCase()}, below`;
  }

  #drawHeading() {
    const { regions, marks } = this;
    const title = byId("region-name");
    title.replaceChildren(html("bdi", {}, regions.name(marks.a)));
    if (marks.b !== null) title.append(html("span", { class: "quiet" }, " beside "), html("bdi", {}, regions.name(marks.b)));
    title.tabIndex = title.textContent.length > 200 ? 0 : -1; // it scrolls, or can be led to
    const path = regions.path(marks.a);
    byId("crumbs").replaceChildren(
      ...path.flatMap((node, depth) => {
        const label = html("bdi", {}, shorten(regions.name(node), 30));
        if (node === marks.a) return [html("span", { "aria-current": "location" }, label, html("span", { class: "quiet" }, ` (${shorten(regions.levelName(node), 30)})`))];
        const button = html("button", { type: "button", class: "link" }, label);
        button.addEventListener("click", () => {
          this.#activate("a");
          this.pick(node);
          byId("crumbs").querySelectorAll("button")[depth - 1]?.focus();
        });
        return [button, html("span", { "aria-hidden": "true" }, " › ")];
      }),
    );
  }

  #drawSummary() {
    const { regions } = this;
    const { figures } = regions;
    const nodes = this.#nodes();
    const table = [[{}, ...figures.map(({ name }) => ({ head: true, content: [name] }))]];
    nodes.forEach((node, i) => {
      const badge = html("span", { class: `badge badge-${"ab"[i]}` }, "AB"[i]);
      const name = html("span", { class: "hidden-text" }, ` ${shorten(regions.name(node), 80)}`);
      table.push([{ head: true, content: [badge, name] }, ...figures.map((figure) => ({ content: this.#tellFigure(figure, node) }))]);
    });
    if (nodes.length === 2 && regions.facts.coverage === null) {
      const less = (figure) => figure.isSize && regions.facts.classes ? NONE : showSigned(regions.value(nodes[0], figure) - regions.value(nodes[1], figure), figure.show === showShare ? showPoints : figure.show);
      table.push([{ head: true, kind: "less", content: ["A − B"] }, ...figures.map((figure) => ({ kind: "less", content: [less(figure)] }))]);
    }
    // On a phone a figure is a row, and nothing has to be scrolled to.
    const lines = this.narrow.matches ? table[0].map((_, i) => table.map((line) => line[i])) : table;
    const [first, ...rest] = lines.map((line, at) =>
      html("tr", {}, ...line.map(({ head, kind, content = [] }) => (head ? html("th", { scope: at ? "row" : "col", class: kind }, ...content) : html("td", { class: kind }, ...content)))),
    );
    const about = regions.facts.coverage === null ? "" : `; below, their ${regions.facts.coverage} intervals`;
    byId("summary").replaceChildren(
      html("caption", {}, `Key figures of the released distribution; percentages are quantiles of size${about}`),
      html("thead", {}, first),
      html("tbody", {}, ...rest),
    );
  }

  #tellFigure(figure, node) {
    const [value, interval] = this.regions.tell(node, figure);
    return interval === null ? [value] : [value, html("span", { class: "interval" }, interval)];
  }

  #explainPrecision() {
    const { regions, marks } = this;
    const { coverage, noise } = regions.facts;
    if (coverage !== null) {
      byId("precision").textContent = `The lines on the bars and the ranges below the key figures are intervals: each holds the true number with probability ${coverage}. Where the method is known to err to one side, an interval may leave the released number out.`;
      return;
    }
    const level = noise[regions.level[marks.a]];
    byId("precision").textContent = `How exact? At level ${shorten(regions.levelName(marks.a), 40)} a measurement (${level.answer}) carries noise with a standard deviation of ${threeDigits.format(level.deviation)}; 95 % of the noise is within ± ${showCount(level.reach)} ${regions.words.groups}. Counts of about that size should not be relied on one by one.`;
  }

  #setRange(kind, from, to) {
    const { low, high, most } = this.regions;
    const parts = this.#distributions();
    const atLeast = (size) => Math.min(high, Math.max(low + FEWEST_SIZES - 1, size || low));
    const ends = {
      most: () => [low, atLeast(Math.max(...this.#nodes().map((node) => most[node] || low)))],
      some: () => [low, atLeast(Math.max(...parts.map((part) => part.sizes[part.groups.findLastIndex(Boolean)] ?? low)))],
      all: () => [low, high],
      own: () => [from, to],
    };
    this.range = kind;
    [this.from, this.to] = ends[kind]();
    this.pressRange(kind);
    for (const [id, value] of [["from", this.from], ["to", this.to]]) Object.assign(byId(id), { value, min: low, max: high });
    for (const id of ["from", "to"]) byId(id).closest("label").hidden = Boolean(this.regions.facts.classes); // numbers that nobody knows
    this.#drawChart();
    this.#drawTable();
    this.multiples?.show(this.marks, this.from, this.to);
  }

  #readRange() {
    const { low, high } = this.regions;
    const read = (id, otherwise) => {
      const value = Math.round(byId(id).valueAsNumber);
      return Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise;
    };
    const ends = [read("from", this.from), read("to", this.to)].sort((a, b) => a - b);
    this.#setRange("own", ...ends);
  }

  #drawChart() {
    const [a, b = null] = this.#distributions();
    const { from, to } = this;
    const { words } = this.regions;
    const nameSize = (size) => this.regions.nameSize(size);
    this.chart.draw({ ...this.show, a, b, from, to, high: this.regions.facts.classes ? null : this.regions.high, nameSize, words });
    const shown = (d) => d.atMost(to) - d.atMost(from - 1);
    const outside = a.total - shown(a);
    const many = this.regions.facts.coverage === null ? showCount(outside) : "Some"; // whose number has no interval
    const rest = outside > 0 ? ` ${many} ${words.groups} of A are outside this range.` : "";
    byId("chart-title").textContent = `${this.show.measure === "share" ? `Share of ${words.groups}` : words.Groups} by size, ${nameSize(from)} to ${nameSize(to)}${this.show.cumulative ? ", cumulative" : ""}.${rest}`;
  }

  #drawTable() {
    if (!byId("numbers").open) return;
    const parts = this.#distributions();
    const sizes = [];
    for (let size = this.from; size <= this.to; size++) if (parts.some((part) => part.at(size) || part.interval(size)?.[1])) sizes.push(size);
    const hasEnds = this.regions.facts.coverage !== null;
    const names = parts.length === 2 ? ["A: ", "B: "] : [""];
    const columns = names.flatMap((name) => [`${name}${this.regions.words.groups}`, ...(hasEnds ? [`${name}from`, `${name}to`] : []), `${name}share`, ...(hasEnds ? [] : [`${name}up to this size`])]);
    const cells = (part, size) => {
      const { value, low, high, share } = roundCount(part.at(size), part.interval(size), part.total);
      return hasEnds ? [value, low, high, share] : [value, share, showCount(part.atMost(size))];
    };
    const skipped = Math.max(0, sizes.length - MOST_ROWS);
    byId("table").replaceChildren(
      html("caption", {}, `Sizes ${this.regions.nameSize(this.from)} to ${this.regions.nameSize(this.to)}; sizes without ${this.regions.words.groups} are left out${skipped ? `, and so are the last ${showCount(skipped)}: the download has them` : ""}.`),
      html("thead", {}, html("tr", {}, ...["Size", ...columns].map((name) => html("th", { scope: "col" }, name)))),
      html("tbody", {}, ...sizes.slice(0, MOST_ROWS).map((size) => html("tr", {}, html("th", { scope: "row" }, this.regions.nameSize(size)), ...parts.flatMap((part) => cells(part, size).map((cell) => html("td", {}, cell)))))),
    );
  }
}

async function start() {
  byId("no-script").hidden = true;
  setUpTheme(byId("theme"));
  try {
    const facts = readFacts();
    const buffers = await Promise.all(facts.levels.map((_, depth) => readBytes(`counts-${depth}`)));
    const mapBytes = facts.map ? await readBytes("shapes") : null;
    const figures = await Promise.all(facts.levels.map((_, depth) => readBytes(`figures-${depth}`)));
    new Explorer(new Regions(facts, buffers, figures), mapBytes);
    document.documentElement.dataset.ready = "true";
  } catch (error) {
    byId("trouble").textContent = "The explorer cannot be shown: this browser is too old for it, or the page is damaged.";
    byId("trouble").hidden = false;
    throw error;
  }
}

start();
