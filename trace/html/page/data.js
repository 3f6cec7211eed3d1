// The data of the page, and values derived from packets and their neighbours.

const data = JSON.parse(document.getElementById('data').textContent);
const packets = data.packets, flows = data.flows;

const SE = 1, MIGREQ = 2, FECN = 4, BECN = 8, ACKREQ = 16; // BTH flags
const levels = ['info', 'warning', 'error'];
const span = 1 << 24; // modulus of PSNs

const psnOf = p => p.b ? p.b[6] : -1;
const opcodeOf = p => p.b ? data.opcodes[p.b[0]] : null;
const labelOf = p => p.lb || (p.b ? opcodeOf(p)[2] : 'cannot be decoded');
const wrong = p => p.c[0] === 'wrong';
const marked = p => (p.ip[1] & 3) === 3;

// Sets for each packet: i, its index; level, 0 or 1 + the level of its worst finding; error; hue,
// the CSS class of its colour; earlier and later, the indexes of the previous and next
// transmission of it.
const sent = new Map();
packets.forEach((p, i) => {
  p.i = i;
  p.w = p.w || 0;
  p.q = p.q || [];
  p.lost = []; // missing PSNs before it: first PSN, number, text
  p.gone = false; // it was captured, but did not arrive
  p.level = p.q.reduce((l, f) => Math.max(l, f.l + 1), 0);
  if (p.x || wrong(p)) p.level = 3;
  p.error = p.level === 3;
  p.hue = p.error ? 'error' : p.a ? 'again' : p.r || 'ack';
  p.earlier = p.later = -1;
  if (p.f < 0 || !p.b || (p.r !== 'request' && p.r !== 'response')) return;
  const key = p.f + ' ' + p.w + ' ' + p.r + ' ' + psnOf(p);
  if (p.a && sent.has(key)) {
    p.earlier = sent.get(key);
    packets[p.earlier].later = i;
  }
  sent.set(key, i);
});
sent.clear();

const byFrame = new Map();
for (const p of packets) if (!byFrame.has(p.n)) byFrame.set(p.n, p.i);

// inFrame returns the packet of a frame that satisfies test; undefined: there is none on the page.
function inFrame(frame, test) {
  for (let i = byFrame.has(frame) ? byFrame.get(frame) : packets.length; i < packets.length && packets[i].n === frame; i++) {
    if (test(packets[i])) return packets[i];
  }
}

// Packets that are missing, as the findings say: a gap is before the packet that shows it, unless
// the network only reordered the packets; a NAK tells of a packet that was captured before it was lost.
for (const p of packets) {
  if (wrong(p) && p.q.some(f => f.k === 'icrc_wrong' && f.l === 2)) p.gone = true;
  for (const f of p.q) {
    if (f.p && f.p[1] > 0) p.lost.push({ psn: f.p[0], n: f.p[1], text: f.t });
    if (f.k === 'nak_sequence' && f.l > 0) {
      const lost = f.f && inFrame(f.f[0], q => q.i < p.i && q.f === p.f && q.r === 'request' && psnOf(q) === psnOf(p));
      if (lost) lost.gone = true;
    }
    if (f.k === 'reordered') {
      const gap = f.f && inFrame(f.f[0], q => q.f === p.f && q.lost.length > 0);
      if (gap) gap.lost = gap.lost.flatMap(l => without(l, psnOf(p)));
    }
  }
}

// without returns what is left of missing PSNs without one of them.
function without(l, psn) {
  const k = (psn - l.psn + span) % span;
  if (k >= l.n) return [l];
  return [{ ...l, n: k }, { ...l, psn: (psn + 1) % span, n: l.n - k - 1 }].filter(m => m.n > 0);
}

// seconds formats a time since the first packet, with as many digits as fit the column.
const digits = Math.min(6, Math.max(0, 8 - String(Math.floor(packets.reduce((t, p) => Math.max(t, p.t), 0) / 1e9)).length));
const seconds = ns => (ns / 1e9).toFixed(digits);

// lasted formats a duration in nanoseconds in a suitable unit.
function lasted(ns) {
  const sign = ns < 0 ? '−' : '';
  ns = Math.abs(ns);
  const [unit, by] = ns < 1e3 ? ['ns', 1] : ns < 1e6 ? ['µs', 1e3] : ns < 1e9 ? ['ms', 1e6] : ['s', 1e9];
  return sign + String(Number((ns / by).toPrecision(4))) + ' ' + unit;
}

// instant returns the time of a packet in UTC, from the capture's timestamps.
function instant(p) {
  const ns = data.begin[1] + p.t;
  const whole = Math.floor(ns / 1e9);
  const date = new Date((data.begin[0] + whole) * 1e3);
  if (isNaN(date)) return 'unknown';
  return date.toISOString().slice(0, 19).replace('T', ' ') + '.' + String(ns - whole * 1e9).padStart(9, '0');
}

// nameOf returns a connection as one line.
const nameOf = f => f.n + ' · ' + f.s + ' · ' + f.e[0][0] + ' – ' + f.e[1][0] + ' · ' + f.e[0][1] + ' – ' + f.e[1][1].replace('QP ', '');

const grouped = new Intl.NumberFormat('en').format; // a number with commas between thousands
const many = (n, one, more) => grouped(n) + ' ' + (n === 1 ? one : more);
