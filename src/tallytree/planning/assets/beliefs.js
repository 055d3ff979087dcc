// ---- What is given away: exact for each epsilon ----

/** By how much the logarithm of the odds rises at most: an epsilon or, with a delta, that of a rho (beliefs.py). */
function findGain(loss, delta) {
  return delta ? loss + 2 * Math.sqrt(loss * delta.doubt) : loss;
}

/** An epsilon or a rho. */
function showLoss(loss) {
  return loss < 0.01 ? String(Number(loss.toPrecision(3))) : threeDigits.format(loss);
}

/** The most that may be believed afterwards. */
function findBelief(before, epsilon) {
  return 1 / (1 + ((1 - before) / before) * Math.exp(-epsilon));
}

/** A probability in percent, rounded up: what is the most must not be stated too small. */
function showBelief(share) {
  const percent = 100 * share;
  if (percent > 99.99) return "> 99.99\u00a0%";
  const places = percent < 10 || percent > 99 ? 1 : 0;
  const step = 10 ** (percent > 99.9 ? 2 : places);
  return `${Math.ceil(percent * step - 1e-9) / step}\u00a0%`;
}

/** Odds in words: "1 to 3". */
function showOdds(share) {
  const odds = share / (1 - share);
  const round = (value) => (value > 1e6 ? "more than a million" : value >= 100 ? whole.format(value) : threeDigits.format(Number(value.toPrecision(2))));
  return odds >= 1 ? `${round(odds)} to 1` : `1 to ${round(1 / odds)}`;
}

const SIDE = 10;

/** A hundred squares: what was believed before, and what the release may add. */
function drawBelief(before, after) {
  const squares = [];
  const [first, last] = [Math.round(100 * before), Math.ceil(100 * after - 1e-9)]; // the most is not rounded down
  for (let i = 0; i < SIDE * SIDE; i++) {
    const kind = i < first ? " before" : i < last ? " after" : "";
    squares.push(svg("rect", { x: 11 * (i % SIDE), y: 11 * Math.floor(i / SIDE), width: 9.5, height: 9.5, rx: 1.5, class: `square${kind}` }));
  }
  return svg("svg", { viewBox: `0 0 ${11 * SIDE} ${11 * SIDE}`, "aria-hidden": "true" }, ...squares);
}
