// The values of the filter fields in each packet, as package filter of gorxe computes them.

const columns = data.fields;
const fieldNamed = new Map();
for (const c of columns) for (const name of c.n) fieldNamed.set(name, c);

const exact = v => typeof v === 'string' ? shrink(BigInt(v)) : v;
const shrink = v => v <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(v) : v;

// valuesOf returns the values of a field, a list for each packet. They are expanded on first use.
function valuesOf(column) {
  if (column.values) return column.values;
  if (column.s) {
    const same = valuesOf(columns[column.s - 1]);
    return column.values = same;
  }
  const out = [], runs = column.r || [];
  for (let k = 0; k + 1 < runs.length; k += 2) {
    let v = runs[k] === null ? [] : [].concat(runs[k]);
    if (column.t === types.number) v = v.map(exact);
    for (let n = runs[k + 1]; n > 0; n--) out.push(v);
  }
  return column.values = out;
}

const types = { flag: 0, number: 1, address: 2, text: 3 };
