// The document that is packed above, in the place of this one.
(async () => {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
  document.open();
  document.write(text);
  document.close();
})();
