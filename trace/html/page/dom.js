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

// framed returns a function that makes f run once in the next frame. Its method now runs f at once if
// it is due then.
function framed(f) {
  let due = 0;
  const run = () => {
    due = 0;
    f();
  };
  const later = () => { due = due || requestAnimationFrame(run); };
  later.now = () => {
    if (!due) return;
    cancelAnimationFrame(due);
    run();
  };
  return later;
}
