// Package experiments runs plans more than once, to learn more than one run can show. It is built
// on package runs.
//
// A Series repeats a run with other seeds. Rerun compares a run with an earlier one, and Compare
// compares two saved runs. Shrinking reduces a scenario for as long as the same property is
// violated. A Curve measures how often a lock is violated over the length of a fault. A Trend is
// what scenarios came to over many runs. Report judges any run's folder again. Trials run plans
// without output, for searches and measurements.
package experiments
