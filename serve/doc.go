// Package serve shows a folder of runs over HTTP: which there are, what they came to, how far those are that are under way, two of them side by side, and their reports. It only reads. What
// it knows it has from the files that runs write (run.json, repeat.json, curve.json, gate.json, verdict.json), so it needs no run to know of it.
//
// All who follow share what is known (board). Files are looked at when somebody asks, once an interval at the most, and a look costs the same however many runs there are. A page is
// rendered here alone: those who follow are sent its live part again whenever it is another one.
//
// Runs hold what programs under test have printed, somebody may have sent the folder, and a browser is open to the whole web: the server trusts none of these.
//
//   - It answers GET and HEAD alone. Nothing outside the folder can be named: a path is taken only if each of its segments is a plain name, and is then opened below an os.Root, which also
//     refuses links that lead out. Only regular files are sent, of the kinds that runs write, and never a hidden one.
//   - Files of runs are sent under a sandbox: a page has an origin of its own, from which nothing else can be read, and runs no script but those of lockchaos's own reports.
//   - Records are read up to a bound, and what they say is clipped and shown as text.
//   - Every answer has a Content-Security-Policy under which no page can load from elsewhere or be framed. On loopback a request must name it as its host, so that no foreign name can be
//     pointed at it. A page of another origin may lead here, and may not ask.
package serve
