// Plots of rates and states over time, of the chosen connection or of all. They contain the packets
// that were left out of the page, too.

const charts = (() => {
  const box = $('charts'), tip = $('tip'), pad = { left: 58, right: 10, top: 18, bottom: 20 };
  // Positions in a row of a series: see point.row of the Go package.
  const at = { index: 0, packets: 1, bytes: 2, delivered: 3, again: 4, rtt: 5, ce: 6, cnps: 7, flight: 8, outstanding: 9, flightEnd: 10, outstandingEnd: 11 };
  const of = name => row => row[at[name]] || 0;
  const perSecond = name => (row, s) => of(name)(row) * 8e9 / s.i;
  const bits = v => scaled(v, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s']);
  const whole = v => v.toLocaleString('en', { maximumFractionDigits: 1 });

  // A line has a colour of the style sheet; get returns a value of a row. In intervals without packets
  // a chart that is sparse has no values, a line with end keeps that value, others have 0.
  const all = [
    { id: 'rate', name: 'Throughput and goodput', unit: bits, lines: [{ name: 'throughput', ink: 'request', get: perSecond('bytes') }, { name: 'goodput', ink: 'response', get: perSecond('delivered') }] },
    { id: 'flight', name: 'Packets in flight, maximum', unit: whole, lines: [{ name: 'in flight', ink: 'request', get: of('flight'), end: of('flightEnd') }] },
    { id: 'outstanding', name: 'Outstanding requests, maximum', unit: whole, lines: [{ name: 'outstanding', ink: 'request', get: of('outstanding'), end: of('outstandingEnd') }] },
    { id: 'again', name: 'Retransmitted packets', unit: whole, each: true, lines: [{ name: 'retransmitted', ink: 'again', get: of('again') }] },
    { id: 'rtt', name: 'Round trip, mean', unit: lasted, sparse: true, lines: [{ name: 'RTT', ink: 'response', get: of('rtt') }] },
    { id: 'cnp', name: 'Congestion notifications (CNP)', unit: whole, each: true, lines: [{ name: 'CNPs', ink: 'cnp', get: of('cnps') }] },
    { id: 'ce', name: 'Packets marked congested (ECN CE)', unit: v => whole(v) + ' %', lines: [{ name: 'CE', ink: 'cnp', get: row => 100 * (row[at.ce] || 0) / row[at.packets] }] },
  ];
  let shown = [], flow = -1, selected = null;

  function scaled(v, units) {
    let k = 0;
    while (v >= 1000 && k < units.length - 1) {
      v /= 1000;
      k++;
    }
    return Number(v.toPrecision(3)) + ' ' + units[k];
  }

  // choose shows one chart, 'all' or none.
  function choose(id) {
    shown = all.filter(c => id === 'all' || c.id === id).map(c => ({ ...c, box: { x0: 0, x1: 1, y1: 1 }, points: [] }));
    box.className = shown.length > 1 ? 'many' : '';
    box.hidden = !shown.length;
    box.replaceChildren(...shown.map(c => {
      c.canvas = make('canvas', { class: 'chart', id: 'chart-' + c.id, role: 'img', tabindex: '0' });
      gestures(c.canvas, pixel => timeAt(c, pixel), () => ({ from: c.box.x0, to: c.box.x1 }), () => {});
      c.canvas.addEventListener('pointermove', e => point(c, e));
      c.canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
      return make('div', { class: 'frame-of' }, c.canvas);
    }));
    measure();
    lay();
  }

  // measure reads the sizes of the charts, so that drawing does not wait for the layout of the page.
  function measure() {
    for (const c of shown) [c.width, c.height] = [c.canvas.clientWidth, c.canvas.clientHeight];
  }

  const series = () => flow < 0 ? data.total : data.series[flow];
  const px = (c, x) => pad.left + (x - c.box.x0) / (c.box.x1 - c.box.x0) * (c.width - pad.left - pad.right);
  const timeAt = (c, pixel) => c.box.x0 + (pixel - pad.left) / Math.max(1, c.canvas.clientWidth - pad.left - pad.right) * (c.box.x1 - c.box.x0);

  // lay computes what the charts show of the interval.
  function lay() {
    const s = series(), w = interval.get(), rows = s ? s.p : [];
    const from = w ? w.from : rows.length ? Math.min(rows[0][0] * s.i, finishes) : begins;
    const to = w ? w.to : rows.length ? Math.min((rows[rows.length - 1][0] + 1) * s.i, Math.max(finishes, 1)) : finishes;
    for (const c of shown) {
      c.rows = s ? during(rows, s.i, from, to) : [];
      c.every = s ? s.i : 0;
      c.top = c.rows.reduce((m, r) => Math.max(m, ...c.lines.map(l => (r[0] + 1) * s.i >= from ? l.get(r, s) : l.end ? l.end(r, s) : 0)), 0);
      c.box = { x0: from, x1: Math.max(to, from + 1), y1: c.top > 0 ? c.top * 1.1 : 1 };
      const what = c.name + (c.each && s ? ' per ' + lasted(s.i) : '');
      const who = flow < 0 ? 'all connections' : 'connection ' + flows[flow].n;
      c.title = what;
      c.canvas.setAttribute('aria-label', what + ', ' + who + ', ' + lasted(from) + ' to ' + lasted(to) + ': maximum ' + (c.top > 0 ? c.unit(c.top) : 'none'));
    }
    later();
  }

  // during returns the rows in an interval, and the row before it, whose values may last into it.
  function during(rows, i, from, to) {
    const first = rows.findIndex(r => (r[0] + 1) * i >= from), last = rows.findLastIndex(r => r[0] * i <= to);
    return first < 0 ? rows.slice(-1) : rows.slice(Math.max(0, first - 1), last + 1);
  }

  const later = framed(draw);

  function draw() {
    for (const c of shown) drawOne(c);
  }

  function drawOne(c) {
    const { width, height } = c;
    fit(c.canvas, width, height);
    if (!c.canvas.width || !c.canvas.height) return;
    const g = pen(c.canvas), s = series();
    g.clearRect(0, 0, width, height);
    const py = y => height - pad.bottom - y / c.box.y1 * (height - pad.top - pad.bottom);
    const bottom = py(0);
    g.fillStyle = ink.text;
    g.textBaseline = 'alphabetic';
    g.textAlign = 'left';
    if (c.lines.length === 1) g.fillText(c.title, 4, 12, width - 8);
    else {
      let x = 4;
      for (const l of c.lines) {
        g.fillStyle = ink[l.ink];
        g.fillRect(x, 4, 8, 8);
        g.fillStyle = ink.text;
        g.fillText(l.name, x + 12, 12);
        x += g.measureText(l.name).width + 28;
      }
    }
    g.strokeStyle = ink.edge;
    g.fillStyle = ink.quiet;
    g.lineWidth = 1;
    if (!c.rows.length || !c.top) {
      line(g, pad.left, bottom, width - pad.right, bottom);
      g.textAlign = 'center';
      g.fillText(c.rows.length ? 'none' : 'no packets', width / 2, height / 2 + 4);
      return;
    }
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    for (const y of ticks(0, c.box.y1, tick(c.box.y1, Math.max(1, (height - pad.top - pad.bottom) / 30)))) {
      line(g, pad.left, py(y), width - pad.right, py(y));
      g.fillText(y ? c.unit(y) : '0', pad.left - 6, py(y), pad.left - 8);
    }
    timeAxis(g, c.box, x => px(c, x), width, height, pad, lasted);
    g.save();
    g.beginPath();
    g.rect(pad.left, 0, width - pad.left - pad.right, height);
    g.clip();
    for (const l of c.lines) trace(g, c, l, s, py);
    if (selected) {
      g.strokeStyle = ink.focus;
      g.lineWidth = 1;
      line(g, px(c, selected.t), pad.top, px(c, selected.t), bottom);
    }
    g.restore();
  }

  // trace draws a line: steps that are as long as the interval of the series, or points.
  function trace(g, c, l, s, py) {
    g.strokeStyle = g.fillStyle = ink[l.ink];
    g.lineWidth = 1.5;
    if (c.sparse) {
      const points = c.rows.map(r => [px(c, (r[0] + .5) * s.i), l.get(r, s)]).filter(p => p[1] > 0);
      g.globalAlpha = .5;
      g.beginPath();
      points.forEach(([x, y], i) => i ? g.lineTo(x, py(y)) : g.moveTo(x, py(y)));
      g.stroke();
      g.globalAlpha = 1;
      for (const [x, y] of points) g.fillRect(x - 2, py(y) - 2, 4, 4);
      return;
    }
    const path = new Path2D();
    let next = -1, idle = py(0);
    for (const r of c.rows) {
      const x0 = px(c, r[0] * s.i), x1 = Math.max(x0 + 1, px(c, (r[0] + 1) * s.i)), y = py(l.get(r, s));
      if (r[0] !== next) {
        if (next >= 0) path.lineTo(px(c, next * s.i), idle);
        path.lineTo(x0, next >= 0 ? idle : py(0));
      }
      path.lineTo(x0, y);
      path.lineTo(x1, y);
      next = r[0] + 1;
      if (l.end) idle = py(l.end(r, s));
    }
    if (l.end) path.lineTo(px(c, c.box.x1), idle);
    else path.lineTo(Math.max(px(c, next * s.i), px(c, c.rows[c.rows.length - 1][0] * s.i) + 1), py(0));
    if (l.end) path.lineTo(px(c, c.box.x1), py(0));
    g.globalAlpha = .18;
    g.fill(path);
    g.globalAlpha = 1;
    g.stroke(path);
  }

  // point shows the values at the pointer.
  function point(c, e) {
    const s = series();
    if (!s) return;
    const x = e.clientX - c.canvas.getBoundingClientRect().left, near = 40; // pixels
    const far = r => Math.abs(px(c, (r[0] + .5) * s.i) - x);
    const row = c.rows.reduce((best, r) => far(r) < (best ? far(best) : near) ? r : best, null);
    tip.hidden = !row || e.buttons > 0;
    if (tip.hidden) return;
    tip.textContent = lasted(row[0] * s.i) + ' to ' + lasted((row[0] + 1) * s.i) + ': ' + c.lines.map(l => l.name + ' ' + (c.sparse && !l.get(row, s) ? 'none' : c.unit(l.get(row, s)))).join(', ');
    const host = tip.parentElement.getBoundingClientRect(), here = c.canvas.getBoundingClientRect();
    tip.style.top = here.top - host.top + pad.top + 'px';
    const left = e.clientX - host.left;
    tip.style.left = (left > host.width / 2 ? left - tip.offsetWidth - 16 : left + 16) + 'px';
  }

  repaints.push(later);
  new ResizeObserver(() => {
    measure();
    later();
  }).observe(box);
  return {
    names: all.map(c => [c.id, c.name]),
    choose,
    now: later.now, // draws at once what is due in the next frame
    set(of) {
      flow = of;
      lay();
    },
    select(p) {
      selected = p;
      later();
    },
  };
})();
