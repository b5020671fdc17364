// A regular expression where nobody serves the page, matched in a worker that can be stopped: a short one may take
// years. The time is that of the app, see `engine/search/regex.py`.

const SECONDS = 3;
const WORKER = `onmessage = ({ data: { pattern, texts } }) => {
  const wanted = new RegExp(pattern, "iu");
  postMessage(texts.map((text) => {
    const found = wanted.exec(text);
    return found && [found.index, found[0].length];
  }));
};`;

export class Refused extends Error {
  constructor(message, hint) {
    super(message);
    this.hint = hint;
  }
}

// Calls `use` with what gives for each of some texts the start and the length of its first match, or null.
export async function withPattern(pattern, use) {
  try {
    new RegExp(pattern, "iu");
  } catch {
    throw new Refused("This is not a regular expression that browsers support.", "Write it in quotes to search for its words.");
  }
  const url = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
  const worker = new Worker(url);
  let left = 1000 * SECONDS;
  const firstOf = (texts) => new Promise((done, failed) => {
    const begun = performance.now();
    const timer = setTimeout(() => failed(new Refused(`The pattern was stopped after ${SECONDS} seconds.`,
      "Patterns that repeat a repetition, such as (a+)+, take forever; simplify it.")), left);
    worker.onmessage = ({ data }) => {
      clearTimeout(timer);
      left -= performance.now() - begun;
      done(data);
    };
    worker.postMessage({ pattern, texts });
  });
  try {
    return await use(firstOf);
  } finally {
    worker.terminate();
    URL.revokeObjectURL(url);
  }
}
