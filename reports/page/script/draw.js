// Drawing: one SVG, made anew for each view. What falls on one pixel is drawn once, so a view costs the same however much lies in it.
const chart = document.querySelector('#live svg');
const laneHeight = 30, top = 34;
let width = 0, left = 0;

const el = (parent, tag, attributes, text) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const name in attributes) e.setAttribute(name, attributes[name]);
  if (text !== undefined) e.textContent = text;
  parent.append(e);
  return e;
};
const num = v => Math.round(v * 10) / 10;
const laneY = i => top + laneHeight * i + laneHeight / 2;
const bottom = () => top + laneHeight * run.lanes.length + 4;

// pixel maps an instant of a view onto the drawing, instant the other way round.
const pixel = (view, t) => left + (t - view.from) / (view.to - view.from) * (width - left - 12);
const instant = (view, x) => view.from + (x - left) / (width - left - 12) * (view.to - view.from);

// paths gathers what has one class into one path.
const paths = () => {
  const all = new Map();
  return {
    add: (kind, d) => all.set(kind, (all.get(kind) || '') + d),
    draw: parent => all.forEach((d, kind) => el(parent, 'path', {d, class: kind})),
  };
};
const box = (x, y, w, h) => `M${num(x)} ${num(y)}h${num(w)}v${h}h${num(-w)}z`;
const dot = (x, y, r) => `M${num(x - r)} ${num(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;

const axis = (root, view) => {
  const rough = (view.to - view.from) / Math.max((width - left) / 90, 2);
  let step = 1;
  for (let i = 0; step < rough; i++) step = Math.pow(10, Math.floor(i / 3)) * [1, 2, 5][i % 3];
  const decimals = Math.max(0, Math.min(6, 6 - Math.floor(Math.log10(step))));
  for (let n = 0, t = Math.ceil(view.from / step) * step; t <= view.to && n < 1000; n++, t += step) { // a step may be less than t's last digit
    const x = num(pixel(view, t));
    el(root, 'line', {x1: x, y1: top - 10, x2: x, y2: bottom(), class: 'gridline'});
    el(root, 'text', {x, y: bottom() + 16, 'text-anchor': x > width - 28 ? 'end' : 'middle', class: 'm t'}, run.clock ? clock(t, Math.min(decimals, 3)) : ((t + (run.base || 0)) / 1e6).toFixed(decimals) + ' s');
  }
};

const overlaps = (root, view, chosen) => {
  const p = paths();
  let open = 0;
  for (const v of run.violations) {
    if (!v.from || v.to < view.from || v.from > view.to || v === chosen) continue;
    const x0 = Math.max(pixel(view, v.from), left, open), x1 = Math.min(pixel(view, v.to), width - 12);
    if (x1 > x0) p.add('overlap', box(x0, top - 8, x1 - x0, bottom() - top + 8));
    open = Math.max(open, x1);
  }
  p.draw(root);
  if (!chosen) return;
  const at = pixel(view, chosen.from || chosen.at), end = pixel(view, chosen.from ? chosen.to : chosen.at);
  const x0 = Math.max(at, left), x1 = Math.min(Math.max(end, at + 2), width - 12);
  if (x1 < left || x0 > width - 12) return;
  const d = box(x0, top - 12, x1 - x0, bottom() - top + 12);
  el(root, 'path', {d, class: 'overlap chosen'});
  el(root, 'path', {d, fill: 'url(#stripes)'});
  const half = chosen.label.length * 3.6, middle = Math.min(Math.max((x0 + x1) / 2, half), width - half);
  el(root, 'text', {x: num(middle), y: top - 18, 'text-anchor': 'middle', class: 'strong ink-bad'}, chosen.label);
};

const drawDensity = (root, view) => {
  const parts = run.density.accepted.length, part = run.end / parts, p = paths();
  const most = Math.max(1, ...run.density.accepted);
  const bar = (kind, i, y, height) => {
    const x0 = Math.max(pixel(view, i * part), left), x1 = Math.min(pixel(view, (i + 1) * part), width - 12);
    if (height > 0 && x1 > x0) p.add(kind, box(x0, y + 9 - height, x1 - x0, num(height)));
  };
  const first = Math.max(0, Math.floor(view.from / part)), last = Math.min(parts - 1, Math.floor(view.to / part));
  for (let i = first; i <= last; i++) {
    const from = i * part, to = from + part;
    if (run.detail.some(d => d[0] <= from && d[1] >= to)) continue;
    run.density.held.forEach((digits, lane) => bar('dense', i, laneY(lane), 1.8 * Number(digits[i])));
    bar('dense-ok', i, laneY(store), 18 * run.density.accepted[i] / most);
  }
  p.draw(root);
};

const holdClass = (h, chosen) => !chosen || h.grant === chosen.a || !chosen.a ? 'hold' : h.grant === chosen.b ? 'hold2' : 'dim';

const drawHolds = (root, view, chosen) => {
  const p = paths(), drawn = new Map(), names = [];
  for (const h of holds) {
    if (h.to < view.from || h.from > view.to) continue;
    const kind = holdClass(h, chosen), lane = h.lane + kind, y = laneY(h.lane);
    const x0 = Math.max(pixel(view, h.from), left), x1 = Math.min(Math.max(pixel(view, h.to), x0 + 1.5), width - 12);
    if (x1 <= (drawn.get(lane) || 0) + 0.5) continue;
    drawn.set(lane, x1);
    p.add(kind, box(x0, y - 10, x1 - x0, 20));
    const name = (run.keys.length > 1 ? run.keys[h.key] + ' ' : '') + grantName(h.grant);
    if (x1 - x0 > name.length * 7 + 10 && !run.faults.some(f => !f.strip && f.lanes.includes(h.lane) && f.from < h.to && f.to > h.from && pixel(view, f.from) < x0 + name.length * 7 + 8)) {
      names.push([x0 + 6, y + 4, kind === 'dim' ? 't' : 't onhold', name]);
    }
  }
  p.draw(root);
  return names;
};

const drawWaits = (root, view) => {
  const p = paths(), drawn = new Map();
  for (const w of waits) {
    if (w.to < view.from || w.from > view.to) continue;
    const x0 = Math.max(pixel(view, w.from), left), x1 = Math.min(pixel(view, w.to), width - 12);
    if (x1 - x0 < 1.5 || x1 <= (drawn.get(w.lane) || 0) + 0.5) continue;
    drawn.set(w.lane, x1);
    p.add('wait', `M${num(x0)} ${laneY(w.lane)}H${num(x1)}`);
  }
  p.draw(root);
};

const drawFaults = (root, view) => {
  const p = paths(), names = [];
  for (const f of run.faults) {
    if (f.to < view.from || f.from > view.to) continue;
    const x0 = Math.max(pixel(view, f.from), left), x1 = Math.min(Math.max(pixel(view, f.to), x0 + 2), width - 12);
    for (const lane of f.lanes) {
      const beside = f.strip && lane < run.clients;
      p.add(f.stall ? 'fault edge stall' : 'fault edge', beside ? box(x0, laneY(lane) + 10, x1 - x0, 5) : box(x0, laneY(lane) - 8, x1 - x0, 16));
      const long = (f.grant && lane < run.clients ? grantName(f.grant) + ', ' : '') + f.word + ' ' + span(f.to - f.from);
      const text = [long, f.word].find(t => x1 - x0 > t.length * 6.5 + 14);
      if (text && !beside) names.push([x0 + 8, laneY(lane) + 4, 'faultink small', text]);
    }
  }
  p.draw(root);
  return names;
};

const drawMarks = (root, view, chosen) => {
  const p = paths(), drawn = new Map();
  const busy = (lane, kind, x, gap) => {
    if (x - (drawn.get(lane + kind) ?? -99) < gap) return true;
    drawn.set(lane + kind, x);
    return false;
  };
  const shown = t => t >= view.from && t <= view.to;
  const inView = [...marks.filter(m => shown(m.at)), ...writes.filter(w => shown(w.at))].length;
  const crowded = inView > width / 3; // then a lane shows holds only
  const dim = grant => chosen && chosen.a && grant !== chosen.a && grant !== chosen.b ? ' dimmark' : '';
  for (const m of marks) {
    const x = num(pixel(view, m.at)), y = laneY(m.lane);
    if (!shown(m.at) || (m.what !== 3 && crowded) || (m.what !== 3 && busy(m.lane, 'm' + m.what, x, 1))) continue;
    if (m.what === 0) p.add('readmark' + dim(m.grant), `M${x} ${y + 2}v7`);
    if (m.what === 1) p.add(m.how ? 'renewmark no' : 'renewmark', `M${x - 3.5} ${y - 11}l3.5 -4l3.5 4`);
    if (m.what === 2) p.add(m.how ? 'releasemark no' : 'releasemark', `M${x} ${y - 10}v20`);
    if (m.what === 3) p.add('lostmark', `M${x - 3.5} ${y + 11}l3.5 4l3.5 -4`);
  }
  const special = [];
  for (const w of writes) {
    const x = num(pixel(view, w.at)), y = laneY(w.lane);
    if (shown(w.at) && !crowded && (w.how || !busy(w.lane, 'w', x, 1))) p.add('writemark' + dim(w.grant), `M${x} ${y - 8}v16`);
    if (!shown(w.decided)) continue;
    if (w.how >= 1 && w.how <= 4) special.push(w);
    else if (!busy(store, 's' + w.how, num(pixel(view, w.decided)), 3)) p.add(w.how ? 'unknowndot' : 'okdot', dot(pixel(view, w.decided), laneY(store), 4.5));
  }
  p.draw(root);
  const q = paths();
  for (const w of special) {
    const x = pixel(view, w.decided), y = laneY(store);
    if (w.how === 1 || w.how === 4) {
      q.add('refused', `M${num(x - 4)} ${y - 4}l8 8m0 -8l-8 8`);
      q.add('refusedring', dot(x, y, 9));
    } else {
      q.add(w.how === 2 ? 'staledot' : 'okdot', dot(x, y, 5));
      q.add('stalering', dot(x, y, 9));
    }
  }
  q.draw(root);
};

const drawLease = (root, view, chosen) => {
  if (!chosen || !chosen.lease || chosen.lease < view.from || chosen.lease > view.to) return;
  const x = num(pixel(view, chosen.lease)), right = x > width - 170;
  el(root, 'line', {x1: x, y1: laneY(service) - 11, x2: x, y2: laneY(service) + 11, class: 'expiry'});
  el(root, 'text', {x: x + (right ? -6 : 6), y: laneY(service) + 4, 'text-anchor': right ? 'end' : 'start', class: 'small halo'}, `lease of ${grantName(chosen.a)} ends`);
};

// drawBeyond points at what the earlier holder did to the store, where that lies beyond a close up.
const drawBeyond = (root, view, chosen) => {
  if (!chosen || !chosen.a || view.to < chosen.from) return;
  const harm = writes.filter(w => w.grant === chosen.a && w.how >= 1 && w.how <= 3), next = harm.find(w => w.decided > view.to);
  if (!next || harm.some(w => w.decided >= view.from && w.decided <= view.to)) return;
  const text = `${run.lanes[next.lane]}'s write: ${seconds(next.decided)} →`;
  el(root, 'text', {x: width - 12, y: laneY(store) + 4, 'text-anchor': 'end', class: 'small strong halo ink-bad beyond'}, text);
};

// draw shows a view: {from, to}, the violation that was chosen, if any, and the keyboard's place.
const draw = (view, chosen, place) => {
  width = chart.parentElement.clientWidth;
  left = width < 640 ? 66 : 96;
  const height = bottom() + 24;
  chart.setAttribute('viewBox', `0 0 ${width} ${height}`);
  chart.setAttribute('height', height);
  const root = document.createElementNS('http://www.w3.org/2000/svg', 'g');
  const stripes = el(root, 'pattern', {id: 'stripes', width: 8, height: 8, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(30)'});
  el(stripes, 'path', {d: 'M2 0v8', class: 'hatchline'});
  axis(root, view);
  overlaps(root, view, chosen);
  const short = name => left < 90 && run.named && name.length > 9 ? name.slice(0, 4) + '…' + name.slice(-4) : name;
  run.lanes.forEach((name, i) => {
    el(root, 'text', {x: 0, y: laneY(i) + 4}, short(name));
    el(root, 'line', {x1: left, y1: laneY(i), x2: width - 12, y2: laneY(i), class: 'gridline'});
  });
  if (run.density) drawDensity(root, view);
  const names = drawHolds(root, view, chosen);
  drawWaits(root, view);
  names.push(...drawFaults(root, view));
  for (const [x, y, kind, text] of names) el(root, 'text', {x: num(x), y, class: kind}, text);
  drawMarks(root, view, chosen);
  drawLease(root, view, chosen);
  drawBeyond(root, view, chosen);
  if (place) el(root, 'circle', {cx: num(pixel(view, place.at)), cy: laneY(place.lane), r: 13, class: 'place'});
  chart.replaceChildren(root);
};
