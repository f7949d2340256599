package runs

import "github.com/lockchaos/lockchaos/reports"

// The files of a run. Names are part of what the command promises.
const (
	RecordFile  = "run.json"
	JunitFile   = "junit.xml"
	SarifFile   = "sarif.json"
	GateFile    = "gate.json"
	HistoryFile = "history.jsonl"
	PlanFile    = "plan.yaml"
	VerdictFile = reports.VerdictFile
	ReportFile  = reports.PageFile
	LatestLink  = "latest"
)
