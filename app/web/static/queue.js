// What Gradio asks of the queue of its events, so that no answer is lost however late one or the other is.
(() => {
  const { theodolite } = window;
  if (theodolite.taken) return;
  const send = window.fetch.bind(window);
  theodolite.taken = () => {}; // called when the server has taken an event

  // Where two controls change at the same moment, Gradio sends two calls of one handler side by side, and
  // the answer to the older one may be drawn last. Each waits until the server has taken the one before.
  const calls = new Map();
  function join(address, options) {
    const handler = JSON.parse(options.body).fn_index;
    const call = (calls.get(handler) ?? Promise.resolve()).then(async () => {
      const response = await send(address, options);
      if (response.ok) begin((await response.clone().json()).event_id);
      return response;
    });
    calls.set(handler, call.then(() => theodolite.taken(), () => {}));
    return call;
  }

  // The server ends its stream of answers when none is to come. What was sent to it meanwhile is in neither
  // that stream nor another: Gradio opens one only if it knew of the end, and drops one that still ends,
  // whereupon the server drops what waits. So Gradio has a stream that does not end, and what it reads comes
  // through one connection after the other, as long as an event is to be answered.
  const awaited = new Set(), over = new Set();
  let connect = () => {};
  function begin(event) {
    if (over.delete(event)) return; // its answer was quicker than this
    awaited.add(event);
    connect();
  }
  function end(event) {
    if (!awaited.delete(event)) over.add(event);
  }

  async function follow(request) {
    const first = await send(request.clone());
    if (!first.ok) return first;
    const encoder = new TextEncoder();
    const body = new ReadableStream({
      start(out) {
        let connected = false;
        async function read(connection) {
          connected = true;
          let said = false;
          try {
            const { ok, status, body: answers } = await connection;
            if (!ok) throw new Error(`The server answered ${status}`);
            for await (const message of messages(answers)) {
              said = true;
              const [, kind, event] = /^data: \{"msg":"(\w+)"(?:,"event_id":"(\w+)")?/.exec(message) ?? [];
              if (kind === "process_completed") end(event);
              if (kind === "unexpected_error") awaited.clear();
              if (kind !== "close_stream") out.enqueue(encoder.encode(`${message}\n\n`));
            }
            if (!said) throw new Error("The server answered nothing");
            connected = false;
            if (awaited.size) connect();
          } catch (error) {
            connect = () => {};
            out.error(error);
          }
        }
        connect = () => connected || read(send(request.clone()));
        read(first);
      },
    });
    return new Response(body, { headers: first.headers });
  }

  async function* messages(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (text + value).split("\n\n");
      text = parts.pop();
      yield* parts;
    }
  }

  // Gradio ends its stream as soon as another page is asked for, takes that for a lost connection, and loads
  // this page anew after two seconds: where the server took longer than that, nobody could leave. What is
  // open ends by itself with the page.
  window.addEventListener("beforeunload", (event) => event.stopImmediatePropagation());

  window.fetch = (address, options) => {
    const { pathname } = new URL(address.url ?? address, location.href);
    if (pathname.endsWith("/queue/join") && typeof options?.body === "string") return join(address, options);
    return pathname.endsWith("/queue/data") ? follow(new Request(address, options)) : send(address, options);
  };
})();
