// IP addresses and networks, as Go's net/netip parses them. An address is a string of 8 or 32
// hexadecimal digits.

const byte = n => n.toString(16).padStart(2, '0');

function parseIPv4(text) {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every(s => /^(0|[1-9]\d{0,2})$/.test(s) && Number(s) < 256)) return null;
  return parts.map(s => byte(Number(s))).join('');
}

function parseIPv6(text) {
  let tail = '';
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (dotted) {
    tail = parseIPv4(dotted[2]);
    if (tail === null) return null;
    text = dotted[1] + tail.slice(0, 4) + ':' + tail.slice(4);
  }
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const groups = halves.map(h => h === '' ? [] : h.split(':'));
  if (!groups.flat().every(g => /^[0-9a-f]{1,4}$/i.test(g))) return null;
  const n = groups.flat().length;
  if (halves.length === 1 ? n !== 8 : n > 7) return null;
  const fill = halves.length === 1 ? [] : Array(8 - n).fill('0');
  return [...groups[0], ...fill, ...(groups[1] || [])].map(g => g.toLowerCase().padStart(4, '0')).join('');
}

// parseAddress returns an address, null for other text. A zone is ignored and an IPv4-mapped
// address is that of IPv4.
function parseAddress(text) {
  if (!text.includes(':')) return parseIPv4(text);
  const zone = text.indexOf('%');
  if (zone === text.length - 1) return null;
  const hex = parseIPv6(zone < 0 ? text : text.slice(0, zone));
  return hex && hex.startsWith('0'.repeat(20) + 'ffff') ? hex.slice(24) : hex;
}

const binary = hex => [...hex].map(d => parseInt(d, 16).toString(2).padStart(4, '0')).join('');

// parseNetwork returns a function that reports whether an address is in a network or equal to an
// address, or the reason why text is neither.
function parseNetwork(text) {
  const slash = text.lastIndexOf('/');
  if (slash < 0) {
    const one = parseAddress(text);
    return one === null ? '"' + text + '" is not an address' : a => a === one;
  }
  const bits = text.slice(slash + 1), base = text.slice(0, slash);
  const net = base.includes(':') ? parseIPv6(base) : parseIPv4(base);
  if (net === null || !/^(0|[1-9]\d{0,2})$/.test(bits) || Number(bits) > net.length * 4) {
    return '"' + text + '" is not a network: write for example 198.18.0.0/16';
  }
  const prefix = binary(net).slice(0, Number(bits));
  return a => a.length === net.length && binary(a).startsWith(prefix);
}
