// Drawing on canvases: colours of the style sheet, sizes, ticks.

const ink = {};
const colours = ['request', 'response', 'ack', 'again', 'error', 'warning', 'text', 'quiet', 'edge', 'mark', 'focus', 'datagram', 'cm', 'cnp'];
const repaints = []; // called when the colours change

function paint() {
  const css = getComputedStyle(document.documentElement);
  for (const c of colours) ink[c] = css.getPropertyValue('--' + c).trim();
}
paint();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  paint();
  for (const f of repaints) f();
});

// fit makes a canvas as large as its element in device pixels. It reports whether the size changed.
function fit(canvas, width, height) {
  const scale = devicePixelRatio || 1, w = Math.round(width * scale), h = Math.round(height * scale);
  if (canvas.width === w && canvas.height === h) return false;
  canvas.width = w;
  canvas.height = h;
  return true;
}

// pen returns the context of a canvas, scaled to CSS pixels.
function pen(canvas) {
  const g = canvas.getContext('2d'), scale = devicePixelRatio || 1;
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.font = '11px system-ui, sans-serif';
  return g;
}

// tick returns a round distance of ticks such that about n fit in range.
function tick(range, n) {
  const raw = range / n, ten = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].find(m => m * ten >= raw) * ten;
}

const mostTicks = 40;

// ticks returns up to mostTicks multiples of distance in [from, to].
function ticks(from, to, distance) {
  const out = [];
  for (let v = Math.ceil(from / distance) * distance; v <= to && out.length < mostTicks; v += distance) out.push(v);
  return out;
}

function line(g, x0, y0, x1, y1) {
  g.beginPath();
  g.moveTo(Math.round(x0) + .5, Math.round(y0) + .5);
  g.lineTo(Math.round(x1) + .5, Math.round(y1) + .5);
  g.stroke();
}

// timeAxis draws the ticks of times below a plot. px converts a time to a pixel.
function timeAxis(g, box, px, width, height, pad, format) {
  g.textBaseline = 'alphabetic';
  g.textAlign = 'center';
  const distance = Math.max(box.least || 0, tick(box.x1 - box.x0, Math.max(1, (width - pad.left - pad.right) / (width < 320 ? 60 : 110))));
  for (const x of ticks(box.x0, box.x1, distance)) {
    line(g, px(x), height - pad.bottom, px(x), height - pad.bottom + 4);
    const text = format(x), half = g.measureText(text).width / 2;
    g.fillText(text, Math.min(px(x), width - half), height - 5);
  }
  line(g, pad.left, height - pad.bottom, width - pad.right, height - pad.bottom);
}
