// Follows the run: each message is its whole state. Texts go in as texts, never as markup.
const classes = {pass: "p", contained: "c", corrupted: "v", violated: "v", failed: "f", inconclusive: "i", silent: "i"};
const progress = document.getElementById("progress");
const path = p => "/files/" + p.split("/").map(encodeURIComponent).join("/");
const took = ns => ns ? (ns / 1e9).toFixed(1) + "s" : "–";
function pill(word) {
  const el = document.createElement("span");
  el.className = "pill " + (classes[word] || "s");
  el.textContent = word;
  return el;
}
function cell(row, label, content, cls) {
  const td = row.insertCell(), span = document.createElement("span");
  td.dataset.label = label;
  td.className = cls || "";
  span.append(content);
  td.append(span);
}
function show(run) {
  const state = document.getElementById("state"), page = document.getElementById("page"), body = document.getElementById("scenarios");
  state.replaceWith(Object.assign(pill(run.state), {id: "state"}));
  if (run.page) { page.href = path(run.page); page.hidden = false; }
  const counts = {};
  for (const sc of run.scenarios || []) counts[sc.result || sc.state] = (counts[sc.result || sc.state] || 0) + 1;
  progress.textContent = Object.entries(counts).map(([word, n]) => n + " " + word).join(", ");
  if (!body) return;
  body.replaceChildren();
  for (const sc of run.scenarios || []) {
    const row = body.insertRow(), th = document.createElement("th");
    th.scope = "row";
    if (sc.page) {
      const a = document.createElement("a");
      a.href = path(sc.page);
      a.textContent = sc.name;
      th.append(a);
    } else th.textContent = sc.name;
    row.append(th);
    cell(row, "state", pill(sc.result || sc.state));
    cell(row, "history", sc.bytes ? Math.floor(sc.bytes / 1024) + " KiB" : "–", "n");
    cell(row, "took", took(sc.elapsed_ns), "n");
    cell(row, "violation", sc.first_violation || "", "words");
  }
}
follow("/events/" + progress.dataset.dir.split("/").map(encodeURIComponent).join("/"), run => {
  show(run);
  return run.state === "ended" && run.page;
});
