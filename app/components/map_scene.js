// Draws points of the plane: by WebGL, or a sample of them on a plain canvas where there is none.
// Knows colours and places, nothing of what a point stands for.
//
// A scene has: kind ("webgl" or "canvas"), drawn (how many points it can show), colours(rgba) to set
// one colour a point (4 bytes each: red, green, blue, layer), draw(view, few), picture(), remove().
// The layer of a point says what lies over what and how opaque it is: see LAYERS.

const LAYERS = { hidden: 0, context: 1, plain: 2, chosen: 3 };
const FEW = 30000; // points drawn while the view moves
const CANVAS_POINTS = 20000;

const VERTEX = `
  attribute vec2 place;
  attribute vec4 colour;
  uniform vec2 scale, shift;
  uniform float size, opacity;
  varying vec4 shade;
  void main() {
    float layer = floor(colour.a * 255.0 + 0.5);
    gl_Position = vec4(place * scale + shift, -layer / 8.0, layer < 0.5 ? 0.0 : 1.0);
    gl_PointSize = layer > 2.5 ? size + 2.0 : size;
    float see = layer > 2.5 ? 1.0 : layer > 1.5 ? opacity : opacity * 0.35;
    shade = vec4(colour.rgb * see, see);
  }`;
const FRAGMENT = `
  precision mediump float;
  varying vec4 shade;
  uniform float round;
  void main() {
    vec2 d = gl_PointCoord - 0.5;
    if (round > 0.5 && dot(d, d) > 0.25) discard;
    gl_FragColor = shade;
  }`;

// Points look alike however many there are: large and solid when few, small and thin when many.
function pointLook(n, view) {
  const area = view.width * view.height;
  const shown = Math.max(1, n * Math.min(1, view.span ** 2)); // about how many are in view
  const size = Math.max(1.5, Math.min(9, Math.sqrt(area / shown) * 0.3));
  return { size, opacity: Math.max(0.25, Math.min(0.9, (area / shown / size / size) * 0.35)) };
}

function webglScene(canvas, xy) {
  const gl = canvas.getContext("webgl", { antialias: false, preserveDrawingBuffer: true, premultipliedAlpha: true });
  if (!gl) return null;
  const n = xy.length / 2;
  const order = shuffled(n);
  const places = new Float32Array(2 * n);
  for (let k = 0; k < n; k++) {
    places[2 * k] = xy[2 * order[k]];
    places[2 * k + 1] = xy[2 * order[k] + 1];
  }
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  const buffer = (name, size, kind, normal, data) => {
    const made = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, made);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    const at = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, kind, normal, 0, 0);
    return made;
  };
  buffer("place", 2, gl.FLOAT, false, places);
  const shades = new Uint8Array(4 * n);
  const shadeBuffer = buffer("colour", 4, gl.UNSIGNED_BYTE, true, shades);
  const uniform = (name) => gl.getUniformLocation(program, name);
  const [scale, shift, size, opacity, round] = ["scale", "shift", "size", "opacity", "round"].map(uniform);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  gl.enable(gl.DEPTH_TEST);
  gl.depthFunc(gl.LEQUAL);
  return {
    kind: "webgl",
    drawn: n,
    colours(rgba) {
      const [from, to] = [new Uint32Array(rgba.buffer, rgba.byteOffset, n), new Uint32Array(shades.buffer)];
      for (let k = 0; k < n; k++) to[k] = from[order[k]];
      gl.bindBuffer(gl.ARRAY_BUFFER, shadeBuffer);
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, shades);
    },
    draw(view, few) {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      const count = few ? Math.min(n, FEW) : n;
      const look = pointLook(count, view);
      gl.uniform2f(scale, view.scaleX, view.scaleY);
      gl.uniform2f(shift, view.shiftX, view.shiftY);
      gl.uniform1f(size, look.size * view.ratio * view.enlarged);
      gl.uniform1f(opacity, look.opacity);
      gl.uniform1f(round, look.size > 2.5 ? 1 : 0);
      gl.drawArrays(gl.POINTS, 0, count);
    },
    remove() {
      gl.getExtension("WEBGL_lose_context")?.loseContext();
    },
  };
}

// Without WebGL: a fair sample, square points.
function canvasScene(canvas, xy) {
  const context = canvas.getContext("2d");
  const n = xy.length / 2;
  const sample = shuffled(n).subarray(0, CANVAS_POINTS);
  let shades = new Uint8Array(4 * n);
  return {
    kind: "canvas",
    drawn: sample.length,
    colours(rgba) {
      shades = rgba;
    },
    draw(view) {
      context.clearRect(0, 0, canvas.width, canvas.height);
      const look = pointLook(sample.length, view);
      for (const layer of [LAYERS.context, LAYERS.plain, LAYERS.chosen]) {
        const side = (look.size + (layer === LAYERS.chosen ? 2 : 0)) * view.ratio * view.enlarged;
        context.globalAlpha = layer === LAYERS.chosen ? 1 : layer === LAYERS.plain ? look.opacity : look.opacity * 0.35;
        for (const i of sample) {
          if (shades[4 * i + 3] !== layer) continue;
          const x = ((xy[2 * i] * view.scaleX + view.shiftX + 1) / 2) * canvas.width;
          const y = ((1 - xy[2 * i + 1] * view.scaleY - view.shiftY) / 2) * canvas.height;
          if (x < 0 || y < 0 || x > canvas.width || y > canvas.height) continue;
          context.fillStyle = `rgb(${shades[4 * i]} ${shades[4 * i + 1]} ${shades[4 * i + 2]})`;
          context.fillRect(x - side / 2, y - side / 2, side, side);
        }
      }
      context.globalAlpha = 1;
    },
    remove() {},
  };
}
