// ---- Small multiples: a chart of each region of a level, all with the same scale ----

const CHARTS = 60; // on a page
const SMALL = { width: 176, height: 96, margin: { top: 6, right: 2, bottom: 18, left: 2 } };
const SMALL_TICKS = 3;
const NEAR = "300px"; // charts are drawn when the reader comes so near
const ALPHABET = new Intl.Collator("en", { numeric: true });

class Multiples {
  /** open: called with the region that was chosen. */
  constructor(regions, open) {
    Object.assign(this, { regions, open });
    this.box = byId("charts");
    this.state = { level: "near", order: "", measure: "share", axis: "linear", cumulative: false };
    this.page = null; // that of region A
    this.isNear = false;
    byId("side").hidden = byId("to-side").hidden = false;
    this.#offer();
    this.box.addEventListener("click", (event) => this.#choose(event));
    this.box.addEventListener("keydown", (event) => this.#press(event));
    byId("charts-back").addEventListener("click", () => this.#turn(-1));
    byId("charts-next").addEventListener("click", () => this.#turn(1));
    const watch = new IntersectionObserver((seen) => {
      this.isNear = seen.at(-1).isIntersecting;
      this.#drawIfNear();
    }, { rootMargin: NEAR });
    watch.observe(byId("side"));
    window.addEventListener("beforeprint", () => this.#draw());
  }

  /** Shows the regions in or beside A, at sizes ``from`` to ``to``. */
  show(marks, from, to) {
    if (this.marks && marks.a !== this.marks.a) this.page = null;
    this.marks = { ...marks };
    Object.assign(this.state, { from, to });
    this.isDrawn = false;
    this.#drawIfNear();
  }

  #offer() {
    const { levels, figures, words } = this.regions;
    this.orders = figures.filter(({ isSize }) => !isSize);
    this.near = html("option", { value: "near" });
    byId("charts-of").append(this.near, ...levels.slice(1).map(({ name }, i) => html("option", { value: i + 1 }, `All of level ${shorten(name, 30)}`)));
    byId("charts-of").closest("label").hidden = levels.length < 3; // both are the same regions
    byId("charts-order").append(html("option", { value: "" }, "name"), ...this.orders.map(({ name, column }) => html("option", { value: column }, column === "groups" ? words.groups : name.toLowerCase())));
    byId("charts-of").addEventListener("change", (event) => this.#change({ level: event.target.value }));
    byId("charts-order").addEventListener("change", (event) => this.#change({ order: event.target.value }));
    chooseOne(byId("charts-measure"), (measure) => this.#change({ measure }));
  }

  #change(changes) {
    Object.assign(this.state, changes);
    if (!("measure" in changes)) this.page = null;
    this.#draw();
  }

  #turn(step) {
    this.page += step;
    this.#draw();
    this.box.querySelector("[tabindex='0']").focus();
  }

  #drawIfNear() {
    if (this.isNear && !this.isDrawn) this.#draw();
  }

  /** The region that the charts are in, and theirs. */
  #list() {
    const { children, parent, first, levels } = this.regions;
    const { a } = this.marks;
    if (this.state.level === "near") {
      const whole = children[a].length ? a : parent[a];
      return [whole, children[whole]];
    }
    const level = Number(this.state.level);
    return [0, Array.from(levels[level].names, (_, i) => first[level] + i)];
  }

  #sort(nodes) {
    const figure = this.#figure();
    if (!figure) return [...nodes].sort((one, other) => ALPHABET.compare(this.regions.name(one), this.regions.name(other)));
    const value = (node) => this.regions.value(node, figure);
    const known = nodes.filter((node) => !Number.isNaN(value(node)));
    return [...known.sort((one, other) => value(other) - value(one)), ...nodes.filter((node) => Number.isNaN(value(node)))];
  }

  #figure() {
    return this.orders.find(({ column }) => column === this.state.order);
  }

  /** The regions in order, and the values that the charts reach; found anew only where that may have changed. */
  #arrange() {
    const { measure, order, from, to } = this.state;
    const [whole, nodes] = this.#list();
    const key = JSON.stringify([this.state.level, whole, order]);
    if (key !== this.arranged?.key) this.arranged = { key, whole, nodes: this.#sort(nodes), spans: new Map() };
    const { spans } = this.arranged;
    const spanKey = JSON.stringify([measure, from, to]);
    if (!spans.has(spanKey)) {
      // Of a share in a region with few groups, the interval tells nothing: it may reach any height.
      spans.set(spanKey, findSpan(this.#decode(nodes), this.state, { withEnds: measure === "groups" }));
    }
    return { ...this.arranged, span: spans.get(spanKey) };
  }

  *#decode(nodes) {
    for (const node of nodes) yield this.regions.decode(node);
  }

  #draw() {
    this.isDrawn = true;
    const { regions, marks } = this;
    this.near.textContent = this.#nameNear();
    const { whole, nodes, span } = this.#arrange();
    const pages = Math.ceil(nodes.length / CHARTS);
    this.page = Math.min(pages - 1, Math.max(0, this.page ?? Math.floor(nodes.indexOf(marks.a) / CHARTS)));
    const first = this.page * CHARTS;
    const shown = nodes.slice(first, first + CHARTS);
    const parts = { whole: regions.distribution(whole), hasParents: this.state.level > 1 };
    const hadFocus = this.box.contains(document.activeElement);
    const current = Math.max(0, shown.indexOf(marks.a));
    this.box.replaceChildren(...shown.map((node, i) => html("li", {}, this.#tile(node, span, parts, i === current))));
    if (hadFocus) this.box.querySelector("[tabindex='0']").focus({ preventScroll: true });
    byId("charts-order").closest("label").hidden = nodes.length < 2;
    byId("charts-pages").hidden = pages < 2;
    byId("charts-back").disabled = this.page === 0;
    byId("charts-next").disabled = this.page === pages - 1;
    byId("charts-page").textContent = `${showCount(first + 1)} to ${showCount(first + shown.length)} of ${showCount(nodes.length)} regions`;
    this.#explain(whole, nodes, span);
  }

  #nameNear() {
    const { a } = this.marks;
    const { children, parent } = this.regions;
    return `In ${shorten(this.regions.name(children[a].length ? a : parent[a]), 40)}`;
  }

  #explain(whole, nodes, span) {
    const { regions, state } = this;
    const { words, facts } = regions;
    const plot = this.#plot(span, regions.distribution(whole));
    const what = state.measure === "share" ? `Share of ${words.groups} by size` : `${words.Groups} by size`;
    const where = `${showCount(nodes.length)} ${nodes.length === 1 ? "region" : "regions"} of level ${shorten(regions.levelName(nodes[0]), 40)} in ${shorten(regions.name(whole), 60)}`;
    const lines = `The lines across are at ${plot.marks.map((value) => plot.showTick(value)).join(", ")} in all charts`;
    const steps = state.measure === "share" ? `; the stepped line is ${shorten(regions.name(whole), 60)} as a whole` : "";
    const ends = facts.coverage === null ? "" : ` Upright lines are ${facts.coverage} intervals.`;
    byId("charts-about").textContent = `${what}, ${regions.nameSize(state.from)} to ${regions.nameSize(state.to)}, of ${where}. ${lines}${steps}.${ends}`;
  }

  #plot(span, distribution) {
    const plot = new Plot(SMALL.width, SMALL.height, SMALL.margin, { ...this.state, a: distribution, b: null }, span);
    const skip = Math.ceil((plot.ticks.length - 1) / SMALL_TICKS);
    plot.marks = plot.ticks.filter((_, i) => i && i % skip === 0);
    return plot;
  }

  #tile(node, span, { whole, hasParents }, isCurrent) {
    const { regions, marks } = this;
    const marked = ["a", "b"].filter((slot) => marks[slot] === node);
    const above = hasParents ? [html("bdi", { class: "above" }, shorten(regions.name(regions.parent[node]), 40))] : [];
    const badges = marked.map((slot) => html("span", { class: `badge badge-${slot}` }, slot.toUpperCase()));
    return html(
      "button",
      { type: "button", class: "small-chart", "data-node": node, tabindex: isCurrent ? "0" : "-1", "aria-current": marked.includes("a") },
      html("span", { class: "small-name" }, html("bdi", {}, shorten(regions.name(node), 60)), ...badges),
      ...above,
      this.#picture(regions.distribution(node), span, whole),
      ...this.#tell(node),
    );
  }

  #picture(distribution, span, whole) {
    const { state, regions } = this;
    const { margin, width, height } = SMALL;
    const plot = this.#plot(span, distribution);
    const gap = findGap(plot.band);
    const label = (x, anchor, text) => svg("text", { x, y: height - 4, "text-anchor": anchor }, text);
    return svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
      svg("g", { class: "grid" }, ...plot.lines(plot.marks)),
      plot.bars(distribution, "a", gap / 2, plot.band - gap),
      plot.whiskers(distribution, plot.band / 2, "a"),
      state.measure === "share" ? plot.line(whole, "line-whole") : null,
      svg("g", { class: "axis" }, svg("line", { x1: margin.left, x2: width - margin.right, y1: plot.bottom, y2: plot.bottom })),
      label(margin.left, "start", regions.nameSize(state.from)),
      label(width - margin.right, "end", `${regions.nameSize(state.to)}${state.to === regions.high && !regions.facts.classes ? "+" : ""}`),
    );
  }

  /** The number of groups of a region, or what the regions are sorted by, with its interval. */
  #tell(node) {
    const { regions } = this;
    const figure = this.#figure() ?? regions.groupsFigure;
    const [value, interval] = regions.tell(node, figure);
    const named = figure.column === "groups" ? `${value} ${regions.words.groups}` : `${figure.name} ${value}`;
    return [html("span", { class: "small-figure" }, named), interval === null ? null : html("span", { class: "interval" }, interval)];
  }

  #choose(event) {
    const button = event.target.closest("button");
    if (button) this.open(Number(button.dataset.node));
  }

  /** Arrow keys move among the charts, as they are seen. */
  #press(event) {
    const buttons = Array.from(this.box.querySelectorAll("button"));
    const at = buttons.indexOf(event.target.closest("button"));
    const top = (button) => button.getBoundingClientRect().top;
    const columns = buttons.findIndex((button) => top(button) > top(buttons[0]) + 1);
    const row = columns < 0 ? buttons.length : columns;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -row, ArrowDown: row, Home: -at, End: buttons.length - 1 - at }[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const to = buttons[at + step];
    if (!to) return;
    buttons[at].tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }
}
