// The list of connections, worst first. It counts the packets that match the filter in the selected
// interval, and contains only connections that have any. Only visible rows have elements.

const connections = (() => {
  const pane = $('list'), box = $('list-rows'), scroll = $('list-scroll'), margin = 5;
  let order = [], counts = [], whole = true, flow = -1, height = 52, rows = new Map(), view = null, pick = () => {}, at = 0;

  // worst returns a number that is higher the worse a connection is.
  const worst = (f, c, all) => (c.errors ? 2 ** 52 : 0) + (all ? f.w : c.warnings * 1000 + c.again);

  // set sets the packets to count, whether they are all of the page, and the chosen connection.
  function set(list, all, chosen) {
    counts = flows.map(() => ({ packets: 0, errors: 0, warnings: 0, again: 0 }));
    for (const p of list) {
      if (p.f < 0) continue;
      const c = counts[p.f];
      c.packets++;
      if (p.level === 3) c.errors++;
      if (p.level === 2) c.warnings++;
      if (p.a) c.again++;
    }
    const value = counts.map((c, i) => worst(flows[i], c, all));
    order = flows.map((_, i) => i).filter(i => counts[i].packets).sort((a, b) => value[b] - value[a] || a - b);
    order.unshift(-1);
    $('list-count').textContent = many(order.length - 1, 'connection', 'connections') + (order.length - 1 < flows.length ? ' of ' + grouped(flows.length) : '') + ', worst first';
    choose(chosen);
    whole = all;
    clear();
    box.style.height = order.length * height + 'px';
    if (pane.hidden) return;
    const v = view || look();
    view = null;
    v.scrolled = Math.max(0, Math.min(v.scrolled, v.top + order.length * height - v.height));
    drawAt(v);
  }

  function choose(f) {
    flow = f;
    at = Math.max(0, order.indexOf(f));
    for (const [k, e] of rows) mark(k, e);
  }

  function clear() {
    for (const e of rows.values()) e.remove();
    rows.clear();
  }

  // look returns what is visible of the list, in pixels: the position of the scroll bar, its height, and
  // the position of the rows.
  const look = () => ({ scrolled: scroll.scrollTop, height: scroll.clientHeight, top: box.offsetTop });

  function draw() {
    if (!pane.hidden) drawAt(look());
  }

  function drawAt(v) {
    const top = v.scrolled - v.top;
    const first = Math.max(0, Math.floor(top / height) - margin), last = Math.min(order.length, Math.ceil((top + v.height) / height) + margin);
    for (const [k, e] of rows) {
      if ((k < first || k >= last) && k !== at) {
        e.remove();
        rows.delete(k);
      }
    }
    let next = at >= last && at < order.length ? add(at, null) : null;
    for (let k = last - 1; k >= first; k--) next = add(k, next);
    if (at < first && at < order.length) add(at, next);
    const active = rows.get(at);
    if (active) box.setAttribute('aria-activedescendant', active.id);
    else box.removeAttribute('aria-activedescendant');
  }

  function add(k, next) {
    if (rows.has(k)) return rows.get(k);
    const i = order[k], e = i < 0 ? everything() : row(i);
    e.id = 'c' + i;
    e.setAttribute('aria-posinset', k + 1);
    e.setAttribute('aria-setsize', order.length);
    e.style.top = k * height + 'px';
    box.insertBefore(e, next);
    rows.set(k, e);
    mark(k, e);
    return e;
  }

  const everything = () => make('div', { class: 'connection', role: 'option' }, make('span', { class: 'who' }, make('b', null, 'All connections')),
    make('span', { class: 'what' }, 'the packets of all'));

  function row(i) {
    const f = flows[i], c = counts[i];
    const sign = f.x || c.errors ? make('span', { class: 'sign error' }, '✕ ') : c.warnings ? make('span', { class: 'sign warning' }, '▲ ') : null;
    const facts = [];
    if (whole) facts.push(...f.l, many(f.p, 'packet', 'packets')); // of the capture
    else {
      if (c.errors) facts.push(many(c.errors, 'error', 'errors'));
      if (c.warnings) facts.push(many(c.warnings, 'warning', 'warnings'));
      if (c.again) facts.push(grouped(c.again) + ' retransmitted');
      facts.push(many(c.packets, 'packet', 'packets'));
    }
    return make('div', { class: 'connection', role: 'option', title: nameOf(f) + (f.x ? ' · ' + f.x : '') + '\n' + facts.join(' · ') },
      make('span', { class: 'who' }, sign, make('b', null, f.n + ' · ' + f.s), ' ' + f.e[0][0] + ' – ' + f.e[1][0]),
      make('span', { class: 'what' }, f.x ? make('span', { class: 'failed' }, f.x + ' · ') : null, facts.join(' · ')));
  }

  function mark(k, e) {
    e.setAttribute('aria-selected', String(order[k] === flow));
    e.classList.toggle('at', k === at);
  }

  const later = framed(draw);

  function move(k) {
    at = Math.max(0, Math.min(order.length - 1, k));
    const top = at * height + box.offsetTop;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    else if (top + height > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + height - scroll.clientHeight;
    draw();
    for (const [j, e] of rows) mark(j, e);
  }

  scroll.addEventListener('scroll', later, { passive: true });
  new ResizeObserver(later).observe(scroll);
  box.addEventListener('click', e => {
    const row = e.target.closest('.connection');
    if (row) pick(Number(row.id.slice(1)));
  });
  box.addEventListener('keydown', e => {
    const page = Math.max(1, Math.floor(scroll.clientHeight / height) - 1);
    const acts = {
      ArrowDown: () => move(at + 1), ArrowUp: () => move(at - 1), PageDown: () => move(at + page), PageUp: () => move(at - page),
      Home: () => move(0), End: () => move(order.length - 1), Enter: () => pick(order[at]), ' ': () => pick(order[at]), Escape: () => show(false),
    };
    if (e.ctrlKey || e.altKey || e.metaKey || !Object.hasOwn(acts, e.key)) return;
    e.preventDefault();
    e.stopPropagation();
    acts[e.key]();
  });
  $('list-close').addEventListener('click', () => show(false));
  $('list-open').addEventListener('click', () => {
    show(pane.hidden);
    if (!pane.hidden) box.focus({ preventScroll: true });
  });

  function show(open) {
    pane.hidden = !open;
    $('list-open').setAttribute('aria-expanded', String(open));
    document.querySelector('main').classList.toggle('listed', open);
    if (open) draw();
    else $('ladder').focus({ preventScroll: true });
  }

  return {
    // look notes what is visible, for the next call of set; see ladder.look.
    look() { view = pane.hidden ? null : look(); },
    set,
    choose,
    show,
    onpick(f) { pick = f; },
    // order returns the indexes of all connections, worst first.
    order: () => order.slice(1),
  };
})();
