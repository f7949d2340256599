// Package history is the record of one run: every op, fault and ledger entry,
// in order, on one monotonic clock.
//
// A history file is JSON lines. The first line is the Header; every other line
// is an Event; the last one is the End event. A file without it was cut: it can
// still be judged, for what it certainly shows.
//
// The order of the lines is the recorder's: an invocation is written before the op is
// sent, a completion after it was received, so an op that completed on an earlier
// line than another's invocation really ended before the other began. Inside that,
// the worker's own stamps (Start, End) are tighter: they lie around the library call.
//
// Ledger events come while the run goes on, a batch at a time, each batch followed by
// a Watermark, and for the last time after the workload's end. Interleaving them
// (rather than appending the whole ledger at the end) lets a judge forget a grant once
// the store's account of it is complete, and leaves a killed run its ledger so far.
package history
