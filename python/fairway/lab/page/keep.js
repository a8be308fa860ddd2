// What outlasts a reload, where the browser keeps anything for this page.

const PREFIX = "fairway-lab-";

/** A kept value, or another if there is none. */
export function kept(name, otherwise) {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** Keeps a value; without storage it lasts as long as the page. */
export function keep(name, value) {
  try { localStorage.setItem(PREFIX + name, JSON.stringify(value)); } catch { /* closed or full */ }
}
