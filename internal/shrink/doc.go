// Package shrink reduces a scenario for as long as what it shows is still seen: fewer
// faults, a shorter workload, fewer clients and keys, shorter faults, one strike instead
// of many. What is left can be read, run in a moment, and kept as a regression test.
//
// It is delta debugging (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input,
// IEEE TSE 28(2), 2002) over a plan instead of an input. A plan does not repeat its schedule, so
// whether a candidate shows it is a matter of chance: that is the judge's business, who runs it
// some times. A candidate that was judged is not judged again. The search is greedy, and ends when
// in a whole round nothing could be taken away (the result is then minimal: none of the reductions
// that are tried is possible), or with its bounds. At last a fault that was shortened to the edge
// gets a margin, and Confirm lets a stricter judge take back what chance had kept.
package shrink
