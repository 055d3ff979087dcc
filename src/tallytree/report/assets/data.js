// ---- The data of the page: regions and their counts (written by report_content.py) ----

async function readBytes(id) {
  const text = atob(document.getElementById(id).textContent);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads numbers of variable length, one after the other. */
class Reader {
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  next() {
    let value = 0;
    let weight = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new RangeError("The data end in the middle of a number.");
      value += (byte & 127) * weight; // no shifts: numbers go beyond 32 bits
      if (byte < 128) return value;
      weight *= 128;
    }
  }

  nextSigned() {
    const value = this.next();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
}

/** All regions as nodes of a tree, level by level, numbered from the root (0) on. */
class Regions {
  constructor(facts, buffers, packedFigures) {
    this.facts = facts;
    [this.low, this.high] = facts.sizes;
    this.levels = facts.levels;
    this.words = facts.words; // what groups are called
    this.buffers = buffers;
    this.first = [];
    this.count = 0;
    for (const level of this.levels) {
      this.first.push(this.count);
      this.count += level.names.length;
    }
    const n = this.count;
    this.level = new Uint8Array(n);
    this.parent = new Int32Array(n);
    this.groups = new Float64Array(n);
    this.most = new Float64Array(n); // the size up to which nearly all groups are
    this.cells = new Int32Array(n);
    this.start = new Float64Array(n);
    this.figures = facts.figures.map((figure, place) => ({ ...figure, place, isSize: figure.show === "size", isClass: figure.show === "size" && facts.classes, show: figure.show === "size" ? (value) => this.showSize(value) : SHOW[figure.show] }));
    this.groupsFigure = this.figures.find(({ column }) => column === "groups");
    this.values = new Float64Array(this.figures.length * n).fill(NaN);
    this.ends = new Float64Array(2 * this.figures.length * n).fill(NaN);
    this.children = Array.from({ length: n }, () => []);
    this.levels.forEach((level, depth) => this.#readLevel(level, depth));
    packedFigures.forEach((bytes, depth) => this.#readFigures(bytes, depth));
    this.decoded = new Map();
  }

  #readLevel(level, depth) {
    const reader = new Reader(this.buffers[depth]);
    const first = this.first[depth];
    const bytes = new Float64Array(level.names.length);
    for (let i = 0; i < level.names.length; i++) {
      const node = first + i;
      this.level[node] = depth;
      this.parent[node] = depth ? this.first[depth - 1] + level.parents[i] : -1;
      if (depth) this.children[this.parent[node]].push(node);
      this.cells[node] = reader.next();
      bytes[i] = reader.next();
      this.groups[node] = reader.next();
      this.most[node] = reader.next();
    }
    let at = reader.at;
    for (let i = 0; i < bytes.length; i++) {
      this.start[first + i] = at;
      at += bytes[i];
    }
  }

  #readFigures(bytes, depth) {
    const reader = new Reader(bytes);
    for (let node = this.first[depth]; node < this.first[depth] + this.levels[depth].names.length; node++) {
      for (const { place, grid } of this.figures) {
        const at = this.figures.length * node + place;
        const value = reader.next() - 1;
        if (value >= 0) this.values[at] = value / grid;
        if (this.facts.coverage === null) continue;
        const low = reader.next() - 1;
        const high = low + reader.next();
        if (low >= 0) this.ends.set([low / grid, high / grid], 2 * at);
      }
    }
  }

  name(node) {
    const depth = this.level[node];
    return this.levels[depth].names[node - this.first[depth]];
  }

  /** A size as text; where sizes are classes, numbers from 0 on in the charts, the class's name. */
  nameSize(size) {
    return this.facts.classes ? this.facts.classes[size].name : showCount(size);
  }

  /** The same for a key figure, which is the least size of a class. */
  showSize(value) {
    return this.facts.classes?.find(({ first }) => first === value)?.name ?? showCount(value);
  }

  levelName(node) {
    return this.levels[this.level[node]].name;
  }

  path(node) {
    const path = [];
    for (let at = node; at >= 0; at = this.parent[at]) path.unshift(at);
    return path;
  }

  /** A key figure of a region; NaN if it has none. */
  value(node, { place }) {
    return this.values[this.figures.length * node + place];
  }

  /** The interval of a key figure of a region; null if there is none. */
  interval(node, { place }) {
    const at = 2 * (this.figures.length * node + place);
    return Number.isNaN(this.ends[at]) ? null : [this.ends[at], this.ends[at + 1]];
  }

  /** A key figure of a region as text, with no more digits than are known, and its interval or null. */
  tell(node, figure) {
    return showFigure(figure, this.value(node, figure), this.interval(node, figure), this.isPublic(node, figure));
  }

  /** The number of groups of a region. */
  showGroups(node) {
    return this.tell(node, this.groupsFigure)[0];
  }

  /** The same with its interval. */
  describeGroups(node) {
    const [value, interval] = this.tell(node, this.groupsFigure);
    return `${value} ${this.words.groups}${interval === null ? "" : `, ${interval}`}`;
  }

  /** Whether a key figure of a region is a public fact. */
  isPublic(node, figure) {
    return figure.column === "groups" && this.level[node] <= this.facts.public;
  }

  /** The sizes that have groups (or an interval), and the groups; read when first asked for. */
  distribution(node) {
    if (!this.decoded.has(node)) this.decoded.set(node, this.decode(node));
    return this.decoded.get(node);
  }

  /** The same, read anew: for those who look at a whole level once. */
  decode(node) {
    const reader = new Reader(this.buffers[this.level[node]], this.start[node]);
    const n = this.cells[node];
    const hasIntervals = this.facts.coverage !== null;
    const sizes = new Float64Array(n);
    const groups = new Float64Array(n);
    const lows = hasIntervals ? new Float64Array(n) : null;
    const highs = hasIntervals ? new Float64Array(n) : null;
    let size = this.low - 1;
    for (let i = 0; i < n; i++) {
      size += reader.next();
      sizes[i] = size;
      groups[i] = reader.nextSigned();
      if (hasIntervals) {
        lows[i] = groups[i] - reader.nextSigned();
        highs[i] = groups[i] + reader.nextSigned();
      }
    }
    return new Distribution(sizes, groups, lows, highs, this.groups[node]);
  }
}

/** How many groups of each size there are in one region. */
class Distribution {
  constructor(sizes, groups, lows, highs, total) {
    Object.assign(this, { sizes, groups, lows, highs, total });
    this.upTo = new Float64Array(groups.length);
    let sum = 0;
    groups.forEach((value, i) => {
      sum += value;
      this.upTo[i] = sum;
    });
  }

  /** The place of the last cell with at most this size; -1 if there is none. */
  #find(size) {
    let low = 0;
    let high = this.sizes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.sizes[middle] <= size) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  at(size) {
    const i = this.#find(size);
    return i >= 0 && this.sizes[i] === size ? this.groups[i] : 0;
  }

  atMost(size) {
    const i = this.#find(size);
    return i >= 0 ? this.upTo[i] : 0;
  }

  interval(size) {
    if (!this.lows) return null;
    const i = this.#find(size);
    return i >= 0 && this.sizes[i] === size ? [this.lows[i], this.highs[i]] : [0, 0];
  }
}
