// A page that was sent alone has nothing beside it: its links to other files become text.
const place = document.querySelector('[data-place]');
let path = location.pathname;
try {
  path = decodeURIComponent(path);
} catch {
  // a path that is no UTF-8 is compared as it stands
}
if (place && !path.endsWith(place.dataset.place)) {
  for (const a of document.querySelectorAll('a[href^="./"], a[href^="../"]')) a.removeAttribute('href');
  for (const lead of document.querySelectorAll('[data-alone]')) lead.textContent = lead.dataset.alone;
}
