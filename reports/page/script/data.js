// The run as the page carries it: times in µs, tables as rows whose first cell is the distance from the row before (see explore.go).
const run = JSON.parse(document.getElementById('run').textContent);

const table = (rows, name) => {
  let at = 0;
  return rows.map(([step, ...cells]) => name((at += step), ...cells));
};
const holds = table(run.holds, (from, length, lane, key, grant, token) => ({from, to: from + length, lane, key, grant, token}));
const waits = table(run.waits, (from, length, lane, key, how) => ({from, to: from + length, lane, key, how}));
const marks = table(run.marks, (at, lane, what, how, grant) => ({at, lane, what, how, grant}));
const writes = table(run.writes, (at, lane, under, how, grant, version) => ({at, lane, decided: at + under, how, grant, version}));
const store = run.lanes.length - 1, service = store - 1;
const tokens = new Map(holds.map(h => [h.grant, h.token]));

// An instant: of a run in seconds since its origin, of a log as the log's own clock told it.
const clock = (us, digits) => new Date(Math.round((run.clock + us) / 1000)).toISOString().slice(run.days ? 0 : 11, digits ? 20 + digits : 19).replace('T', ' ');
const seconds = us => run.clock ? clock(us, 3) : ((us + (run.base || 0)) / 1e6).toFixed(3) + ' s';
const span = us => {
  const digits = v => v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
  const round = v => String(Number(v.toFixed(digits(v))));
  return us >= 999500 ? round(us / 1e6) + ' s' : us >= 1000 ? round(us / 1e3) + ' ms' : us + ' µs';
};
const nought = -Number.MAX_SAFE_INTEGER; // the token 0; without a token a grant has 0 (see exploretable.go)
const grantName = grant => {
  const token = tokens.get(grant);
  return token ? '#' + (token === nought ? 0 : token) : 'grant ' + grant;
};

// What the other ops did, in words.
const markWords = [['reads', 'read fails', 'reads, no clear answer'], ['renews', 'renewal fails', 'renews, no clear answer'],
  ['releases', 'release fails', 'releases, no clear answer'], ['is told that its hold is lost']];

const sayHold = h => `${run.lanes[h.lane]} holds ${run.keys[h.key]} under ${grantName(h.grant)}, ${seconds(h.from)} to ${seconds(h.to)} (${span(h.to - h.from)})`;
const sayWait = w => `${run.lanes[w.lane]} waits for ${run.keys[w.key]} from ${seconds(w.from)}, ${span(w.to - w.from)}: ${run.waitWords[w.how]}`;
const sayMark = m => `${seconds(m.at)}: ${run.lanes[m.lane]} ${markWords[m.what][m.how]} (${grantName(m.grant)})`;
const sayWrite = w => `${seconds(w.at)}: ${run.lanes[w.lane]} writes${w.version ? ' v' + w.version : ''} under ${grantName(w.grant)}: ${run.writeWords[w.how]}` +
  (w.decided > w.at ? `; ${span(w.decided - w.at)} under way` : '');
const sayFault = f => `${seconds(f.from)} to ${seconds(f.to)} (${span(f.to - f.from)}): ${f.text}`;

// thingsAt lists what lies on a lane within reach (µs) of an instant, what matters most first.
const thingsAt = (lane, t, reach) => {
  const near = at => Math.abs(at - t) <= reach, on = b => b.from - reach <= t && t <= b.to + reach;
  const found = [];
  for (const w of writes) {
    if ((w.lane === lane && near(w.at)) || (lane === store && near(w.decided))) found.push({rank: w.how ? 0 : 1, away: Math.abs(w.at - t), text: sayWrite(w)});
  }
  for (const m of marks) if (m.lane === lane && near(m.at)) found.push({rank: 1, away: Math.abs(m.at - t), text: sayMark(m)});
  for (const f of run.faults) if (f.lanes.includes(lane) && on(f)) found.push({rank: 2, away: 0, text: sayFault(f)});
  for (const h of holds) if (h.lane === lane && on(h)) found.push({rank: 3, away: 0, text: sayHold(h)});
  for (const w of waits) if (w.lane === lane && on(w)) found.push({rank: 4, away: 0, text: sayWait(w)});
  if (lane === service) for (const v of run.violations) if (v.lease && near(v.lease)) found.push({rank: 1, away: 0, text: `${seconds(v.lease)}: the lease of ${grantName(v.a)} ends`});
  found.sort((a, b) => a.rank - b.rank || a.away - b.away);
  return [...new Set(found.map(f => f.text))].slice(0, 4);
};

// stops lists the instants of a lane at which something happens, in order: where the keyboard steps to.
const stops = lane => {
  const out = [];
  for (const w of writes) if (w.lane === lane) out.push(w.at); else if (lane === store) out.push(w.decided);
  for (const m of marks) if (m.lane === lane) out.push(m.at);
  for (const h of holds) if (h.lane === lane) out.push(h.from);
  for (const w of waits) if (w.lane === lane) out.push(w.from);
  for (const f of run.faults) if (f.lanes.includes(lane)) out.push(f.from, f.to);
  if (lane === service) for (const v of run.violations) if (v.lease) out.push(v.lease);
  return [...new Set(out)].sort((a, b) => a - b);
};
