// Elements of the page, made without any HTML text.

/** The element of that id. */
export const byId = (id) => document.getElementById(id);

/** A new element: properties, `data-` and `aria-` attributes, and children; text stays text. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined) { continue; }
    if (name.startsWith("on")) { element.addEventListener(name.slice(2), value); }
    else if (name in element && !name.includes("-")) { element[name] = value; }
    else { element.setAttribute(name, value); }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A button with its words and what it does. */
export function button(words, onclick, more = {}) {
  return make("button", { type: "button", onclick, ...more }, words);
}

/** Saves content as a file. */
export function save(name, content, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A name for a file, of a title. */
export function fileName(title, ending) {
  const stem = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  return (stem || "experiment") + ending;
}

/** Calls a function once its calls have paused for so many milliseconds; `stop()` drops a pending call. */
export function debounced(milliseconds, call) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), milliseconds);
  };
  later.stop = () => clearTimeout(timer);
  return later;
}
