// The packet filter. Its language is that of gorxe trace --filter, with its fields and some of
// Wireshark's. In addition, words that are not fields are searched in names, meanings and
// findings, and adjacent terms are combined with and.

const number = s => /^(0x[0-9a-f]+|\d+)$/i.test(s) ? Number(s) : NaN;
const squeeze = s => s.toLowerCase().replace(/[_\- ]/g, '');
const address = i => data.addrs[i].replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
const qpn = end => number(end[1].slice(3));
const isNAK = p => p.r === 'ack' && /^(NAK|RNR NAK|reserved)/.test(p.lb || '');
const operation = { write: 'rdmawrite', read: 'rdmareadrequest', readrequest: 'rdmareadrequest', readresponse: 'rdmareadresponse',
  ack: 'acknowledge', atomicack: 'atomicacknowledge', cas: 'compareswap', faa: 'fetchadd' };

// Fields: get returns the values of a packet; name converts a word to one of them.
const of = (get, more) => ({ get: p => [].concat(get(p)), ...more });
const inBTH = get => of(p => p.b ? get(p) : []);
const flag = f => inBTH(p => p.b[1] & f ? 1 : 0);
const psns = { ...inBTH(psnOf), around: true };
const texts = get => ({ get: p => [].concat(get(p)), text: true });
const flags = {
  error: p => p.error || isNAK(p) || p.lb === 'CM REJ',
  warning: p => p.level > 1 || flags.error(p),
  nak: isNAK,
  again: p => !!p.a,
  ackreq: p => !!p.b && (p.b[1] & ACKREQ) !== 0,
  request: p => p.r === 'request', response: p => p.r === 'response', ack: p => p.r === 'ack', datagram: p => p.r === 'datagram',
  cm: p => p.r === 'cm', cnp: p => p.r === 'cnp',
  inbound: p => p.d === 'in', outbound: p => p.d === 'out',
  finding: p => p.q.length > 0,
};
const fields = {
  qp: of(p => (p.b ? [p.b[5]] : []).concat(p.f < 0 ? [] : flows[p.f].e.map(qpn).filter(n => n > 0))),
  addr: texts(p => [address(p.s), address(p.e)]), src: texts(p => address(p.s)), dst: texts(p => address(p.e)),
  opcode: { ...inBTH(p => [number(opcodeOf(p)[0]), squeeze(opcodeOf(p)[1])]), name: squeeze },
  op: { ...inBTH(p => squeeze(opcodeOf(p)[3])), name: s => operation[squeeze(s)] || squeeze(s) },
  service: texts(p => p.b ? opcodeOf(p)[4] : []),
  psn: psns,
  frame: of(p => p.n),
  len: of(p => p.l),
  flow: of(p => p.f < 0 ? [] : flows[p.f].n),
  message: of(p => p.m < 0 ? [] : data.messages[p.m].n),
  verb: texts(p => p.m < 0 ? [] : data.messages[p.m].v),
  finding: texts(p => p.q.map(f => f.k)),
  'infiniband.bth.destqp': inBTH(p => p.b[5]), 'infiniband.bth.a': flag(ACKREQ), 'infiniband.bth.se': flag(SE),
  'infiniband.bth.m': flag(MIGREQ), 'infiniband.bth.p_key': inBTH(p => p.b[4]), 'infiniband.bth.padcnt': inBTH(p => p.b[2]),
};
for (const [name, as] of [['qpn', 'qp'], ['infiniband.bth.opcode', 'opcode'], ['infiniband.bth.psn', 'psn'], ['frame.number', 'frame'],
  ['ip.addr', 'addr'], ['ip.src', 'src'], ['ip.dst', 'dst'], ['ipv6.addr', 'addr'], ['ipv6.src', 'src'], ['ipv6.dst', 'dst']]) fields[name] = fields[as];

const spoken = p => [labelOf(p), p.b ? opcodeOf(p)[1] : '', p.g || '', p.x || '', ...p.q.map(f => f.k + ' ' + f.t)].join('\n').toLowerCase();
const look = text => {
  text = text.toLowerCase();
  return p => spoken(p).includes(text);
};

const operators = { eq: '==', ne: '!=', lt: '<', le: '<=', gt: '>', ge: '>=', '===': '==', '!==': '!=', and: '&&', or: '||', not: '!' };
const compare = { '<': (a, b) => a < b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b };

// parse returns the filter function of a text, or the reason why it is invalid.
function parse(text) {
  const tokens = [];
  for (const [, sign, quoted, word] of text.matchAll(/(===|!==|==|!=|<=|>=|&&|\|\||[<>!(){},])|"([^"]*)"?|([^\s"<>=!(){},&|]+|\S)/g)) {
    const s = sign || Object.hasOwn(operators, (word || '').toLowerCase()) || (word || '').toLowerCase() === 'in';
    tokens.push(s ? { sign: operators[(sign || word).toLowerCase()] || (sign || word).toLowerCase() } : { word: quoted === undefined ? word : quoted, quoted: quoted !== undefined });
  }
  let at = 0, depth = 0;
  const is = sign => at < tokens.length && tokens[at].sign === sign;
  const fail = why => { throw new SyntaxError(why); };

  function or() {
    let left = and();
    while (is('||')) {
      at++;
      const a = left, b = and();
      left = p => a(p) || b(p);
    }
    return left;
  }
  function and() {
    let left = not();
    while (is('&&') || is('!') || is('(') || at < tokens.length && tokens[at].word !== undefined) {
      if (is('&&')) at++;
      const a = left, b = not();
      left = p => a(p) && b(p);
    }
    return left;
  }
  function not() {
    if (++depth > 200) fail('too many parentheses inside each other');
    let test;
    if (is('!')) {
      at++;
      const a = not();
      test = p => !a(p);
    } else if (is('(')) {
      at++;
      test = or();
      if (!is(')')) fail('a parenthesis is not closed');
      at++;
    } else test = term();
    depth--;
    return test;
  }
  function term() {
    const t = tokens[at];
    if (!t || t.word === undefined) fail(t ? 'there is ' + t.sign + ' where a word is expected' : 'a word is missing at the end');
    at++;
    const name = t.word.toLowerCase(), next = tokens[at];
    const valued = next && (next.word !== undefined || ['==', '!=', '<', '<=', '>', '>=', 'in'].includes(next.sign));
    if (!t.quoted && Object.hasOwn(flags, name) && !(valued && Object.hasOwn(fields, name))) return flags[name];
    if (t.quoted || !Object.hasOwn(fields, name)) {
      if (next && /^([=<>]|!=|in$)/.test(next.sign || '')) fail('there is no field ' + t.word);
      return look(t.word);
    }
    const f = fields[name];
    if (!valued) return p => f.get(p).length > 0;
    if (next.word !== undefined) return value(f, name);
    at++;
    if (next.sign === '==') return value(f, name);
    if (next.sign === '!=') {
      const test = value(f, name);
      return p => f.get(p).length > 0 && !test(p);
    }
    if (next.sign === 'in') return set(f, name);
    const n = number((tokens[at] || {}).word || ''), than = compare[next.sign];
    if (f.text || isNaN(n)) fail(name + ' cannot be compared so');
    at++;
    return p => f.get(p).some(v => than(v, n));
  }
  function set(f, name) {
    if (!is('{')) fail('{ is expected after in');
    at++;
    const tests = [];
    while (!is('}')) {
      tests.push(value(f, name));
      if (is(',')) at++;
    }
    at++;
    return p => tests.some(t => t(p));
  }
  function value(f, name) {
    const t = tokens[at];
    if (!t || t.word === undefined) fail('a value for ' + name + ' is missing');
    at++;
    if (f.text) return p => f.get(p).some(v => v.toLowerCase() === t.word.toLowerCase());
    const [from, to, more] = t.word.split('..'), a = number(from), b = to === undefined ? a : number(to);
    if (isNaN(a) && f.name) return p => f.get(p).includes(f.name(t.word));
    if (isNaN(a) || isNaN(b) || more !== undefined) fail(t.word + ' is no value for ' + name);
    if (a > b && f.around) return p => f.get(p).some(v => v >= a || v <= b);
    return p => f.get(p).some(v => v >= a && v <= b);
  }

  if (!tokens.length) return { fits: () => true, bad: '' };
  try {
    const fits = or();
    if (at < tokens.length) fail('there is ' + tokens[at].sign + ' too much');
    return { fits, bad: '' };
  } catch (e) {
    if (!(e instanceof SyntaxError)) throw e;
    return { fits: () => true, bad: e.message };
  }
}
