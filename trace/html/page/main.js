// The page as a whole: selection and keyboard.

const most = 300; // maximum number of connections in the select element; the list has all
let flow = -1, selected = null, sheet = false, soon = 0;
let matching = packets, invalid = ''; // packets that match filter and buttons; why the filter is invalid

function summary() {
  // The findings of the capture, as in gorxe trace --summary. A wrong packet may have no finding.
  const sum = level => data.kinds.reduce((n, k) => n + (k.l === level ? k.n : 0), 0);
  const errors = Math.max(sum(2), packets.filter(p => p.error).length), warnings = sum(1);
  const parts = [many(packets.length, 'packet', 'packets'), many(flows.length, 'connection', 'connections')];
  if (packets.length > 1) parts.push(lasted(packets[packets.length - 1].t - packets[0].t));
  if (warnings) parts.push(many(warnings, 'warning', 'warnings'));
  $('summary').append(parts.join(' · '));
  if (errors) $('summary').append(' · ', make('b', null, many(errors, 'error', 'errors')));
  if (data.leftOut) {
    $('summary').append(' · ', make('b', { title: 'The page keeps packets with warnings and errors, those around them, and the first others.' },
      many(data.leftOut, 'more packet is not on this page', 'more packets are not on this page')));
  }
}

// problems offers the filter for each kind of warnings and errors. The numbers are of the capture.
function problems() {
  $('kinds').hidden = !data.kinds.length;
  $('kinds').append(...data.kinds.map(k => {
    const button = make('button', {
      type: 'button', class: levels[k.l], 'aria-pressed': 'false', 'data-filter': 'finding ' + k.k, title: 'Show only these packets: finding ' + k.k,
      onclick: () => {
        const filter = button.dataset.filter;
        $('filter').value = $('filter').value === filter ? '' : filter;
        apply();
      },
    }, (k.l > 1 ? '✕ ' : '▲ ') + grouped(k.n) + ' ' + k.k);
    return button;
  }));
}

// worst returns the packet at which the page opens. Of one connection this is the first with a
// problem, of several the first with the gravest problem, in the worst connection that has it.
function worst() {
  const grave = p => p.level < 2 ? 0 : p.error ? 3 : p.q.some(f => f.l > 0 && f.k !== 'ecn_ce' && f.k !== 'cnp') ? 2 : 1;
  if (flows.length < 2) return packets.find(p => p.level > 1);
  const gravest = packets.reduce((g, p) => Math.max(g, grave(p)), 1), all = packets.filter(p => grave(p) === gravest);
  const of = connections.order().find(i => all.some(p => p.f === i));
  return all.find(p => p.f === of) || all[0];
}

// choices fills the list of connections for the keyboard and phones, worst first.
function choices() {
  $('flows').hidden = $('list-open').hidden = flows.length < 2;
  const worst = flows.map(() => 0);
  for (const p of packets) if (p.f >= 0) worst[p.f] = Math.max(worst[p.f], p.level);
  const order = connections.order().slice(0, most), sign = ['', '', '▲ ', '✕ '];
  $('flows').append(make('option', { value: '-1' }, flows.length > most ? 'All ' + grouped(flows.length) + ' connections' : 'All connections'),
    ...order.map(i => make('option', { value: String(i) }, (flows[i].x ? sign[3] : sign[worst[i]]) + nameOf(flows[i]))));
  if (flows.length > most) $('flows').append(make('option', { disabled: '' }, grouped(flows.length - most) + ' more are in the list'));
}

function heads() {
  const f = flow < 0 ? null : flows[flow];
  for (const k of [0, 1]) {
    $('end-' + k).replaceChildren(f ? f.e[k][0] : k ? 'second end' : 'first end', make('small', null, f ? f.e[k][1] : 'of each connection'));
  }
  $('flow').hidden = !f;
  if (!f) return;
  $('flow-line').replaceChildren(make('b', null, f.s + (f.s === 'UD' ? ' datagrams, flow ' : ' connection ') + f.n));
  if (f.x) $('flow-line').append(' · ', make('span', { class: 'failed' }, f.x));
  $('flow-line').append(...f.l.map(words => ' · ' + words));
  $('flow-facts').replaceChildren(...f.k.map(([name, value]) => make('div', null, make('dt', null, name), make('dd', null, value))));
}

// apply shows the packets that match the filter, the buttons, the connection and the interval.
function apply() {
  const { fits, bad } = parse($('filter').value);
  const problems = $('problems').getAttribute('aria-pressed') === 'true', again = $('again').getAttribute('aria-pressed') === 'true';
  for (const b of $('kinds').children) b.setAttribute('aria-pressed', String($('filter').value === b.dataset.filter));
  matching = packets.filter(p => (!problems || p.level > 1) && (!again || p.a) && fits(p));
  invalid = bad;
  limit();
}

// limit shows the matching packets of the connection and the interval. It runs for each step of the
// wheel over a plot, so it does not evaluate the filter.
function limit() {
  ladder.look();
  connections.look();
  const some = interval.of(matching), list = flow < 0 ? some : some.filter(p => p.f === flow);
  $('none').textContent = packets.length ? 'No packet matches.' : 'There are no packets.';
  const last = packets.findLast(p => flow < 0 || p.f === flow);
  ladder.set(list, flow, list.length > 0 && list[list.length - 1] === last);
  connections.set(some, some.length === packets.length, flow);
  plot.set(list, flow);
  charts.set(flow);
  const whole = flow < 0 ? packets.length : packets.reduce((n, p) => n + (p.f === flow), 0);
  $('count').textContent = list.length === whole ? many(whole, 'packet', 'packets') : grouped(list.length) + ' of ' + many(whole, 'packet', 'packets');
  if (invalid) $('count').append(' · ', make('b', null, 'the filter is not understood: ' + invalid));
  const w = interval.get();
  $('interval').hidden = !w;
  if (w) $('interval').replaceChildren(lasted(w.from) + ' to ' + lasted(w.to), make('span', { 'aria-hidden': 'true' }, ' ×'));
  if (selected && ladder.has(selected)) select(selected, true);
  else if (list.length) {
    ladder.reset();
    select(list[0], false);
  } else select(null, false);
}

function select(p, into, centre) {
  selected = p;
  if (p) details.show(p, follow, only, ladder.isFolded(p) ? () => unfold(p) : null);
  else details.clear();
  if (p && sheet) details.open();
  ladder.select(p, into, centre);
  plot.select(p);
  charts.select(p);
  clearTimeout(soon);
  if (p) soon = setTimeout(() => here('#frame-' + p.n), 400); // browsers limit the rate
}

// unfold shows the packets of a folded run.
function unfold(p) {
  if (ladder.unfold(p)) select(p, true);
}

// refold folds the run of the selected packet.
function refold() {
  const first = selected && ladder.refold(selected);
  if (first) select(first, true);
}

function here(hash) {
  try {
    history.replaceState(null, '', hash);
  } catch {
    // A page embedded in another may not have a URL of its own.
  }
}

// go selects a packet. If the filter, buttons, interval or connection hide it, go resets these.
function go(i) {
  const p = packets[i];
  if (!ladder.has(p)) {
    $('filter').value = '';
    for (const b of ['problems', 'again']) $(b).setAttribute('aria-pressed', 'false');
    interval.clear();
    if (flow >= 0 && p.f !== flow) choose(p.f < 0 ? -1 : p.f);
    selected = p;
    apply();
  }
  ladder.unfold(p);
  select(p, true, true);
}

// follow goes to a packet for a link, which shows its details on phones, too.
function follow(i) {
  sheet = true;
  go(i);
}

function only(p) {
  $('filter').value = 'flow ' + flows[p.f].n + ' and message ' + data.messages[p.m].n;
  apply();
}

function choose(f) {
  flow = f;
  const box = $('flows');
  if (![...box.options].some(o => o.value === String(f))) box.append(make('option', { value: String(f) }, nameOf(flows[f])));
  box.value = String(f);
  heads();
}

function step(by) {
  const p = ladder.stop(by);
  if (p) select(p, true);
}

// seek selects the next packet that satisfies test, wrapping around at the end.
function seek(by, test) {
  const list = ladder.packets(), at = selected ? selected.place - 1 : 0;
  for (let k = 1; k <= list.length; k++) {
    const p = list[(at + by * k % list.length + list.length) % list.length];
    if (test(p)) return select(p, true);
  }
}

function clearFilter() {
  $('filter').value = '';
  for (const b of ['problems', 'again']) $(b).setAttribute('aria-pressed', 'false');
  interval.clear();
  apply();
  $('ladder').focus({ preventScroll: true });
}

const keys = {
  ArrowDown: () => step(1), ArrowUp: () => step(-1), j: () => step(1), k: () => step(-1),
  PageDown: () => step(ladder.page()), PageUp: () => step(-ladder.page()),
  Home: () => step(-packets.length), End: () => step(packets.length),
  n: () => seek(1, p => p.level > 1), N: () => seek(-1, p => p.level > 1),
  r: () => seek(1, p => p.a), R: () => seek(-1, p => p.a),
  l: () => seek(1, p => p.le), L: () => seek(-1, p => p.le),
  m: () => { if (selected && selected.m >= 0) only(selected); },
  ArrowRight: () => { if (selected) unfold(selected); }, ArrowLeft: refold,
  '+': () => ladder.scale(1), '=': () => ladder.scale(1), '-': () => ladder.scale(-1), 0: () => ladder.scale(0),
  Enter: () => {
    if (selected && ladder.isFolded(selected)) return unfold(selected);
    sheet = true;
    select(selected, true);
    $('details').focus();
  },
  '/': () => $('filter').focus(), '?': () => $('help').showModal(),
  Escape: () => {
    if (details.isOpen()) {
      sheet = false;
      details.close();
    } else clearFilter();
  },
};

// The keys work in the ladder, and if no other element has the focus.
document.addEventListener('keydown', e => {
  const at = document.activeElement;
  if (at !== $('ladder') && at !== $('scroll') && at !== document.body || $('help').open) return;
  if (e.defaultPrevented || e.ctrlKey || e.altKey || e.metaKey || !Object.hasOwn(keys, e.key)) return;
  e.preventDefault();
  keys[e.key]();
});
$('details').addEventListener('keydown', e => {
  if (e.key !== 'Escape') return;
  sheet = false;
  details.close();
});
$('details').addEventListener('click', e => {
  if (e.target.closest('.close')) sheet = false;
});
$('ladder').addEventListener('click', e => {
  const run = ladder.runAt(e);
  if (run) {
    ladder.toggle(run);
    return select(run, true);
  }
  const p = ladder.packetAt(e) || ladder.lostAt(e);
  if (!p) return;
  sheet = true;
  select(p, true);
});
ladder.onhover(i => plot.hover(i));
plot.onpick(i => {
  follow(i);
  $('ladder').focus({ preventScroll: true });
});

let wait = 0;
$('filter').addEventListener('input', () => {
  clearTimeout(wait);
  wait = setTimeout(apply, 60);
});
$('filter').addEventListener('keydown', e => {
  if (e.key === 'Escape') {
    e.preventDefault();
    clearFilter();
  }
  if (e.key === 'Enter' || e.key === 'ArrowDown') {
    e.preventDefault();
    clearTimeout(wait);
    apply();
    $('ladder').focus({ preventScroll: true });
  }
});
for (const b of ['problems', 'again']) {
  $(b).addEventListener('click', () => {
    $(b).setAttribute('aria-pressed', String($(b).getAttribute('aria-pressed') !== 'true'));
    apply();
  });
}
function show(f) {
  choose(f);
  apply();
}
$('flows').addEventListener('change', () => show(Number($('flows').value)));
connections.onpick(f => {
  show(f);
  if (phone.matches) connections.show(false);
});
interval.onchange(() => {
  limit();
  plot.now(); // in the same frame as the ladder
  charts.now();
});
$('interval').addEventListener('click', () => {
  interval.clear();
  $('ladder').focus({ preventScroll: true });
});
for (const [id, factor] of [['time-in', .5], ['time-out', 2]]) {
  $(id).addEventListener('click', () => {
    const w = interval.get() || { from: begins, to: finishes };
    interval.zoom(selected && interval.has(selected) ? selected.t : (w.from + w.to) / 2, factor);
  });
}

// metric shows the chosen plot.
function metric() {
  const id = $('metric').value, psn = id === 'psn';
  for (const e of [$('plot'), $('plot-title'), document.querySelector('.legend'), $('plot-axis')]) e.hidden = !psn;
  document.querySelector('.plot').classList.toggle('charted', !psn);
  $('tip').hidden = true;
  charts.choose(psn ? '' : id);
}
$('metric').append(make('option', { value: 'psn' }, 'PSN'), ...charts.names.map(([id, name]) => make('option', { value: id }, name)), make('option', { value: 'all' }, 'All over time'));
$('metric').addEventListener('change', metric);
$('help-open').addEventListener('click', () => $('help').showModal());
$('help').addEventListener('click', e => {
  if (e.target === $('help') || e.target.closest('button')) $('help').close();
});
phone.addEventListener('change', () => {
  sheet = false;
  $('details').classList.remove('open');
});

// address goes to the frame that the fragment of the address names. It reports whether there is one.
function address() {
  const named = /^#frame-(\d+)$/.exec(location.hash);
  if (!named || !byFrame.has(Number(named[1]))) return false;
  follow(byFrame.get(Number(named[1])));
  return true;
}
window.addEventListener('hashchange', address);

$('all-fields').addEventListener('toggle', () => {
  if (!$('fields').firstChild) $('fields').append(...columns.map(c => make('div', null, make('dt', null, make('code', null, c.n.join(', '))), make('dd', null, [c.d, c.e].filter(Boolean).join(': ')))));
});
summary();
problems();
metric();
connections.set(packets, true, -1);
choices();
choose(flows.length === 1 ? 0 : -1);
apply();
if (!address()) {
  const problem = worst();
  if (problem) select(problem, true, true);
}
$('ladder').focus({ preventScroll: true });
if (flows.length >= 10 && matchMedia('(min-width: 1400px)').matches) connections.show(true);
