package app

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/harness/record"
)

// write makes the history: the lines of all clients in order of time,
// translated as any audit log, and the faults between them.
func (a *run) write() error {
	logs, err := a.aligned()
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(a.cfg.History), AuditFile)
	text, err := a.joined(logs)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	names, numbers := audit.Number(logs)
	source, err := audit.Read(bytes.NewReader(text), path, formats.JSON, a.options(names))
	if err != nil {
		return err
	}
	defer source.Close()
	faults, err := history.ReadFile(filepath.Join(filepath.Dir(a.cfg.History), faultsFile))
	if err != nil {
		return fmt.Errorf("read the record of the faults: %w", err)
	}
	h, err := audit.MergeFaults(source, audit.Faults{Record: faults, Ahead: a.offset, Clients: numbers})
	if err != nil {
		return err
	}
	h.Header = a.header(h.Header, names)
	out, err := os.Create(a.cfg.History)
	if err != nil {
		return fmt.Errorf("create the history: %w", err)
	}
	return errors.Join(h.Encode(out), out.Close())
}

// joined is the log of all clients; it is an error if nobody has logged anything.
func (a *run) joined(logs []audit.ProcessLog) ([]byte, error) {
	text, err := audit.Join(logs)
	if err != nil || len(text) > 0 {
		return text, err
	}
	where, other := cmp.Or(a.app.Log.File, "the clients' output"), 0
	for _, c := range a.clients {
		other += c.other
	}
	return nil, fmt.Errorf("no line of an audit log was written during the run (%d other lines in %s): each must be a JSON object with time, end and event (docs/own-stack.md)", other, where)
}

func (a *run) options(names []string) audit.Options {
	o := audit.Options{Clients: names, Delayed: true, Tokens: a.app.Log.Tokens, ClockError: a.clockError,
		Validity: &audit.Validity{TTL: a.cfg.Plan.Scenario.TTL.Std()}}
	switch a.app.Lease {
	case "released":
		o.Validity = &audit.Validity{Released: true}
	case "unknown":
		o.Validity = &audit.Validity{}
	}
	return o
}

// header is that of the translated log, with what the plan says.
func (a *run) header(h history.Header, names []string) history.Header {
	s := a.cfg.Plan.Scenario
	h.Scenario, h.Seed, h.Lock, h.Service, h.Workload, h.Guard, h.Fault = s.Name, a.cfg.Plan.Seed, s.Lock, "own", "own",
		"none", s.FaultLabel()
	h.Clients, h.Faults, h.Needs, h.Duration = len(names), record.PlannedFaults(s.Faults), history.Needs(s.Needs),
		int64(s.Duration)
	h.Versions = append(slices.Clone(a.cfg.Versions), a.clocks()...)
	for i, name := range names {
		h.Versions = append(h.Versions, history.Part{Name: fmt.Sprintf("client %d", i+1), Version: name})
	}
	return h
}

// AuditFile is the audit log of all clients, in the form that `lockchaos check`
// reads without being told how.
const AuditFile = "audit.jsonl"

// faultsFile holds the faults alone, as they were recorded.
const faultsFile = "faults.jsonl"
