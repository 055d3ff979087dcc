// ---- Search: a combobox over the names of all regions ----

const MOST_FOUND = 60;

function simplify(text) {
  return text.slice(0, 300).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

class Search {
  constructor(regions, chosen) {
    this.regions = regions;
    this.chosen = chosen;
    this.input = byId("query");
    this.list = byId("found");
    this.status = byId("found-status");
    this.found = [];
    this.at = -1;
    this.input.addEventListener("input", () => this.#search());
    this.input.addEventListener("focus", () => this.input.value && this.#search());
    this.input.addEventListener("blur", () => this.#close());
    this.input.addEventListener("keydown", (event) => this.#press(event));
    this.list.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the focus in the box
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.#choose(Number(option.dataset.place));
    });
  }

  #names() {
    if (!this.simple) {
      this.simple = [];
      for (let node = 0; node < this.regions.count; node++) this.simple.push(simplify(this.regions.name(node)));
    }
    return this.simple;
  }

  /** Whether each word is in the region's name or in that of a region around it, and one in its own. */
  #isNear(node, words) {
    const names = this.regions.path(node).map((each) => this.#names()[each]);
    const own = names[names.length - 1];
    return words.some((word) => own.includes(word)) && words.every((word) => names.some((name) => name.includes(word)));
  }

  /** Names that begin with what was typed first, then those with a word that does, then the others; at last
   * those that it fits together with the regions around them, such as "travis texas". */
  find(typed) {
    const wanted = simplify(typed.trim());
    if (!wanted) return { found: [], total: 0 };
    const words = wanted.split(/[\s,]+/).filter(Boolean);
    const ranks = [[], [], [], []];
    this.#names().forEach((name, node) => {
      const place = name.indexOf(wanted);
      if (place >= 0) ranks[place === 0 ? 0 : /[\s\-/,(]/.test(name[place - 1]) ? 1 : 2].push(node);
      else if (words.length > 1 && this.#isNear(node, words)) ranks[3].push(node);
    });
    const all = ranks.flat();
    return { found: all.slice(0, MOST_FOUND), total: all.length };
  }

  #search() {
    const { found, total } = this.find(this.input.value);
    this.found = found;
    this.at = -1;
    const above = (node) => shorten(this.regions.path(node).slice(0, -1).map((each) => shorten(this.regions.name(each), 40)).join(" › "), 90);
    this.list.replaceChildren(
      ...found.map((node, place) =>
        html("div", { role: "option", id: `found-${place}`, "data-place": place, "aria-selected": "false" },
          html("bdi", {}, shorten(this.regions.name(node), 80)),
          html("span", { class: "quiet small" }, shorten(this.regions.levelName(node), 40), above(node) ? " · " : "", html("bdi", {}, above(node)))),
      ),
    );
    const open = found.length > 0;
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
    this.input.removeAttribute("aria-activedescendant");
    if (!this.input.value.trim()) this.status.textContent = "";
    else if (!total) this.status.textContent = "No region has a name like that.";
    else this.status.textContent = total > found.length ? `${found.length} of ${showCount(total)} regions found: type more to narrow it down.` : `${total} ${total === 1 ? "region" : "regions"} found.`;
  }

  #press(event) {
    if (event.key === "Escape") {
      if (this.list.hidden) this.input.value = "";
      this.#close();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (this.list.hidden) this.#search();
      if (this.found.length) this.#move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      if (this.found.length && !this.list.hidden) this.#choose(Math.max(this.at, 0));
    } else return;
    event.preventDefault();
  }

  #move(step) {
    const options = this.list.children;
    if (this.at >= 0) options[this.at].setAttribute("aria-selected", "false");
    this.at = this.at < 0 ? (step > 0 ? 0 : options.length - 1) : (this.at + step + options.length) % options.length;
    options[this.at].setAttribute("aria-selected", "true");
    options[this.at].scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", options[this.at].id);
  }

  #choose(place) {
    const node = this.found[place];
    this.input.value = "";
    this.#close();
    this.chosen(node);
  }

  #close() {
    this.list.hidden = true;
    this.list.replaceChildren();
    this.found = [];
    this.at = -1;
    this.status.textContent = "";
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }
}
