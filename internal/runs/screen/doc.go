// Package screen shows a run while it goes on and tells what it came to: as text, on a
// terminal with one line that changes; as JSON, one event a line
// (docs/schema/progress.json); or for GitHub, with annotations and a summary of the job.
//
// A Screen is used by the scenarios of a run at the same time. Start begins it,
// Stop ends it, and Summarize tells the end.
package screen
