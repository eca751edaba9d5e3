// Draws cells: each state has a shape of its own besides its colour, and a letter where it fits.
// Each is drawn once, and its pixels are copied: drawing 10,000 cells takes as long as a dozen frames.
import { NODE } from "./words.js";

const NAMES = [...new Set(Object.values(NODE).map((one) => one.colour)), "--panel", "--text", "--muted", "--on-fill"];

/** The colours of the theme, as the canvas needs them. */
export function palette(element) {
  const probe = document.createElement("span");
  element.append(probe);
  const found = {};
  for (const name of NAMES) {
    probe.style.color = `var(${name})`;
    found[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return found;
}

/** What copies cells to a canvas: `all` to the whole of it, `one` to a place of it. Cells are `[letter, isDim, isFramed]`. */
export function painter(context, laid, scale, colours) {
  const size = Math.floor(laid.pitch * scale);
  const drawn = new Map();
  const cell = (letter, isDim, isFramed) => {
    const key = `${isDim ? letter.toUpperCase() : letter}${isFramed}`;
    if (!drawn.has(key)) {
      const own = new OffscreenCanvas(size, size).getContext("2d");
      own.scale(scale, scale);
      paintCell(own, letter, 0, 0, laid.pitch, colours, isDim, isFramed);
      drawn.set(key, own.getImageData(0, 0, size, size));
    }
    return drawn.get(key);
  };
  const at = (node) => [Math.round(laid.x[node] * scale), Math.round(laid.y[node] * scale)];
  return {
    one: (node, ...shown) => context.putImageData(cell(...shown), ...at(node)),
    all(count, of) {
      const { width, height } = context.canvas;
      const image = context.createImageData(width, height);
      const pixels = new Uint32Array(image.data.buffer);
      for (let node = 0; node < count; node += 1) {
        const from = new Uint32Array(cell(...of(node)).data.buffer);
        const [left, top] = at(node);
        const columns = Math.min(size, width - left);
        for (let row = 0; row < size; row += 1) {
          const to = (top + row) * width + left;
          for (let column = 0; column < columns; column += 1) pixels[to + column] = from[row * size + column];
        }
      }
      context.putImageData(image, 0, 0);
    },
  };
}

export function paintCell(context, letter, x, y, pitch, colours, isDim, isFramed = false) {
  const gap = pitch >= 14 ? 3 : pitch >= 8 ? 2 : 1;
  const size = pitch - gap;
  const { colour, letter: sign } = NODE[letter];
  context.clearRect(x, y, pitch, pitch);
  context.globalAlpha = isDim ? 0.22 : 1;
  context.fillStyle = colours[colour];
  context.strokeStyle = colours[colour];
  context.lineWidth = pitch >= 14 ? 1.5 : 1;
  const half = context.lineWidth / 2;
  const outline = () => context.strokeRect(x + half, y + half, size - 2 * half, size - 2 * half);
  let ink = "--on-fill";
  switch (letter) {
    case "n": // hollow
      outline();
      break;
    case "x": // hollow, struck out
      outline();
      line(context, x, y + size, x + size, y);
      break;
    case "q": // hollow, with a bar at its foot
      outline();
      context.fillRect(x, y + size * 0.72, size, size * 0.28);
      ink = colour;
      break;
    case "i": // lower half
      outline();
      context.fillRect(x, y + size / 2, size, size / 2);
      ink = "--text";
      break;
    case "p": // a square in a square
      outline();
      context.fillRect(x + size * 0.2, y + size * 0.2, size * 0.6, size * 0.6);
      break;
    case "d": // all but a corner
      outline();
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + size, y + size);
      context.lineTo(x, y + size);
      context.fill();
      ink = "--text";
      break;
    case "s": // full
      context.fillRect(x, y, size, size);
      break;
    default: // full, crossed out
      context.fillRect(x, y, size, size);
      context.strokeStyle = colours["--on-fill"];
      if (pitch < 16) {
        line(context, x, y, x + size, y + size);
        line(context, x + size, y, x, y + size);
      }
  }
  if (sign && pitch >= 16) {
    context.font = `600 ${Math.round(size * 0.58)}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    if (letter === "i" || letter === "d") {
      context.lineWidth = 3;
      context.strokeStyle = colours["--panel"];
      context.lineJoin = "round";
      context.strokeText(sign, x + size / 2, y + size / 2 + 0.5);
    }
    context.fillStyle = colours[ink];
    context.fillText(sign, x + size / 2, y + size / 2 + (letter === "q" ? -size * 0.1 : 0.5));
  }
  if (isFramed) { // a frame at the edge, apart from the fill
    const thick = pitch >= 14 ? 2 : 1;
    context.lineWidth = thick;
    context.strokeStyle = colours["--panel"];
    if (pitch >= 8) context.strokeRect(x + 1.5 * thick, y + 1.5 * thick, size - 3 * thick, size - 3 * thick);
    context.strokeStyle = colours["--text"];
    context.strokeRect(x + thick / 2, y + thick / 2, size - thick, size - thick);
  }
  context.globalAlpha = 1;
}

function line(context, fromX, fromY, toX, toY) {
  context.beginPath();
  context.moveTo(fromX, fromY);
  context.lineTo(toX, toY);
  context.stroke();
}
