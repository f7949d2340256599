// Filters the rows, and shows the page anew when a run begins or ends.
const filter = document.getElementById("filter"), shown = document.getElementById("shown"), rows = document.getElementById("runs").rows;
function apply() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every(w => text.includes(w));
    if (!row.hidden) n++;
  }
  shown.textContent = words.length ? n + " of " + rows.length : "";
  history.replaceState(null, "", words.length ? "#" + encodeURIComponent(filter.value) : "#");
}
try { filter.value = decodeURIComponent(location.hash.slice(1)); } catch { filter.value = ""; }
filter.addEventListener("input", apply);
apply();
let before = null;
follow("/events", runs => {
  const now = JSON.stringify(runs.map(r => [r.dir, r.state, (r.scenarios || []).map(s => s.result)]));
  if (before !== null && now !== before && document.activeElement !== filter) location.reload();
  before = now;
});
