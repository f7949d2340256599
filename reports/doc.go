// Package reports turns verdicts and histories into the model that every report
// is made of: suites, scenarios, findings, holds, the ruling of a gate, and their
// JSON. The packages below it show that model: story in words, draw in pictures,
// page as HTML, ci for CI systems, terminal as text. It knows none of them.
//
// It renders only. Whatever a page says was judged by package checker or recorded in
// the history; nothing here decides whether a lock is safe. What is computed is how
// to say it: which violation tells most, in what order its ops are retold, which
// part of the run a timeline shows, and, for the counter workload, what the ledger
// adds up to: how many increments the store accepted, and where the counter stands.
//
// Two guarantees follow. Rendering is pure: the same input gives the same bytes, for
// no clock is read and no map is ranged over, so a saved verdict and history can be
// rendered again and compared. And a page never claims more than its verdicts: the
// sentence at the head of an index is chosen by the results of all its scenarios,
// and falls back to plain counts as soon as one of them disagrees with it.
//
// A page is one self-contained file. Its content security policy forbids every
// request, and all scripts and style sheets but our own, which it names by their
// hashes; texts that come from programs under test (errors, evidence, versions, names)
// are escaped, stripped of control and direction-changing characters, and clipped. It
// reads on paper, in light and dark, without a script, and from 400 pixels upwards.
//
// A page's size does not follow the length of its run: of 100,000 ops it has those
// around violations and faults, of the rest how busy it was (draw/explore.go). Its
// scripts (page/script/*.js) change what is in sight, never what is said: they
// draw the timeline anew, hide scenarios that were not asked for, and hand out the
// data that the page carries (page/attach.go). The address keeps what was chosen.
package reports
