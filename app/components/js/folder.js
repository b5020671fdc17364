// A folder of this machine as one ZIP archive, handed to a box for files: sent one by one, files lose the names of the
// folders that they lie in.

const ZIP = { local: 0x04034b50, listed: 0x02014b50, end: 0x06054b50, version: 20, utf8: 0x0800, stored: 0, day: 0x21 };

export function mount({ element, props }) {
  const { el } = window.theodolite;
  const wanted = new RegExp(props.wanted, "i");
  const picker = el("input", { type: "file", webkitdirectory: "", hidden: "", tabindex: "-1" });
  const button = el("button", { type: "button", class: "t-link" }, props.words);
  button.addEventListener("click", () => picker.click());
  picker.addEventListener("change", async () => {
    const files = [...picker.files].filter(({ name }) => wanted.test(name));
    const [folder] = picker.files[0].webkitRelativePath.split("/");
    picker.value = "";
    const named = await Promise.all(files.map(async (file) => (
      { name: file.webkitRelativePath, bytes: new Uint8Array(await file.arrayBuffer()) }
    )));
    hand(new File(archive(named), `${folder}.zip`, { type: "application/zip" }), props.into);
  });
  element.replaceChildren(button, picker);
}

// As if a person had chosen it there.
function hand(file, into) {
  const box = document.querySelector(`${into} input[type=file]`);
  const list = new DataTransfer();
  list.items.add(file);
  box.files = list.files;
  box.dispatchEvent(new Event("change", { bubbles: true }));
}

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

function crc(bytes) {
  let left = ~0;
  for (const byte of bytes) left = TABLE[(left ^ byte) & 255] ^ (left >>> 8);
  return ~left >>> 0;
}

// Numbers of two or four bytes each, the lowest first.
function record(...numbers) {
  const view = new DataView(new ArrayBuffer(numbers.reduce((sum, [size]) => sum + size, 0)));
  let at = 0;
  for (const [size, number] of numbers) {
    if (size === 2) view.setUint16(at, number, true);
    else view.setUint32(at, number, true);
    at += size;
  }
  return new Uint8Array(view.buffer);
}

// The parts of a ZIP archive of files {name, bytes}, stored as they are.
export function archive(files) {
  const parts = [];
  const listed = [];
  let at = 0;
  for (const { name, bytes } of files) {
    const path = new TextEncoder().encode(name);
    const about = [[2, ZIP.version], [2, ZIP.utf8], [2, ZIP.stored], [2, 0], [2, ZIP.day], [4, crc(bytes)],
      [4, bytes.length], [4, bytes.length], [2, path.length], [2, 0]];
    const head = record([4, ZIP.local], ...about);
    listed.push(record([4, ZIP.listed], [2, ZIP.version], ...about, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]), path);
    parts.push(head, path, bytes);
    at += head.length + path.length + bytes.length;
  }
  const size = listed.reduce((sum, { length }) => sum + length, 0);
  const end = record([4, ZIP.end], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, size], [4, at], [2, 0]);
  return [...parts, ...listed, end];
}
