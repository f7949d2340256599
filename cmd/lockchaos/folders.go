package main

import "github.com/lockchaos/lockchaos/reports"

// The files of a run. Names are part of what the command promises.
const (
	runFile     = "run.json"
	junitFile   = "junit.xml"
	sarifFile   = "sarif.json"
	gateFile    = "gate.json"
	historyFile = "history.jsonl"
	planFile    = "plan.yaml"
	verdictFile = reports.VerdictFile
	reportFile  = reports.PageFile
	latestLink  = "latest"
)
