// ---- The icicle: levels as columns, regions as bars whose height is their number of groups ----

const LEAST_BAR = 3; // pixels; thinner regions are drawn as one path and are not elements of their own
const LABEL_BAR = 12;
const MARKED_BAR = 18; // a region that was picked can always be read
const ANCESTOR_WIDTH = 30;
const LEVELS_SHOWN = 3;
const LEAST_TOLD = 4; // pixels; a third column whose regions have less on average is not drawn

class Icicle {
  constructor(regions, shades, { pick, compare }) {
    Object.assign(this, { regions, shades, pick, compare });
    this.box = byId("icicle");
    this.heads = byId("icicle-heads");
    this.drawing = svg("svg", { "aria-hidden": "true" });
    this.tree = html("div", { role: "tree", "aria-label": "Regions", class: "tree" });
    this.tip = html("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.box.append(this.drawing, this.tree, this.tip);
    this.top = new Float64Array(regions.count);
    this.height = new Float64Array(regions.count);
    this.tree.addEventListener("keydown", (event) => this.#press(event));
    this.box.addEventListener("click", (event) => {
      const node = this.#nodeAt(event);
      if (node >= 0) this.pick(node, { focus: true });
    });
    this.box.addEventListener("pointermove", (event) => this.#point(event));
    this.box.addEventListener("pointerleave", () => (this.tip.hidden = true));
    new ResizeObserver(() => this.last && this.draw(...this.last)).observe(this.box);
  }

  /** Draws the neighbourhood of ``cursor``: its parent, its siblings and what is below them. */
  draw(cursor, marks, focus = false) {
    this.last = [cursor, marks];
    const { regions } = this;
    const width = this.box.clientWidth;
    const height = this.box.clientHeight;
    if (!width || !height) return;
    const view = this.#chooseView(cursor, height);
    this.#place(view, height);
    this.columns = this.#columns(view, width, height);
    this.#drawHeads();
    const items = [];
    const paths = new Map();
    for (const column of this.columns) {
      for (const node of column.nodes) {
        const isMarked = node === cursor || marks.a === node || marks.b === node;
        if (this.height[node] >= LEAST_BAR || isMarked) items.push(this.#item(node, column, cursor, marks, height));
        else {
          const shade = this.shades.of(node);
          const piece = `M${column.x} ${this.top[node].toFixed(2)}h${column.width}v${(0.8 * this.height[node]).toFixed(2)}h${-column.width}z`;
          paths.set(shade, (paths.get(shade) ?? "") + piece);
        }
      }
    }
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawing.replaceChildren(...Array.from(paths, ([shade, d]) => svg("path", { d, class: `shade-${shade}` })));
    const hadFocus = focus || this.tree.contains(document.activeElement);
    this.tree.replaceChildren(...items);
    if (hadFocus) this.tree.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  }

  /** The region whose children are the second column: the cursor's parent, or the cursor if its own would not show. */
  #chooseView(cursor, height) {
    const { children, parent } = this.regions;
    if (cursor === 0) return 0;
    return children[cursor].length && !this.#canTell(this.#list(children[parent[cursor]]), height) ? cursor : parent[cursor];
  }

  #list(nodes) {
    return nodes.flatMap((node) => this.regions.children[node]);
  }

  #canTell(nodes, height) {
    return nodes.length * LEAST_TOLD <= height;
  }

  /** Where each region below ``view`` stands. Small ones are a little thicker than their groups ask for. */
  #place(view, height) {
    const { regions } = this;
    for (const node of regions.path(view)) {
      this.top[node] = 0;
      this.height[node] = height;
    }
    const spread = (node, depth) => {
      const below = regions.children[node];
      if (!below.length || depth >= LEVELS_SHOWN - 1) return;
      const share = (0.9 * this.height[node]) / below.length;
      const least = share >= LABEL_BAR ? LABEL_BAR : Math.min(LEAST_BAR, share);
      const rest = this.height[node] - least * below.length;
      const sum = below.reduce((total, child) => total + regions.groups[child], 0);
      let at = this.top[node];
      for (const child of below) {
        this.top[child] = at;
        this.height[child] = least + rest * (sum ? regions.groups[child] / sum : 1 / below.length);
        at += this.height[child];
        spread(child, depth + 1);
      }
    };
    spread(view, 0);
  }

  #columns(view, width, height) {
    const { regions } = this;
    const ancestors = regions.path(view).slice(0, -1).slice(-2);
    const columns = ancestors.map((node, i) => ({ x: i * ANCESTOR_WIDTH, width: ANCESTOR_WIDTH, nodes: [node], depth: regions.level[node] }));
    const start = ancestors.length * ANCESTOR_WIDTH;
    const below = [[view]];
    while (below.length < LEVELS_SHOWN) {
      const next = this.#list(below[below.length - 1]);
      if (!next.length || (below.length > 1 && !this.#canTell(next, height))) break;
      below.push(next);
    }
    const parts = below.map((_, i) => (i === 0 && below.length > 1 ? 0.6 : 1));
    const sum = parts.reduce((a, b) => a + b, 0);
    let x = start;
    below.forEach((nodes, i) => {
      const wide = ((width - start) * parts[i]) / sum;
      columns.push({ x, width: wide, nodes, depth: regions.level[nodes[0]] });
      x += wide;
    });
    return columns;
  }

  #drawHeads() {
    this.heads.replaceChildren(
      ...this.columns.map((column) => {
        const head = html("span", { class: "head" }, html("bdi", {}, column.width > ANCESTOR_WIDTH ? shorten(this.regions.levels[column.depth].name, 40) : ""));
        head.style.width = `${column.width}px`;
        return head;
      }),
    );
  }

  #item(node, column, cursor, marks, bottom) {
    const { regions } = this;
    const siblings = node === 0 ? [0] : regions.children[regions.parent[node]];
    const marked = [marks.a === node ? "A" : "", marks.b === node ? "B" : ""].join("");
    const tall = Math.max(this.height[node], marked || node === cursor ? MARKED_BAR : 0);
    const isStrip = column.width <= ANCESTOR_WIDTH;
    const hasLabel = tall >= LABEL_BAR;
    const depth = regions.level[node];
    const item = html(
      "div",
      {
        role: "treeitem",
        class: `bar-item shade-${this.shades.of(node)}${marked.includes("A") ? " is-a" : ""}${marked.includes("B") ? " is-b" : ""}${isStrip ? " strip" : tall < 30 ? " flat" : ""}`,
        tabindex: node === cursor ? "0" : "-1",
        "data-node": node,
        "aria-level": depth + 1,
        "aria-setsize": siblings.length,
        "aria-posinset": siblings.length > 1 ? siblings.indexOf(node) + 1 : 1,
        "aria-selected": String(marked !== ""),
        "aria-expanded": regions.children[node].length ? String(column !== this.columns[this.columns.length - 1]) : null,
        "aria-label": `${shorten(regions.name(node), 150)}, ${regions.showGroups(node)} ${regions.words.groups}${marked ? `, region ${marked.split("").join(" and ")}` : ""}`,
      },
      hasLabel && marked ? html("span", { class: "badge", "aria-hidden": "true" }, marked) : null,
      hasLabel ? html("bdi", { class: "label", "aria-hidden": "true" }, shorten(regions.name(node), 60)) : null,
      hasLabel && tall >= 34 && !isStrip ? html("span", { class: "label number", "aria-hidden": "true" }, compact.format(Number(regions.showGroups(node).replaceAll(",", "")))) : null,
    );
    item.style.left = `${column.x}px`;
    item.style.width = `${column.width - 1}px`;
    item.style.top = `${Math.max(0, Math.min(this.top[node], bottom - tall))}px`;
    item.style.height = `${Math.max(tall - 1, 1)}px`;
    return item;
  }

  #nodeAt(event) {
    const item = event.target.closest?.("[data-node]");
    if (item) return Number(item.dataset.node);
    const box = this.box.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const column = this.columns?.find((each) => x >= each.x && x < each.x + each.width);
    return column?.nodes.find((node) => y >= this.top[node] && y < this.top[node] + this.height[node]) ?? -1;
  }

  #point(event) {
    const node = event.pointerType === "touch" ? -1 : this.#nodeAt(event);
    showTip(this.tip, this.box, event, node, this.regions, this.shades);
  }

  #press(event) {
    const node = Number(event.target.dataset?.node);
    if (!Number.isInteger(node) || event.altKey || event.ctrlKey || event.metaKey) return;
    const { regions } = this;
    const siblings = node === 0 ? [0] : regions.children[regions.parent[node]];
    const place = siblings.indexOf(node);
    const to = {
      ArrowUp: () => siblings[Math.max(0, place - 1)],
      ArrowDown: () => siblings[Math.min(siblings.length - 1, place + 1)],
      ArrowRight: () => regions.children[node][0],
      ArrowLeft: () => (node ? regions.parent[node] : undefined),
      Home: () => siblings[0],
      End: () => siblings[siblings.length - 1],
      Enter: () => node,
      " ": () => node,
    }[event.key];
    if (to) {
      event.preventDefault();
      const target = to();
      if (target !== undefined) this.pick(target, { focus: true });
    } else if (event.key === "c" || event.key === "C") {
      event.preventDefault();
      this.compare(node);
    }
  }
}

function showTip(tip, box, event, node, regions, shades) {
  tip.hidden = node < 0;
  if (node < 0) return;
  tip.replaceChildren(
    html("bdi", {}, shorten(regions.name(node), 80)),
    html("span", {}, regions.describeGroups(node)),
    html("span", {}, shades.describe(node)),
  );
  const area = box.getBoundingClientRect();
  const x = event.clientX - area.left;
  const y = event.clientY - area.top;
  tip.style.left = `${Math.max(0, Math.min(x + 14, area.width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight > area.height ? y - tip.offsetHeight - 10 : y + 18}px`;
}

/** The shade of each region, from 0 (least) to 4 (most); "none" for a region without groups. */
class Shades {
  constructor(regions) {
    this.regions = regions;
    this.measures = regions.figures.filter((figure) => figure.shade);
    this.choose(this.measures[0].column);
  }

  choose(column) {
    this.measure = this.measures.find((figure) => figure.column === column);
    const first = this.regions.levels.length > 1 ? 1 : 0;
    const nodes = [];
    for (let node = first; node < this.regions.count; node++) if (this.regions.groups[node]) nodes.push(node);
    const value = (node) => this.regions.value(node, this.measure);
    nodes.sort((a, b) => value(a) - value(b));
    // Fifths of the regions: each shade is used, whatever the values are.
    this.limits = nodes.length ? [0, 0.2, 0.4, 0.6, 0.8, 1].map((share) => nodes[Math.min(nodes.length - 1, Math.floor(share * nodes.length))]) : [];
    this.cuts = this.limits.slice(1, -1).map(value);
  }

  of(node) {
    if (!this.regions.groups[node]) return "none";
    const value = this.regions.value(node, this.measure);
    let shade = 0;
    while (shade < this.cuts.length && value >= this.cuts[shade]) shade++;
    return shade;
  }

  describe(node) {
    if (!this.regions.groups[node]) return "no distribution";
    return `${this.measure.shade.toLowerCase()} ${this.regions.tell(node, this.measure)[0]}`;
  }

  drawLegend(box) {
    if (!this.limits.length) return box.replaceChildren();
    const limits = this.limits.map((node) => this.regions.tell(node, this.measure)[0]);
    return box.replaceChildren(
      html("span", { class: "quiet small" }, `${this.measure.shade}, in fifths of the regions:`),
      ...[0, 1, 2, 3, 4].map((shade) =>
        html("span", { class: "step" }, html("i", { class: `key shade-${shade}` }), `${limits[shade]} to ${limits[shade + 1]}`),
      ),
    );
  }
}
