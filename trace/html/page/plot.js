// PSNs over time, or over the order of packets: the requests of one end and their responses.

const plot = (() => {
  const canvas = $('plot'), under = document.createElement('canvas'), tip = $('tip'), pad = { left: 58, right: 10, top: 8, bottom: 20 };
  const colours = ['request', 'response', 'ack', 'again', 'error', 'text', 'quiet', 'edge', 'mark', 'focus', 'datagram', 'cm', 'cnp'];
  let ink = {}, points = [], steps = [], side = 0, sides = [0], byTime = true, shown = [], all = [], flow = -1, selected = null, hovered = -1;
  let width = 0, height = 0, still = true, box = { x0: 0, x1: 1, y0: 0, y1: 1 }, redraw = 0;

  function paint() {
    const css = getComputedStyle(document.documentElement);
    for (const c of colours) ink[c] = css.getPropertyValue('--' + c).trim();
  }

  // asker returns the end to whose requests a packet's PSN refers; -1: none.
  const asker = p => !p.b || p.f < 0 || p.r === 'cm' || p.r === 'cnp' || !p.r ? -1 : p.r === 'response' || p.r === 'ack' ? 1 - p.w : p.w;

  // set sets the packets to show, and their connection; -1: several.
  function set(list, of) {
    all = list;
    flow = of;
    const count = [0, 0];
    for (const p of list) if (p.r === 'request' || p.r === 'datagram') count[p.w]++;
    sides = count[0] && count[1] ? [0, 1] : [count[1] ? 1 : 0];
    if (!sides.includes(side)) side = sides[0];
    lay();
  }

  // lay unwraps the PSNs, relative to the first PSN of each connection.
  function lay() {
    shown = all.filter(p => asker(p) === side);
    const base = new Map();
    points = [];
    steps = [];
    let high = -Infinity;
    shown.forEach((p, k) => {
      const at = base.get(p.f), psn = psnOf(p);
      let y;
      if (at) {
        let d = (psn - at.psn) % span;
        if (d >= span / 2) d -= span;
        if (d < -span / 2) d += span;
        y = at.y + d;
      } else y = flow < 0 ? 0 : psn;
      base.set(p.f, { psn, y });
      const x = byTime ? p.t : k;
      if (p.r === 'ack') {
        if (!p.error && y > high) {
          high = y;
          steps.push([x, y]);
        }
      }
      points.push({ x, y, p });
    });
    box = points.reduce((b, q) => ({ x0: Math.min(b.x0, q.x), x1: Math.max(b.x1, q.x), y0: Math.min(b.y0, q.y), y1: Math.max(b.y1, q.y) }),
      { x0: Infinity, x1: -Infinity, y0: Infinity, y1: -Infinity });
    if (!points.length) box = { x0: 0, x1: 1, y0: 0, y1: 1 };
    if (box.x1 === box.x0) box.x1 += Math.max(1, Math.abs(box.x0) / 1e6);
    if (box.y1 === box.y0) { box.y0 -= 1; box.y1 += 1; }
    box.y0 -= (box.y1 - box.y0) / 20; // so that no point is on an edge
    box.y1 += (box.y1 - box.y0) / 20;
    const ends = flow < 0 ? null : flows[flow].e;
    $('plot-title').textContent = (flow < 0 ? 'All connections: PSN minus the first PSN' : 'Requests from ' + ends[side][0] + ': PSN') + (byTime ? ' over time' : ' by packet');
    $('plot-axis').textContent = byTime ? 'by packet' : 'by time';
    $('plot-side').hidden = sides.length < 2;
    $('plot-side').textContent = 'other end';
    anew();
  }

  const px = x => pad.left + (x - box.x0) / (box.x1 - box.x0) * (width - pad.left - pad.right);
  const py = y => height - pad.bottom - (y - box.y0) / (box.y1 - box.y0) * (height - pad.top - pad.bottom);

  function later() {
    if (!redraw) redraw = requestAnimationFrame(draw);
  }

  // anew redraws after changes other than the selection.
  function anew() {
    still = false;
    later();
  }

  // draw copies the static part and draws the selection on top.
  function draw() {
    redraw = 0;
    const scale = devicePixelRatio || 1;
    width = canvas.clientWidth;
    height = canvas.clientHeight;
    for (const c of [canvas, under]) {
      if (c.width === Math.round(width * scale) && c.height === Math.round(height * scale)) continue;
      c.width = Math.round(width * scale);
      c.height = Math.round(height * scale);
      still = false;
    }
    if (!canvas.width || !canvas.height) return;
    if (!still) drawStill(scale);
    still = true;
    const g = canvas.getContext('2d');
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, canvas.width, canvas.height);
    g.drawImage(under, 0, 0);
    g.setTransform(scale, 0, 0, scale, 0, 0);
    for (const i of [hovered, selected ? selected.i : -1]) {
      const q = i >= 0 && points.find(q => q.p.i === i);
      if (!q) continue;
      g.strokeStyle = ink.focus;
      g.lineWidth = 1;
      g.beginPath();
      g.moveTo(px(q.x) + .5, pad.top);
      g.lineTo(px(q.x) + .5, height - pad.bottom);
      g.stroke();
      dot(g, q, 4.5);
      g.strokeStyle = ink.focus;
      g.lineWidth = 1.5;
      g.beginPath();
      g.arc(px(q.x), py(q.y), 8, 0, 7);
      g.stroke();
    }
  }

  function drawStill(scale) {
    const g = under.getContext('2d');
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = '11px system-ui, sans-serif';
    axes(g);
    if (!points.length) {
      g.fillStyle = ink.quiet;
      g.textAlign = 'center';
      g.fillText('No PSNs here: only messages of the connection manager, or nothing.', width / 2, height / 2);
      return;
    }
    stairs(g);
    for (const later of [false, true]) {
      for (const q of points) {
        const loud = q.p.hue === 'error' || q.p.hue === 'again';
        if (loud === later && (q.p.r !== 'ack' || q.p.level > 1)) dot(g, q, 2.5);
      }
    }
  }

  function dot(g, q, r) {
    const x = px(q.x), y = py(q.y);
    g.fillStyle = ink[q.p.hue] || ink.ack;
    if (q.p.hue === 'again') {
      g.beginPath();
      g.moveTo(x, y - r - 1.5);
      g.lineTo(x + r + 1.5, y);
      g.lineTo(x, y + r + 1.5);
      g.lineTo(x - r - 1.5, y);
      g.fill();
    } else if (q.p.hue === 'response') {
      g.beginPath();
      g.arc(x, y, r, 0, 7);
      g.fill();
    } else if (q.p.hue === 'error') {
      g.strokeStyle = ink.error;
      g.lineWidth = 2;
      g.beginPath();
      g.moveTo(x - r - 1, y - r - 1);
      g.lineTo(x + r + 1, y + r + 1);
      g.moveTo(x - r - 1, y + r + 1);
      g.lineTo(x + r + 1, y - r - 1);
      g.stroke();
    } else g.fillRect(x - r, y - r, 2 * r, 2 * r);
  }

  // stairs draws the acknowledged PSN over time.
  function stairs(g) {
    if (!steps.length || flow < 0) return;
    g.strokeStyle = ink.ack;
    g.lineWidth = 1.5;
    g.beginPath();
    steps.forEach(([x, y], i) => {
      if (i) g.lineTo(px(x), py(steps[i - 1][1]));
      else g.moveTo(px(x), py(y));
      g.lineTo(px(x), py(y));
    });
    g.lineTo(px(box.x1), py(steps[steps.length - 1][1]));
    g.stroke();
  }

  // step returns a round distance of ticks such that about n fit in range.
  function step(range, n) {
    const raw = range / n, ten = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 5, 10].find(m => m * ten >= raw) * ten;
  }

  function axes(g) {
    const most = 40; // maximum number of ticks
    g.strokeStyle = ink.edge;
    g.fillStyle = ink.quiet;
    g.lineWidth = 1;
    const line = (x0, y0, x1, y1) => {
      g.beginPath();
      g.moveTo(Math.round(x0) + .5, Math.round(y0) + .5);
      g.lineTo(Math.round(x1) + .5, Math.round(y1) + .5);
      g.stroke();
    };
    if (!points.length) return;
    const dy = Math.max(1, step(box.y1 - box.y0, Math.max(1, (height - pad.top - pad.bottom) / 26)));
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    for (let y = Math.ceil(Math.max(0, box.y0) / dy) * dy, n = 0; y <= box.y1 && n < most; y += dy, n++) {
      line(pad.left, py(y), width - pad.right, py(y));
      g.fillText(flow < 0 ? (y > 0 ? '+' : '') + y : String(((y % span) + span) % span), pad.left - 6, py(y));
    }
    const dx = Math.max(byTime ? 0 : 1, step(box.x1 - box.x0, Math.max(1, (width - pad.left - pad.right) / 110)));
    g.textBaseline = 'alphabetic';
    for (let x = Math.ceil(box.x0 / dx) * dx, n = 0; x <= box.x1 && n < most; x += dx, n++) {
      line(px(x), height - pad.bottom, px(x), height - pad.bottom + 4);
      const text = byTime ? lasted(x) : String(x + 1), half = g.measureText(text).width / 2;
      g.textAlign = 'center';
      g.fillText(text, Math.min(px(x), width - half), height - 5);
    }
    line(pad.left, height - pad.bottom, width - pad.right, height - pad.bottom);
  }

  // nearest returns the packet whose point is nearest, within 24 pixels; -1: none.
  function nearest(event) {
    const at = canvas.getBoundingClientRect(), x = event.clientX - at.left, y = event.clientY - at.top;
    let best = -1, d = 24 ** 2;
    for (const q of points) {
      const e = (px(q.x) - x) ** 2 + (py(q.y) - y) ** 2;
      if (e < d) [best, d] = [q.p.i, e];
    }
    return best;
  }

  canvas.addEventListener('pointermove', e => {
    const i = nearest(e);
    if (i !== hovered) {
      hovered = i;
      later();
    }
    tip.hidden = i < 0;
    if (i < 0) return;
    const p = packets[i], x = e.clientX - canvas.parentElement.getBoundingClientRect().left;
    tip.textContent = '#' + p.n + '  ' + labelOf(p) + ' ' + psnOf(p) + ', ' + seconds(p.t) + ' s: ' + (p.g || 'meaning unknown');
    tip.style.top = canvas.offsetTop + pad.top + 'px';
    tip.style.left = (x > width / 2 ? x - tip.offsetWidth - 16 : x + 16) + 'px';
  });
  canvas.addEventListener('pointerleave', () => {
    hovered = -1;
    tip.hidden = true;
    later();
  });
  $('plot-axis').addEventListener('click', () => {
    byTime = !byTime;
    lay();
  });
  $('plot-side').addEventListener('click', () => {
    side = 1 - side;
    lay();
  });
  paint();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    paint();
    anew();
  });
  new ResizeObserver(later).observe(canvas);

  return {
    set,
    select(p) { selected = p; later(); },
    hover(i) { if (i !== hovered) { hovered = i; later(); } },
    onpick(pick) {
      canvas.addEventListener('click', e => {
        const i = nearest(e);
        if (i >= 0) pick(i);
      });
    },
  };
})();
