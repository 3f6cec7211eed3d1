// The ladder diagram: an arrow per packet between the lines of the two ends, oldest first. Only
// visible rows, and a few around them, have elements.

const ladder = (() => {
  const list = $('ladder'), scroll = $('scroll'), margin = 10;
  const scales = [.24, .42, .65, 1, 1.65, 2.4], normal = 3; // row heights, relative to the normal one
  let items = [], places = new Map(); // index in items by packet index
  let shownPackets = [], flow = -1, several = false, ends = false, rows = new Map(), height = 34, zoom = normal, selected = null, redraw = 0, hover = () => {};
  const open = new Set(); // indexes of the first packets of open runs

  // set sets the packets to show, their connection (-1: several), and whether the list reaches to the
  // last packet of the page or connection.
  function set(list_, flow_, ends_) {
    shownPackets = list_;
    flow = flow_;
    several = flow < 0 && flows.length > 1;
    ends = ends_;
    arrange();
  }

  function arrange() {
    items = itemsOf(shownPackets, p => open.has(p.i), flow, ends);
    places = new Map();
    items.forEach((item, k) => {
      if (item.p) places.set(item.p.i, k);
      else if (item.run && !item.open) for (const p of item.run) places.set(p.i, k);
    });
    clear();
    layout();
  }

  function clear() {
    for (const e of rows.values()) e.remove();
    rows.clear();
  }

  function layout() {
    const base = parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')) || 34;
    const h = Math.round(base * scales[zoom]);
    if (h !== height) {
      height = h;
      list.style.setProperty('--row', h + 'px');
      clear();
    }
    list.style.height = items.length * height + 'px';
    $('none').hidden = items.length > 0;
    draw();
  }

  // scale changes the height of rows by a number of steps; 0 makes it normal. The selected row, or
  // else the first visible one, keeps its place.
  function scale(by) {
    const next = by ? Math.min(scales.length - 1, Math.max(0, zoom + by)) : normal;
    if (next === zoom) return;
    const head = list.offsetTop, k = selected && places.has(selected.i) ? places.get(selected.i) : -1;
    const top = scroll.scrollTop - head, seen = k >= 0 && (k + 1) * height > top && k * height < top + scroll.clientHeight;
    const anchor = seen ? k : top / height, offset = anchor * height - top;
    zoom = next;
    list.className = zoom < 1 ? 'tiny' : zoom < 2 ? 'small' : zoom < normal ? 'dense' : zoom > normal ? 'tall' : '';
    $('zoom-in').disabled = zoom === scales.length - 1;
    $('zoom-out').disabled = zoom === 0;
    layout();
    scroll.scrollTop = anchor * height - offset + head;
    draw();
  }

  function later() {
    if (!redraw) redraw = requestAnimationFrame(draw);
  }

  const keptPlace = () => selected && places.has(selected.i) ? places.get(selected.i) : -1;

  function draw() {
    redraw = 0;
    const top = Math.max(0, scroll.scrollTop - list.offsetTop), kept = keptPlace();
    const first = Math.max(0, Math.floor(top / height) - margin);
    const last = Math.min(items.length, Math.ceil((top + scroll.clientHeight) / height) + margin);
    for (const [k, e] of rows) {
      if ((k < first || k >= last) && k !== kept) {
        e.remove();
        rows.delete(k);
      }
    }
    // The elements are in the order of the items, for screen readers.
    let next = kept >= last ? add(kept, null) : null;
    for (let k = last - 1; k >= first; k--) next = add(k, next);
    if (kept >= 0 && kept < first) add(kept, next);
  }

  // add returns the row of an item. If necessary it creates it and inserts it before next.
  function add(k, next) {
    if (rows.has(k)) return rows.get(k);
    const item = items[k];
    const e = item.p ? row(item.p, item.within) : item.run ? fold(item) : item.lost ? lost(item) : item.left ? left(item.left) : pause(item.pause);
    e.style.top = k * height + 'px';
    list.insertBefore(e, next);
    rows.set(k, e);
    mark(k, e);
    return e;
  }

  const between = (type, text, note) => make('div', { class: 'row ' + type, role: 'presentation' },
    make('span', { class: 'time' }), make('span', { class: 'frame' }), make('span', { class: 'wire' }, make('span', { class: 'word-on-line' }, text)), make('span', { class: 'note' }, note || ''));
  const pause = ns => between('pause', lasted(ns));
  const left = n => between('left-out', many(n, 'packet is', 'packets are') + ' not on this page',
    'The page keeps packets with warnings and errors, those around them, and the first others.');

  const psnsOf = l => l.n === 1 ? 'PSN ' + l.psn : 'PSN ' + l.psn + '–' + (l.psn + l.n - 1) % span;

  // lost returns the row of packets that are missing in the capture: an arrow that ends midway.
  function lost({ lost: l, of: p }) {
    return make('div', { class: 'row error lost', role: 'presentation', 'data-of': p.i },
      make('span', { class: 'time' }), make('span', { class: 'frame' }),
      make('span', { class: 'wire ' + (p.w ? 'left' : 'right') },
        make('span', { class: 'label' }, make('b', null, (l.n === 1 ? '' : l.n.toLocaleString('en') + ' × ') + 'missing'), make('span', { class: 'psn' }, psnsOf(l))),
        make('i', { class: 'line' }), make('i', { class: 'cross' }, '✕')),
      make('span', { class: 'note' }, l.text));
  }

  function wire(p, label, psn, extra) {
    return make('span', { class: 'wire ' + (p.w ? 'left' : 'right') },
      several && p.f >= 0 ? make('span', { class: 'of', title: nameOf(flows[p.f]) }, make('span', { class: 'word' }, 'flow '), String(flows[p.f].n)) : null,
      make('span', { class: 'label' }, ...label, psn === null ? null : make('span', { class: 'psn' }, make('span', { class: 'word' }, 'PSN '), psn, extra ? make('span', { class: 'size' }, ' · ' + extra) : null)),
      make('i', { class: 'line' }), p.gone ? make('i', { class: 'cross' }, '✕') : null);
  }

  // fold returns the row of a run of MIDDLE packets, open or not.
  function fold({ run, open: isOpen }) {
    const p = run[0], z = run[run.length - 1], size = run.reduce((n, q) => n + (q.pl || 0), 0);
    const name = run.length + ' × ' + labelOf(p);
    const psn = psnOf(p) + '–' + psnOf(z);
    return make('div', isOpen ? { class: 'row fold open ' + p.hue, role: 'presentation', 'data-run': p.i } : {
      class: 'row fold ' + p.hue, id: 'p' + p.i, role: 'option', 'aria-selected': 'false', 'aria-expanded': 'false', 'data-run': p.i,
      'aria-posinset': p.place, 'aria-setsize': shownPackets.length,
      'aria-label': name + ', frames ' + p.n + ' to ' + z.n + ', ' + seconds(p.t) + ' seconds, PSN ' + psnOf(p) + ' to ' + psnOf(z) + '. Right Arrow shows them.',
    },
    make('span', { class: 'time' }, isOpen ? '' : seconds(p.t)),
    make('span', { class: 'frame' }, isOpen ? '' : String(p.n)),
    wire(p, [make('span', { class: 'sign' }, isOpen ? '▾ ' : '▸ '), make('b', null, name)], psn),
    make('span', { class: 'note' }, isOpen ? 'click to fold these packets' : 'to frame ' + z.n + ', ' + many(size, 'byte', 'bytes') + ' of payload'));
  }

  function row(p, within) {
    const end = p.f < 0 ? null : flows[p.f].e;
    const sign = p.level === 3 ? make('span', { class: 'sign error' }, '✕ ') : p.level === 2 ? make('span', { class: 'sign warning' }, '▲ ') : null;
    const state = p.level ? ', ' + (p.error ? 'error' : levels[p.level - 1]) : '';
    return make('div', {
      class: 'row ' + p.hue + (p.a ? ' sent-again' : '') + (p.gone ? ' gone' : '') + (within ? ' within' : ''), id: 'p' + p.i, role: 'option', 'aria-selected': 'false',
      'aria-posinset': p.place, 'aria-setsize': shownPackets.length,
      'aria-label': 'Frame ' + p.n + ', ' + seconds(p.t) + ' seconds, ' + labelOf(p) + (p.b ? ' PSN ' + psnOf(p) : '') +
        ' from ' + (end ? end[p.w][0] : data.addrs[p.s]) + (p.a ? ', retransmitted' : '') + (p.gone ? ', did not arrive' : '') + state + (p.g ? ': ' + p.g : '') + p.q.filter(f => f.l > 0).map(f => '. ' + f.t).join(''),
    },
    make('span', { class: 'time' }, seconds(p.t)),
    make('span', { class: 'frame' }, String(p.n)),
    wire(p, [sign, make('b', null, (p.a ? '↻ ' : '') + labelOf(p))].filter(Boolean), p.b && p.r !== 'cm' ? String(psnOf(p)) : null, p.pl ? p.pl + ' B' : ''),
    make('span', { class: 'note' }, p.x || p.g || ''));
  }

  function mark(k, e) {
    const item = items[k], p = item.p || item.run && !item.open && item.run[0];
    if (!p) return;
    const is = !!selected && places.get(selected.i) === k;
    e.setAttribute('aria-selected', String(is));
    e.classList.toggle('same', !!selected && !is && p.m >= 0 && p.m === selected.m);
  }

  // unfold opens the run that hides a packet. It reports whether there is one.
  function unfold(p) {
    const item = items[places.get(p.i)];
    if (!item || !item.run) return false;
    open.add(item.run[0].i);
    arrange();
    return true;
  }

  // refold closes the run of a packet and returns its first packet; null: it is in none.
  function refold(p) {
    const item = items[places.get(p.i)];
    if (!item || !item.within) return null;
    open.delete(item.within[0].i);
    arrange();
    return item.within[0];
  }

  function select(p, into, centre) {
    selected = p;
    draw();
    for (const [k, e] of rows) mark(k, e);
    const k = keptPlace();
    if (k < 0) return list.removeAttribute('aria-activedescendant');
    list.setAttribute('aria-activedescendant', rows.get(k).id);
    if (into) reveal(k, centre);
  }

  // reveal scrolls the minimum distance that shows the item and a row around it, below the sticky
  // head and above an open sheet; or it scrolls the item to the centre if it is not visible.
  function reveal(k, centre) {
    const head = $('ends').offsetHeight, at = k * height + list.offsetTop;
    const sheet = details.isOpen() ? Math.max(0, scroll.getBoundingClientRect().bottom - $('details').getBoundingClientRect().top) : 0;
    const room = scroll.clientHeight - sheet, visible = at - head - height >= scroll.scrollTop && at + 2 * height <= scroll.scrollTop + room;
    if (!visible && centre) scroll.scrollTop = at - head - (room - head - height) / 2;
    else if (at - head - height < scroll.scrollTop) scroll.scrollTop = at - head - height;
    else if (at + 2 * height > scroll.scrollTop + room) scroll.scrollTop = at + 2 * height - room;
    draw();
  }

  // stop returns the packet that is by items that can be selected after the selected one.
  function stop(by) {
    if (!shownPackets.length) return null;
    if (!selected) return shownPackets[0];
    const sign = Math.sign(by);
    let k = keptPlace(), found = selected;
    for (let left = Math.abs(by); left > 0;) {
      k += sign;
      if (k < 0 || k >= items.length) break;
      const item = items[k];
      if (!item.p && !(item.run && !item.open)) continue;
      found = item.p || item.run[0];
      left--;
    }
    return found;
  }

  const packetAt = event => {
    const e = event.target.closest('.row[id]');
    return e ? packets[Number(e.id.slice(1))] : null;
  };
  scroll.addEventListener('scroll', later, { passive: true });
  scroll.addEventListener('wheel', e => {
    if (!e.ctrlKey || e.deltaY === 0) return;
    e.preventDefault();
    scale(e.deltaY > 0 ? -1 : 1);
  }, { passive: false });
  new ResizeObserver(layout).observe(scroll);
  list.addEventListener('pointerover', e => {
    const p = packetAt(e);
    hover(p ? p.i : -1);
  });
  list.addEventListener('pointerleave', () => hover(-1));
  $('zoom-in').addEventListener('click', () => scale(1));
  $('zoom-out').addEventListener('click', () => scale(-1));

  return {
    set,
    select,
    stop,
    scale,
    unfold,
    refold,
    packetAt,
    // runAt returns the first packet of the folded or open run whose row is at an event.
    runAt(event) {
      const e = event.target.closest('.row[data-run]');
      return e ? packets[Number(e.dataset.run)] : null;
    },
    // lostAt returns the packet before which the missing packets at an event belong.
    lostAt(event) {
      const e = event.target.closest('.row[data-of]');
      return e ? packets[Number(e.dataset.of)] : null;
    },
    isFolded: p => places.has(p.i) && !!items[places.get(p.i)].run,
    // toggle opens or closes the run that begins with a packet.
    toggle(p) {
      if (!open.delete(p.i)) open.add(p.i);
      arrange();
    },
    onhover(f) { hover = f; },
    packets: () => shownPackets,
    has: p => places.has(p.i),
    page: () => Math.max(1, Math.floor((scroll.clientHeight - $('ends').offsetHeight) / height) - 1),
    reset() { scroll.scrollTop = 0; },
  };
})();
