// The items of the ladder: packets, and between them pauses, packets that are missing or were left
// out, and folded runs of MIDDLE packets.

const leastFold = 4; // packets: shorter runs are not folded

// foldable reports whether a packet may be in a folded run: a MIDDLE packet that has nothing to tell.
const foldable = p => !!p.b && opcodeOf(p)[5] && !p.a && p.level < 2 && !p.le && !p.gone && !p.lost.length;

// foldsWith reports whether q continues the run of p.
const foldsWith = (p, q) => q.f === p.f && q.w === p.w && q.m === p.m && q.b && q.b[0] === p.b[0] && foldable(q);

// worth returns the minimum length of a pause that gets an item, relative to the median gap.
function worth(list) {
  const gaps = [];
  for (let i = 1; i < list.length; i++) gaps.push(list[i].t - list[i - 1].t);
  gaps.sort((a, b) => a - b);
  return Math.max(100e3, 8 * (gaps[gaps.length >> 1] || 0));
}

// leftBefore[i] is the number of packets that were left out before packet i, leftOfFlow[i] the number
// of those in its connection.
const leftBefore = (() => {
  let n = 0;
  return packets.map(p => n += p.o || 0);
})();
const leftOfFlow = (() => {
  const n = flows.map(() => 0);
  return packets.map(p => p.f < 0 ? 0 : n[p.f] += p.fo || 0);
})();
const leftAfter = data.seen - packets.length - (packets.length ? leftBefore[packets.length - 1] : 0);

// itemsOf returns the items of a list of packets. isOpen reports whether the run that begins with a
// packet is open. of is the connection of the list; -1: several. ends reports whether the list
// reaches to the last packet of the page, or of the connection.
function itemsOf(list, isOpen, of, ends) {
  const out = [], least = worth(list), before = of < 0 ? leftBefore : leftOfFlow, after = of < 0 ? leftAfter : flows[of].o || 0;
  let left = list.length ? (of < 0 ? list[0].o : list[0].fo) || 0 : 0;
  for (let k = 0; k < list.length; k++) {
    const p = list[k];
    p.place = k + 1;
    if (k) left = before[p.i] - before[list[k - 1].i];
    if (left > 0) out.push({ left });
    else if (k && p.t - list[k - 1].t >= least) out.push({ pause: p.t - list[k - 1].t });
    for (const l of p.lost) out.push({ lost: l, of: p });
    let n = 1;
    if (foldable(p)) while (k + n < list.length && foldsWith(p, list[k + n]) && before[list[k + n].i] === before[p.i] && list[k + n].t - list[k + n - 1].t < least) n++;
    if (n < leastFold) n = 1;
    if (n > 1) {
      const run = list.slice(k, k + n);
      run.forEach((q, j) => { q.place = k + j + 1; });
      const open = isOpen(p);
      out.push({ run, open });
      if (open) for (const q of run) out.push({ p: q, within: run });
      k += n - 1;
    } else out.push({ p });
  }
  if (ends && after > 0) out.push({ left: after });
  return out;
}
