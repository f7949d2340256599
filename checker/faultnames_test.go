package checker

import (
	"bytes"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// The names of faults in histories of format 1, which tests write.
const (
	faultPause         = "pause"
	faultKill          = "kill"
	faultThrottle      = "throttle"
	faultStall         = "stall"
	faultRenewerStall  = "renewer-stall"
	faultExpireSession = "expire-session"
	faultReset         = "reset"
	faultCut           = "cut"
	faultPartition     = "partition"
	faultCrash         = "crash-restart"
	faultFailover      = "failover"
)

// A history of format 1, whose faults are known by their names, is judged as
// one of format 2 is that says what they do and calls them something else.
func TestTheJudgeKnowsNoFaultByItsName(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "patterns", "*.jsonl"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	touched := 0
	for _, name := range files {
		h, err := history.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := Judge(h, Options{})
		for i := range h.Events {
			if f := h.Events[i].Fault; f != nil {
				f.Touch = f.Touches()
				f.Kind, touched = "some-fault", touched+1
			}
		}
		h.Header.Format = history.FormatVersion
		var file bytes.Buffer
		if err := h.Encode(&file); err != nil {
			t.Fatal(err)
		}
		if h, err = history.ReadAll(&file, name); err != nil {
			t.Fatal(err)
		}
		got := Judge(h, Options{})
		// a fault without words of its own is told by its name
		for _, v := range []Verdict{got, want} {
			for _, p := range v.Properties {
				for i := range p.Violations {
					p.Violations[i].Text = ""
				}
			}
		}
		if !reflect.DeepEqual(got.Properties, want.Properties) || !reflect.DeepEqual(got.Patterns, want.Patterns) {
			t.Errorf("%s: %+v, want %+v", name, got.Properties, want.Properties)
		}
	}
	if touched < 40 {
		t.Errorf("only %d events of faults", touched)
	}
}
