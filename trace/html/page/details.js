// The details of the selected packet: meaning, findings and fields.

const details = (() => {
  const pane = $('details');
  let shown = null, folded = false; // the packet in the pane, and whether the ladder folds it
  const hex = (n, digits) => '0x' + n.toString(16).padStart(digits, '0');
  const bit = (p, f) => (p.b[1] & f) ? '1' : '0';

  const frames = (list, go) => make('div', { class: 'links' }, ...list.filter(n => byFrame.has(n)).map(n =>
    make('button', { type: 'button', class: 'link', onclick: () => go(byFrame.get(n)) }, 'frame ' + n)));

  function fieldsOf(p) {
    const out = [];
    const [version, tc, hop, id] = p.ip;
    const ecn = ['not ECN-capable', 'ECN-capable, ECT(1)', 'ECN-capable, ECT(0)', 'congestion experienced'][tc & 3];
    const ip = [['Source', data.addrs[p.s]], ['Destination', data.addrs[p.e]], ['DSCP', tc >> 2], ['ECN', (tc & 3) + ' (' + ecn + ')', marked(p)],
      ['Hop Limit', hop]];
    if (version === 4) ip.push(['Identification', hex(id, 4)]);
    if (p.fb) out.push([p.fb, ip.slice(0, 2)]); // its headers follow
    else out.push(['IPv' + version + ' and UDP', ip]);
    if (p.b) {
      out.push(['BTH', [['OpCode', opcodeOf(p)[0] + ' ' + opcodeOf(p)[1]], ['Solicited Event (SE)', bit(p, SE)], ['MigReq (M)', bit(p, MIGREQ)],
        ['Pad Count (PadCnt)', p.b[2]], ['Header Version (TVer)', p.b[3], p.b[3] !== 0], ['Partition Key (P_Key)', hex(p.b[4], 4)],
        ['FECN, BECN', bit(p, FECN) + ', ' + bit(p, BECN)], ['Destination QP (DestQP)', hex(p.b[5], 6)],
        ['Acknowledge Request (A)', bit(p, ACKREQ)], ['Sequence Number (PSN)', hex(psnOf(p), 6).slice(2) + ' (' + psnOf(p) + ')']]]);
    }
    for (const g of p.h || []) out.push([g.n, g.f]);
    const end = [['Length', p.l + ' bytes, BTH to ICRC' + (p.cl ? '; ' + p.cl + ' captured' : '')], ['Payload', p.pl ? p.pl + ' bytes' : 'none'], ['ICRC', p.c[0], wrong(p)]];
    if (p.c.length > 1) end.push(['on the wire', p.c[1], wrong(p)]);
    if (wrong(p)) end.push(['should be', p.c[2]]);
    out.push(['Payload and ICRC', end]);
    return out;
  }

  // show shows a packet. go goes to another one, only shows its message alone; unfold, unless null,
  // shows the run in which the packet is folded.
  function show(p, go, only, unfold) {
    if (p === shown && !unfold === !folded) return;
    shown = p;
    folded = !!unfold;
    const chips = [make('span', { class: 'chip ' + (p.r || '') }, p.r || 'no role')];
    if (p.d) chips.push(make('span', { class: 'chip' }, p.d === 'in' ? 'received' : 'sent'));
    if (p.a) chips.push(make('span', { class: 'chip again' }, 'retransmitted'));
    if (p.gone) chips.push(make('span', { class: 'chip error' }, wrong(p) ? 'dropped by the receiver' : 'lost after the capture point'));
    if (wrong(p)) chips.push(make('span', { class: 'chip error' }, 'ICRC wrong'));
    if (marked(p)) chips.push(make('span', { class: 'chip warning' }, 'ECN CE'));
    if (p.u) chips.push(make('span', { class: 'chip error' }, 'perhaps not RoCEv2'));
    if (p.pt) chips.push(make('span', { class: 'chip' }, 'part ' + p.pt[0] + ' of ' + p.pt[1] + ' of its frame'));

    const parts = [
      make('div', { class: 'top' },
        make('h2', null, 'Frame ' + p.n + ': ' + labelOf(p)),
        make('button', { type: 'button', class: 'close', 'aria-label': 'Close', onclick: () => close() }, '×')),
      make('div', { class: 'chips' }, ...chips),
      make('p', { class: 'meaning' }, p.x || p.g || 'Nothing more is known about this packet.'),
    ];
    for (const f of p.q) {
      const level = levels[f.l];
      parts.push(make('div', { class: 'finding ' + level },
        make('p', null, make('strong', null, (level === 'info' ? 'Info' : level === 'error' ? 'Error' : 'Warning') + ': '), f.t),
        frames((f.f || []).filter(n => n !== p.n), go)));
    }
    const copies = [];
    if (p.earlier >= 0) copies.push(make('button', { type: 'button', class: 'link', onclick: () => go(p.earlier) }, 'sent before in frame ' + packets[p.earlier].n));
    if (p.later >= 0) copies.push(make('button', { type: 'button', class: 'link', onclick: () => go(p.later) }, 'retransmitted in frame ' + packets[p.later].n));
    if (copies.length) parts.push(make('div', { class: 'links' }, ...copies));

    if (unfold) parts.push(make('div', { class: 'links' }, make('button', { type: 'button', class: 'link', onclick: unfold }, 'show the packets of this run')));
    if (p.m >= 0) {
      const m = data.messages[p.m];
      parts.push(make('h3', null, 'Message ' + m.n + ': ' + m.v));
      if (m.x) parts.push(make('div', { class: 'finding error' }, make('p', null, make('strong', null, 'Failed: '), m.x)));
      parts.push(facts(m.k), make('div', { class: 'links' },
        make('button', { type: 'button', class: 'link', onclick: () => only(p) }, 'only this message'), ));
    }
    for (const [title, text, rule] of (p.le || []).map(i => data.lessons[i])) {
      parts.push(make('div', { class: 'lesson' }, make('h3', null, title), make('p', null, text), make('p', { class: 'rule' }, rule)));
    }
    if (p.le) {
      const next = packets.find(k => k.i > p.i && k.le);
      if (next) parts.push(make('div', { class: 'links' }, make('button', { type: 'button', class: 'link', onclick: () => go(next.i) }, 'next lesson: frame ' + next.n)));
    }
    parts.push(make('h3', null, 'Time'), facts([['Captured', instant(p) + ' UTC'], ['After the first packet', seconds(p.t) + ' s'],
      ['After the previous packet', p.i ? lasted(p.t - packets[p.i - 1].t) : 'first packet']]));
    for (const [name, list] of fieldsOf(p)) parts.push(make('h3', null, name), facts(list));
    pane.replaceChildren(...parts);
    pane.scrollTop = 0;
  }

  function close() {
    pane.classList.remove('open');
    $('ladder').focus({ preventScroll: true });
  }

  return {
    show,
    close,
    open() { pane.classList.add('open'); },
    isOpen: () => phone.matches && pane.classList.contains('open'),
    clear() {
      shown = null;
      pane.classList.remove('open');
      pane.replaceChildren(make('p', { class: 'meaning' }, 'Select a packet to see what it means.'));
    },
  };
})();
