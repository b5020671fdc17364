// The panel Publish: what would leave this machine with the page as it is, and then that as a ZIP.
// Every text is set as text.
const MASKS = [["none", "As they are"], ["paths", "Without paths of this machine"], ["names", "Public names only"]];
const HEADS = ["What", "Name", "About", "Licence", "Size"];

// Open the panel; it is made when it is opened first. `freezes` are the paths of pages that can be frozen.
export function open(freezes) {
  panel ??= build();
  panel(freezes);
}
let panel = null;

// Bytes as people write them.
export function size(bytes) {
  if (bytes === null || bytes === undefined) return "";
  const [unit, by] = bytes < 1e6 ? ["kB", 1e3] : ["MB", 1e6];
  return `${(bytes / by).toFixed(1)} ${unit}`;
}

// Where the page is, below the app's root, with what it asks.
export function address(here, base) {
  const path = here.pathname.slice(new URL(base).pathname.length).replace(/\/$/, "");
  return `${path || "overview"}${here.search}`;
}

function build() {
  const { el } = window.theodolite;
  const choice = (name, value, label) => el("label", {}, el("input", { type: "radio", name, value }), el("span", {}, label));
  const what = el("fieldset", {}, el("legend", {}, "What"),
    choice("t-what", "page", "This page, as it is now"), choice("t-what", "all", "All pages that have something to show"));
  const names = el("select", { "aria-label": "Names" }, ...MASKS.map(([value, label]) => el("option", { value }, label)));
  const texts = el("input", { type: "checkbox", checked: true });
  const list = el("button", { type: "submit", class: "t-button" }, "Show what will be published");
  const said = el("p", { role: "status", class: "t-publish-said" });
  const answer = el("div", { class: "t-publish-answer", tabindex: "-1" });
  const form = el("form", {}, what,
    el("label", { class: "t-publish-line" }, el("span", {}, "Names of encoders, files and data sets"), names),
    el("label", { class: "t-publish-line" }, texts, el("span", {}, "Texts of data sets may be shown")), list);
  const close = el("button", { type: "button", class: "t-link" }, "Close");
  const dialog = el("dialog", { id: "t-publish", "aria-label": "Publish" },
    el("header", {}, el("h2", {}, "Publish"), close),
    el("p", {}, "As a folder of static files that any web server shows. Nothing is sent anywhere: you get a ZIP, once you have seen what is in it."),
    form, said, answer);
  document.body.append(dialog);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  form.addEventListener("change", () => answer.replaceChildren());

  function show({ rows, zip, command }) {
    const cells = (row) => [row.kind, row.name, row.about, row.licence, size(row.bytes)];
    const table = el("table", { class: "t-table" },
      el("thead", {}, el("tr", {}, ...HEADS.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...cells(row).map((cell) => el("td", {}, el("span", { dir: "auto" }, cell ?? "")))))));
    answer.replaceChildren(
      el("div", { class: "t-scroll", role: "region", tabindex: "0", "aria-label": "What will be published" }, table),
      el("p", {}, el("a", { class: "t-button t-publish-get", href: zip, download: "" }, "Accept, and download the ZIP")),
      el("p", { class: "t-muted" }, "The same in a terminal:"), el("pre", {}, command));
    answer.focus();
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const whole = form.elements["t-what"].value === "all";
    const asked = { address: whole ? "" : address(location, document.baseURI), mask: names.value, texts: texts.checked };
    answer.replaceChildren();
    said.textContent = "Writing the files; a page takes some seconds, all of them a minute or so.";
    list.disabled = true;
    try {
      const found = await fetch(new URL("./theodolite/publish", document.baseURI), {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked),
      });
      const told = await found.json();
      said.textContent = told.error ?? "";
      if (!told.error) show(told);
    } catch {
      said.textContent = "The app did not answer. Try again.";
    }
    list.disabled = false;
  });

  return (freezes) => {
    const path = address(location, document.baseURI).split("?")[0];
    const can = freezes.includes(path);
    const [page, all] = form.elements["t-what"];
    page.disabled = !can;
    page.closest("label").title = can ? "" : "Nothing on this page can be published";
    (can ? page : all).checked = true;
    said.textContent = "";
    answer.replaceChildren();
    dialog.showModal();
  };
}
