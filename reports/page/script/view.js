// The view: what is shown, how it is changed, and how the address keeps it (#v=3&t=0.480-1.612: violation 3, seconds).
const live = document.getElementById('live'), tip = live.querySelector('.tip'), say = live.querySelector('output');
const which = live.querySelector('.which'), caption = live.querySelector('.caption'), note = live.querySelector('.kept');
const least = 100; // µs: a view is not narrower
let view = {from: run.view[0], to: run.view[1]}, chosen = run.told || 0, place = null;

const choice = () => run.violations[chosen - 1];
const clamp = (v, lo, hi) => Math.min(Math.max(v, lo), hi);

// look moves the view into the run, without changing its length where that is possible.
const look = (from, to) => {
  const length = clamp(to - from, Math.min(least, run.end), run.end);
  const middle = (from + to) / 2;
  view.from = clamp(middle - length / 2, 0, run.end - length);
  view.to = view.from + length;
  show();
};
const zoom = (factor, at = (view.from + view.to) / 2) => look(at - (at - view.from) * factor, at + (view.to - at) * factor);
const pan = share => look(view.from + (view.to - view.from) * share, view.to + (view.to - view.from) * share);

let frame = 0, later = 0;
const redraw = () => { if (!frame) frame = requestAnimationFrame(() => { frame = 0; paint(); }); };
const show = () => {
  redraw();
  clearTimeout(later);
  later = setTimeout(keep, 150);
};

const paint = () => {
  draw(view, choice(), place);
  const v = choice(), kept = !run.detail || run.detail.some(d => d[0] <= view.from && d[1] >= view.to);
  caption.textContent = `${seconds(view.from)} to ${seconds(view.to)} (${span(Math.round(view.to - view.from))})`;
  note.textContent = (kept ? '' : 'Bars show how busy it was: the page has single ops only around violations and faults, history.jsonl has all. ') +
    (run.more ? `${run.more} more clients have no lane.` : '');
  for (const b of live.querySelectorAll('button[aria-pressed]')) {
    const shown = v && (b.value === 'close' ? v.view : v.story);
    b.hidden = !v || v.view[0] === v.story[0] && v.view[1] === v.story[1];
    b.setAttribute('aria-pressed', String(!!shown && Math.abs(shown[0] - view.from) < 1 && Math.abs(shown[1] - view.to) < 1));
  }
  which.textContent = v ? `place ${chosen} of ${run.violations.length}: ${v.what}` : run.violations.length ? `${run.violations.length} places` : '';
  for (const map of document.querySelectorAll('svg.map')) {
    const x0 = Number(map.dataset.x0), width = Number(map.dataset.x1) - x0, shown = map.querySelector('.shown');
    if (!shown) continue;
    shown.setAttribute('x', num(x0 + view.from / run.end * width));
    shown.setAttribute('width', num(Math.max((view.to - view.from) / run.end * width, 3)));
  }
};

// keep writes the view into the address, so that it can be sent and reloaded.
const keep = () => {
  const short = us => String(Number((us / 1e6).toFixed(6)));
  const hash = `#${chosen ? `v=${chosen}&` : ''}t=${short(view.from)}-${short(view.to)}`;
  if (hash !== location.hash) history.replaceState(null, '', hash);
};

// restore takes the view from the address; it tells whether there was one.
const restore = () => {
  const said = new URLSearchParams(location.hash.slice(1));
  const v = Number(said.get('v')), t = /^([\d.]+)-([\d.]+)$/.exec(said.get('t') || '');
  if (Number.isInteger(v) && v >= 1 && v <= run.violations.length) chosen = v;
  else if (!t) return false;
  const [from, to] = t ? [t[1] * 1e6, t[2] * 1e6] : choice().view;
  if (!(to >= from)) return false;
  place = null;
  look(from, to);
  return true;
};

const choose = n => {
  if (!run.violations.length) return;
  chosen = (n - 1 + run.violations.length) % run.violations.length + 1;
  const v = choice();
  place = null;
  look(v.view[0], v.view[1]);
  say.textContent = `Violation ${chosen} of ${run.violations.length}, ${v.what}, at ${seconds(v.at)}: ${v.text}`;
};
const whole = () => look(0, run.end);
const close = () => { if (choice()) look(...choice().view); };
const story = () => { if (choice()) look(...choice().story); };

// point tells what lies at a place, beside it.
const point = (x, y, lane, t, found) => {
  tip.replaceChildren(...found.map(text => Object.assign(document.createElement('div'), {textContent: text})));
  tip.hidden = !found.length;
  if (!found.length) return;
  const room = live.clientWidth - tip.offsetWidth - 4;
  tip.style.left = clamp(x + 12, 0, Math.max(room, 0)) + 'px';
  tip.style.top = y + 16 + 'px';
};
const under = e => {
  const frame = chart.getBoundingClientRect(), x = e.clientX - frame.left, y = e.clientY - frame.top;
  const lane = Math.floor((y - top) / laneHeight);
  if (lane < 0 || lane >= run.lanes.length || x < left) return point(0, 0, 0, 0, []);
  const reach = 6 / (width - left - 12) * (view.to - view.from), t = instant(view, x);
  point(x, y + chart.offsetTop || y + frame.top - live.getBoundingClientRect().top, lane, t, thingsAt(lane, t, reach));
};

// step moves the keyboard's place to the next thing on its lane, and reads it out.
const step = by => {
  if (!place) place = {lane: 0, at: (view.from + view.to) / 2};
  const all = stops(place.lane);
  const next = by > 0 ? all.find(t => t > place.at) : all.findLast(t => t < place.at);
  if (next === undefined) return void (say.textContent = `${run.lanes[place.lane]}: nothing further`);
  place.at = next;
  if (next < view.from || next > view.to) look(next - (view.to - view.from) / 2, next + (view.to - view.from) / 2);
  tell();
};
const tell = () => {
  const found = thingsAt(place.lane, place.at, 1), y = laneY(place.lane) + chart.getBoundingClientRect().top - live.getBoundingClientRect().top;
  say.textContent = found.join('. ') || `${run.lanes[place.lane]}, ${seconds(place.at)}`;
  point(pixel(view, place.at), y, place.lane, place.at, found);
  show();
};
const lane = by => {
  place = place || {lane: by > 0 ? -1 : run.lanes.length, at: (view.from + view.to) / 2};
  place.lane = clamp(place.lane + by, 0, run.lanes.length - 1);
  tell();
};

const keys = {
  ArrowLeft: e => e.shiftKey ? step(-1) : pan(-0.2), ArrowRight: e => e.shiftKey ? step(1) : pan(0.2),
  ArrowUp: () => lane(-1), ArrowDown: () => lane(1),
  '+': () => zoom(0.6), '=': () => zoom(0.6), '-': () => zoom(1 / 0.6), '0': whole, Home: whole,
  c: close, s: story,
  n: () => choose(chosen + 1), p: () => choose(chosen - 1),
  Escape: () => { place = null; tip.hidden = true; show(); },
};
chart.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
  e.preventDefault();
  keys[e.key](e);
});

// The wheel zooms once the timeline has the focus, or with Ctrl; else the page scrolls as ever.
chart.addEventListener('wheel', e => {
  const sideways = e.shiftKey ? e.deltaY || e.deltaX : e.deltaX;
  if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
    e.preventDefault();
    return pan(sideways / width);
  }
  if (!e.ctrlKey && document.activeElement !== chart) return;
  e.preventDefault();
  zoom(Math.exp(clamp(e.deltaY, -300, 300) / 400), instant(view, e.clientX - chart.getBoundingClientRect().left));
}, {passive: false});

// One pointer drags, two pinch.
const down = new Map();
chart.addEventListener('pointerdown', e => {
  if (e.button) return;
  down.set(e.pointerId, e.clientX);
  chart.setPointerCapture(e.pointerId);
  tip.hidden = true;
});
chart.addEventListener('pointermove', e => {
  if (!down.has(e.pointerId)) return under(e);
  const before = [...down.values()], was = down.get(e.pointerId);
  down.set(e.pointerId, e.clientX);
  const after = [...down.values()], scale = (view.to - view.from) / (width - left - 12);
  if (down.size === 1) return look(view.from - (e.clientX - was) * scale, view.to - (e.clientX - was) * scale);
  const apart = x => Math.max(Math.abs(x[0] - x[1]), 8), middle = (after[0] + after[1]) / 2;
  zoom(apart(before) / apart(after), instant(view, middle - chart.getBoundingClientRect().left));
});
const up = e => down.delete(e.pointerId);
for (const kind of ['pointerup', 'pointercancel']) chart.addEventListener(kind, up);
chart.addEventListener('pointerleave', () => { if (!place) tip.hidden = true; });
chart.addEventListener('dblclick', e => zoom(0.4, instant(view, e.clientX - chart.getBoundingClientRect().left)));

const buttons = {previous: () => choose(chosen - 1), next: () => choose(chosen + 1), in: () => zoom(0.6), out: () => zoom(1 / 0.6), close, story, whole};
for (const b of live.querySelectorAll('button')) b.addEventListener('click', buttons[b.value]);

// The drawing of the whole run is a map: what is pointed at there is shown here.
for (const map of document.querySelectorAll('svg.map')) {
  const go = e => {
    const frame = map.getBoundingClientRect(), x0 = Number(map.dataset.x0);
    const x = (e.clientX - frame.left) / frame.width * map.viewBox.baseVal.width;
    const t = (x - x0) / (Number(map.dataset.x1) - x0) * run.end, half = Math.min(view.to - view.from, run.end / 4) / 2;
    look(t - half, t + half);
  };
  map.addEventListener('pointerdown', e => { map.setPointerCapture(e.pointerId); go(e); });
  map.addEventListener('pointermove', e => { if (e.buttons & 1) go(e); });
}

// What the page says of a violation or a fault becomes a link to its place. Without a script there is no place to go to, so it is plain text until now.
for (const e of document.querySelectorAll('[data-go]')) {
  const a = document.createElement('a');
  a.href = '#' + e.dataset.go;
  a.title = 'show it in the timeline';
  a.append(...e.childNodes);
  a.addEventListener('click', () => { if (location.hash === a.hash) arrive(); });
  e.replaceChildren(a);
}
const arrive = () => {
  if (!restore()) return;
  live.scrollIntoView({block: 'center'});
  chart.focus({preventScroll: true});
  const v = choice();
  if (v) say.textContent = `Violation ${chosen}, ${v.what}, at ${seconds(v.at)}: ${v.text}`;
};
window.addEventListener('hashchange', arrive);

live.hidden = false;
if (!run.violations.length) for (const b of live.querySelectorAll('button[value=previous],button[value=next]')) b.hidden = true;
document.documentElement.classList.add('scripted');
new ResizeObserver(() => { if (chart.parentElement.clientWidth !== width) redraw(); }).observe(live);
if (location.hash.length > 1) arrive();
paint();
