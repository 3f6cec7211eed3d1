// Access to and creation of elements. Text is inserted only as text nodes.

const $ = id => document.getElementById(id);

function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === 'onclick') e.addEventListener('click', value);
    else if (value !== null && value !== undefined) e.setAttribute(name, value);
  }
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}

// facts returns a list of names and values.
function facts(pairs) {
  return make('dl', { class: 'facts' }, ...pairs.map(([name, value, bad]) =>
    make('div', null, make('dt', null, name), make('dd', { class: bad ? 'value bad' : 'value' }, String(value)))));
}

const phone = matchMedia('(max-width: 860px)');
