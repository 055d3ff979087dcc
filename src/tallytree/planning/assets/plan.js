// ---- The page: settings, and both sides of what follows from them ----

const NINE_OF_TEN = 1.645; // standard errors
const WITHIN = [0.01, 0.05, 0.1];
const YEARS = [1, 2, 3, 5, 10, 20];
const KIND_NAMES = { all: "all regions", small: "the smallest quarter", middle: "the middle half", large: "the largest quarter" };
const TYPICAL_NAMES = { all: "A region", small: "A small one", middle: "A typical one", large: "A large one" };

/** A typical region's groups, with the range of what may be published. */
class Expected {
  constructor(groups, errors) {
    Object.assign(this, { groups, errors });
    this.total = groups.reduce((sum, each) => sum + each, 0);
    this.lows = this.highs = true; // there are intervals
  }

  at(bar) {
    return this.groups[bar] ?? 0;
  }

  atMost(bar) {
    return this.groups.slice(0, bar + 1).reduce((sum, each) => sum + each, 0);
  }

  interval(bar) {
    const reach = NINE_OF_TEN * this.errors[bar];
    return [Math.max(0, this.at(bar) - reach), this.at(bar) + reach].map(Math.round);
  }
}

/** A number of groups that may be below one. */
function showAmount(value) {
  if (value < 0.05) return "0";
  return value < 10 ? threeDigits.format(Number(value.toPrecision(2))) : whole.format(Number(value.toPrecision(3)));
}

/** A share of regions. */
function showPart(share) {
  return share > 0.9995 ? "all" : share < 0.0005 ? "none" : `${Math.round(100 * share) || "< 1"}\u00a0%`;
}

/** A share of cells, of which so few are hardly any. */
function showRate(share) {
  return share < 5e-4 ? "0 %" : showError(share);
}

/** A share in percent, in two digits. */
function showError(share) {
  if (share < 5e-7) return "0 %";
  const percent = Number((100 * share).toPrecision(2));
  return `${percent >= 100 ? whole.format(percent) : threeDigits.format(percent)} %`;
}

class Planner {
  constructor(facts) {
    this.facts = facts;
    this.families = facts.families.map((family) => new Family(family, facts));
    this.state = { ...facts.planned, split: [...facts.planned.split], level: facts.levels.length - 1, years: 1, who: 0 };
    this.charts = new Map();
    byId("planner").hidden = false;
    this.#connect();
    this.#drawLevels();
    this.#drawParts();
    this.#settle();
  }

  #connect() {
    const { facts, state } = this;
    Object.assign(byId("epsilon"), { max: facts.epsilons.length - 1, value: state.epsilon });
    byId("least").textContent = facts.epsilons[0].text;
    byId("most").textContent = facts.epsilons.at(-1).text;
    byId("epsilon").addEventListener("input", (event) => this.#change({ epsilon: Number(event.target.value) }));
    this.pressProtect = chooseOne(byId("protect"), (protect) => this.#settle({ protect }));
    this.pressTotal = chooseOne(byId("total"), (total) => this.#settle({ total }));
    byId("mechanism").addEventListener("change", (event) => this.#change({ mechanism: event.target.value }));
    byId("who").addEventListener("change", (event) => this.#change({ who: Number(event.target.value) }));
    byId("years").addEventListener("input", (event) => {
      const years = Math.round(event.target.valueAsNumber);
      if (years >= 1) this.#change({ years: Math.min(years, 50) });
    });
    byId("split-planned").addEventListener("click", () => this.#split(facts.planned.split, "The split is as planned."));
    byId("split-even").addEventListener("click", () => this.#split(splitEvenly(facts.levels.length), "The split is even."));
    byId("split-best").addEventListener("click", () => this.#split(this.#findBest(), "The split was found for the smallest L1 error over all levels, at this epsilon."));
    byId("save").addEventListener("click", () => download("release.toml", writeSpec(facts, this.#shown()), "application/toml"));
    byId("copy-command").addEventListener("click", () => this.#copy("command"));
    byId("copy-spec").addEventListener("click", () => this.#copy("spec"));
  }

  /** Units and kinds of totals, of which not all may go together, and the mechanisms for them. */
  #settle(changes = {}) {
    const { state, facts } = this;
    Object.assign(state, changes);
    const offered = (protect, total) => this.families.filter((family) => family.total === total && family.sensitivities[protect]);
    for (const [id, at] of [["protect", (value) => [value, state.total]], ["total", (value) => [state.protect, value]]]) {
      for (const button of byId(id).querySelectorAll("button")) button.disabled = !offered(...at(button.dataset.value)).length;
    }
    this.pressProtect(state.protect);
    this.pressTotal(state.total);
    const names = offered(state.protect, state.total).map(({ mechanism }) => mechanism);
    const usual = facts.settings.defaults[`${state.protect} ${state.total}`];
    if (!names.includes(state.mechanism) || changes.protect || changes.total) state.mechanism = names.includes(usual) ? usual : names[0];
    byId("mechanism").replaceChildren(...names.map((name) => html("option", { value: name, selected: name === state.mechanism }, name)));
    state.who = 0;
    byId("who").replaceChildren(...this.family.groups[state.protect].map(({ name }, i) => html("option", { value: i }, name)));
    this.#draw();
  }

  #change(changes) {
    const { mechanism } = this.state;
    Object.assign(this.state, changes);
    if (this.state.mechanism !== mechanism) this.#settle();
    else this.#draw();
  }

  #split(split, words) {
    this.state.split = [...split];
    byId("split-status").textContent = words;
    this.#draw();
  }

  #findBest() {
    const { facts } = this;
    const score = (split) => this.#answer(split).reduce((sum, { classes }, level) => sum + facts.levels[level].regions * classes[0].l1, 0);
    return findSplit(splitEvenly(facts.levels.length), score);
  }

  #copy(id) {
    const say = (words) => (byId("copied").textContent = words);
    const select = () => {
      getSelection().selectAllChildren(byId(id));
      say("Selected: copy it with the keyboard.");
    };
    byId(id).closest("details")?.setAttribute("open", "");
    if (navigator.clipboard) navigator.clipboard.writeText(byId(id).textContent).then(() => say("Copied."), select);
    else select();
  }

  get family() {
    const { mechanism, total } = this.state;
    return this.families.find((family) => family.mechanism === mechanism && family.total === total);
  }

  get epsilon() {
    return this.facts.epsilons[this.state.epsilon];
  }

  #shown() {
    return { ...this.state, epsilon: this.epsilon.text };
  }

  #lose(split) {
    return split.map((part) => (this.epsilon.loss * part) / 100);
  }

  #answer(split) {
    return this.family.answer(this.state.protect, this.#lose(split));
  }

  #draw() {
    this.answers = this.#answer(this.state.split);
    this.#drawDial();
    this.#showParts();
    this.#drawWithin();
    this.#drawCharts();
    this.#drawErrors();
    this.#drawBeliefs();
    this.#drawSettings();
  }

  // The slider, and the two sides in a number each.

  #drawDial() {
    const { facts, state, epsilon } = this;
    byId("epsilon").value = state.epsilon;
    byId("epsilon").setAttribute("aria-valuetext", `epsilon ${epsilon.text}`);
    byId("epsilon-value").textContent = epsilon.text;
    const level = facts.levels[state.level];
    const middle = Math.max(0, level.classes.findIndex(({ name }) => name === "middle"));
    byId("buys-number").textContent = `${showError(this.answers[state.level].classes[middle].relative)} error`;
    byId("buys-words").textContent = `in a typical region (${shorten(level.name, 30)}): the counts of all sizes are off by this share of its ${facts.words.groups}`;
    const [, after] = this.#believe(0.5);
    byId("gives-number").textContent = `50\u00a0% → ${showBelief(after)}`;
    byId("gives-words").textContent = `a belief of 50 % about ${this.#who().name} may rise to that, ${facts.delta ? `but for a chance of ${facts.delta.text}` : "and no more"}`;
    const warnings = [this.#warnOfEpsilon(), this.#warnOfNoise()].filter(Boolean);
    byId("warning").hidden = !warnings.length;
    byId("warning").textContent = warnings.join(" ");
    this.#drawGoal();
  }

  #warnOfEpsilon() {
    const { facts, state } = this;
    // With Gaussian noise, what beliefs rise by is compared: its logarithm is somewhat above epsilon.
    const all = this.#gain();
    if (all < facts.largeEpsilon) return "";
    const shown = threeDigits.format(all);
    const more = all > this.#gain(1, 1) ? "in all " : "";
    return `${facts.delta ? `What may be learnt (${shown}, as an epsilon)` : `Epsilon ${shown}`} ${more}is large: it protects ${state.protect === "person" ? facts.words.people : facts.words.groups} little.`;
  }

  #warnOfNoise() {
    const { facts, state } = this;
    const reach = this.family.findReach(state.protect, this.#lose(state.split));
    if (state.total !== "public" || reach < facts.total) return "";
    return `The noise is larger than the public total: it is within ± ${showCount(Math.round(reach))} (95 %) even for the whole, which has ${showCount(facts.total)} ${facts.words.groups}. The release would be mostly noise.`;
  }

  #drawGoal() {
    const { goal, levels } = this.facts;
    byId("goal").hidden = goal.level === null;
    if (goal.level === null) return;
    const found = this.answers[goal.level].classes[0];
    const value = goal.limited === "relative" ? found.relative : found.l1 * levels[goal.level].regions;
    const shown = goal.limited === "relative" ? showError(value) : showAmount(value);
    byId("goal").textContent = `${value <= goal.limit ? "✓ The goal is met" : "✗ The goal is missed"}: ${goal.text.replace("<=", " ≤ ")}; expected ${shown} ${goal.limited === "relative" ? "in the mean of its regions" : "in all its regions together"}.`;
  }

  // The split.

  #drawParts() {
    const { levels } = this.facts;
    byId("parts").replaceChildren(
      ...levels.map(({ name }, i) => {
        const input = html("input", { type: "range", min: 1, max: Math.max(2, 101 - levels.length), step: 1, "aria-label": `Part of level ${name}`, disabled: levels.length === 1 });
        input.addEventListener("input", () => {
          byId("split-status").textContent = "";
          this.#change({ split: changePart(this.state.split, i, Number(input.value)) });
        });
        return html("div", { class: "part" }, html("span", {}, html("bdi", {}, name)), input, html("output", {}));
      }),
    );
  }

  #showParts() {
    byId("parts").querySelectorAll(".part").forEach((row, i) => {
      const part = this.state.split[i];
      row.querySelector("input").value = part;
      row.querySelector("input").setAttribute("aria-valuetext", `${part} %`);
      row.querySelector("output").textContent = `${part} %`;
    });
  }

  // What it buys.

  #drawLevels() {
    const { levels } = this.facts;
    byId("level").replaceChildren(...levels.map(({ name }, i) => html("button", { type: "button", "data-value": String(i), "aria-pressed": "false" }, html("bdi", {}, shorten(name, 40)))));
    const press = chooseOne(byId("level"), (value) => this.#change({ level: Number(value) }));
    press(String(this.state.level));
  }

  #drawWithin() {
    const { facts, state } = this;
    const { regions } = facts.levels[state.level];
    const { groups } = facts.words;
    const { quantiles } = this.answers[state.level].classes[0];
    const shares = WITHIN.map((most) => shareWithin(quantiles, facts.columns.quantiles, most));
    const words = regions === 1
      ? `There is one region; it is off by about ${showError(this.answers[state.level].classes[0].relative)} of its ${groups}.`
      : `Of ${showCount(regions)} regions, ${showPart(shares[0])} are off by at most 1\u00a0% of their ${groups}, ${showPart(shares[1])} by at most 5\u00a0%, and ${showPart(shares[2])} by at most 10\u00a0%.`;
    byId("within-words").textContent = words;
    byId("within").hidden = regions === 1;
    const steps = [shares[0], shares[1] - shares[0], shares[2] - shares[1], 1 - shares[2]];
    byId("within").replaceChildren(
      ...steps.map((share, i) => {
        const part = html("span", { class: `within-${i}` });
        part.style.width = `${100 * share}%`;
        return part;
      }),
    );
  }

  #drawCharts() {
    const { state, facts } = this;
    const { typical } = facts.levels[state.level];
    if (this.charted !== state.level) {
      this.charted = state.level;
      byId("charts").replaceChildren();
      this.charts = typical.map(({ kind, name }) => {
        const box = html("div", { class: "chart" });
        const readout = html("p", { class: "readout", "aria-hidden": "true" });
        byId("charts").append(html("figure", {}, html("h4", {}, TYPICAL_NAMES[kind], " ", html("bdi", {}, shorten(name, 60))), box, readout));
        return new Chart(box, readout);
      });
    }
    typical.forEach(({ groups, bars, kind }, i) => {
      const a = new Expected(groups, this.answers[state.level].bars[i]);
      this.charts[i].draw({ a, b: null, from: 0, to: groups.length - 1, high: null, nameSize: (bar) => bars[bar] ?? "", measure: "groups", axis: "linear", cumulative: false, words: facts.words });
    });
  }

  #drawErrors() {
    const { facts } = this;
    const isPrivate = this.state.total === "private";
    const { Groups, People } = facts.words;
    const columns = ["", `${Groups} in a region`, "Error", "L1", "EMD", `${People} off`, ...(isPrivate ? [`${Groups} off`] : []), "Spurious", "Lost"];
    const rows = facts.levels.flatMap(({ name, classes, regions }, level) =>
      classes.map((kind, i) => {
        const found = this.answers[level].classes[i];
        const title = i ? KIND_NAMES[kind.name] : `${shorten(name, 40)} (${showCount(regions)})`;
        const range = kind.least === kind.most ? compact.format(kind.least) : `${compact.format(kind.least)} to ${compact.format(kind.most)}`;
        const cells = [range, showError(found.relative), showAmount(found.l1), showAmount(found.emd), showAmount(found.size_sum), ...(isPrivate ? [showAmount(found.groups)] : []), showRate(found.spurious), showRate(found.lost)];
        return html("tr", { class: i ? "part-row" : "level" }, html("th", { scope: "row" }, i ? title : html("bdi", {}, title)), ...cells.map((cell) => html("td", {}, cell)));
      }),
    );
    byId("errors").replaceChildren(
      html("caption", {}, "Means over the regions of a level, and over those of about the same size"),
      html("thead", {}, html("tr", {}, ...columns.map((column) => (column ? html("th", { scope: "col" }, column) : html("td"))))),
      html("tbody", {}, ...rows),
    );
  }

  // What it gives away.

  #who() {
    return this.family.groups[this.state.protect][this.state.who];
  }

  /** What is lost in all, an epsilon or a rho, and the belief that it leads to at most. */
  #believe(before, years = this.state.years) {
    const loss = this.epsilon.loss * this.#who().times * years;
    return [loss, findBelief(before, findGain(loss, this.facts.delta))];
  }

  /** By how much the logarithm of the odds rises at most. */
  #gain(years = this.state.years, times = this.#who().times) {
    return findGain(this.epsilon.loss * times * years, this.facts.delta);
  }

  #drawBeliefs() {
    const { facts, state } = this;
    const { name, times } = this.#who();
    byId("gives-lead").textContent = facts.words.wonder[state.protect];
    byId("years-word").textContent = state.years === 1 ? "release" : "releases of this kind";
    const [all] = this.#believe(0.5);
    const [loss, own] = facts.delta ? ["Rho", showLoss(this.epsilon.loss)] : ["Epsilon", this.epsilon.text];
    const factors = [times !== 1 ? `${threeDigits.format(times)} for ${name}` : "", state.years > 1 ? `${state.years} releases` : ""].filter(Boolean);
    byId("composed").textContent = factors.length ? `${loss} in all: ${own} × ${factors.join(" × ")} = ${showLoss(all)}` : `${loss} in all: ${own}`;
    byId("but-for").hidden = !facts.delta;
    byId("but-for").textContent = facts.delta ? `With Gaussian noise this holds but for a chance of ${facts.delta.text} (delta). Epsilon ${this.epsilon.text} at this delta is rho ${showLoss(this.epsilon.loss)}.` : "";
    byId("beliefs").replaceChildren(
      ...facts.beliefs.map((before) => {
        const [, after] = this.#believe(before);
        return html(
          "div",
          { class: "belief" },
          drawBelief(before, after),
          html("p", {}, html("b", {}, `${Math.round(100 * before)}\u00a0% → ${showBelief(after)}`)),
          html("p", { class: "small quiet" }, `Odds of ${showOdds(before)} become ${showOdds(after)} at most.`),
        );
      }),
    );
    byId("over-years").replaceChildren(
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "Releases"), ...YEARS.map((years) => html("th", { scope: "col" }, String(years))))),
      html(
        "tbody",
        {},
        html("tr", {}, html("th", { scope: "row" }, loss), ...YEARS.map((years) => html("td", {}, showLoss(this.#believe(0.5, years)[0])))),
        html("tr", {}, html("th", { scope: "row" }, "50 % →"), ...YEARS.map((years) => html("td", {}, showBelief(this.#believe(0.5, years)[1])))),
      ),
    );
  }

  #drawSettings() {
    byId("command").textContent = writeCommand(this.facts, this.#shown());
    byId("spec").textContent = writeSpec(this.facts, this.#shown());
    byId("copied").textContent = "";
  }
}

function start() {
  byId("no-script").hidden = true;
  setUpTheme(byId("theme"));
  try {
    new Planner(readFacts());
    document.documentElement.dataset.ready = "true";
  } catch (error) {
    byId("trouble").textContent = "The page cannot be shown: this browser is too old for it, or the page is damaged.";
    byId("trouble").hidden = false;
    throw error;
  }
}

start();
