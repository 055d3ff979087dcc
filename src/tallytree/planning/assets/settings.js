// ---- The settings that are shown, as a release.toml and as a command (release_settings.py) ----

function writeSpec({ settings }, { protect, total, mechanism, epsilon, split }) {
  return [
    ...settings.head,
    `protect = "${protect}"`,
    `total = "${total}"`,
    `epsilon = "${epsilon}"`,
    `mechanism = "${mechanism}"`,
    ...settings.public,
    ...(protect === "person" ? settings.bounds : []),
    "",
    "[budget]",
    ...settings.levels.map((level, i) => `${level} = ${split[i]}`),
    "",
  ].join("\n");
}

function writeCommand({ settings }, { protect, total, mechanism, epsilon, split }) {
  if (!settings.budget) return "tallytree release --spec release.toml";
  const bounds = protect === "person" && settings.commandBounds ? ` ${settings.commandBounds}` : "";
  const budget = settings.budget.map((level, i) => `${level}=${split[i]}`).join(",");
  return `${settings.command} --protect ${protect} --total ${total} --epsilon ${epsilon} --mechanism ${mechanism}${bounds} --budget ${budget}`;
}

/** As even as whole percents allow; the last levels get the remainder. */
function splitEvenly(levels) {
  const over = 100 % levels;
  return Array.from({ length: levels }, (_, i) => Math.floor(100 / levels) + (i >= levels - over ? 1 : 0));
}

/** A split with one part changed; the others keep their proportions. */
function changePart(split, place, part) {
  const rest = split.reduce((sum, each, i) => sum + (i === place ? 0 : each), 0);
  const most = 100 - (split.length - 1);
  const own = Math.min(Math.max(part, 1), most);
  if (split.length === 1) return [100];
  const others = split.filter((_, i) => i !== place).map((each) => each / rest);
  const free = 100 - own - others.length; // beyond the one percent that each has
  const shares = others.map((share) => share * free);
  const whole = shares.map(Math.floor);
  const order = shares.map((share, i) => [share - whole[i], i]).sort((a, b) => b[0] - a[0]);
  for (let i = 0, left = free - whole.reduce((a, b) => a + b, 0); i < left; i++) whole[order[i][1]]++;
  const found = whole.map((each) => each + 1);
  found.splice(place, 0, own);
  return found;
}

/** The split with a small score, by moving percents from level to level (find_split of advice.py). */
function findSplit(start, score) {
  let best = [...start];
  let least = score(best);
  for (let step = 25; step >= 1; ) {
    let better = null;
    for (let from = 0; from < best.length; from++) {
      for (let to = 0; to < best.length; to++) {
        if (from === to || best[from] <= step) continue;
        const moved = best.map((part, i) => part + step * ((i === to) - (i === from)));
        const found = score(moved);
        if (found < least) [least, better] = [found, moved];
      }
    }
    if (better) best = better;
    else step = Math.floor(step / 2);
  }
  return best;
}
