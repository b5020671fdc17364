// A figure of Plotly with its numbers as a table. Events for Python: "click", "select", "hover".

export function mount({ element, props, trigger, watch }) {
  const { el, csv, download, script } = window.theodolite;
  const ROWS_SHOWN = 200;
  const LATER = 700;

  // A group, not an image: the buttons of its bar are for everybody.
  const plot = el("div", { class: "t-plot", role: "group" });
  const table = el("div", { class: "t-scroll", tabindex: "0", role: "region", "aria-label": "Numbers of the figure" });
  const save = el("button", { type: "button", class: "t-link" }, "Download CSV");
  const twin = el("details", { class: "t-twin" }, el("summary", {}, "Numbers as a table"), save, table);
  const figure = el("figure", { class: "t-chart", hidden: "" }, plot, twin);
  element.replaceChildren(figure);

  const colour = (name) => getComputedStyle(document.body).getPropertyValue(`--t-${name}`).trim();

  // Gradio turns what it sent into the next answer in place, perhaps before this is drawn: so a copy.
  const copied = () => (props.value ? { ...props.value } : null);
  let held = copied();
  const parsed = (what) => (held?.[what] ? JSON.parse(held[what]) : null);

  function layout(given = {}) {
    const axis = {
      gridcolor: colour("line"), linecolor: colour("edge"), zerolinecolor: colour("edge"),
      tickcolor: colour("edge"), automargin: true,
      title: { standoff: 8, font: { size: 13 } },
    };
    const template = {
      layout: {
        colorway: props.series, xaxis: axis, yaxis: axis,
        legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
        hoverlabel: {
          bgcolor: colour("surface"), bordercolor: colour("edge"),
          font: { color: colour("ink"), family: "IBM Plex Sans, sans-serif" }, align: "left",
        },
        margin: { l: 48, r: 12, t: 36, b: 44 },
      },
    };
    return {
      height: props.height, ...given, template, autosize: true,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "IBM Plex Sans, ui-sans-serif, sans-serif", size: 13, ...given.font, color: colour("ink") },
    };
  }

  const config = {
    displaylogo: false,
    responsive: true,
    showSendToCloud: false,
    // Named one by one: the default bar has a button that talks to a cloud.
    modeBarButtons: [
      props.selectable ? ["zoom2d", "pan2d", "select2d", "lasso2d"] : ["zoom2d", "pan2d"],
      ["resetScale2d", "toImage"],
    ],
  };

  const points = (event) =>
    (event?.points || []).map((p) => ({
      trace: p.curveNumber, index: p.pointIndex ?? p.pointNumber, x: p.x, y: p.y, custom: p.customdata ?? null,
    }));

  let listening = false;
  let drawn = 0;
  // A figure laid out without a width keeps its legend in the wrong place, and one far below keeps those
  // in view waiting: the one is drawn when it is shown, the other when it comes near or nothing else is to do.
  let waiting = false, later = 0;
  const far = () => element.getBoundingClientRect().top > innerHeight;

  // A hidden tab paints nothing, and goes on all the same.
  const painted = () => new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 100);
  });

  async function draw(now = false) {
    const value = held;
    figure.hidden = !value;
    if (!value) return;
    const turn = ++drawn;
    const given = parsed("figure");
    const made = layout(given?.layout);
    plot.setAttribute("aria-label", value.label);
    plot.style.minHeight = `${made.height}px`; // nothing moves when the figure comes
    clearTimeout(later);
    waiting = !element.offsetParent;
    if (waiting) return;
    if (!now && !listening && far()) {
      waiting = true;
      later = setTimeout(draw, LATER, true);
      return;
    }
    if (!window.Plotly) await painted(); // reading that script takes half a second: first what came with the figure
    await script(props.plotly);
    if (turn !== drawn || !held?.figure) return; // another value, or none, came meanwhile
    const picture = { format: "png", filename: value.name, scale: 2 };
    // On a page with a base, Plotly would write the address of now into its clip paths, and lose them when it changes.
    const base = document.querySelector("base[href]"), href = base?.getAttribute("href");
    base?.removeAttribute("href");
    const ready = window.Plotly.react(plot, given.data, made, { ...config, toImageButtonOptions: picture });
    base?.setAttribute("href", href);
    await ready;
    if (!listening) {
      listening = true;
      plot.on("plotly_click", (event) => trigger("click", { points: points(event) }));
      plot.on("plotly_selected", (event) => trigger("select", { points: points(event) }));
      plot.on("plotly_hover", (event) => trigger("hover", { points: points(event) }));
    }
    if (twin.open) fill();
  }

  // What `plain` in figures.py did to texts for plotly, undone.
  const unplain = (text) =>
    String(text).replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

  // The numbers: the page's own table, or the traces as drawn.
  function numbers() {
    const given = parsed("table");
    if (given) return given;
    const traces = (plot._fullData || []).filter((trace) => trace.x || trace.y);
    const rows = traces.flatMap((trace) => {
      const n = Math.max(trace.x?.length || 0, trace.y?.length || 0);
      return Array.from({ length: n }, (_, i) => [unplain(trace.name), trace.x?.[i] ?? i, trace.y?.[i] ?? i]);
    });
    const axis = (name) => unplain(plot._fullLayout?.[name]?.title?.text || name[0]);
    return { columns: ["series", axis("xaxis"), axis("yaxis")], rows };
  }

  const shown = (value) =>
    typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(5) : String(value ?? "–");

  function fill() {
    const { columns, rows } = numbers();
    const head = el("tr", {}, ...columns.map((name) =>
      el("th", { scope: "col" }, el("button", { type: "button", class: "t-sort", "data-press": "sort" }, name))));
    const body = rows.slice(0, ROWS_SHOWN).map((row) =>
      el("tr", {}, ...row.map((value) => el("td", { class: typeof value === "number" ? "t-num" : null }, shown(value)))));
    const more = rows.length - ROWS_SHOWN;
    table.replaceChildren(
      el("table", { class: "t-table" }, el("thead", {}, head), el("tbody", {}, ...body)),
      more > 0 ? el("p", { class: "t-muted" }, `${more} more rows in the CSV`) : "",
    );
  }

  twin.addEventListener("toggle", () => twin.open && held && fill());
  save.addEventListener("click", () => {
    const { columns, rows } = numbers();
    download(`${held.name}.csv`, csv([columns, ...rows]));
  });
  new MutationObserver(() => held && draw()).observe(document.body, { attributeFilter: ["class"] });
  new ResizeObserver(() => {
    if (!element.offsetParent) return;
    if (waiting) draw();
    else if (listening) window.Plotly.Plots.resize(plot);
  }).observe(element);
  new IntersectionObserver((seen) => waiting && seen.at(-1).isIntersecting && draw(true), { rootMargin: "50%" }).observe(element);
  watch("value", () => {
    held = copied();
    draw();
  });
  draw();
}
