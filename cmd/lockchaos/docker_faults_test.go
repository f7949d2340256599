package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/hosts/docker/dockertest"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/nemesis"
)

// Every kind of fault strikes in containers as it does on a private network:
// nodes in their containers, clients beside them; with proof, and healed. With
// LOCKCHAOS_SOAK=1 in all its cases, else in one.
func testFaultsInContainers(t *testing.T) {
	kinds := everyKind(t)
	dockertest.Need(t, "redis", "etcd")
	before := engineState(t)
	suite, names := healingSuite, map[string]nemesis.Kind{}
	for _, k := range nemesis.Kinds() {
		cases := kinds[k.Name]
		if i := slices.IndexFunc(cases, healingCase.ofNodes); !soaking() && len(cases) > 0 {
			cases = cases[max(i, 0):][:1]
		}
		for i, c := range cases {
			if c.adapter != "" {
				continue // no adapter runs in containers
			}
			name := fmt.Sprintf("%s-%d", k.Name, i)
			names[name] = k
			suite += c.scenario(name, k.Name, "1s")
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "faults.yaml")
	if err := os.WriteFile(file, []byte(suite), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"run", file, "--runtime", "docker", "--no-expect", "--parallel", "6", "--seed", "3",
		"--out", dir}, localImages("redis", "etcd")...)
	code, out := finish(t, lockchaos(t, args...))
	if code == exit.Failed || code == exit.Usage {
		t.Errorf("exit status %d\n%s", code, out)
	}
	for name, kind := range names {
		t.Run(name, func(t *testing.T) {
			// no container can be started again: the run has to say so
			if strings.HasPrefix(string(kind.Needs), string(nemesis.NeedsLocal)) {
				if !strings.Contains(out, "skipped: "+name) {
					t.Errorf("it was not skipped aloud:\n%s", out)
				}
				return
			}
			proofs(t, filepath.Join(dir, runs.LatestLink, runs.FolderOf(name), runs.HistoryFile), kind.Name)
		})
	}
	if after := engineState(t); after != before {
		t.Errorf("the engine had\n%s\nand has\n%s", before, after)
	}
}

// proofs looks whether the history tells of faults of the kind that struck, each with its proof.
func proofs(t *testing.T, file, kind string) {
	t.Helper()
	h, err := history.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begun, ended := 0, 0
	for _, e := range h.Events {
		switch f := e.Fault; {
		case e.Type != history.Fault || f.Plan == 0: // what the machine or an injection held up is no fault of the plan
		case f.Phase == "begin":
			begun++
		default:
			ended++
			if f.Kind != kind || !f.Bit || strings.TrimSpace(f.Evidence) == "" {
				t.Errorf("a fault without its proof: %+v", f)
			}
		}
	}
	if begun == 0 || ended != begun || h.Truncated {
		t.Errorf("%d faults began, %d ended; history cut: %v", begun, ended, h.Truncated)
	}
}
