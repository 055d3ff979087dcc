// ---- The chart of a distribution: bars by size, a second region beside them, a read-out ----

const MARGIN = { top: 14, right: 10, bottom: 44, left: 62 };
const SIDE_BY_SIDE = 12; // pixels a size needs for two bars; below that B is a line

/** What is drawn in a chart of any size, and where. */
class Plot {
  /** state: a, b, from, to, measure, axis, cumulative; span: the values that the axis reaches, or none: those of a and b. */
  constructor(width, height, margin, state, span = null) {
    Object.assign(this, { width, height, margin, state });
    this.inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
    this.bottom = margin.top + this.inner.height;
    this.band = this.inner.width / (state.to - state.from + 1);
    this.#scale(span ?? findSpan(state.b ? [state.a, state.b] : [state.a], state));
  }

  #scale({ most, least }) {
    const { measure, axis } = this.state;
    const { bottom } = this;
    if (axis === "log") {
      const floor = measure === "share" ? 10 ** Math.floor(Math.log10(least) - 0.001) : 0.5;
      const top = most * 1.2;
      const span = Math.log(top / floor);
      this.y = (value) => (value <= floor ? bottom : bottom - (this.inner.height * Math.log(value / floor)) / span);
      this.ticks = [];
      for (let power = Math.ceil(Math.log10(floor) - 1e-9); power <= Math.log10(top); power++) this.ticks.push(10 ** power);
      const skip = Math.ceil(this.ticks.length / 7);
      this.ticks = this.ticks.filter((_, i) => i % skip === 0);
    } else {
      const step = niceStep(most / 4, measure === "share" ? 0 : 1);
      const top = Math.max(most * 1.04, step);
      this.y = (value) => bottom - (this.inner.height * Math.max(value, 0)) / top;
      this.ticks = [];
      for (let i = 0; i * step <= top; i++) this.ticks.push(i * step);
    }
  }

  x(size) {
    return this.margin.left + (size - this.state.from) * this.band;
  }

  showTick(value) {
    if (this.state.measure !== "share") return compact.format(value);
    return `${threeDigits.format(100 * value)}\u00a0%`;
  }

  /** Lines across the chart. */
  lines(values = this.ticks) {
    return values.map((value) => svg("line", { x1: this.margin.left, x2: this.width - this.margin.right, y1: this.y(value), y2: this.y(value) }));
  }

  bars(distribution, kind, offset, width) {
    const { bottom } = this;
    let d = "";
    for (let size = this.state.from; size <= this.state.to; size++) {
      const value = valueAt(distribution, size, this.state);
      if (value <= 0) continue;
      const top = Math.min(this.y(value), bottom - 1); // what is there can be seen
      d += `M${(this.x(size) + offset).toFixed(2)} ${bottom}V${top.toFixed(2)}h${width.toFixed(2)}V${bottom}z`;
    }
    return svg("path", { d, class: `bars bars-${kind}` });
  }

  line(distribution, kind) {
    let d = `M${this.x(this.state.from)} ${this.bottom}`;
    for (let size = this.state.from; size <= this.state.to; size++) {
      d += `V${this.y(valueAt(distribution, size, this.state)).toFixed(2)}h${this.band.toFixed(3)}`;
    }
    return svg("path", { d, class: kind });
  }

  /** The intervals; one that reaches out of the chart has no end at its top. */
  whiskers(distribution, offset, kind) {
    let d = "";
    const cap = Math.min(4, this.band / 5);
    for (let size = this.state.from; size <= this.state.to; size++) {
      const [low, high] = endsAt(distribution, size, this.state) ?? [0, 0];
      if (high <= 0) continue;
      const x = this.x(size) + offset;
      const ends = [low, high].map((end) => this.y(end));
      const [y1, y2] = ends.map((y) => Math.max(y, this.margin.top));
      d += `M${x} ${y1}V${y2}${ends.filter((y) => y >= this.margin.top).map((y) => `M${x - cap} ${y}h${2 * cap}`).join("")}`;
    }
    return svg("path", { d, class: `whiskers whiskers-${kind}` });
  }
}

function valueAt(distribution, size, { measure, cumulative }) {
  const groups = cumulative ? distribution.atMost(size) : distribution.at(size);
  return measure === "share" ? groups / (distribution.total || 1) : groups;
}

function endsAt(distribution, size, { measure, cumulative }) {
  if (!distribution.lows || cumulative || (measure === "share" && !distribution.total)) return null;
  const by = measure === "share" ? distribution.total : 1;
  return distribution.interval(size).map((end) => end / by);
}

/** The largest value or, if wanted, end of an interval, and the least value above zero. */
function findSpan(distributions, state, { withEnds = true } = {}) {
  const { from, to } = state;
  let most = 0;
  let least = Infinity;
  for (const distribution of distributions) {
    for (let size = from; size <= to; size++) {
      const value = valueAt(distribution, size, state);
      most = Math.max(most, value, (withEnds && endsAt(distribution, size, state)?.[1]) || 0);
      if (value > 0) least = Math.min(least, value);
    }
  }
  if (!(most > 0)) most = 1;
  return { most, least: least <= most ? least : most / 10 };
}

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
    this.plot = new Plot(this.width, this.height, MARGIN, state);
    this.cursor = Math.min(Math.max(this.cursor ?? state.from, state.from), state.to);
    this.drawing.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.spot = svg("rect", { class: "spot", y: MARGIN.top, height: this.plot.inner.height });
    this.brush = svg("rect", { class: "brush", y: MARGIN.top, height: this.plot.inner.height, width: 0 });
    this.drawing.replaceChildren(this.#grid(), this.spot, ...this.#bars(), this.#axis(), this.brush);
    this.#read(this.cursor);
  }

  #grid() {
    const { plot } = this;
    const labels = plot.ticks.map((value) => svg("text", { x: MARGIN.left - 8, y: plot.y(value) + 4, "text-anchor": "end" }, plot.showTick(value)));
    return svg("g", { class: "grid" }, ...plot.lines(), ...labels);
  }

  #axis() {
    const { from, to, high, nameSize, words } = this.state;
    const { plot } = this;
    const { bottom } = plot;
    const step = niceStep(((to - from + 1) * 46) / plot.inner.width, 1);
    const marks = [];
    for (let size = Math.ceil(from / step) * step; size <= to; size += step) if (size > from || from % step === 0) marks.push(size);
    if (!marks.includes(from) && (!marks.length || plot.x(marks[0]) - plot.x(from) > 30)) marks.unshift(from);
    return svg("g", { class: "axis" },
      svg("line", { x1: MARGIN.left, x2: this.width - MARGIN.right, y1: bottom, y2: bottom }),
      ...marks.map((size) => svg("text", { x: plot.x(size) + plot.band / 2, y: bottom + 17, "text-anchor": "middle" }, nameSize(size) + (size === high ? "+" : ""))),
      svg("text", { x: MARGIN.left + plot.inner.width / 2, y: bottom + 37, "text-anchor": "middle", class: "quiet" }, this.state.cumulative ? `${words.Groups} of this size or smaller` : words.size),
    );
  }

  #bars() {
    const { a, b } = this.state;
    const { plot } = this;
    const { band } = plot;
    const gap = findGap(band);
    const whole = band - gap;
    if (!b) return [plot.bars(a, "a", gap / 2, whole), plot.whiskers(a, band / 2, "a")];
    if (band >= SIDE_BY_SIDE) {
      return [
        plot.bars(a, "a", gap / 2, whole / 2), plot.bars(b, "b", gap / 2 + whole / 2, whole / 2),
        plot.whiskers(a, gap / 2 + whole / 4, "a"), plot.whiskers(b, gap / 2 + (3 * whole) / 4, "b"),
      ];
    }
    return [plot.bars(a, "a", gap / 2, whole), plot.whiskers(a, band / 2, "a"), plot.line(b, "line-b"), plot.whiskers(b, band / 2, "b")];
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
    this.spot.setAttribute("x", this.plot.x(size));
    this.spot.setAttribute("width", Math.max(this.plot.band, 2));
    const text = this.describe(size);
    this.readout.textContent = text;
    for (const [key, value] of Object.entries({ min: this.state.from, max: this.state.to, now: size, text })) this.handle.setAttribute(`aria-value${key}`, value);
  }

  #sizeAt(event) {
    const x = event.clientX - this.box.getBoundingClientRect().left;
    return Math.min(this.state.to, Math.max(this.state.from, this.state.from + Math.floor((x - MARGIN.left) / this.plot.band)));
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
      this.brush.setAttribute("x", this.plot.x(low));
      this.brush.setAttribute("width", wide ? (high - low + 1) * this.plot.band : 0);
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

/** How far bars are from each other. */
function findGap(band) {
  return band >= 3 ? Math.min(band * 0.2, 8) : 0;
}

/** The next of 1, 2, 5, 10, 20, ... */
function niceStep(least, smallest) {
  const power = 10 ** Math.floor(Math.log10(least || 1));
  const step = [1, 2, 5, 10].find((each) => each * power >= least * 0.999) * power;
  return Math.max(step, smallest);
}
