// The vectors of `random:DIM`, drawn here: standard normal numbers as numpy's default generator draws them, seeded by
// BLAKE2b of the word. See `word_vector` in `engine/encoders/words.py`.

const LOW = (1n << 64n) - 1n;
const WIDE = (1n << 128n) - 1n;

// A word in lower case to Float32Array (dim).
export function wordVector(word, dim) {
  const next = pcg64(blake2b(new TextEncoder().encode(word)));
  return Float32Array.from({ length: dim }, () => normal(next));
}

// BLAKE2b (RFC 7693) with a digest of 8 bytes, as one number whose lowest byte is the first.
const START = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const ORDER = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((line) => [...line].map((digit) => parseInt(digit, 16)));
const COLUMNS_AND_DIAGONALS = [
  [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15], [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
];
const BLOCK = 128;

export function blake2b(bytes) {
  let state = START.with(0, START[0] ^ 0x01010008n);
  const blocks = Math.max(1, Math.ceil(bytes.length / BLOCK));
  for (let i = 0; i < blocks; i += 1) {
    const block = new Uint8Array(BLOCK);
    block.set(bytes.subarray(i * BLOCK, (i + 1) * BLOCK));
    const last = i + 1 === blocks;
    state = compressed(state, new BigUint64Array(block.buffer), BigInt(last ? bytes.length : (i + 1) * BLOCK), last);
  }
  return state[0];
}

function compressed(state, words, read, last) {
  const v = [...state, ...START];
  v[12] ^= read;
  if (last) v[14] ^= LOW;
  const turned = (x, bits) => (x >> bits) | ((x << (64n - bits)) & LOW);
  for (let round = 0; round < 12; round += 1) {
    const order = ORDER[round % 10];
    COLUMNS_AND_DIAGONALS.forEach(([a, b, c, d], i) => {
      for (const [word, first, second] of [[words[order[2 * i]], 32n, 24n], [words[order[2 * i + 1]], 16n, 63n]]) {
        v[a] = (v[a] + v[b] + word) & LOW;
        v[d] = turned(v[d] ^ v[a], first);
        v[c] = (v[c] + v[d]) & LOW;
        v[b] = turned(v[b] ^ v[c], second);
      }
    });
  }
  return state.map((word, i) => word ^ v[i] ^ v[i + 8]);
}

// numpy's PCG64 (O'Neill 2014, XSL-RR 128/64): a function that gives 32 bits at a time.
function pcg64(seed) {
  const STEP = (2549297995355413924n << 64n) | 4865540595714422341n;
  const [high, low, above, below] = spread(seed);
  const more = (((above << 64n) | below) << 1n | 1n) & WIDE;
  let state = (more + ((high << 64n) | low)) & WIDE;
  const step = () => { state = (state * STEP + more) & WIDE; };
  step();
  let kept = null;
  return () => {
    if (kept !== null) {
      const half = kept;
      kept = null;
      return half;
    }
    step();
    const mixed = (state >> 64n) ^ (state & LOW), by = state >> 122n;
    const drawn = ((mixed >> by) | (mixed << (64n - by))) & LOW;
    kept = Number(drawn >> 32n);
    return Number(drawn & 0xffffffffn);
  };
}

// numpy's SeedSequence: a seed of 64 bits spread over four numbers of 64 bits.
function spread(seed) {
  const hashing = (constant, factor) => (value) => {
    const mixed = value ^ constant;
    constant = Math.imul(constant, factor);
    const hashed = Math.imul(mixed, constant);
    return hashed ^ (hashed >>> 16);
  };
  const mix = (x, y) => {
    const mixed = Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y);
    return mixed ^ (mixed >>> 16);
  };
  const hash = hashing(0x43b0d7e5, 0x931e8875);
  const pool = [Number(seed & 0xffffffffn), Number(seed >> 32n), 0, 0].map(hash);
  for (let from = 0; from < 4; from += 1) {
    for (let to = 0; to < 4; to += 1) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  }
  const last = hashing(0x8b51f9dd, 0x58f38ded);
  const words = Uint32Array.from({ length: 8 }, (_, i) => last(pool[i % 4]));
  return [0, 2, 4, 6].map((i) => (BigInt(words[i + 1]) << 32n) | BigInt(words[i]));
}

// Marsaglia and Tsang's ziggurat of 256 layers, as numpy's `random_standard_normal_f` has it: in float32, for a number
// that is refused there and not here moves all that come after it.
const float = Math.fround;
const EDGE = 3.6541528853610088, AREA = 0.00492867323399;
const UNITS = 2 ** 23;
const height = (x) => Math.exp(-x * x / 2);
const LAYERS = layers();

function layers() {
  const width = new Float32Array(256), inside = new Uint32Array(256), heights = new Float32Array(256);
  let x = EDGE;
  const base = AREA / height(EDGE);
  [inside[0], width[0], heights[0]] = [Math.round(x / base * UNITS), base / UNITS, 1];
  [width[255], heights[255]] = [x / UNITS, height(x)];
  for (let i = 254; i >= 1; i -= 1) {
    const next = Math.sqrt(-2 * Math.log(AREA / x + height(x)));
    inside[i + 1] = Math.round(next / x * UNITS);
    x = next;
    [width[i], heights[i]] = [x / UNITS, height(x)];
  }
  return { width, inside, heights };
}

function normal(next) {
  const share = () => (next() >>> 8) / 2 ** 24;
  for (;;) {
    const drawn = next();
    const layer = drawn & 0xff, negative = drawn & 0x100, step = drawn >>> 9;
    const x = (negative ? -1 : 1) * float(step * LAYERS.width[layer]);
    if (step < LAYERS.inside[layer]) return x;
    if (layer) {
      const [above, here] = [LAYERS.heights[layer - 1], LAYERS.heights[layer]];
      if (float(float(float(above - here) * share()) + here) < height(x)) return x;
      continue;
    }
    for (;;) {
      const beyond = -Math.log1p(-share()) / EDGE, bound = -Math.log1p(-share());
      if (2 * bound > beyond * beyond) return ((step >>> 8) & 1 ? -1 : 1) * (EDGE + beyond);
    }
  }
}
