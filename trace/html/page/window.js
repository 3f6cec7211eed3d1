// The selected interval of time, to which plots, ladder and list of connections are limited. It is
// set by wheel, by dragging over a plot (brush) and by keys.

const begins = packets.length ? packets.reduce((t, p) => Math.min(t, p.t), Infinity) : 0;
const finishes = packets.reduce((t, p) => Math.max(t, p.t), Math.max(begins, data.end)); // of the capture

const inOrder = packets.every((p, i) => !i || p.t >= packets[i - 1].t); // of time

// firstFrom returns the index of the first packet at or after a time, in a list in order of time.
function firstFrom(list, t) {
  let lo = 0, hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (list[mid].t < t) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

const interval = (() => {
  const shortest = 2; // nanoseconds
  let now = null, changed = () => {};
  const later = framed(() => changed()); // several steps in a frame are one change

  function set(from, to) {
    from = Math.max(begins, Math.floor(from));
    to = Math.min(finishes, Math.ceil(to));
    if (to - from < shortest) to = from + shortest;
    const next = from <= begins && to >= finishes ? null : { from, to };
    if (now ? next && now.from === next.from && now.to === next.to : !next) return;
    now = next;
    later();
  }

  return {
    set,
    get: () => now,
    clear() { set(begins, finishes); },
    // zoom multiplies the length of the interval by factor; the time at keeps its place.
    zoom(at, factor, full) {
      const w = now || full || { from: begins, to: finishes };
      if (!full && !now && factor >= 1) return;
      if (now && factor > 1 && (w.to - w.from) * factor >= finishes - begins) return set(begins, finishes);
      set(at - (at - w.from) * factor, at + (w.to - at) * factor);
    },
    // move moves the interval by a part of its length.
    move(part) {
      if (!now) return;
      const by = Math.max(begins - now.from, Math.min(finishes - now.to, (now.to - now.from) * part));
      set(now.from + by, now.to + by);
    },
    onchange(f) { changed = f; },
    has: p => !now || p.t >= now.from && p.t <= now.to,
    // of returns the packets of a list in the interval. The list is in the order of the page.
    of(list) {
      if (!now) return list;
      if (!inOrder) return list.filter(p => p.t >= now.from && p.t <= now.to);
      return list.slice(firstFrom(list, now.from), firstFrom(list, now.to + 1));
    },
  };
})();

// gestures makes a plot set the interval. timeAt converts a pixel to a time; full returns the
// interval that the plot shows without a selected one; pick is called for a click.
function gestures(canvas, timeAt, full, pick) {
  const least = 4; // pixels: a shorter movement is a click
  let start = null, brush = null;
  const x = e => e.clientX - canvas.getBoundingClientRect().left;
  const mid = () => {
    const w = interval.get() || full();
    return (w.from + w.to) / 2;
  };

  canvas.addEventListener('wheel', e => {
    if (e.deltaY === 0) return;
    e.preventDefault();
    if (e.deltaY > 0 && !interval.get()) return;
    interval.zoom(timeAt(x(e)), e.deltaY > 0 ? 1.25 : .8, full());
  }, { passive: false });
  canvas.addEventListener('pointerdown', e => {
    if (e.button !== 0) return;
    start = x(e);
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener('pointermove', e => {
    if (start === null || Math.abs(x(e) - start) < least && !brush) return;
    if (!brush) {
      brush = make('div', { class: 'brush', 'aria-hidden': 'true' });
      canvas.parentElement.append(brush);
    }
    const from = Math.max(0, Math.min(start, x(e))), to = Math.min(canvas.clientWidth, Math.max(start, x(e)));
    brush.style.left = canvas.offsetLeft + from + 'px';
    brush.style.width = to - from + 'px';
    brush.style.top = canvas.offsetTop + 'px';
    brush.style.height = canvas.clientHeight + 'px';
  });
  const end = (e, taken) => {
    if (start === null) return;
    const from = start, to = x(e);
    start = null;
    if (brush) {
      brush.remove();
      brush = null;
      if (taken) interval.set(Math.min(timeAt(from), timeAt(to)), Math.max(timeAt(from), timeAt(to)));
    } else if (taken) pick(e);
  };
  canvas.addEventListener('pointerup', e => end(e, true));
  canvas.addEventListener('pointercancel', e => end(e, false));
  canvas.addEventListener('dblclick', () => interval.clear());
  canvas.addEventListener('keydown', e => {
    const acts = {
      '+': () => interval.zoom(mid(), .5, full()), '=': () => interval.zoom(mid(), .5, full()), '-': () => interval.zoom(mid(), 2),
      ArrowLeft: () => interval.move(-.25), ArrowRight: () => interval.move(.25), 0: () => interval.clear(), Escape: () => interval.clear(),
    };
    if (e.ctrlKey || e.altKey || e.metaKey || !Object.hasOwn(acts, e.key)) return;
    e.preventDefault();
    acts[e.key]();
  });
}
