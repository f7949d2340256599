// Package serve shows a folder of runs over HTTP: the list of runs, their outcomes, the progress of
// those under way, two of them side by side, and their reports. It only reads. All its knowledge
// comes from the files that runs write (run.json, repeat.json, curve.json, gate.json,
// verdict.json), so a run need not know of it.
//
// All browsers share what is known (board). It looks at files when a browser asks, at most once an
// interval, and a look costs the same however many runs there are. A page is rendered only here. A
// browser that follows is sent the live part of its page again whenever it changes.
//
// Runs hold what programs under test have printed, a stranger may have sent the folder, and a
// browser is open to the whole web. The server trusts none of these:
//
//   - It answers only GET and HEAD. Nothing outside the folder can be named: a path is taken only
//     if each of its segments is a plain name. It is then opened below an os.Root, which also
//     refuses links that lead out. Only regular files are sent, of the kinds that runs write, and
//     never a hidden one.
//   - Files of runs are sent under a sandbox. A page has an origin of its own, from which nothing
//     else can be read, and runs no script but those of lockchaos's own reports.
//   - Records are read up to a bound. Their texts are clipped, and shown as text.
//   - Every answer has a Content-Security-Policy under which no page can load from elsewhere or be
//     framed. On loopback a request must name it as its host, so that no foreign name can be
//     pointed at it. A page of another origin may lead here, and may not ask.
package serve
