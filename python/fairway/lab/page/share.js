// An experiment in a link: compressed, in the part of the address that no server sees.

const NAME = "x";
// Limits in characters: no experiment needs more.
const MOST_LINK = 100_000;
const MOST_TEXT = 500_000;

/** The text as the end of a link. */
export async function fragment(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const made = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const found = `#${NAME}=${btoa(made).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
  if (found.length > MOST_LINK) { throw new Error("the experiment is too long for a link; save it as a file"); }
  return found;
}

/** Whether the end of an address holds an experiment. */
export function isLink(hash) { return hash.startsWith(`#${NAME}=`); }

/** The text in the end of a link. Fails on one that is broken or too long. */
export async function unpacked(hash) {
  if (hash.length > MOST_LINK) { throw new Error(`it has more than ${MOST_LINK.toLocaleString("en")} characters`); }
  let bytes;
  try {
    const made = atob(hash.slice(NAME.length + 2).replaceAll("-", "+").replaceAll("_", "/"));
    bytes = Uint8Array.from(made, (one) => one.charCodeAt(0));
  } catch {
    throw new Error("it is cut or changed");
  }
  return inflated(bytes);
}

async function inflated(bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
      text += decoder.decode(part.value ?? new Uint8Array(), { stream: !part.done });
    } catch {
      throw new Error("it is cut or changed");
    }
    if (text.length > MOST_TEXT) {
      await reader.cancel().catch(() => {});
      throw new Error(`its text has more than ${MOST_TEXT.toLocaleString("en")} characters`);
    }
    if (part.done) { return text; }
  }
}

/** The text of an opened file. */
export async function fromFile(file) {
  if (file.size > MOST_TEXT) { throw new Error(`${file.name}: larger than ${MOST_TEXT.toLocaleString("en")} bytes, which is too large for an experiment file`); }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name}: not text in UTF-8`);
  }
}
