// Draws points of the plane: by WebGL, or a sample of them on a plain canvas where there is none.
// Knows colours and places, nothing of what a point stands for.
//
// A scene has: kind ("webgl" or "canvas"), drawn (how many points it can show), colours(rgba) to set
// one colour a point (4 bytes: red, green, blue, layer and crowding), places(xy) to move the points,
// draw(view, few, atOnce), remove(), and by WebGL `drawing`, whether points are still to come: more than
// PART are drawn part after part, a frame each, and what a person does meanwhile comes first.
// Of millions seen from afar, where many lie over each other on every pixel, only the topmost are drawn,
// unless some stand out: those that are selected or filtered away may be the buried ones.
// The layer of a point says what lies over what and how opaque it is; where it is crowded, points
// are smaller and thinner, where it is lonely larger and more solid.

import { forward, interleave, topmost } from "./points.js";

export const LAYERS = { context: 1, plain: 2, chosen: 3 };
export const MAX_MOVING_POINTS = 30000; // points drawn while the view moves
export const PART = 500000;
export const CANVAS_POINTS = 20000;
const TOPMOST = 4; // points of a cell of the grid that are drawn where the others would be buried
const BURIED = 10; // points that lie over a place, when another below them is not seen any more

export const VERTEX = `
  attribute vec2 place;
  attribute vec4 colour;
  uniform vec2 scale, shift;
  uniform float size, opacity;
  varying vec4 shade;
  void main() {
    float code = floor(colour.a * 255.0 + 0.5);
    float layer = floor(code / 64.0);
    float crowd = (code - 64.0 * layer) / 63.0;
    gl_Position = vec4(place * scale + shift, -layer / 8.0, 1.0);
    gl_PointSize = size * mix(1.3, 0.85, crowd) + (layer > 2.5 ? 2.0 : 0.0);
    float plain = min(1.0, opacity * mix(1.5, 0.85, crowd));
    float see = layer > 2.5 ? 1.0 : layer > 1.5 ? plain : plain * 0.35;
    shade = vec4(colour.rgb * see, see);
  }`;
export const FRAGMENT = `
  precision mediump float;
  varying vec4 shade;
  uniform float round;
  void main() {
    float inside = round > 0.5 ? 1.0 - smoothstep(0.4, 0.5, length(gl_PointCoord - 0.5)) : 1.0;
    if (inside < 0.05) discard;
    gl_FragColor = shade * inside;
  }`;

export const layerOf = (code) => code >> 6;

// Points look alike however many there are: large and solid when few, small and thin when many.
export function pointLook(n, view) {
  const area = view.width * view.height;
  const shown = Math.max(1, n * Math.min(1, view.span ** 2)); // about how many are in view
  const size = Math.max(1.5, Math.min(9, Math.sqrt(area / shown) * 0.3));
  return { size: size * view.grow, opacity: Math.max(0.25, Math.min(0.9, (area / shown / size / size) * 0.35)) };
}

// How one point looks, as the shader above has it; for the canvas and for SVG.
export function markLook(look, code) {
  const [layer, crowd] = [layerOf(code), (code & 63) / 63];
  const plain = Math.min(1, look.opacity * (1.5 - 0.65 * crowd));
  const size = look.size * (1.3 - 0.45 * crowd) + (layer === LAYERS.chosen ? 2 : 0);
  return { size, opacity: layer === LAYERS.chosen ? 1 : layer === LAYERS.plain ? plain : plain * 0.35 };
}

// `lost` is called when the browser takes the drawing context away, as it may at any time.
export function webglScene(canvas, grid, lost) {
  const gl = canvas.getContext("webgl", { antialias: false, preserveDrawingBuffer: true, premultipliedAlpha: true });
  if (!gl) return null;
  const n = grid.n;
  const order = interleave(n);
  let [top, layers] = [forward(order, topmost(grid, TOPMOST), MAX_MOVING_POINTS), 0];
  const program = linked(gl);
  if (!program) return null;
  gl.useProgram(program);
  const buffer = (name, size, kind, normal, bytes) => {
    const made = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, made);
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.DYNAMIC_DRAW);
    const at = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, kind, normal, 0, 0);
    return made;
  };
  const placeBuffer = buffer("place", 2, gl.FLOAT, false, 8 * n);
  const shadeBuffer = buffer("colour", 4, gl.UNSIGNED_BYTE, true, 4 * n);
  const uniform = (name) => gl.getUniformLocation(program, name);
  const [scale, shift, size, opacity, round] = ["scale", "shift", "size", "opacity", "round"].map(uniform);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  gl.enable(gl.DEPTH_TEST);
  gl.depthFunc(gl.LEQUAL);
  let [removed, next] = [false, 0];
  canvas.addEventListener("webglcontextlost", () => { if (!removed) lost(); });
  const scene = {
    kind: "webgl",
    drawn: n,
    drawing: false,
    colours(rgba) {
      const [from, to] = [new Uint32Array(rgba.buffer, rgba.byteOffset, n), new Uint32Array(n)];
      layers = 0;
      for (let k = 0; k < n; k++) {
        to[k] = from[order[k]];
        layers |= 1 << (to[k] >>> 30);
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, shadeBuffer);
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, to);
    },
    places(moved) {
      if (moved !== grid.xy) top = n;
      const places = new Float32Array(2 * n);
      for (let k = 0; k < n; k++) {
        places[2 * k] = moved[2 * order[k]];
        places[2 * k + 1] = moved[2 * order[k] + 1];
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, placeBuffer);
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, places);
    },
    draw(view, few, atOnce = false) {
      cancelAnimationFrame(next);
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      const look = pointLook(few ? Math.min(n, MAX_MOVING_POINTS) : n, view);
      const over = TOPMOST * (look.size / (grid.cell * view.unit)) ** 2; // how many lie over a place of a full cell
      const oneLayer = (layers & (layers - 1)) === 0;
      const count = few ? Math.min(n, MAX_MOVING_POINTS) : over > BURIED && oneLayer ? top : n;
      gl.uniform2f(scale, view.scaleX, view.scaleY);
      gl.uniform2f(shift, view.shiftX, view.shiftY);
      gl.uniform1f(size, look.size * view.ratio);
      gl.uniform1f(opacity, look.opacity);
      gl.uniform1f(round, look.size > 2.5 ? 1 : 0);
      const part = atOnce ? count : PART;
      const from = (first) => {
        if (removed) return;
        gl.drawArrays(gl.POINTS, first, Math.min(part, count - first));
        scene.drawing = first + part < count;
        if (scene.drawing) next = requestAnimationFrame(() => from(first + part));
      };
      from(0);
    },
    remove() {
      removed = true;
      gl.getExtension("WEBGL_lose_context")?.loseContext();
    },
  };
  scene.places(grid.xy);
  return scene;
}

export function linked(gl) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return gl.getProgramParameter(program, gl.LINK_STATUS) ? program : null;
}

// Without WebGL: a fair sample, square points.
export function canvasScene(canvas, xy) {
  const context = canvas.getContext("2d");
  const n = xy.length / 2;
  const sample = interleave(n).subarray(0, CANVAS_POINTS);
  let shades = new Uint8Array(4 * n);
  let at = xy;
  return {
    kind: "canvas",
    drawn: sample.length,
    colours(rgba) {
      shades = rgba;
    },
    places(moved) {
      at = moved;
    },
    draw(view) {
      context.clearRect(0, 0, canvas.width, canvas.height);
      const look = pointLook(sample.length, view);
      for (const layer of Object.values(LAYERS)) {
        for (const i of sample) {
          if (layerOf(shades[4 * i + 3]) !== layer) continue;
          const x = ((at[2 * i] * view.scaleX + view.shiftX + 1) / 2) * canvas.width;
          const y = ((1 - at[2 * i + 1] * view.scaleY - view.shiftY) / 2) * canvas.height;
          if (x < 0 || y < 0 || x > canvas.width || y > canvas.height) continue;
          const mark = markLook(look, shades[4 * i + 3]);
          const side = mark.size * view.ratio;
          context.globalAlpha = mark.opacity;
          context.fillStyle = `rgb(${shades[4 * i]} ${shades[4 * i + 1]} ${shades[4 * i + 2]})`;
          context.fillRect(x - side / 2, y - side / 2, side, side);
        }
      }
      context.globalAlpha = 1;
    },
    remove() {},
  };
}
