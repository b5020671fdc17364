// The pictures on the map's tools, drawn by line on 20 by 20.

const LINES = {
  move: "M10 2v16M2 10h16M10 2 7.5 4.5M10 2l2.5 2.5M10 18l-2.5-2.5M10 18l2.5-2.5M2 10l2.5-2.5M2 10l2.5 2.5M18 10l-2.5-2.5M18 10l-2.5 2.5",
  lasso: "M6.5 13.6C4 12.800 2.500 11 2.500 8.800 2.500 5.400 6 3 10 3s7.500 2.400 7.500 5.800-3.500 5.700-7.500 5.700c-.9 0-1.700-.1-2.500-.3M7.500 14.200a1.700 1.700 0 1 0-1.700 1.700c1 0 1.700-.7 1.700-1.700Zm0 0c.4 1.700-.5 3-2 3.800",
  rectangle: "M3 5V3h2M8 3h4M15 3h2v2M17 8v4M17 15v2h-2M12 17H8M5 17H3v-2M3 12V8",
  decode: "M3 4h14v9H9l-4 4v-4H3ZM6.500 7.300h7M6.500 10h4.500",
  closer: "M10 4v12M4 10h12",
  farther: "M4 10h12",
  all: "M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4M7.500 10h5M10 7.500v5",
  full: "M12 3h5v5M17 3l-5.500 5.500M8 17H3v-5M3 17l5.500-5.500",
  undo: "M7 4 3 8l4 4M3 8h8.500a5 4.500 0 0 1 0 9H8",
  redo: "M13 4l4 4-4 4M17 8H8.500a5 4.500 0 0 0 0 9H12",
  clear: "M5 5l10 10M15 5 5 15",
  table: "M3 4h14v12H3ZM3 8h14M3 12h14M8.500 8v8",
};

export function icon(name) {
  const holder = document.createElement("template");
  holder.innerHTML = `<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true" fill="none" stroke="currentColor" ` +
    `stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"><path d="${LINES[name]}"/></svg>`;
  return holder.content.firstChild;
}
