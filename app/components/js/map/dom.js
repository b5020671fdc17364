// Small things of the document that every part of the map needs.

export const el = (...parts) => window.theodolite.el(...parts);
export const isDark = () => document.body.classList.contains("dark");
export const token = (name) => getComputedStyle(document.body).getPropertyValue(`--t-${name}`).trim();
export const ratio = () => Math.min(2, window.devicePixelRatio || 1);
export const count = (n) => n.toLocaleString("en-GB");

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
