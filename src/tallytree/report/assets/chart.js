// ---- The chart of a distribution: bars by size, a second region beside them, a read-out ----

const MARGIN = { top: 14, right: 10, bottom: 44, left: 62 };
const SIDE_BY_SIDE = 12; // pixels a size needs for two bars; below that B is a line

class Chart {
  /** box: where it is drawn; readout: where one size is told; zoomed: called with a range that was dragged, if that zooms. */
  constructor(box, readout, zoomed = null) {
    Object.assign(this, { box, readout, zoomed });
    this.drawing = svg("svg", { "aria-hidden": "true" });
    this.handle = html("div", { role: "slider", tabindex: "0", class: "handle", "aria-label": "Size to read out", "aria-orientation": "horizontal" });
    this.box.append(this.drawing, this.handle);
    this.handle.addEventListener("keydown", (event) => this.#press(event));
    this.handle.addEventListener("pointermove", (event) => this.#point(event));
    this.handle.addEventListener("pointerdown", (event) => this.#drag(event));
    new ResizeObserver(() => this.state && this.draw(this.state)).observe(this.box);
  }

  /** state: a, b, from, to, high (null where sizes are classes), nameSize, measure, axis, cumulative */
  draw(state) {
    this.state = state;
    this.width = this.box.clientWidth;
    this.height = this.box.clientHeight;
    if (!this.width) return;
    this.inner = { width: this.width - MARGIN.left - MARGIN.right, height: this.height - MARGIN.top - MARGIN.bottom };
    this.band = this.inner.width / (state.to - state.from + 1);
    this.#scale();
    this.cursor = Math.min(Math.max(this.cursor ?? state.from, state.from), state.to);
    this.drawing.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.spot = svg("rect", { class: "spot", y: MARGIN.top, height: this.inner.height });
    this.brush = svg("rect", { class: "brush", y: MARGIN.top, height: this.inner.height, width: 0 });
    this.drawing.replaceChildren(this.#grid(), this.spot, ...this.#bars(), this.#axis(), this.brush);
    this.#read(this.cursor);
  }

  value(distribution, size) {
    const { measure, cumulative } = this.state;
    const groups = cumulative ? distribution.atMost(size) : distribution.at(size);
    return measure === "share" ? groups / (distribution.total || 1) : groups;
  }

  #ends(distribution, size) {
    if (!distribution.lows || this.state.cumulative) return null;
    const by = this.state.measure === "share" ? distribution.total || 1 : 1;
    return distribution.interval(size).map((end) => end / by);
  }

  #scale() {
    const { a, b, from, to, axis } = this.state;
    let most = 0;
    let least = Infinity;
    for (const distribution of b ? [a, b] : [a]) {
      for (let size = from; size <= to; size++) {
        const value = this.value(distribution, size);
        const high = this.#ends(distribution, size)?.[1] ?? value;
        most = Math.max(most, value, high);
        if (value > 0) least = Math.min(least, value);
      }
    }
    if (!(most > 0)) most = 1;
    if (!(least <= most)) least = most / 10;
    const bottom = MARGIN.top + this.inner.height;
    if (axis === "log") {
      const floor = this.state.measure === "share" ? 10 ** Math.floor(Math.log10(least) - 0.001) : 0.5;
      const top = most * 1.2;
      const span = Math.log(top / floor);
      this.y = (value) => (value <= floor ? bottom : bottom - (this.inner.height * Math.log(value / floor)) / span);
      this.ticks = [];
      for (let power = Math.ceil(Math.log10(floor) - 1e-9); power <= Math.log10(top); power++) this.ticks.push(10 ** power);
      const skip = Math.ceil(this.ticks.length / 7);
      this.ticks = this.ticks.filter((_, i) => i % skip === 0);
    } else {
      const step = niceStep(most / 4, this.state.measure === "share" ? 0 : 1);
      const top = Math.max(most * 1.04, step);
      this.y = (value) => bottom - (this.inner.height * Math.max(value, 0)) / top;
      this.ticks = [];
      for (let i = 0; i * step <= top; i++) this.ticks.push(i * step);
    }
  }

  x(size) {
    return MARGIN.left + (size - this.state.from) * this.band;
  }

  #grid() {
    const show = this.state.measure === "share" ? (value) => (value ? showShare(value) : "0 %") : (value) => compact.format(value);
    return svg("g", { class: "grid" }, ...this.ticks.flatMap((value) => [
      svg("line", { x1: MARGIN.left, x2: this.width - MARGIN.right, y1: this.y(value), y2: this.y(value) }),
      svg("text", { x: MARGIN.left - 8, y: this.y(value) + 4, "text-anchor": "end" }, show(value)),
    ]));
  }

  #axis() {
    const { from, to, high, nameSize, words } = this.state;
    const step = niceStep(((to - from + 1) * 46) / this.inner.width, 1);
    const marks = [];
    for (let size = Math.ceil(from / step) * step; size <= to; size += step) if (size > from || from % step === 0) marks.push(size);
    if (!marks.includes(from) && (!marks.length || this.x(marks[0]) - this.x(from) > 30)) marks.unshift(from);
    const bottom = MARGIN.top + this.inner.height;
    return svg("g", { class: "axis" },
      svg("line", { x1: MARGIN.left, x2: this.width - MARGIN.right, y1: bottom, y2: bottom }),
      ...marks.map((size) => svg("text", { x: this.x(size) + this.band / 2, y: bottom + 17, "text-anchor": "middle" }, nameSize(size) + (size === high ? "+" : ""))),
      svg("text", { x: MARGIN.left + this.inner.width / 2, y: bottom + 37, "text-anchor": "middle", class: "quiet" }, this.state.cumulative ? `${words.Groups} of this size or smaller` : words.size),
    );
  }

  #bars() {
    const { a, b } = this.state;
    const gap = this.band >= 3 ? Math.min(this.band * 0.2, 8) : 0;
    const whole = this.band - gap;
    if (!b) return [this.#barPath(a, "a", gap / 2, whole), this.#whiskers(a, this.band / 2, "a")];
    if (this.band >= SIDE_BY_SIDE) {
      return [
        this.#barPath(a, "a", gap / 2, whole / 2), this.#barPath(b, "b", gap / 2 + whole / 2, whole / 2),
        this.#whiskers(a, gap / 2 + whole / 4, "a"), this.#whiskers(b, gap / 2 + (3 * whole) / 4, "b"),
      ];
    }
    return [this.#barPath(a, "a", gap / 2, whole), this.#whiskers(a, this.band / 2, "a"), this.#line(b), this.#whiskers(b, this.band / 2, "b")];
  }

  #barPath(distribution, kind, offset, width) {
    const bottom = MARGIN.top + this.inner.height;
    let d = "";
    for (let size = this.state.from; size <= this.state.to; size++) {
      const value = this.value(distribution, size);
      if (value <= 0) continue;
      const top = Math.min(this.y(value), bottom - 1); // what is there can be seen
      d += `M${(this.x(size) + offset).toFixed(2)} ${bottom}V${top.toFixed(2)}h${width.toFixed(2)}V${bottom}z`;
    }
    return svg("path", { d, class: `bars bars-${kind}` });
  }

  #line(distribution) {
    let d = `M${this.x(this.state.from)} ${MARGIN.top + this.inner.height}`;
    for (let size = this.state.from; size <= this.state.to; size++) {
      d += `V${this.y(this.value(distribution, size)).toFixed(2)}h${this.band.toFixed(3)}`;
    }
    return svg("path", { d, class: "line-b" });
  }

  #whiskers(distribution, offset, kind) {
    let d = "";
    if (distribution.lows && !this.state.cumulative) {
      const cap = Math.min(4, this.band / 5);
      for (let size = this.state.from; size <= this.state.to; size++) {
        const [low, high] = this.#ends(distribution, size);
        if (high <= 0) continue;
        const x = this.x(size) + offset;
        const [y1, y2] = [this.y(low), this.y(high)];
        d += `M${x} ${y1}V${y2}M${x - cap} ${y1}h${2 * cap}M${x - cap} ${y2}h${2 * cap}`;
      }
    }
    return svg("path", { d, class: `whiskers whiskers-${kind}` });
  }

  describe(size) {
    const { a, b, cumulative, high, nameSize, words } = this.state;
    const one = (distribution) => {
      const groups = cumulative ? distribution.atMost(size) : distribution.at(size);
      const ends = cumulative ? null : distribution.interval(size);
      const { value, low, high, share, better } = roundCount(groups, ends, distribution.total);
      return `${value} ${words.groups}${ends ? `, ${better ? `better ${better}: ` : ""}${low} to ${high}` : ""} (${share})`;
    };
    const what = `Size ${nameSize(size)}${cumulative ? " or smaller" : size === high ? " or larger" : ""}`;
    return b ? `${what}: A ${one(a)}; B ${one(b)}` : `${what}: ${one(a)}`;
  }

  #read(size) {
    this.cursor = size;
    this.spot.setAttribute("x", this.x(size));
    this.spot.setAttribute("width", Math.max(this.band, 2));
    const text = this.describe(size);
    this.readout.textContent = text;
    for (const [key, value] of Object.entries({ min: this.state.from, max: this.state.to, now: size, text })) this.handle.setAttribute(`aria-value${key}`, value);
  }

  #sizeAt(event) {
    const x = event.clientX - this.box.getBoundingClientRect().left;
    return Math.min(this.state.to, Math.max(this.state.from, this.state.from + Math.floor((x - MARGIN.left) / this.band)));
  }

  #point(event) {
    if (!event.buttons) this.#read(this.#sizeAt(event));
  }

  #drag(event) {
    const first = this.#sizeAt(event);
    this.#read(first);
    if (!this.zoomed || event.pointerType === "touch" || event.button !== 0) return;
    const show = (next) => {
      const [low, high] = [first, this.#sizeAt(next)].sort((p, q) => p - q);
      const wide = Math.abs(next.clientX - event.clientX) > 6 && high > low;
      this.brush.setAttribute("x", this.x(low));
      this.brush.setAttribute("width", wide ? (high - low + 1) * this.band : 0);
      return wide ? [low, high] : null;
    };
    const end = (last) => {
      window.removeEventListener("pointermove", show);
      window.removeEventListener("pointerup", end);
      window.removeEventListener("pointercancel", end);
      const range = show(last);
      this.brush.setAttribute("width", 0);
      if (range && last.type === "pointerup") this.zoomed(...range);
    };
    window.addEventListener("pointermove", show);
    window.addEventListener("pointerup", end);
    window.addEventListener("pointercancel", end);
  }

  #press(event) {
    const { from, to } = this.state;
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 10, PageDown: -10, Home: from - this.cursor, End: to - this.cursor }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    this.#read(Math.min(to, Math.max(from, this.cursor + step)));
  }
}

/** The next of 1, 2, 5, 10, 20, ... */
function niceStep(least, smallest) {
  const power = 10 ** Math.floor(Math.log10(least || 1));
  const step = [1, 2, 5, 10].find((each) => each * power >= least * 0.999) * power;
  return Math.max(step, smallest);
}
