// What a document that stands alone does for its pieces: it gives them their values, and whoever frames it its height.
// `pieces` are their scripts by name.
theodolite.script = async () => {}; // all that is needed is in here
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.body.classList.toggle("dark", dark.matches);
follow();
dark.addEventListener("change", follow);

JSON.parse(document.getElementById("t-held").textContent).forEach(({ name, props }, number) => {
  const element = document.querySelector(`[data-piece="${number}"]`);
  pieces[name]({ element, props, trigger: () => {}, watch: () => {} });
});

document.querySelectorAll(".t-live-only").forEach((one) => one.remove());
document.querySelectorAll('a[href^="./"], button[data-press="more"]').forEach(theodolite.unlink);

document.body.classList.toggle("t-window", parent === window); // else somebody else leaves room around it
if (parent !== window) {
  const tell = () => parent.postMessage({ height: Math.ceil(document.body.getBoundingClientRect().height) }, "*");
  new ResizeObserver(tell).observe(document.body);
  tell();
}
