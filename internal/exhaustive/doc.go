// Package exhaustive tries each fault of a list at each place of the smallest application of a
// lock, in virtual time: not a sample of schedules, but all of them, within bounds that it states.
//
// The undisturbed run of that application gives the places (places.go): each host call of a client,
// each segment that leaves or comes. A strike is one fault, aimed at one host (strikes.go), and
// with a place it is a schedule: the same run, with one fault at one time. Nothing is drawn by
// chance, so all that comes before the fault is the same in each of them.
//
// # Equal schedules
//
// A strike notices the places at which its host does or sees something that the fault could change.
// Between two of these the host's state is the same, so the strike is the same at all instants
// between them, and is tried at the last. Its end is that of this last one. TestReduction tries all
// of them.
//
// Pairs of faults are tried in an order, and as many as there is time for (pairs.go).
package exhaustive
