// Small things of the document that every part of the map needs.

export const el = (...parts) => window.theodolite.el(...parts);
export const isDark = () => document.body.classList.contains("dark");
export const token = (name) => getComputedStyle(document.body).getPropertyValue(`--t-${name}`).trim();
export const ratio = () => Math.min(2, window.devicePixelRatio || 1);
export const count = (n) => n.toLocaleString("en-GB");

// A whole number as it is, any other in three digits.
export const short = (value) => (Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(3))));
export const cosine = (value) => value.toFixed(3).replace("-0.000", "0.000").replace("-", "−");

// A share of 1, as Python's `formats.percent` writes it with one decimal.
export function percent(share) {
  const points = 100 * share;
  if (points > 0 && points < 0.1) return "under 0.1 %";
  if (points > 99.9 && points < 100) return "over 99.9 %";
  return `${points.toFixed(1)} %`;
}

export const sum = (flags) => {
  let total = 0;
  for (let i = 0; i < flags.length; i++) total += flags[i];
  return total;
};

export function pressable(label, run, kind = "t-link") {
  const button = el("button", { type: "button", class: kind }, label);
  button.addEventListener("click", run);
  return button;
}
