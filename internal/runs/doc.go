// Package runs runs suites of scenarios, each scenario in a sandbox of its own. It judges the
// histories and writes the reports. The command lockchaos is one user of it; any Go program can be
// another.
//
// A Tool is the program that runs them: its name, its version and the locks that it knows. Settings
// say how many scenarios run at once, how often one is tried again, and where the folder of the run
// is made. A Run is one suite. Do carries it out, and returns an error with an exit status (package
// exit). Several runs can share the places in which scenarios run: Prepare, Launch and Finish are
// the steps of Do.
//
// A Gate runs what a policy asks for, and rules on it. MergeShards makes one run of the shards of
// one.
//
// A run leaves a folder, and Record (run.json) describes the run in it. Tool.JudgeRun judges such a
// folder again, and Render writes its pages.
//
// Where hosts live is the caller's choice: a PrivateNetwork, or another Runtime
// of package runtimes. This package knows no engine of containers, so that a
// test in Go (package locktest) is built without one. The program is started
// again inside each sandbox, as ScenarioVerb and ProbeVerb say.
package runs
