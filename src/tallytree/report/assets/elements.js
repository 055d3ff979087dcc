// ---- Elements of the page. Data become text and attributes, never markup. ----

/** What a page knows when it opens. */
function readFacts() {
  return JSON.parse(document.getElementById("facts").textContent);
}

const SVG = "http://www.w3.org/2000/svg";

function byId(id) {
  return document.getElementById(id);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null)); // append makes text of strings
  return element;
}

function html(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** A group of buttons of which one is pressed. */
function chooseOne(group, chosen) {
  const buttons = Array.from(group.querySelectorAll("button"));
  const press = (value) => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String((button.dataset.value ?? button.dataset.view) === value));
    }
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const value = button.dataset.value ?? button.dataset.view;
      press(value);
      chosen(value);
    });
  }
  return press;
}

function setUpTheme(button) {
  const themes = ["system", "light", "dark"];
  const names = { system: "as the system", light: "light", dark: "dark" };
  let theme = "system";
  try {
    theme = themes.includes(localStorage.getItem("tallytree-theme")) ? localStorage.getItem("tallytree-theme") : theme;
  } catch {
    // Not every browser lets a file remember something.
  }
  const apply = () => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${names[theme]}`;
  };
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try {
      localStorage.setItem("tallytree-theme", theme);
    } catch {
      // As above.
    }
    apply();
  });
  button.hidden = false;
  apply();
}

/** Saves a file. */
function download(name, text, kind = "text/csv") {
  const address = URL.createObjectURL(new Blob([text], { type: `${kind};charset=utf-8` }));
  const link = html("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
