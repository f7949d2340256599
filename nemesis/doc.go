// Package nemesis holds the faults: what they do to a host, a process or a link, at which moment
// they strike, and the proof that they did.
//
// A fault has two parts. The aim (Aim, Moment) is data: which client, at which step between two of
// its ops. The effect (Pause …) is done to a process, and ends with evidence: what was seen in
// /proc, and for how long, by the machine's monotonic clock. A fault without evidence proves
// nothing, and a run whose faults did not bite is inconclusive.
//
// Every fault heals: Heal may be called at any time, from any goroutine, more than once.
package nemesis
