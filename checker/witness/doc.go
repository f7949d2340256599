// Package witness finds the part of a history that is enough to show one violation.
//
// A violation of a run of a hundred thousand ops usually needs two clients and a handful of ops:
// the rest is noise to who wants to understand it. Smallest takes ops away for as long as the judge
// still finds the very same violation: of the same property, kind and severity, between the same
// grants, at the same instants, by the same faults. What is left is a history like any other, with
// the same header: it can be written to a file, and `lockchaos check` finds the violation in it.
//
// The search is delta debugging (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing
// Input, 2002) over whole grants first, and then over single ops and events. Its result is
// 1-minimal: no single grant, op or event of it can be left out. A smaller one may exist.
//
// Every fault on a client of the violation, or on the service, from a TTL before
// the first of its ops on is kept, whether the judge needs it or not. Left out,
// it would be missed by who asks whether the lock or the fault is to blame: a
// client that was stopped just before its grant would look undisturbed.
//
// Taking ops away is sound since the violation must stay what it was: a witness in
// which, say, the release of the first holder is missing would show a longer overlap,
// and is not accepted. What is left out may speak against further violations: without
// the grants before it, a waiter seems to wait for a free key. A witness says in its
// header (Untold) which properties it cannot be judged by for that reason.
package witness
