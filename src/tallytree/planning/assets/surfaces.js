// ---- What to expect: the surfaces that were fitted (landscapes.py), read at the settings that are shown ----

/** What the noise of a scale amounts to: its mean absolute value. */
function findNoise(scale, least) {
  const ratio = Math.exp(-1 / scale);
  return Math.max((2 * ratio) / (1 - ratio * ratio), least);
}

/** What least squares leaves of the noise of each level (find_left of response_surfaces.py). */
function findLeft(noise, regions) {
  const up = noise.map((each) => each * each);
  const children = regions.map((count, level) => (level ? Math.max(1, count / regions[level - 1]) : 1));
  for (let level = up.length - 2; level >= 0; level--) {
    up[level] = 1 / (1 / up[level] + 1 / (children[level + 1] * up[level + 1]));
  }
  const left = [...up];
  for (let level = 1; level < left.length; level++) {
    left[level] -= (up[level] - left[level - 1] / children[level]) / children[level];
  }
  return left.map(Math.sqrt);
}

/** The Matern correlation of smoothness 5/2. */
function correlate(far) {
  return (1 + far + (far * far) / 3) * Math.exp(-far);
}

class Surface {
  constructor({ points, reaches, coefficients }, level, matter) {
    Object.assign(this, { points, reaches, coefficients, level, matter });
  }

  find(noise, left) {
    const own = Math.log(noise[this.level]);
    const here = [Math.log(left[this.level])];
    const { others, far } = this.matter;
    noise.forEach((each, level) => level !== this.level && here.push(others * far * Math.tanh((Math.log(each) - own) / far)));
    const squares = this.points.map((point) => point.reduce((sum, at, i) => sum + (at - here[i]) ** 2, 0));
    const terms = new Map();
    for (const reach of new Set(this.reaches)) {
      terms.set(reach, [...squares.map((square) => correlate(Math.sqrt(5 * square) / reach)), 1, ...here]);
    }
    return this.reaches.map((reach, answer) => terms.get(reach).reduce((sum, term, i) => sum + term * this.coefficients[i][answer], 0));
  }
}

class Family {
  constructor(described, facts) {
    Object.assign(this, described);
    this.facts = facts;
    this.surfaces = described.levels.map(({ smooth, rough, ...rest }, level) => ({
      smooth: new Surface(smooth, level, facts.matter),
      rough: new Surface(rough, level, facts.matter),
      ...rest,
    }));
  }

  /** What to expect at each level: its classes of regions, and the standard errors of the bars. */
  answer(protect, epsilons) {
    const { facts } = this;
    const noise = epsilons.map((epsilon, level) => findNoise(this.sensitivities[protect][level] / epsilon, facts.leastNoise));
    const left = findLeft(noise, facts.levels.map(({ regions }) => regions));
    return this.surfaces.map((surfaces, level) => this.#read(surfaces, facts.levels[level].classes.length, noise, left));
  }

  #read({ smooth, floors, rough, roughFloors, raised, bars }, count, noise, left) {
    const { columns } = this.facts;
    const found = smooth.find(noise, left);
    const loose = rough.find(noise, left).map((value, i) => Math.max(Math.exp(value + raised[i]) - roughFloors[i], 0));
    const width = found.length / count;
    const classes = Array.from({ length: count }, (_, place) => {
      const row = found.slice(place * width, (place + 1) * width);
      const sizes = floors[place].map((floor, i) => Math.max(Math.exp(row[i]) - floor, 0));
      const own = { quantiles: sizes.slice(columns.smooth.length) };
      columns.smooth.forEach((name, i) => (own[name] = sizes[i]));
      columns.signed.forEach((name, i) => (own[name] = loose[place * columns.signed.length + i]));
      columns.cells.forEach((name, i) => (own[name] = 1 / (1 + Math.exp(-row[sizes.length + i]))));
      return own;
    });
    let at = count * columns.signed.length;
    return { classes, bars: bars.map((length) => loose.slice(at, (at += length)).map(Math.sqrt)) };
  }
}

/** The share of regions whose relative error is at most this, from its quantiles. */
function shareWithin(quantiles, shares, most) {
  const above = quantiles.findIndex((value) => value > most);
  if (above < 0) return 1;
  if (above === 0) return 0;
  const [low, high] = [quantiles[above - 1], quantiles[above]];
  return shares[above - 1] + ((most - low) / (high - low)) * (shares[above] - shares[above - 1]);
}
