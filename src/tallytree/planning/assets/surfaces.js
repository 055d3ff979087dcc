// ---- What to expect: the surfaces that were fitted (landscapes.py), read at the settings that are shown ----

/** The variance of noise of a scale: two-sided geometric, or discrete Gaussian (find_variances of response_surfaces.py). */
function findVariance(scale, { least, large, terms, isGaussian }) {
  if (!isGaussian) {
    const ratio = Math.exp(-1 / scale);
    return Math.max((2 * ratio) / (1 - ratio) ** 2, least);
  }
  if (scale >= large) return scale ** 2;
  let [all, squares] = [1, 0];
  for (let k = 1; k <= terms; k++) {
    const weight = 2 * Math.exp((-k * k) / (2 * scale ** 2));
    all += weight;
    squares += weight * k * k;
  }
  return Math.max(squares / all, least);
}

/** The variance that least squares leaves of the noise of each level (find_left of response_surfaces.py). */
function findLeft(variances, scales, regions, least) {
  const ofDifferences = regions.map((here, level) => {
    let [squares, sum] = [0, 0];
    for (let below = level; below < regions.length; below++) {
      const times = regions[below] / here;
      const weight = 1 / (scales[below] ** 2 * times);
      squares += weight ** 2 * variances[below] * times;
      sum += weight;
    }
    return squares / sum ** 2;
  });
  return regions.map((here, level) => {
    let left = 0;
    for (let above = 0; above <= level; above++) {
      const free = above ? Math.max(1 - regions[above - 1] / regions[above], 0) : 1;
      left += free * ofDifferences[above] * (regions[above] / here) ** 2;
    }
    return Math.max(left, least);
  });
}

/** A setting as the surfaces see it: its scales, and what is left of their noise, in logarithms. */
function describeSetting(scales, regions, law) {
  const left = findLeft(scales.map((scale) => findVariance(scale, law)), scales, regions, law.least);
  return { scales: scales.map(Math.log), left: left.map((variance) => Math.log(variance / Math.sqrt(1 + 2 * variance))) };
}

/** The Matern correlation of smoothness 5/2. */
function correlate(far) {
  return (1 + far + (far * far) / 3) * Math.exp(-far);
}

class Surface {
  constructor({ points, kinds, reaches, coefficients }, level, far) {
    Object.assign(this, { points, kinds, reaches, coefficients, level, far });
  }

  find({ scales, left }) {
    const last = Math.min(scales.at(-1), scales[this.level] + this.far);
    const here = scales.map((scale, level) => (level < scales.length - 1 ? Math.max(scale, last - this.far) : last));
    const terms = this.reaches.map((reaches) => [
      ...this.points.map((point) => correlate(Math.sqrt(5 * point.reduce((sum, at, i) => sum + ((at - here[i]) / reaches[i]) ** 2, 0)))),
      1,
      left[this.level],
      left[this.level] ** 2,
    ]);
    return this.kinds.map((kind, answer) => terms[kind].reduce((sum, term, i) => sum + term * this.coefficients[i][answer], 0));
  }
}

class Family {
  constructor(described, facts) {
    Object.assign(this, described);
    this.facts = facts;
    this.surfaces = described.levels.map(({ smooth, rough, ...rest }, level) => ({
      smooth: new Surface(smooth, level, facts.noise.far),
      rough: new Surface(rough, level, facts.noise.far),
      ...rest,
    }));
  }

  /** What to expect at each level: its classes of regions, and the standard errors of the bars. */
  answer(protect, losses) {
    const { facts } = this;
    const setting = describeSetting(this.#scale(protect, losses), facts.levels.map(({ regions }) => regions), facts.noise);
    return this.surfaces.map((surfaces, level) => this.#read(surfaces, facts.levels[level].classes.length, setting));
  }

  /** Within what the noise of the whole is, with a probability of 95 % (warn_of_noise of usefulness.py). */
  findReach(protect, losses) {
    const { noise, levels } = this.facts;
    const weights = this.#scale(protect, losses).map((scale, level) => 1 / (levels[level].regions * findVariance(scale, noise)));
    return noise.within / Math.sqrt(weights.reduce((sum, weight) => sum + weight, 0));
  }

  #scale(protect, losses) {
    return losses.map((loss, level) => {
      const ratio = this.sensitivities[protect][level] / loss;
      return this.facts.noise.isGaussian ? Math.sqrt(ratio / 2) : ratio;
    });
  }

  #read({ smooth, floors, rough, roughFloors, raised, bars }, count, setting) {
    const { columns } = this.facts;
    const found = smooth.find(setting);
    const loose = rough.find(setting).map((value, i) => Math.max(Math.exp(value + raised[i]) - roughFloors[i], 0));
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
