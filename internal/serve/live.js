"use strict";
// Keeps the page as it is now: the server sends what is inside #live whenever that is another, already escaped.
const live = document.getElementById("live"), filter = document.getElementById("filter");
const ahead = Date.now() - Number(live.dataset.now); // of the server's clock
let source = null, again = 0;

// Makes an element what another one is. What stays the same is kept, with its focus and its ticks; elements with an id are found by that.
function morph(old, now) {
  if (old.isEqualNode(now)) return;
  if (old.nodeType !== 1 || old.nodeName !== now.nodeName) return old.replaceWith(now);
  for (const name of old.getAttributeNames()) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const name of now.getAttributeNames()) old.setAttribute(name, now.getAttribute(name));
  merge(old, now);
}
function merge(old, now) {
  const named = new Map([...old.children].filter(c => c.id).map(c => [c.id, c]));
  let at = old.firstChild;
  for (const child of [...now.childNodes]) {
    const same = child.id ? named.get(child.id) : at && !at.id && at.nodeName === child.nodeName ? at : null;
    if (!same) old.insertBefore(child, at);
    else if (same === at) at = at.nextSibling;
    else old.insertBefore(same, at);
    if (same) morph(same, child);
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
}

function count() {
  for (const el of live.querySelectorAll("time[data-ready]")) {
    const left = Math.round((Number(el.dataset.ready) - Date.now() + ahead) / 1000);
    const text = left < 0 ? "longer than planned" : left < 100 ? "about " + left + " s left" : "about " + Math.round(left / 60) + " min left";
    if (el.textContent !== text) el.textContent = text;
  }
}

// Two runs can be chosen: the third takes the place of the first.
const chosen = [];
function choose(box) {
  if (box.checked) chosen.push(box);
  for (let i = chosen.length - 1; i >= 0; i--) if (!chosen[i].checked || !chosen[i].isConnected) chosen.splice(i, 1);
  while (chosen.length > 2) chosen.shift().checked = false;
  const compare = document.getElementById("compare");
  if (compare) compare.disabled = chosen.length !== 2;
}

function follow(have) {
  if (source) source.close();
  clearTimeout(again);
  const query = new URLSearchParams(location.search);
  if (have) query.set("have", have);
  source = new EventSource(live.dataset.events + "?" + query);
  source.onmessage = m => {
    const {html, over} = JSON.parse(m.data);
    merge(live, new DOMParser().parseFromString("<!doctype html><div>" + html + "</div>", "text/html").body.firstChild);
    count();
    choose({});
    if (over) source.close();
  };
  // A browser tries again by itself when a connection breaks, and never when it was refused, as where too many follow.
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) again = setTimeout(follow, 3000); };
}

if (filter) {
  try { if (location.hash.length > 1 && !filter.value) filter.value = decodeURIComponent(location.hash.slice(1)); } catch {} // as addresses once were
  const apply = () => {
    history.replaceState(null, "", filter.value.trim() ? "?" + new URLSearchParams({with: filter.value}) : location.pathname);
    follow();
  };
  filter.addEventListener("input", () => { clearTimeout(again); again = setTimeout(apply, 150); });
  if (location.hash.length > 1) apply();
}
live.addEventListener("change", e => choose(e.target));
for (const box of live.querySelectorAll("input:checked")) choose(box); // as the browser restored them
choose({});
count();
setInterval(count, 1000);
if (!source) follow(live.dataset.have);
