// The packet filter. Its language is that of gorxe trace --filter, with the same fields. In
// addition, words that are not fields are searched in names, meanings and findings, and adjacent
// terms are combined with and.

const maxDepth = 200; // of parentheses and negations
const squeeze = s => s.toLowerCase().replace(/[_\- ]/g, '');

const spoken = p => [labelOf(p), p.b ? opcodeOf(p)[1] : '', p.g || '', p.x || '', ...p.q.map(f => f.k + ' ' + f.t)].join('\n').toLowerCase();
const look = text => {
  text = text.toLowerCase();
  return p => spoken(p).includes(text);
};

const operators = { eq: '==', ne: '!=', lt: '<', le: '<=', gt: '>', ge: '>=', '===': '==', '!==': '!=', and: '&&', or: '||', not: '!', in: 'in' };
const comparisons = ['==', '!=', '<', '<=', '>', '>=', 'in'];

// parseNumber returns a number of any base of Go; null for other text.
function parseNumber(text) {
  if (!/^(0x(_?[0-9a-f])+|0b(_?[01])+|0o(_?[0-7])+|0(_?[0-7])*|[1-9](_?[0-9])*)$/i.test(text)) return null;
  text = text.replace(/_/g, '');
  const n = BigInt(/^0[0-7]+$/.test(text) ? '0o' + text : text);
  return n < 1n << 64n ? shrink(n) : null;
}

// numberOf returns a value of a field. It throws if text is none.
function numberOf(field, text) {
  const word = text.toLowerCase(), name = squeeze(text);
  if (field.m && Object.hasOwn(field.m, name)) return field.m[name];
  if (word === 'true') return 1;
  if (word === 'false') return 0;
  const n = parseNumber(text);
  if (n === null) throw new SyntaxError('"' + text + '" is not a number: write for example ' + field.e);
  if (BigInt(n) >> BigInt(field.b)) throw new SyntaxError(text + " is more than the field's " + field.b + ' bits hold');
  return n;
}

// valueOf returns the values of a field that text describes: test reports whether a value is one of
// them; low and high are the ends of a range.
function valueOf(field, text) {
  if (field.t === types.address) {
    const test = parseNetwork(text);
    if (typeof test === 'string') throw new SyntaxError(test);
    return { test };
  }
  if (field.t === types.text) {
    const word = text.toLowerCase();
    const known = field.k.find(k => k.toLowerCase() === word);
    if (!known) throw new SyntaxError('"' + text + '" is unknown; the values are ' + field.k.join(', '));
    return { test: v => v === known };
  }
  const at = text.indexOf('..');
  const from = at < 0 ? text : text.slice(0, at), to = at < 0 ? text : text.slice(at + 2);
  if (!from || !to) throw new SyntaxError('"' + text + '" is not a range: write both ends, such as 10..20');
  const low = numberOf(field, from), high = numberOf(field, to);
  if (low > high && !field.w) throw new SyntaxError('the range "' + text + '" is empty');
  return { low, high, test: low <= high ? v => v >= low && v <= high : v => v >= low || v <= high };
}

function tokensOf(text) {
  const out = [];
  for (const [, sign, quoted, word] of text.matchAll(/(===|!==|==|!=|<=|>=|&&|\|\||[<>!(){},])|"([^"]*)"|([^\s"<>=!(){},&|]+|\S)/g)) {
    const plain = sign || (word || '').toLowerCase();
    if (Object.hasOwn(operators, plain)) out.push({ sign: operators[plain], text: sign || word });
    else if (sign) out.push({ sign, text: sign });
    else out.push({ word: quoted === undefined ? word : quoted, quoted: quoted !== undefined });
  }
  return out;
}

// parse returns the filter function of a text, or the reason why it is invalid.
function parse(text) {
  const tokens = tokensOf(text);
  let at = 0, depth = 0;
  const is = sign => at < tokens.length && tokens[at].sign === sign;
  const isWord = () => at < tokens.length && tokens[at].word !== undefined;
  const found = () => at < tokens.length ? 'there is "' + (isWord() ? tokens[at].word : tokens[at].text) + '"' : 'the expression ends';
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
    while (is('&&') || is('!') || is('(') || isWord()) {
      if (is('&&')) at++;
      const a = left, b = not();
      left = p => a(p) && b(p);
    }
    return left;
  }
  function not() {
    if (++depth > maxDepth) fail('more than ' + maxDepth + ' parentheses inside each other');
    let test;
    if (is('!')) {
      at++;
      const a = not();
      test = p => !a(p);
    } else if (is('(')) {
      at++;
      test = or();
      if (!is(')')) fail(found() + ' where a parenthesis should be closed');
      at++;
    } else test = comparison();
    depth--;
    return test;
  }
  function comparison() {
    if (!isWord()) fail(found() + ' where a field is expected, such as qp, psn, opcode or error');
    const t = tokens[at++], field = t.quoted ? undefined : fieldNamed.get(t.word.toLowerCase());
    const operator = at < tokens.length && comparisons.includes(tokens[at].sign) ? tokens[at].sign : '';
    if (!field) {
      if (operator) fail('unknown field "' + t.word + '"');
      return look(t.word);
    }
    const all = valuesOf(field), name = field.n[0];
    if (field.t === types.flag) {
      if (operator) fail(name + ' takes no value');
      return p => all[p.i].length > 0;
    }
    if (!operator && !isWord()) return p => all[p.i].length > 0;
    if (operator && !['==', '!=', 'in'].includes(operator) && field.t !== types.number) fail(name + ' can only be compared with == and !=');
    if (operator) at++;
    if (operator === 'in') return set(field, all);
    const v = value(field);
    switch (operator) {
      case '!=': return p => all[p.i].length > 0 && !all[p.i].some(v.test);
      case '<': return p => all[p.i].some(n => n < v.low);
      case '<=': return p => all[p.i].some(n => n <= v.high);
      case '>': return p => all[p.i].some(n => n > v.high);
      case '>=': return p => all[p.i].some(n => n >= v.low);
    }
    return p => all[p.i].some(v.test);
  }
  function set(field, all) {
    if (!is('{')) fail(found() + ' where { is expected: field in {1, 2, 5..9}');
    at++;
    const tests = [];
    do {
      tests.push(value(field).test);
      if (is(',')) at++;
      else if (is('}')) break;
    } while (true);
    at++;
    return p => tests.some(t => all[p.i].some(t));
  }
  function value(field) {
    if (!isWord()) fail(found() + ' where a value for ' + field.n[0] + ' is expected, such as ' + field.e);
    try {
      return valueOf(field, tokens[at++].word);
    } catch (e) {
      if (e instanceof SyntaxError) e.message = field.n[0] + ': ' + e.message;
      throw e;
    }
  }

  if (!tokens.length) return { fits: () => true, bad: '' };
  try {
    const fits = or();
    if (at < tokens.length) fail('unexpected "' + tokens[at].text + '": combine comparisons with and, or');
    return { fits, bad: '' };
  } catch (e) {
    if (!(e instanceof SyntaxError)) throw e;
    return { fits: () => true, bad: e.message };
  }
}
