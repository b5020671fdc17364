// Files of published pages that are read by our scripts alone are deflated: `FrozenPage` of `app/publish/page.py`.
export const unpacked = (answer) => new Response(answer.body.pipeThrough(new DecompressionStream("deflate")));
