// ---- Numbers of several regions together, with intervals: what release.estimate computes, from errors in the page ----

/** The errors of replicates, for each region and range of sizes; read when first asked for (range_errors.py). */
class RangeErrors {
  constructor(regions) {
    this.regions = regions;
    const { starts } = regions.facts.sums;
    const end = regions.high - regions.low + 1;
    this.ranges = starts.map((first, i) => ({ first, end: starts[i + 1] ?? end }));
  }

  async read() {
    const { levels, facts } = this.regions;
    const buffers = await Promise.all(levels.map((_, depth) => readBytes(`errors-${depth}`)));
    this.levels = buffers.map((bytes, depth) => {
      const reader = new Reader(bytes);
      const width = levels[depth].names.length * facts.sums.replicates;
      const next = () => Float64Array.from({ length: width }, () => reader.nextSigned());
      const read = (range) => ({ groups: next(), more: range.end - range.first > 1 ? next() : null });
      return this.ranges.map((range) => ({ made: read(range), known: read(range) }));
    });
  }

  /** The sizes at a place; of a class the least. */
  sizeAt(place) {
    return this.regions.facts.classes ? this.regions.facts.classes[place].first : this.regions.low + place;
  }

  /** Groups, sum and mean of sizes of some regions, in ranges from one to another: the released numbers and the draws. */
  select(nodes, from, to) {
    const [first, end] = [this.ranges[from].first, this.ranges[to].end];
    const [groups, sum] = this.#addUp(nodes, first, end);
    const known = this.#replay(nodes, from, to, "known", [groups, sum]);
    const made = this.#replay(nodes, from, to, "made", null, known);
    const mean = (sums, counts) => (counts > 0 ? sums / counts : NaN);
    const means = ([counts, sums]) => sums.map((each, k) => mean(each, counts[k]));
    const isPublic = from === 0 && to === this.ranges.length - 1 && this.#arePublic(nodes);
    return {
      groups: { value: groups, known: known[0], made: made[0], least: 0, most: Infinity, isWhole: true, isPublic },
      sum: { value: sum, known: known[1], made: made[1], least: 0, most: Infinity, isWhole: true, isPublic: false },
      mean: { value: mean(sum, groups), known: means(known), made: means(made), least: this.sizeAt(first), most: this.sizeAt(end - 1), isWhole: false, isPublic: false },
    };
  }

  #addUp(nodes, first, end) {
    let [groups, sum] = [0, 0];
    for (const node of nodes) {
      const part = this.regions.distribution(node);
      part.sizes.forEach((size, i) => {
        const place = size - this.regions.low;
        if (place < first || place >= end) return;
        groups += part.groups[i];
        sum += part.groups[i] * this.sizeAt(place);
      });
    }
    return [groups, sum];
  }

  #replay(nodes, from, to, kind, released, begin) {
    const number = this.regions.facts.sums.replicates;
    const totals = [0, 1].map((i) => (begin ? Float64Array.from(begin[i]) : new Float64Array(number).fill(released[i])));
    for (const node of nodes) {
      const depth = this.regions.level[node];
      const start = (node - this.regions.first[depth]) * number;
      for (let range = from; range <= to; range++) {
        const { groups, more } = this.levels[depth][range][kind];
        const size = this.sizeAt(this.ranges[range].first);
        for (let k = 0; k < number; k++) {
          totals[0][k] += groups[start + k];
          totals[1][k] += groups[start + k] * size + (more ? more[start + k] : 0);
        }
      }
    }
    return totals;
  }

  /** Whether the number of groups is public: the regions are at a public level, or make up regions that are. */
  #arePublic(nodes) {
    const { children, level, facts } = this.regions;
    const selected = new Set(nodes);
    const isWhole = (node) => selected.has(node) || (children[node].length > 0 && children[node].every(isWhole));
    return nodes.every((node) => this.regions.path(node).some((each) => level[each] <= facts.public && isWhole(each)));
  }
}

/** The difference of two numbers, in the release and in each replicate. */
function subtract(one, other) {
  const minus = (a, b) => a.map((each, k) => each - b[k]);
  return {
    value: one.value - other.value, known: minus(one.known, other.known), made: minus(one.made, other.made),
    least: one.least - other.most, most: one.most - other.least,
    isWhole: one.isWhole && other.isWhole, isPublic: one.isPublic && other.isPublic,
  };
}

/** The number at a place, perhaps between two, of some that are in order. */
function pick(ordered, rank) {
  const [low, high] = [ordered[Math.floor(rank)], ordered[Math.ceil(rank)]];
  return low + (rank - Math.floor(rank)) * (high - low);
}

/** A number with its interval, as in likely_ranges.py: less of its bias what exceeds the spread of the errors, and to nearly all errors where they are all or nothing. */
function settle({ value, known, made, least, most, isWhole, isPublic }, { fewest, rounding, reaches, ranks, lumpy, flags }) {
  // No groups of these sizes were released, which does not say that there are none.
  if (!Number.isFinite(value)) return { value, low: least, high: most, isExact: false, flag: "" };
  const errors = Array.from(made, (each, k) => each - known[k]).filter(Number.isFinite);
  let [low, high] = [least, most];
  if (isPublic) [low, high] = [value, value];
  else if (errors.length >= fewest) {
    const bias = errors.reduce((sum, each) => sum + each, 0) / errors.length;
    const squares = errors.reduce((sum, each) => sum + (each - bias) ** 2, 0);
    const variance = squares / (errors.length - 1);
    const taken = bias ** 2 > variance ? bias - variance / bias : 0;
    const left = Math.sqrt(variance + (bias - taken) ** 2);
    const distances = errors.map((each) => Math.abs(each - taken)).sort((a, b) => a - b);
    let reach = reaches[errors.length - fewest] * left;
    if (pick(distances, (errors.length - 1) / 2) < lumpy * left) reach = Math.max(reach, pick(distances, ranks[errors.length - fewest]));
    [low, high] = [value - taken - reach, value - taken + reach];
    if (isWhole) [low, high] = [Math.floor(low + rounding), Math.ceil(high - rounding)];
    [low, high] = [low, high].map((end) => Math.min(Math.max(end, least), most));
  }
  const reach = Math.max(high - value, value - low);
  const error = reach === 0 ? 0 : reach / Math.abs(value);
  return { value, low, high, isExact: isPublic, flag: error <= flags.good ? "good" : error <= flags.care ? "use with care" : "mostly noise" };
}
