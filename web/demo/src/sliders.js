// The settings as sliders; what covers several sizes goes by steps that grow.

const SLIDERS = [
  ["rate", "records", [1, 2, 5, 10, 20, 40, 60, 100, 200, 500, 1_000, 2_000, 5_000], (value) => `${value} a second`],
  ["latency", "a lookup takes", [1, 5, 20, 50, 100, 200, 400, 600, 1_000, 2_000, 3_000], (value) => `${value} ms`],
  ["spread", "of which differs", [0, 20, 40, 60, 80, 100], (value) => `${value} %`],
  ["failures", "lookups that fail", [0, 1, 2, 5, 10, 20, 50], (value) => `${value} %`],
  ["attempts", "attempts at most", [1, 2, 3, 4, 5, 9], String],
  ["timeout", "timeout", [500, 1_000, 2_000, 4_000, 10_000, 0], (value) => (value === 0 ? "none" : `${value} ms`)],
  ["capacity", "capacity", [4, 10, 20, 40, 60, 100, 200, 500, 1_000], String],
  ["watermarks", "a watermark after", [5, 10, 20, 50, 100, 0], (value) => (value === 0 ? "none" : `${value} records`)],
];

/** Builds them into `place`; `onChange` has a setting's name once its value is in `settings`. */
export function buildSliders(place, settings, onChange) {
  for (const [name, label, values, write] of SLIDERS) {
    // A value of the page's address may stand between the steps.
    const steps = values.includes(settings[name]) ? values : [...values, settings[name]].sort((a, b) => a - b);
    const line = document.createElement("label");
    line.className = "slider";
    const input = document.createElement("input");
    const output = document.createElement("output");
    Object.assign(input, { type: "range", name, min: 0, max: steps.length - 1, step: 1, value: steps.indexOf(settings[name]) });
    const show = () => {
      output.textContent = write(settings[name]);
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => {
      settings[name] = steps[input.valueAsNumber];
      show();
      onChange(name);
    });
    show();
    // The slider comes first, since a label is for the first thing in it that can have one.
    line.append(document.createTextNode(label), input, output);
    place.append(line);
  }
}
