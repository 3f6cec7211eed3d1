// The ladder diagram: an arrow per packet between the lines of the two ends, oldest first. Only
// visible rows, and a few around them, have elements.

const ladder = (() => {
  const list = $('ladder'), scroll = $('scroll'), margin = 10;
  let items = []; // packets, and pauses in nanoseconds between them
  let places = new Map(); // index in items by packet index
  let shownPackets = [], several = false, rows = new Map(), height = 34, selected = null, redraw = 0, hover = () => {};

  // worth returns the minimum length of a pause that gets a row, relative to the median gap.
  function worth(list) {
    const gaps = [];
    for (let i = 1; i < list.length; i++) gaps.push(list[i].t - list[i - 1].t);
    gaps.sort((a, b) => a - b);
    return Math.max(100e3, 8 * (gaps[gaps.length >> 1] || 0));
  }

  // set sets the packets to show, and whether they belong to several connections.
  function set(list_, several_) {
    shownPackets = list_;
    several = several_;
    const least = worth(list_);
    items = [];
    places = new Map();
    list_.forEach((p, k) => {
      const gap = k ? p.t - list_[k - 1].t : 0;
      if (gap >= least) items.push(gap);
      p.place = k + 1;
      places.set(p.i, items.length);
      items.push(p);
    });
    clear();
    layout();
  }

  function clear() {
    for (const e of rows.values()) e.remove();
    rows.clear();
  }

  function layout() {
    const h = parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')) || 34;
    if (h !== height) {
      height = h;
      clear();
    }
    list.style.height = items.length * height + 'px';
    $('none').hidden = items.length > 0;
    draw();
  }

  function later() {
    if (!redraw) redraw = requestAnimationFrame(draw);
  }

  function draw() {
    redraw = 0;
    const top = Math.max(0, scroll.scrollTop - list.offsetTop);
    const first = Math.max(0, Math.floor(top / height) - margin);
    const last = Math.min(items.length, Math.ceil((top + scroll.clientHeight) / height) + margin);
    for (const [k, e] of rows) {
      if ((k < first || k >= last) && !(selected && items[k] === selected)) {
        e.remove();
        rows.delete(k);
      }
    }
    // The elements are in the order of the items, for screen readers.
    const kept = selected && places.has(selected.i) ? places.get(selected.i) : -1;
    let next = kept >= last ? add(kept, null) : null;
    for (let k = last - 1; k >= first; k--) next = add(k, next);
    if (kept >= 0 && kept < first) add(kept, next);
  }

  // add returns the row of an item. If necessary it creates it and inserts it before next.
  function add(k, next) {
    if (rows.has(k)) return rows.get(k);
    const item = items[k], e = typeof item === 'number' ? pause(item) : row(item);
    e.style.top = k * height + 'px';
    list.insertBefore(e, next);
    rows.set(k, e);
    mark(k, e);
    return e;
  }

  const pause = ns => make('div', { class: 'row pause', role: 'presentation' },
    make('span', { class: 'time' }), make('span', { class: 'frame' }), make('span', { class: 'wire' }, lasted(ns)));

  function row(p) {
    const end = p.f < 0 ? null : flows[p.f].e;
    const sign = p.level === 3 ? make('span', { class: 'sign error' }, '✕ ') : p.level === 2 ? make('span', { class: 'sign warning' }, '▲ ') : null;
    const state = p.level ? ', ' + (p.error ? 'error' : levels[p.level - 1]) : '';
    return make('div', {
      class: 'row ' + p.hue + (p.a ? ' sent-again' : ''), id: 'p' + p.i, role: 'option', 'aria-selected': 'false',
      'aria-posinset': p.place, 'aria-setsize': shownPackets.length,
      'aria-label': 'Frame ' + p.n + ', ' + seconds(p.t) + ' seconds, ' + labelOf(p) + (p.b ? ' PSN ' + psnOf(p) : '') +
        ' from ' + (end ? end[p.w][0] : data.addrs[p.s]) + (p.a ? ', retransmitted' : '') + state + (p.g ? ': ' + p.g : '') + p.q.filter(f => f.l > 0).map(f => '. ' + f.t).join(''),
    },
    make('span', { class: 'time' }, seconds(p.t)),
    make('span', { class: 'frame' }, String(p.n)),
    make('span', { class: 'wire ' + (p.w ? 'left' : 'right') },
      several && p.f >= 0 ? make('span', { class: 'of', title: nameOf(flows[p.f]) }, make('span', { class: 'word' }, 'flow '), String(flows[p.f].n)) : null,
      make('span', { class: 'label' }, sign, make('b', null, (p.a ? '↻ ' : '') + labelOf(p)),
        p.b && p.r !== 'cm' ? make('span', { class: 'psn' }, make('span', { class: 'word' }, 'PSN '), String(psnOf(p)), p.pl ? make('span', { class: 'size' }, ' · ' + p.pl + ' B') : null) : null),
      make('i', { class: 'line' })),
    make('span', { class: 'note' }, p.x || p.g || ''));
  }

  function mark(k, e) {
    const p = items[k];
    if (typeof p === 'number') return;
    e.setAttribute('aria-selected', String(p === selected));
    e.classList.toggle('same', !!selected && p !== selected && p.m >= 0 && p.m === selected.m);
  }

  function select(p, into) {
    selected = p;
    draw();
    for (const [k, e] of rows) mark(k, e);
    if (p && places.has(p.i)) {
      list.setAttribute('aria-activedescendant', 'p' + p.i);
      if (into) reveal(places.get(p.i));
    } else list.removeAttribute('aria-activedescendant');
  }

  // reveal scrolls the minimum distance that shows the item and a row around it, below the sticky
  // head and above an open sheet.
  function reveal(k) {
    const head = $('ends').offsetHeight, at = k * height + list.offsetTop;
    const sheet = details.isOpen() ? Math.max(0, scroll.getBoundingClientRect().bottom - $('details').getBoundingClientRect().top) : 0;
    const room = scroll.clientHeight - sheet;
    if (at - head - height < scroll.scrollTop) scroll.scrollTop = at - head - height;
    else if (at + 2 * height > scroll.scrollTop + room) scroll.scrollTop = at + 2 * height - room;
    draw();
  }

  const packetAt = event => {
    const e = event.target.closest('.row[id]');
    return e ? packets[Number(e.id.slice(1))] : null;
  };
  scroll.addEventListener('scroll', later, { passive: true });
  new ResizeObserver(layout).observe(scroll);
  list.addEventListener('pointerover', e => {
    const p = packetAt(e);
    hover(p ? p.i : -1);
  });
  list.addEventListener('pointerleave', () => hover(-1));

  return {
    set,
    select,
    packetAt,
    onhover(f) { hover = f; },
    packets: () => shownPackets,
    has: p => places.has(p.i),
    page: () => Math.max(1, Math.floor((scroll.clientHeight - $('ends').offsetHeight) / height) - 1),
    reset() { scroll.scrollTop = 0; },
  };
})();
