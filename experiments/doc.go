// Package experiments runs plans more than once, to learn more than one run can tell: a Series
// repeats a run with other seeds, Rerun sets a run beside an earlier one, Compare sets two saved runs
// side by side, and Shrinking reduces a scenario for as long as the same property is violated. A
// Curve measures how often a lock is violated over the length of a fault. A Trend is what scenarios
// came to over many runs. Report judges any run's folder again. Trials run plans out of sight, for
// searches and measurements. The package is built on package runs.
package experiments
