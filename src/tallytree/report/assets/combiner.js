// ---- Several regions together: two selections, a range of sizes, their numbers and the difference ----

const MOST_CHIPS = 200;

/** Finds regions by their paths, or by the last names of a path if these are unique. */
class RegionPaths {
  constructor(regions) {
    this.regions = regions;
  }

  find(text) {
    this.known ??= this.#list();
    const separated = text.split(/\s*[>›\t,]\s*/).join("/");
    for (const each of [text, separated, separated.replace(/^\/|\/$/g, "")]) {
      const found = this.known.get(each) ?? this.known.get(simplify(each));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Each path and each end of one, as it is written and simplified; -1 where it fits several regions. */
  #list() {
    const known = new Map();
    const note = (key, node, found) => found.set(key, found.has(key) && found.get(key) !== node ? -1 : node);
    const full = new Map();
    for (let node = 0; node < this.regions.count; node++) {
      const names = this.regions.path(node).map((each) => this.regions.name(each));
      const whole = names.join("/");
      for (const key of [whole, simplify(whole)]) note(key, node, full);
      for (let depth = 1; depth < names.length; depth++) {
        const end = names.slice(depth).join("/");
        for (const key of new Set([end, simplify(end)])) note(key, node, known);
      }
    }
    for (const [key, node] of full) known.set(key, node); // a whole path is never ambiguous with an end
    return known;
  }
}

class Combiner {
  constructor(regions) {
    this.regions = regions;
    this.paths = new RegionPaths(regions);
    this.errors = new RangeErrors(regions);
    this.chosen = { a: [], b: [] };
    this.from = 0;
    this.to = this.errors.ranges.length - 1;
    for (const slot of ["a", "b"]) {
      byId(`paste-add-${slot}`).addEventListener("click", () => this.#paste(slot));
      byId(`empty-${slot}`).addEventListener("click", () => {
        this.chosen[slot] = [];
        this.#draw(`Selection ${slot.toUpperCase()} is empty.`, slot);
        byId(`paste-${slot}`).focus();
      });
    }
    this.#offerSizes();
    byId("save-sums").addEventListener("click", () => download(`${regions.facts.file}-combined.csv`, this.#list()));
    const { replicates, kept, flags } = regions.facts.sums;
    const from = replicates < kept ? `${replicates} of the ${kept} replicates that the release keeps` : `the ${kept} replicates that the release keeps`;
    byId("sums-about").textContent = `From ${from}, as 'tallytree estimate' computes them. ${flags.about[0].toUpperCase()}${flags.about.slice(1)}.`;
    const deepest = regions.count - 1;
    for (const example of document.querySelectorAll(".example")) example.textContent = shorten(regions.path(deepest).map((node) => shorten(regions.name(node), 30)).join("/"), 70);
    byId("combiner").hidden = false;
    this.#draw();
  }

  #offerSizes() {
    const { ranges } = this.errors;
    const last = this.regions.high - this.regions.low;
    const nameEnd = (place) => `${this.regions.nameSize(this.regions.low + place)}${place === last && !this.regions.facts.classes ? " and more" : ""}`;
    byId("sum-from").append(...ranges.map(({ first }, i) => html("option", { value: i }, this.regions.nameSize(this.regions.low + first))));
    byId("sum-to").append(...ranges.map(({ end }, i) => html("option", { value: i }, nameEnd(end - 1))));
    byId("sum-to").value = this.to;
    const choose = (changed) => {
      [this.from, this.to] = [Number(byId("sum-from").value), Number(byId("sum-to").value)];
      if (this.from > this.to) this[changed === "from" ? "to" : "from"] = this[changed];
      byId("sum-from").value = this.from;
      byId("sum-to").value = this.to;
      this.#draw();
    };
    for (const end of ["from", "to"]) byId(`sum-${end}`).addEventListener("change", () => choose(end));
    const isJoined = ranges.length <= last;
    byId("sum-edges").textContent = isJoined ? "Ranges begin and end at these sizes only; 'tallytree estimate' takes any." : "";
  }

  /** Adds regions to a selection, unless they overlap with what is there; says what was done. */
  add(slot, nodes) {
    const refused = [];
    for (const node of nodes) {
      const inside = this.chosen[slot].find((each) => this.regions.path(node).includes(each));
      const around = this.chosen[slot].find((each) => this.regions.path(each).includes(node));
      if (inside === undefined && around === undefined) this.chosen[slot].push(node);
      else if (inside === node) refused.push(`${this.#name(node)} is in it already.`);
      else if (inside !== undefined) refused.push(`${this.#name(node)} is inside ${this.#name(inside)}, which is in it already.`);
      else refused.push(`${this.#name(node)} contains ${this.#name(around)}, which is in it already.`);
    }
    const added = nodes.length - refused.length;
    const what = added === 1 ? `${this.#name(this.chosen[slot].at(-1))} was` : `${showCount(added)} regions were`;
    return this.#draw([...(added ? [`${what} added to selection ${slot.toUpperCase()}.`] : []), ...refused.slice(0, 3)].join(" "), slot);
  }

  #name(node) {
    return shorten(this.regions.name(node), 60);
  }

  #paste(slot) {
    const box = byId(`paste-${slot}`);
    const lines = box.value.split(/\r?\n/).map((line) => line.trim().replace(/^"(.*)"$/, "$1")).filter(Boolean);
    const found = lines.map((line) => this.paths.find(line));
    const wrong = lines.filter((_, i) => found[i] === undefined || found[i] < 0);
    const said = wrong.slice(0, 3).map((line) => `${shorten(line, 60)}: ${this.paths.find(line) === -1 ? "several regions have this name, give its path" : "there is no such region"}.`);
    if (wrong.length > 3) said.push(`${wrong.length - 3} more were not found.`);
    box.value = wrong.join("\n"); // to be corrected
    this.add(slot, found.filter((node) => node >= 0)).then(() => said.length && this.#say(slot, `${byId(`note-${slot}`).textContent} ${said.join(" ")}`));
  }

  #say(slot, text) {
    byId(`note-${slot}`).textContent = text;
  }

  #drawList(slot) {
    const nodes = this.chosen[slot];
    const { regions } = this;
    const chips = nodes.slice(0, MOST_CHIPS).map((node) => {
      const button = html("button", { type: "button", class: "chip", "aria-label": `Remove ${this.#name(node)}` }, html("bdi", {}, shorten(regions.name(node), 40)), html("span", { class: "quiet" }, node ? ` ${shorten(regions.name(regions.parent[node]), 20)} ` : " "), html("span", { "aria-hidden": "true" }, "×"));
      button.addEventListener("click", () => {
        const place = this.chosen[slot].indexOf(node);
        this.chosen[slot].splice(place, 1);
        this.#draw(`${this.#name(node)} was removed.`, slot);
        (byId(`chosen-${slot}`).querySelectorAll("button")[Math.min(place, this.chosen[slot].length - 1)] ?? byId(`paste-${slot}`)).focus();
      });
      return html("li", {}, button);
    });
    if (nodes.length > MOST_CHIPS) chips.push(html("li", { class: "quiet" }, `and ${showCount(nodes.length - MOST_CHIPS)} more`));
    byId(`chosen-${slot}`).replaceChildren(...chips);
    byId(`chosen-${slot}`).hidden = byId(`empty-${slot}`).hidden = !nodes.length;
    byId(`count-${slot}`).textContent = nodes.length ? `${showCount(nodes.length)} ${nodes.length === 1 ? "region" : "regions"}` : "no regions yet";
  }

  /** What is shown: for each selection that has regions, and for their difference, three numbers. */
  #estimate() {
    const slots = ["a", "b"].filter((slot) => this.chosen[slot].length);
    const draws = slots.map((slot) => [slot.toUpperCase(), this.errors.select(this.chosen[slot], this.from, this.to)]);
    if (slots.length === 2) {
      const [[, one], [, other]] = draws;
      draws.push(["A − B", Object.fromEntries(Object.keys(one).map((key) => [key, subtract(one[key], other[key])]))]);
    }
    return draws.map(([name, numbers]) => [name, Object.fromEntries(Object.entries(numbers).map(([key, each]) => [key, settle(each, this.regions.facts.sums)]))]);
  }

  async #draw(said = "", slot = "a") {
    for (const each of ["a", "b"]) this.#drawList(each);
    if (said) this.#say(slot, said);
    const isEmpty = !this.chosen.a.length && !this.chosen.b.length;
    byId("sums-box").hidden = isEmpty;
    if (isEmpty) return;
    try {
      await (this.reading ??= this.errors.read());
    } catch (error) {
      this.#say(slot, "The numbers cannot be shown: the page is damaged.");
      throw error;
    }
    const { words, facts } = this.regions;
    const titles = [["groups", words.Groups], ["sum", facts.classes ? "Sum of sizes, at least" : "Sum of sizes"], ["mean", facts.sums.mean]];
    const rows = this.#estimate();
    this.rows = rows;
    byId("sums").replaceChildren(
      html("caption", {}, `${words.Groups} of size ${this.#nameRange()}, with ${facts.coverage} intervals`),
      html("thead", {}, html("tr", {}, html("td"), ...titles.map(([, title]) => html("th", { scope: "col" }, title)))),
      html("tbody", {}, ...rows.map(([name, numbers]) => html("tr", { class: name.length > 1 ? "less" : null }, html("th", { scope: "row" }, this.#head(name)), ...titles.map(([key]) => html("td", {}, ...tellEstimate(numbers[key])))))),
    );
  }

  #head(name) {
    return name.length > 1 ? name : html("span", { class: `badge badge-${name.toLowerCase()}` }, name);
  }

  #nameRange() {
    const name = (id) => byId(id).selectedOptions[0].textContent;
    const [from, to] = [name("sum-from"), name("sum-to")];
    return from === to ? from : `${from} to ${to}`;
  }

  #list() {
    const { regions } = this;
    const kept = { groups: "groups", sum: "size_sum", mean: "size_mean" };
    const rows = [["selection", "regions", "sizes", "statistic", "value", "low", "high", "coverage", "flag"]];
    const paths = (slot) => this.chosen[slot].map((node) => regions.path(node).map((each) => regions.name(each)).join("/")).join("; ");
    const named = { A: paths("a"), B: paths("b") };
    for (const [name, numbers] of this.rows) {
      for (const [key, { value, low, high, flag }] of Object.entries(numbers)) rows.push([name.replace("−", "-"), named[name] ?? "", this.#nameRange(), kept[key], value, low, high, regions.facts.coverage, flag]);
    }
    return csv(rows);
  }
}

/** An estimate as the content of a cell, with no more digits than are known. */
function tellEstimate({ value, low, high, isExact, flag }) {
  if (!Number.isFinite(value)) return [NONE];
  const [shown, ...ends] = roundToInterval(value, low, high);
  if (isExact) return [shown, html("span", { class: "interval" }, "public, exact")];
  return [shown, html("span", { class: "interval" }, tellEnds(...ends)), html("span", { class: "interval" }, flag)];
}
