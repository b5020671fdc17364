// Gradio's queue as a browser sees it: joins and streams of answers, which come in an order that the test decides.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import vm from "node:vm";

const SOURCE = readFileSync(new URL("../../app/web/static/queue.js", import.meta.url), "utf8");
const URL_OF = (name) => `http://127.0.0.1/gradio_api/queue/${name}?session_hash=s`;
const completed = (event) => `{"msg":"process_completed","event_id":"${event}","output":"${event}"}`;
const CLOSE = '{"msg":"close_stream","event_id":null}';

// A page: `joins` and `streams` are the requests that wait for the test's answer.
function page() {
  const joins = [], streams = [];
  const fetch = (address) => new Promise((answer, refuse) => {
    const status = (number, text) => answer(new Response(text, { status: number }));
    if ((address.url ?? address).includes("join")) return joins.push((event) => status(200, `{"event_id":"${event}"}`));
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    const say = (message) => writer.write(new TextEncoder().encode(`data: ${message}\n\n`));
    streams.push({ open: () => answer(new Response(readable)), say, end: () => writer.close(), status, refuse });
  });
  const window = Object.assign(new EventTarget(), { theodolite: {}, fetch });
  vm.runInNewContext(SOURCE, { window, location: { href: "http://127.0.0.1/" }, URL, Request, Response, ReadableStream, TextDecoderStream, TextEncoder });
  const join = (handler) => window.fetch(URL_OF("join"), { method: "POST", body: `{"fn_index":${handler}}` });
  return { joins, streams, join, data: () => window.fetch(new Request(URL_OF("data"))), theodolite: window.theodolite, window };
}
const settle = () => new Promise((done) => setTimeout(done, 5));

async function answers(response) {
  const found = [];
  (async () => {
    try {
      for await (const text of response.body.pipeThrough(new TextDecoderStream())) found.push(...text.match(/"msg":"\w+"|"output":"\w+"/g));
    } catch {
      found.push("broken");
    }
  })();
  await settle();
  return found;
}

async function begun() {
  const tab = page();
  tab.join(1);
  await settle();
  tab.joins[0]("first");
  const stream = tab.data();
  await settle();
  tab.streams[0].open();
  return { ...tab, found: await answers(await stream) };
}

test("an event that is taken as the stream ends is answered by the next one", async () => {
  const { join, joins, streams, found } = await begun();
  streams[0].say(completed("first"));
  join(2);
  await settle();
  joins[1]("second"); // known before the end of the stream is
  await settle();
  streams[0].say(CLOSE);
  streams[0].end();
  await settle();
  assert.equal(streams.length, 2);
  streams[1].open();
  streams[1].say(completed("second"));
  streams[1].say(CLOSE);
  streams[1].end();
  await settle();
  assert.deepEqual(found.filter((one) => one.includes("output")), ['"output":"first"', '"output":"second"']);
  assert.ok(!found.some((one) => one.includes("close_stream"))); // Gradio would drop the connection
  assert.equal(streams.length, 2); // nothing is awaited
});

test("an answer that overtakes the receipt of its event leaves nothing to wait for", async () => {
  const { join, joins, streams, found } = await begun();
  join(2);
  await settle();
  streams[0].say(completed("second"));
  streams[0].say(completed("first"));
  streams[0].say(CLOSE);
  streams[0].end();
  await settle();
  joins[1]("second");
  await settle();
  assert.equal(found.filter((one) => one.includes("output")).length, 2);
  assert.equal(streams.length, 1);
});

test("calls of one handler are sent one after the other", async () => {
  const { join, joins, theodolite } = page();
  let taken = 0;
  theodolite.taken = () => (taken += 1);
  join(1);
  join(1);
  join(2);
  await settle();
  assert.equal(joins.length, 2);
  joins[0]("first");
  await settle();
  assert.deepEqual([joins.length, taken], [3, 1]);
});

test("Gradio does not hear that another page is asked for", () => {
  const { window } = page();
  window.addEventListener("beforeunload", () => assert.fail("it would load this page anew"));
  window.dispatchEvent(new Event("beforeunload"));
});

for (const [how, fail] of [["refuses", ({ status }) => status(401, "{}")], ["is gone", ({ refuse }) => refuse(new Error("gone"))]]) {
  test(`Gradio hears of a server that ${how}`, async () => {
    const { join, joins, streams, found } = await begun();
    streams[0].say(completed("first"));
    streams[0].say(CLOSE);
    streams[0].end();
    join(2);
    await settle();
    joins[1]("second");
    await settle();
    fail(streams[1]);
    await settle();
    assert.equal(found.at(-1), "broken");
  });
}

test("a tab that the server does not know asks no further", async () => {
  const { streams, found } = await begun();
  streams[0].say('{"msg":"unexpected_error","event_id":null,"message":"404: Not Found","session_not_found":true}');
  streams[0].end();
  await settle();
  assert.equal(streams.length, 1);
  assert.deepEqual(found, ['"msg":"unexpected_error"']);
});
