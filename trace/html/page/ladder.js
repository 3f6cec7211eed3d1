// The ladder diagram: an arrow per packet between the lines of the two ends, oldest first. Only
// visible rows, and a few around them, have elements.

const ladder = (() => {
  const list = $('ladder'), scroll = $('scroll'), margin = 10;
  const scales = [.24, .42, .65, 1, 1.65, 2.4], normal = 3; // row heights, relative to the normal one
  let items = [];
  const places = new Int32Array(packets.length).fill(-1); // index in items by packet index; -1: none
  let shownPackets = [], flow = -1, several = false, wasSeveral = false, ends = false, rows = new Map(), height = 34, zoom = normal, selected = null, view = null, hover = () => {};
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

  // arrange computes the items. The rows are created by the next draw.
  function arrange() {
    items = itemsOf(shownPackets, p => open.has(p.i), flow, ends);
    places.fill(-1);
    items.forEach((item, k) => {
      if (item.p) places[item.p.i] = k;
      else if (item.run && !item.open) for (const p of item.run) places[p.i] = k;
    });
    reuse();
    resize();
  }

  // keyOf names what the row of an item shows; '': it is not reused.
  const keyOf = item => item.p ? 'p' + item.p.i + (item.within ? ' within' : '') : item.run ? 'r' + item.run[0].i + ' ' + item.run.length + (item.open ? ' open' : '') : '';

  // reuse keeps the rows of items that are still there, at their new places.
  function reuse() {
    if (wasSeveral !== several) {
      wasSeveral = several;
      return clear();
    }
    const old = rows;
    rows = new Map();
    for (const e of old.values()) {
      const k = e.dataset.key ? places[e.dataset.packet] : -1;
      if (k < 0 || keyOf(items[k]) !== e.dataset.key) {
        e.remove();
        continue;
      }
      rows.set(k, e);
      place(k, e);
    }
  }

  // place puts the row of an item at its place.
  function place(k, e) {
    const item = items[k], p = item.p || item.run && !item.open && item.run[0];
    e.style.top = k * height + 'px';
    if (!p) return;
    e.setAttribute('aria-posinset', p.place);
    e.setAttribute('aria-setsize', shownPackets.length);
  }

  function resize() {
    list.style.height = items.length * height + 'px';
    $('none').hidden = items.length > 0;
  }

  function clear() {
    for (const e of rows.values()) e.remove();
    rows.clear();
  }

  // layout computes the height of rows, which depends on the size of the window.
  function layout() {
    const base = parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')) || 34;
    const h = Math.round(base * scales[zoom]);
    if (h !== height) {
      height = h;
      list.style.setProperty('--row', h + 'px');
      clear();
    }
    resize();
    draw();
  }

  // scale changes the height of rows by a number of steps; 0 makes it normal. The selected row, or
  // else the first visible one, keeps its place.
  function scale(by) {
    const next = by ? Math.min(scales.length - 1, Math.max(0, zoom + by)) : normal;
    if (next === zoom) return;
    const head = list.offsetTop, k = keptPlace();
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

  const later = framed(draw);

  const keptPlace = () => selected ? places[selected.i] : -1;

  // look returns what is visible of the ladder, in pixels: the position of the scroll bar, its height,
  // the position of the ladder, and the height of the sticky head.
  const look = () => ({ scrolled: scroll.scrollTop, height: scroll.clientHeight, top: list.offsetTop, head: $('ends').offsetHeight });

  function draw() { drawAt(look()); }

  function drawAt(v) {
    const top = Math.max(0, v.scrolled - v.top), kept = keptPlace();
    const first = Math.max(0, Math.floor(top / height) - margin);
    const last = Math.min(items.length, Math.ceil((top + v.height) / height) + margin);
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
    place(k, e);
    const key = keyOf(item);
    if (key) {
      e.dataset.key = key;
      e.dataset.packet = (item.p || item.run[0]).i;
    }
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
        make('span', { class: 'label' }, make('b', null, (l.n === 1 ? '' : grouped(l.n) + ' × ') + 'missing'), make('span', { class: 'psn' }, psnsOf(l))),
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
    const is = !!selected && places[selected.i] === k;
    e.setAttribute('aria-selected', String(is));
    e.classList.toggle('same', !!selected && !is && p.m >= 0 && p.m === selected.m);
  }

  // unfold opens the run that hides a packet. It reports whether there is one.
  function unfold(p) {
    const item = items[places[p.i]];
    if (!item || !item.run) return false;
    open.add(item.run[0].i);
    arrange();
    return true;
  }

  // refold closes the run of a packet and returns its first packet; null: it is in none.
  function refold(p) {
    const item = items[places[p.i]];
    if (!item || !item.within) return null;
    open.delete(item.within[0].i);
    arrange();
    return item.within[0];
  }

  function select(p, into, centre) {
    const v = view || look(), k = p ? places[p.i] : -1;
    view = null;
    selected = p;
    const old = v.scrolled;
    v.scrolled = Math.max(0, Math.min(v.scrolled, v.top + items.length * height - v.height));
    if (k >= 0 && into) reveal(k, centre, v);
    if (v.scrolled !== old) scroll.scrollTop = v.scrolled;
    drawAt(v);
    for (const [j, e] of rows) mark(j, e);
    if (k < 0) list.removeAttribute('aria-activedescendant');
    else list.setAttribute('aria-activedescendant', rows.get(k).id);
  }

  // reveal scrolls v the minimum distance that shows the item and a row around it, below the sticky
  // head and above an open sheet; or it scrolls the item to the centre if it is not visible.
  function reveal(k, centre, v) {
    const at = k * height + v.top;
    const sheet = details.isOpen() ? Math.max(0, scroll.getBoundingClientRect().bottom - $('details').getBoundingClientRect().top) : 0;
    const room = v.height - sheet, visible = at - v.head - height >= v.scrolled && at + 2 * height <= v.scrolled + room;
    if (!visible && centre) v.scrolled = at - v.head - (room - v.head - height) / 2;
    else if (at - v.head - height < v.scrolled) v.scrolled = at - v.head - height;
    else if (at + 2 * height > v.scrolled + room) v.scrolled = at + 2 * height - room;
    v.scrolled = Math.max(0, v.scrolled);
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

  layout();

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
    // look notes what is visible, for the next call of select. Called before the page changes, it does
    // not make the browser compute the layout.
    look() { view = look(); },
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
    isFolded: p => places[p.i] >= 0 && !!items[places[p.i]].run,
    // toggle opens or closes the run that begins with a packet.
    toggle(p) {
      if (!open.delete(p.i)) open.add(p.i);
      arrange();
    },
    onhover(f) { hover = f; },
    packets: () => shownPackets,
    has: p => places[p.i] >= 0,
    page: () => Math.max(1, Math.floor((scroll.clientHeight - $('ends').offsetHeight) / height) - 1),
    reset() {
      scroll.scrollTop = 0;
      view = null;
    },
  };
})();
