// PSNs over time, or over the order of packets: the requests of one end and their responses.

const plot = (() => {
  const canvas = $('plot'), under = document.createElement('canvas'), tip = $('tip'), pad = { left: 58, right: 10, top: 8, bottom: 20 };
  const mostMissing = 16; // maximum number of points for the PSNs that one packet reports as missing
  let points = [], missing = [], steps = [], side = 0, sides = [0], byTime = true, shown = [], all = [], flow = -1, selected = null, hovered = -1;
  let width = 0, height = 0, still = true, box = { x0: 0, x1: 1, y0: 0, y1: 1 };

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
    missing = [];
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
      for (const { psn: from, n } of p.lost) {
        for (let j = 0; j < n && j < mostMissing; j++) missing.push({ x, y: y - ((psn - from - j) % span + span) % span });
      }
    });
    box = points.reduce((b, q) => ({ x0: Math.min(b.x0, q.x), x1: Math.max(b.x1, q.x), y0: Math.min(b.y0, q.y), y1: Math.max(b.y1, q.y) }),
      { x0: Infinity, x1: -Infinity, y0: Infinity, y1: -Infinity });
    if (!points.length) box = { x0: 0, x1: 1, y0: 0, y1: 1 };
    const w = interval.get();
    if (w && byTime) [box.x0, box.x1] = [w.from, w.to];
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

  const later = framed(draw);

  // anew redraws after changes other than the selection.
  function anew() {
    still = false;
    later();
  }

  // draw copies the static part and draws the selection on top.
  function draw() {
    const scale = devicePixelRatio || 1;
    for (const c of [canvas, under]) if (fit(c, width, height)) still = false;
    if (!canvas.width || !canvas.height) return;
    if (!still) drawStill();
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

  function drawStill() {
    const g = pen(under);
    g.clearRect(0, 0, width, height);
    axes(g);
    if (!points.length) {
      g.fillStyle = ink.quiet;
      g.textAlign = 'center';
      g.fillText(all.length ? 'no PSNs: only messages of the connection manager' : 'no packets', width / 2, height / 2);
      return;
    }
    stairs(g);
    for (const hues of [q => q.p.hue !== 'error' && q.p.hue !== 'again', q => q.p.hue === 'again', q => q.p.hue === 'error']) {
      const drawn = new Map();
      for (const q of points) {
        if (!hues(q) || q.p.r === 'ack' && q.p.level < 2) continue;
        const at = Math.round(py(q.y)) * width + Math.round(px(q.x));
        if (drawn.get(at) === q.p.hue) continue; // a point of the same form is there
        drawn.set(at, q.p.hue);
        dot(g, q, 2.5);
      }
    }
    g.strokeStyle = ink.error;
    g.lineWidth = 1.5;
    for (const q of missing) {
      g.beginPath();
      g.arc(px(q.x), py(q.y), 3.5, 0, 7);
      g.stroke();
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

  function axes(g) {
    g.strokeStyle = ink.edge;
    g.fillStyle = ink.quiet;
    g.lineWidth = 1;
    if (!points.length) return;
    const dy = Math.max(1, tick(box.y1 - box.y0, Math.max(1, (height - pad.top - pad.bottom) / 26)));
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    for (const y of ticks(Math.max(0, box.y0), box.y1, dy)) {
      line(g, pad.left, py(y), width - pad.right, py(y));
      g.fillText(flow < 0 ? (y > 0 ? '+' : '') + y : String(((y % span) + span) % span), pad.left - 6, py(y));
    }
    timeAxis(g, { ...box, least: byTime ? 0 : 1 }, px, width, height, pad, x => byTime ? lasted(x) : String(x + 1));
  }

  // timeAt returns the time of a pixel; by packet, that of the packet there.
  function timeAt(pixel) {
    const x = box.x0 + (pixel - pad.left) / Math.max(1, width - pad.left - pad.right) * (box.x1 - box.x0);
    if (byTime || !shown.length) return x;
    return shown[Math.max(0, Math.min(shown.length - 1, Math.round(x)))].t;
  }
  const full = () => byTime || !shown.length ? { from: box.x0, to: box.x1 } : { from: shown[0].t, to: shown[shown.length - 1].t };

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
    const i = e.buttons ? -1 : nearest(e);
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
  repaints.push(anew);
  new ResizeObserver(() => {
    width = canvas.clientWidth;
    height = canvas.clientHeight;
    later();
  }).observe(canvas);

  return {
    set,
    now: later.now, // draws at once what is due in the next frame
    select(p) { selected = p; later(); },
    hover(i) { if (i !== hovered) { hovered = i; later(); } },
    onpick(pick) {
      gestures(canvas, timeAt, full, e => {
        const i = nearest(e);
        if (i >= 0) pick(i);
      });
    },
  };
})();
