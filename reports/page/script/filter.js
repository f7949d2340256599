// Filters: which scenarios are shown, and how the address keeps it (#lock=redis-setnx&result=corrupted).
const bar = document.getElementById('filter'), count = bar.querySelector('output');
const fields = [...bar.querySelectorAll('select, input')], all = [...document.querySelectorAll('[data-lock]')];
const facet = (e, name) => e.getAttribute('data-' + name);
const cells = all.filter(e => e.classList.contains('cell')), rows = all.filter(e => e.tagName === 'TR');
const alike = [...document.querySelectorAll('tr.alike')]; // one for several scenarios

// Every value that some scenario has can be chosen, in the order of the page.
for (const field of fields) {
  if (field.type === 'checkbox') {
    field.parentElement.hidden = !cells.some(c => facet(c, field.name));
    continue;
  }
  const values = [...new Set(cells.map(c => facet(c, field.name)))];
  field.append(new Option('all', ''), ...values.map(v => new Option(v, v)));
  field.parentElement.hidden = values.length < 2;
}
const chosen = field => field.type === 'checkbox' ? (field.checked ? field.value : '') : field.value;
const choose = (field, value) => {
  if (field.type === 'checkbox') field.checked = value === field.value;
  else field.value = [...field.options].some(o => o.value === value) ? value : '';
};

const apply = () => {
  const wanted = fields.map(f => [f.name, chosen(f)]).filter(([, value]) => value);
  const fits = e => wanted.every(([name, value]) => facet(e, name) === value);
  for (const e of all) e.hidden = !fits(e);
  for (const table of document.querySelectorAll('table.mx')) tidy(table, wanted.length > 0);
  for (const r of alike) r.hidden = !r.querySelector('[data-lock]:not([hidden])');
  for (const table of new Set([...rows, ...alike].map(r => r.closest('table')))) {
    const none = [...table.tBodies[0].rows].every(r => r.hidden), panel = table.closest('.panel');
    panel.hidden = none;
    panel.previousElementSibling.hidden = none;
  }
  const left = cells.filter(c => !c.hidden).length;
  count.textContent = wanted.length ? `${left} of ${cells.length} scenarios` : '';
  return wanted;
};

// tidy takes away the rows and columns of a matrix in which nothing is left.
const tidy = (table, filtered) => {
  const body = [...table.tBodies[0].rows], alive = e => e.querySelector('.cell:not([hidden])') !== null;
  let named = null;
  for (const row of body) {
    row.hidden = filtered && !alive(row);
    if (row.classList.contains('first')) named = null;
    row.classList.toggle('lone', !row.hidden && !row.classList.contains('first') && named === null);
    if (!row.hidden) named = row;
  }
  if (!table.classList.contains('byfault')) {
    [...table.tHead.rows[0].cells].forEach((head, i) => {
      if (i < 2) return;
      const none = filtered && !body.some(row => alive(row.cells[i]));
      head.hidden = none;
      for (const row of body) row.cells[i].hidden = none;
    });
  }
  const panel = table.closest('.panel'), none = body.every(row => row.hidden);
  panel.hidden = none;
  panel.previousElementSibling.hidden = none;
};

const keep = wanted => history.replaceState(null, '', wanted.length ? '#' + new URLSearchParams(wanted) : location.pathname + location.search);
const restore = () => {
  const said = new URLSearchParams(location.hash.slice(1));
  for (const f of fields) choose(f, said.get(f.name) || '');
  apply();
};
const reset = () => {
  for (const f of fields) choose(f, '');
  keep(apply());
};
for (const f of fields) f.addEventListener('change', () => keep(apply()));
bar.querySelector('button').addEventListener('click', reset);
document.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === 'Escape') reset();
  if (e.key === '/') {
    e.preventDefault();
    fields.find(f => !f.parentElement.hidden)?.focus();
  }
});
window.addEventListener('hashchange', restore);
bar.hidden = cells.length < 2;
document.documentElement.classList.add('scripted');
restore();
