package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestCandidatesGoOnUntilAllAreDone: a candidate for leadership whose work is over stands for
// election as long as another one's is not, and each of its terms is in the history. Else the
// others would seem to wait for a key that nobody holds.
func TestCandidatesGoOnUntilAllAreDone(t *testing.T) {
	needed.Later(t, "TestScripts/kinds stands for elected components")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	needed.Program(t, "python3")
	file := filepath.Join(t.TempDir(), "suite.yaml")
	writeFile(t, file, fmt.Sprintf(`suite: candidates
scenarios:
  - name: my-election/none/unfenced
    lock: my-election
    adapter: {command: %q, service: redis, kind: leader}
    ttl: 1s
    clients: 4
    keys: 1
    store: {kind: unfenced}
    workload: {kind: queue, guard: none, think: 150ms..250ms, acquire_timeout: 20s, op_timeout: 10s}
    duration: 2s
    needs: {grants: 4, handovers: 1}
    expect: {}
`, skeletonCommand(t, "python", scenarios.Leader)))
	decided.Run(t, func() {
		out := t.TempDir()
		if code, said := finish(t, lockchaos(t, "run", file, "--out", out)); code != exit.OK {
			decided.Lacks("a run that came to its end: exit status %d\n%s", code, said)
		}
		found, err := filepath.Glob(filepath.Join(out, "latest", "*", runs.HistoryFile))
		if err != nil || len(found) != 1 {
			t.Fatalf("%v, %v", found, err)
		}
		in, err := os.Open(found[0])
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		h, err := history.ReadAll(in, found[0])
		if err != nil {
			t.Fatal(err)
		}
		written, last, asked := int64(0), int32(0), map[int32]int64{}
		for _, o := range history.NewView(h).Ops {
			switch {
			case o.Kind == history.Write && o.End > written:
				written, last = o.End, o.Client
			case o.Kind == history.Acquire:
				asked[o.Client] = max(asked[o.Client], o.End)
			}
		}
		for client, end := range asked {
			if client != last && end < written {
				t.Errorf("client %d asked last until %d, and client %d worked until %d", client, end, last, written)
			}
		}
	})
}
