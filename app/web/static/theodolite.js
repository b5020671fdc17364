// What every page shares: the address, light and dark, and fetching a library once.
// User text is only ever set with textContent.
(() => {
  if (window.theodolite) return;
  const KEY = "theodolite:theme";
  const asked = new URLSearchParams(location.search).get("__theme");

  function setTheme(theme) {
    document.body.classList.toggle("dark", theme === "dark");
  }

  // The choice made with the button stands, unless the address itself asks for a theme.
  const chosen = localStorage.getItem(KEY);
  if (chosen && !asked) setTheme(chosen);
  document.documentElement.lang = "en-GB";

  // The welcome, once closed, stays closed in this browser.
  const WELCOME = "theodolite:welcomed";
  const root = document.documentElement.classList;
  root.toggle("t-welcomed", localStorage.getItem(WELCOME) !== null);

  // Gradio gives every radio a name of its own, and a new one at every change. Under one name they are a
  // group to the browser: one stop of the Tab key, the arrow keys move the choice.
  function groupRadios(group) {
    const radios = group.querySelectorAll("input[type=radio]");
    radios.forEach((radio) => { if (radio.name !== radios[0].name) radio.name = radios[0].name; });
    const label = group.querySelector("[data-testid=block-info]")?.textContent.trim() ?? "";
    if (group.getAttribute("aria-label") === label) return;
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-label", label);
  }
  const RADIO = "input[type=radio]";
  new MutationObserver((changes) => {
    const touched = new Set();
    for (const { type, target, addedNodes } of changes) {
      const added = type === "attributes" ? [target] : [...addedNodes].filter((node) => node.nodeType === Node.ELEMENT_NODE);
      for (const node of added) {
        for (const radio of node.matches(RADIO) ? [node] : node.querySelectorAll(RADIO)) touched.add(radio.closest("fieldset"));
      }
    }
    touched.delete(null);
    touched.forEach(groupRadios);
  }).observe(document, { childList: true, subtree: true, attributeFilter: ["name"] });

  const loading = {};

  window.theodolite = {
    toggleTheme() {
      const theme = document.body.classList.contains("dark") ? "light" : "dark";
      localStorage.setItem(KEY, theme);
      setTheme(theme);
    },

    // Put a command on the clipboard, and say so on the button for a moment.
    async copy(event) {
      const button = event.currentTarget;
      await navigator.clipboard.writeText(button.parentElement.querySelector("pre").textContent);
      const said = button.textContent;
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = said), 1500);
    },

    // On a narrow screen the pages are a menu: Escape and a click elsewhere close it.
    menu(event) {
      const button = event.currentTarget;
      const open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", String(open));
      if (!open) return;
      const listening = new AbortController();
      const close = (back) => {
        button.setAttribute("aria-expanded", "false");
        listening.abort();
        if (back) button.focus();
      };
      const { signal } = listening;
      document.addEventListener("keydown", ({ key }) => key === "Escape" && close(true), { signal });
      document.addEventListener(
        "click", ({ target }) => !button.parentElement.contains(target) && close(false), { signal });
    },

    // By hand: Gradio's <base> would make of the link's "#t-main" the first page.
    skip(event) {
      event.preventDefault();
      const main = document.getElementById("t-main");
      main.tabIndex = -1;
      main.focus();
    },

    dismissWelcome() {
      localStorage.setItem(WELCOME, "1");
      root.add("t-welcomed");
    },

    // Write controls to the address. Lists repeat their name, and so may controls; empty and default
    // values are left out.
    address(names, values, defaults) {
      const url = new URL(location.href);
      names.forEach((name) => url.searchParams.delete(name));
      names.forEach((name, i) => {
        const value = values[i];
        if (JSON.stringify(value) === JSON.stringify(defaults[name])) return;
        const items = Array.isArray(value) ? value : [value];
        items
          .filter((item) => item !== null && item !== undefined && item !== "")
          .forEach((item) => url.searchParams.append(name, String(item)));
      });
      if (url.href !== location.href) history.replaceState(history.state, "", url);
    },

    // Load a script of ours once, whoever asks first.
    script(src) {
      loading[src] ??= new Promise((done, failed) => {
        const tag = document.createElement("script");
        tag.src = src;
        tag.onload = done;
        tag.onerror = () => failed(new Error(`could not load ${src}`));
        document.head.append(tag);
      });
      return loading[src];
    },

    // Make an element with text and attributes: el("td", {class: "x"}, "text", child, …).
    el(tag, attributes = {}, ...children) {
      const node = document.createElement(tag);
      for (const [name, value] of Object.entries(attributes)) {
        if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
      }
      node.append(...children.filter((child) => child !== null && child !== undefined));
      return node;
    },

    // Hand a text to the browser as a file.
    download(name, text) {
      const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
      const anchor = window.theodolite.el("a", { href: url, download: name });
      anchor.click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    },

    // Rows to CSV: the text as it is, or for spreadsheets, with an apostrophe before what one would take for a formula.
    csv(rows, spreadsheet = false) {
      const cell = (value) => {
        let text = value === null || value === undefined ? "" : String(value);
        if (spreadsheet && typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
        return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      };
      return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
    },
  };
})();
