// What every page shares beside pieces.js and queue.js: the rail, the address, light and dark.
// User text is only ever set with textContent.
(() => {
  const { theodolite } = window;
  if (theodolite.address) return;
  const KEY = "theodolite:theme";
  let asked = new URLSearchParams(location.search).get("__theme");

  function setTheme(theme) {
    document.body.classList.toggle("dark", theme === "dark");
  }

  // The choice made with the button stands, unless the address itself asks for a theme. Gradio sets the
  // system's when it has loaded.
  const chosen = () => asked ?? localStorage.getItem(KEY);
  setTheme(chosen() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  new MutationObserver(() => chosen() && setTheme(chosen())).observe(document.body, { attributeFilter: ["class"] });
  document.documentElement.lang = "en-GB";

  // The rail of pages: here before the page is, so that nothing moves. On a narrow window it is folded
  // until somebody unfolds it.
  const frame = JSON.parse(document.getElementById("t-frame").textContent);
  const RAIL = "theodolite:rail";
  const narrow = matchMedia("(max-width: 1100px)");
  function fold() {
    const kept = localStorage.getItem(RAIL);
    const folded = kept ? kept === "folded" : narrow.matches;
    root.toggle("t-folded", folded);
    const button = document.querySelector(".t-fold-rail");
    const words = folded ? "Unfold the list of pages" : "Fold the list of pages to icons";
    button.setAttribute("aria-expanded", String(!folded));
    button.setAttribute("aria-label", words);
    button.title = words;
  }
  // How much runs, beside Jobs: looked at more often while something does, never in a hidden tab.
  const OFTEN = 3000, SELDOM = 15000;
  async function countJobs() {
    let wait = SELDOM;
    if (!document.hidden) {
      const answer = await fetch(new URL("./theodolite/live.json", document.baseURI)).catch(() => null);
      if (answer?.ok) wait = showJobs(await answer.json()) ? OFTEN : SELDOM;
    }
    setTimeout(countJobs, wait);
  }
  function showJobs({ running, queued, share }) {
    const mark = document.querySelector(".t-live");
    const live = running + queued;
    mark.hidden = !live;
    mark.dataset.count = live;
    mark.title = `${running} running, ${queued} waiting`;
    mark.firstChild.style.width = `${Math.round(100 * share)}%`;
    return live > 0;
  }

  // Gradio writes the app's name there when it has laid out the page.
  function keepTitle(title) {
    const write = () => { if (document.title !== title) document.title = title; };
    write();
    new MutationObserver(write).observe(document.head, { childList: true, characterData: true, subtree: true });
  }
  function drawRail() {
    const { rail, titles } = frame;
    document.body.insertAdjacentHTML("afterbegin", rail);
    const path = location.pathname.replace(/\/(index\.html)?$/, "").slice(new URL(document.baseURI).pathname.replace(/\/$/, "").length + 1);
    const title = titles[path] ?? "";
    keepTitle(title ? `${title} · Theodolite` : "Theodolite");
    // Of modules that ask for each other: all at once, before Gradio's scripts have come as far.
    const early = (frame.early?.[path] ?? []).map((name) => `<link rel="modulepreload" href="${frame.modules}${name}">`);
    document.head.insertAdjacentHTML("beforeend", early.join(""));
    document.querySelector(".t-here").textContent = title;
    for (const link of document.querySelectorAll("#t-rail [data-paths]")) {
      const paths = JSON.parse(link.dataset.paths);
      link.title = link.textContent;
      if (paths.includes(path)) link.setAttribute("aria-current", paths.length > 1 ? "true" : "page");
    }
    fold();
    narrow.addEventListener("change", fold);
    if (!frame.modules) return; // frozen: nothing runs, and there is nowhere to jump to
    if (/Mac|iPhone|iPad/.test(navigator.userAgent)) document.querySelector(".t-jump kbd").textContent = "⌘K";
    setTimeout(countJobs, 500);
    addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      theodolite.jump();
    });
  }

  // Numbers from the first limit to the second; texts of so many lines, and so many characters in each.
  function within(value, least, most) {
    if (typeof value !== "string") return value >= (least ?? value) && value <= (most ?? value);
    const lines = value.split("\n").map((line) => [...line.trim()].length).filter(Boolean);
    return lines.length <= least && Math.max(0, ...lines) <= most;
  }

  const root = document.documentElement.classList;
  if (!window.gradio_config?.auth_required) drawRail(); // else this is the form for the login

  // Visitors are not sent where they can do nothing: to begin a run, to train, to add something.
  function unlinkClosed(link) {
    const { pathname, search } = new URL(link.href);
    const whole = frame.closed[pathname.split("/").at(-1)];
    if ((whole || (whole === false && !search)) && !link.closest(".t-tabs")) theodolite.unlink(link);
  }
  if (frame.closed) addEventListener("DOMContentLoaded", () => theodolite.forEvery('#t-main a[href^="./"]', unlinkClosed));

  // A published page from a disk: there a browser refuses the module that fills it, and the files with its answers.
  function sayWhere() {
    document.getElementById("answer").innerHTML = `<div class="t-notice t-warn">
      <p>This page needs a web server: from a disk, a browser does not show what is in it.</p>
      <p>Put the folder on any, or run <code>python -m http.server</code> in it and open <code>http://localhost:8000</code>.</p></div>`;
  }
  if (location.protocol === "file:") addEventListener("DOMContentLoaded", sayWhere);

  // Gradio's spinner counts its seconds at every frame, and goes on when it is taken off the page: a
  // twentieth of a core in each open tab. Twice a second will do.
  const nextFrame = window.requestAnimationFrame.bind(window);
  const counts = (draw) => draw.length === 0 && /performance\.now\(\)[^;]*1e3/.test(draw);
  window.requestAnimationFrame = (draw) => (counts(draw) ? setTimeout(draw, 500) : nextFrame(draw));

  // What other pages need, components, charts and maps: once in a tab, when its first page has come to rest.
  const FETCHED = "theodolite:fetched";
  function fetchLater() {
    if (navigator.connection?.saveData || sessionStorage.getItem(FETCHED)) return;
    sessionStorage.setItem(FETCHED, "yes");
    for (const href of frame.later ?? []) {
      document.head.append(Object.assign(document.createElement("link"), { rel: "prefetch", href }));
    }
  }
  addEventListener("load", () => setTimeout(() => (window.requestIdleCallback ?? setTimeout)(fetchLater), 3000));

  // The largest script there is, where a chart will be: fetched while Gradio lays the page out.
  const drawing = window.gradio_config?.components?.find(({ props }) => props?.props?.plotly);
  if (drawing) {
    const link = document.createElement("link");
    document.head.append(Object.assign(link, { rel: "preload", as: "script", href: drawing.props.props.plotly }));
  }

  // Reading it takes half a second at first, and a tenth once the browser keeps what it compiled: then
  // while the server works on the page's first answer.
  const COMPILED = "theodolite:compiled";
  const plotly = drawing?.props.props.plotly;
  addEventListener("pagehide", () => window.Plotly && plotly && localStorage.setItem(COMPILED, plotly));
  theodolite.taken = () => plotly && localStorage.getItem(COMPILED) === plotly && theodolite.script(plotly);

  // A form that is filled changes many controls at the same moment, and each would ask the server. All of
  // them get the same number, a new one when none has changed for a moment.
  let settling = null, settle, resting, rests = 0;
  theodolite.settled = () => {
    settling ??= new Promise((resolve) => { settle = resolve; });
    clearTimeout(resting);
    resting = setTimeout(() => {
      settling = null;
      settle(String(++rests));
    }, 50);
    return settling;
  };

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

  // Gradio's dropdown opens its list when it is focused and has the page answer when it is left, even if
  // Tab only passes: it hears of the focus once something is done there. It would also open its list at
  // any key, Tab too, half a moment later; and the list is a stop of the Tab key, since it can be scrolled.
  let tabbing = false, passed = null;
  const isDropdown = (node) => node.matches?.(".gradio-container [role=combobox]");
  function arrive() {
    const box = passed;
    passed = null;
    box.dispatchEvent(new FocusEvent("focus"));
  }
  addEventListener("keydown", (event) => {
    const { key, target } = event;
    tabbing = key === "Tab";
    if (!isDropdown(target)) return;
    if (tabbing || key === "Shift") {
      event.stopPropagation();
      document.getElementById(target.getAttribute("aria-controls"))?.setAttribute("tabindex", "-1");
    } else if (target === passed && !["Escape", "Control", "Alt", "Meta"].includes(key)) {
      arrive();
    }
  }, true);
  addEventListener("pointerdown", ({ target }) => {
    tabbing = false;
    if (target === passed) arrive();
  }, true);
  addEventListener("focus", (event) => {
    if (!tabbing || !isDropdown(event.target)) return;
    passed = event.target;
    event.stopPropagation();
  }, true);
  addEventListener("blur", (event) => {
    if (event.target !== passed) return;
    passed = null;
    event.stopPropagation();
  }, true);

  // Gradio calls the button that takes a chosen name away "Remove 0", by its place.
  for (const arrival of ["pointerover", "focusin"]) {
    addEventListener(arrival, ({ target }) => {
      const chip = target.closest?.(".token > .token-remove");
      if (chip) chip.title = `Remove ${chip.parentElement.textContent.trim()}`;
    });
  }

  Object.assign(theodolite, {
    toggleTheme() {
      const theme = document.body.classList.contains("dark") ? "light" : "dark";
      localStorage.setItem(KEY, theme);
      asked = null;
      setTheme(theme);
    },

    // Put a command on the clipboard, and say so on the button for a moment.
    async copy(button) {
      await navigator.clipboard.writeText(button.parentElement.querySelector("pre").textContent);
      const said = button.textContent;
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = said), 1500);
    },

    // On a phone the rail is a sheet: Escape and a press elsewhere close it.
    rail(button) {
      const sheet = document.getElementById("t-rail");
      const listening = new AbortController();
      const show = (on) => {
        button.setAttribute("aria-expanded", String(on));
        sheet.classList.toggle("t-open", on);
      };
      const close = (back) => {
        listening.abort();
        show(false);
        if (back) button.focus();
      };
      show(true);
      (sheet.querySelector("[aria-current]") ?? sheet.querySelector("a")).focus();
      const { signal } = listening;
      document.addEventListener("keydown", ({ key }) => key === "Escape" && close(true), { signal });
      document.addEventListener("pointerdown", ({ target }) => !sheet.contains(target) && close(false), { signal });
    },

    // Open the palette, or close it.
    async jump() {
      const palette = await import(new URL(`${frame.modules}palette.js`, document.baseURI).href);
      await palette.open();
    },

    // Open the panel that freezes the page as it is.
    async publish() {
      const panel = await import(new URL(`${frame.modules}publish.js`, document.baseURI).href);
      panel.open(frame.freezes);
    },

    // Narrow the rail to its icons, or widen it; remembered.
    fold() {
      const folded = !root.contains("t-folded");
      localStorage.setItem(RAIL, folded ? "folded" : "open");
      fold();
    },

    // Open or close the panel of a page's remaining controls. Beside a wide page it stays until it is
    // closed; over a narrow one a click elsewhere closes it too.
    more(pressed) {
      const id = pressed.dataset.of ?? pressed.getAttribute("aria-controls");
      const button = document.querySelector(`.t-more-button[aria-controls="${id}"]`);
      const panel = document.getElementById(id);
      panel.closing?.();
      const open = button.getAttribute("aria-expanded") !== "true";
      const listening = new AbortController();
      const show = (on) => {
        button.setAttribute("aria-expanded", String(on));
        panel.classList.toggle("t-open", on);
        root.toggle("t-rest-open", on);
      };
      const close = (back) => {
        listening.abort();
        panel.closing = null;
        show(false);
        if (back) button.focus();
      };
      if (!open) return close(true);
      show(true);
      panel.closing = () => listening.abort();
      const { signal } = listening;
      document.addEventListener("keydown", ({ key, target }) => {
        // A list that is open in the panel takes its own Escape.
        if (key === "Escape" && target.getAttribute?.("aria-expanded") !== "true") close(true);
      }, { signal });
      document.addEventListener("pointerdown", ({ target }) => {
        const outside = !panel.contains(target) && !button.contains(target);
        if (outside && matchMedia("(max-width: 720px)").matches) close(false);
      }, { signal });
    },

    // By hand: Gradio's <base> would make of the link's "#t-main" the first page.
    skip(link, event) {
      event.preventDefault();
      const main = document.getElementById("t-main");
      main.tabIndex = -1;
      main.focus();
    },

    // Do something with all that a selector names, with what is to come too.
    forEvery(selector, act) {
      const all = (node) => [...(node.matches(selector) ? [node] : []), ...node.querySelectorAll(selector)];
      all(document.body).forEach(act);
      new MutationObserver((changes) => {
        for (const { addedNodes } of changes) for (const node of addedNodes) if (node.matches) all(node).forEach(act);
      }).observe(document.body, { childList: true, subtree: true });
    },

    // Tabs of pages that are one: the question goes along to another page, but not what is seen of a map.
    tabs(element) {
      element.addEventListener("click", (event) => {
        const link = event.target.closest("a");
        if (!link) return;
        if (link.pathname === location.pathname && !event.ctrlKey && !event.metaKey) {
          event.preventDefault();
          return;
        }
        const query = new URLSearchParams(location.search);
        ["view", "run"].forEach((key) => query.delete(key));
        link.search = query; // the browser follows it
      });
    },

    // What was opened is seen, and read on from by keyboard; where it was closed, the page is.
    reach(place) {
      const opened = document.querySelector(place), { activeElement, body } = document;
      const next = opened?.contains(activeElement) ? null : opened ?? (activeElement === body && document.querySelector("#t-main"));
      if (next) {
        next.tabIndex = -1;
        next.focus({ preventScroll: true });
      }
      opened?.scrollIntoView();
    },

    // Show the rows of a part's tables that have all words, and hide the sections without such rows; the part after it says where
    // there is none.
    narrow(place, words) {
      const part = document.querySelector(place);
      const wanted = (words ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      // Two letters are those that a word begins with: of a language, and not of the middle of any word.
      const has = (text, word) => (word.length > 2 ? text.includes(word) : ` ${text}`.replace(/[^\p{L}\p{N}]/gu, " ").includes(` ${word}`));
      const rows = [...part.querySelectorAll("tbody tr")];
      rows.forEach((row) => { row.hidden = !wanted.every((word) => has(row.textContent.toLowerCase(), word)); });
      for (const one of part.querySelectorAll("section")) {
        one.hidden = Boolean(one.querySelector("tbody tr") && !one.querySelector("tbody tr:not([hidden])"));
      }
      document.querySelector(`${place}-none`).hidden = !wanted.length || rows.some((row) => !row.hidden);
    },

    // Write controls to the address. Lists repeat their name, and so may controls; left out are empty (or
    // white space) and default values, and what is not within the limits, which the page refuses. What opens another
    // place is a step of the browser's history, but for what the page opens before anybody does something.
    address(names, values, defaults = {}, { step = false, limits = {}, opens = [] } = {}) {
      const url = new URL(location.href);
      names.forEach((name) => url.searchParams.delete(name));
      names.forEach((name, i) => {
        const value = values[i];
        if (JSON.stringify(value) === JSON.stringify(defaults[name])) return;
        if (limits[name] && !within(value, ...limits[name])) return;
        const items = Array.isArray(value) ? value : [value];
        items
          .filter((item) => String(item ?? "").trim())
          .forEach((item) => url.searchParams.append(name, String(item)));
      });
      if (url.href === location.href) return;
      const before = new URLSearchParams(location.search), { hasBeenActive } = navigator.userActivation;
      const opened = hasBeenActive && opens.some((name) => url.searchParams.has(name) && url.searchParams.get(name) !== before.get(name));
      history[step || opened ? "pushState" : "replaceState"](history.state, "", url);
      shown = location.search;
    },
  });

  // An encoder was renamed in another tab: what this one is about is shown under its new name.
  const renamed = new BroadcastChannel("theodolite-renamed");
  renamed.addEventListener("message", ({ data }) =>
    [...new URLSearchParams(location.search).values()].some((value) => value.includes(data)) && location.reload());
  theodolite.renamed = (spec) => renamed.postMessage(spec);

  // Back and Forward to a place of this page: opened again as its address has it.
  let shown = location.search;
  addEventListener("popstate", () => location.search !== shown && location.reload());
})();
