// ---- The map, where shapes were given (written by shapes.py) ----

class RegionMap {
  constructor(regions, shades, bytes, pick) {
    Object.assign(this, { regions, shades, pick });
    const { level, width, height } = regions.facts.map;
    this.level = level;
    this.size = [width, height];
    this.box = byId("map");
    this.shapes = this.#read(new Reader(bytes), regions.first[level]);
    this.byNode = new Map(this.shapes.filter((shape) => shape.node >= 0).map((shape) => [shape.node, shape]));
    this.option = html("div", { role: "option", id: "map-current", class: "hidden-text", "aria-selected": "true" });
    this.layer = svg("g", {}, ...this.shapes.map((shape) => shape.path));
    this.over = svg("g", { class: "over" });
    this.drawing = svg("svg", { "aria-hidden": "true", preserveAspectRatio: "xMidYMid meet" }, this.layer, this.over);
    this.list = html("div", { role: "listbox", tabindex: "0", class: "map-list", "aria-label": "Map of the regions", "aria-activedescendant": "map-current" }, this.option);
    this.tip = html("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.box.append(this.drawing, this.list, this.tip);
    this.box.style.aspectRatio = `${Math.max(width, 0.8 * height)} / ${Math.max(height, 0.7 * width)}`;
    this.view = [0, 0, width, height];
    this.#zoomTo(this.view);
    this.box.addEventListener("pointerdown", (event) => this.#grab(event));
    this.box.addEventListener("pointermove", (event) => this.#point(event));
    this.box.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.list.addEventListener("keydown", (event) => this.#press(event));
    byId("map-in").addEventListener("click", () => this.#zoom(0.5));
    byId("map-out").addEventListener("click", () => this.#zoom(2));
    byId("map-here").addEventListener("click", () => this.#zoomTo(this.#around(this.shown)));
    byId("map-all").addEventListener("click", () => this.#zoomTo([0, 0, ...this.size]));
  }

  #read(reader, first) {
    return Array.from({ length: reader.next() }, () => {
      const region = reader.next();
      let d = "";
      let box = [Infinity, Infinity, -Infinity, -Infinity];
      for (let rings = reader.next(); rings > 0; rings--) {
        let [x, y] = [0, 0];
        for (let points = reader.next(), i = 0; i < points; i++) {
          const [dx, dy] = [reader.nextSigned(), reader.nextSigned()];
          x += dx;
          y += dy;
          d += i ? `l${dx} ${dy}` : `M${x} ${y}`;
          box = [Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x), Math.max(box[3], y)];
        }
        d += "z";
      }
      const path = svg("path", { d, "fill-rule": "evenodd" });
      const shape = { node: region ? first + region - 1 : -1, path, box, middle: [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2] };
      path.shape = shape;
      return shape;
    });
  }

  shade() {
    for (const { node, path } of this.shapes) path.setAttribute("class", node < 0 ? "shape shade-none" : `shape shade-${this.shades.of(node)}`);
  }

  /** The region of the map's level that a region is or is in; itself if it is above. */
  #ofLevel(node) {
    let at = node;
    while (at >= 0 && this.regions.level[at] > this.level) at = this.regions.parent[at];
    return at;
  }

  mark(cursor, marks, focus = false) {
    this.shown = cursor;
    this.cursor = this.byNode.has(this.#ofLevel(cursor)) ? this.#ofLevel(cursor) : null;
    const outline = (node, kind) => {
      if (node === null) return [];
      const wanted = this.regions.level[node] >= this.level ? [this.#ofLevel(node)] : this.#below(node);
      return wanted.filter((each) => this.byNode.has(each)).map((each) => {
        const copy = this.byNode.get(each).path.cloneNode();
        copy.setAttribute("class", `outline outline-${kind}${wanted.length > 1 ? " part-of" : ""}`);
        return copy;
      });
    };
    const isWhole = (node) => node === null || node === 0;
    this.over.replaceChildren(...(isWhole(marks.b) ? [] : outline(marks.b, "b")), ...(isWhole(marks.a) ? [] : outline(marks.a, "a")));
    const shown = this.cursor ?? cursor;
    this.option.textContent = `${shorten(this.regions.name(shown), 150)}, ${this.regions.showGroups(shown)} ${this.regions.words.groups}, ${this.shades.describe(shown)}`;
    if (focus) this.list.focus({ preventScroll: true });
  }

  #below(node) {
    let nodes = [node];
    for (let level = this.regions.level[node]; level < this.level; level++) nodes = nodes.flatMap((each) => this.regions.children[each]);
    return nodes;
  }

  /** The part of the map that shows a region with some of its surroundings. */
  #around(node) {
    const wanted = this.regions.level[node] >= this.level ? [this.#ofLevel(node)] : this.#below(node);
    const boxes = wanted.filter((each) => this.byNode.has(each)).map((each) => this.byNode.get(each).box);
    if (!boxes.length) return this.view;
    const [left, top, right, bottom] = [0, 1, 2, 3].map((side) => boxes.reduce((end, box) => (side < 2 ? Math.min : Math.max)(end, box[side]), boxes[0][side]));
    return this.#part([(left + right) / 2, (top + bottom) / 2], 1.6 * Math.max((right - left) / this.size[0], (bottom - top) / this.size[1]));
  }

  #zoom(factor) {
    const [x, y, width, height] = this.view;
    const middle = this.cursor !== null && factor < 1 ? this.byNode.get(this.cursor).middle : [x + width / 2, y + height / 2];
    this.#zoomTo(this.#part(middle, (width * factor) / this.size[0]));
  }

  #part([x, y], wanted) {
    const share = Math.min(1, Math.max(wanted, 1 / 64));
    const [w, h] = [this.size[0] * share, this.size[1] * share];
    return [x - w / 2, y - h / 2, w, h];
  }

  #zoomTo([x, y, w, h]) {
    const inside = (at, size, most) => Math.max(0, Math.min(at, most - size));
    this.view = [inside(x, w, this.size[0]), inside(y, h, this.size[1]), w, h];
    this.drawing.setAttribute("viewBox", this.view.map((value) => value.toFixed(1)).join(" "));
  }

  #grab(event) {
    if (event.button !== 0) return;
    const start = [event.clientX, event.clientY];
    const [x, y, w, h] = this.view;
    const scale = Math.max(w / this.box.clientWidth, h / this.box.clientHeight);
    let isDrag = false;
    const move = (next) => {
      const by = [next.clientX - start[0], next.clientY - start[1]];
      isDrag ||= Math.hypot(...by) > 6;
      if (isDrag) this.#zoomTo([x - by[0] * scale, y - by[1] * scale, w, h]);
    };
    const end = (last) => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
      window.removeEventListener("pointercancel", end);
      const node = isDrag || last.type !== "pointerup" ? -1 : this.#nodeAt(last);
      if (node >= 0) this.pick(node, { focus: true });
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
    window.addEventListener("pointercancel", end);
  }

  #nodeAt(event) {
    for (const element of document.elementsFromPoint(event.clientX, event.clientY)) {
      if (element.shape) return element.shape.node;
    }
    return -1;
  }

  #point(event) {
    const node = event.pointerType === "touch" || event.buttons ? -1 : this.#nodeAt(event);
    showTip(this.tip, this.box, event, node, this.regions, this.shades);
  }

  /** The nearest shape in a direction, things straight ahead before things aside. */
  #neighbour([dx, dy]) {
    const from = this.byNode.get(this.cursor).middle;
    let best = null;
    let least = Infinity;
    for (const { node, middle } of this.byNode.values()) {
      const ahead = (middle[0] - from[0]) * dx + (middle[1] - from[1]) * dy;
      const aside = Math.abs((middle[0] - from[0]) * dy) + Math.abs((middle[1] - from[1]) * dx);
      if (node !== this.cursor && ahead > 0 && ahead + 2 * aside < least) [best, least] = [node, ahead + 2 * aside];
    }
    return best;
  }

  #press(event) {
    const step = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
    if (step) {
      const target = this.cursor === null ? this.byNode.keys().next().value : this.#neighbour(step);
      if (target !== null && target !== undefined) this.pick(target, { focus: true });
    } else if (event.key === "+" || event.key === "=") this.#zoom(0.5);
    else if (event.key === "-") this.#zoom(2);
    else if (event.key === "Enter" || event.key === " ") {
      if (this.cursor !== null) this.pick(this.cursor, { focus: true });
    } else return;
    event.preventDefault();
  }
}
