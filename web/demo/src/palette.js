// The colours of the page's style sheet, for what is drawn on canvases.

const NAMES = ["paper", "ink", "dim", "line", "asked", "retry", "found", "missing", "failed", "late", "mark", "shade", "land"];

/** Reads them again when the visitor's scheme changes. */
export function followPalette(onChange) {
  const read = () => {
    const style = getComputedStyle(document.documentElement);
    onChange(Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])));
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", read);
  read();
}
