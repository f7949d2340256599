// Package serve shows a folder of runs over HTTP: which there are, how far those are that are under way, and their reports. It only reads. What it knows it has
// from the files that runs write (run.json, repeat.json, curve.json), so it needs no run to know of it.
//
// Runs hold what programs under test have printed, and a browser is open to the whole web, so it trusts neither. It answers GET and HEAD alone. Nothing outside the folder can be
// named: a path is taken only if each of its segments is a plain name, and is then opened below an os.Root, which also refuses links that lead out. Only regular
// files are sent, of the kinds that runs write, and never a hidden one. Every answer has a Content-Security-Policy under which no page can load from
// elsewhere or be framed, and on loopback a request must name it as its host, so that no foreign name can be pointed at it.
package serve
