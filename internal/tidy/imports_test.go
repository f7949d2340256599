package tidy_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/lockchaos/lockchaos/"

// allowed is the import graph: which of our packages the non-test code of each folder
// may import. A folder is named without internal/. Folders of a folder follow their parent, and may
// be imported by it; a room that may import less than its parent has a line of its own. Leaves
// everyone may use.
var allowed = map[string][]string{
	"logins":   {},
	"monotime": {},
	"procfs":   {},
	"harmless": {},
	"outside":  {},
	"redact":   {},
	"endpoint": {},
	// expressions that a process compiles when it uses them
	"lazyregexp": {},
	// what a server of the user's is; and, in probetest, servers for tests of that
	"probe":           {},
	"probe/probetest": {"backends", "decided", "hosts"},
	"clockskew":       {},
	"hotspot":         {}, // collections of Java virtual machines
	"inspector":       {}, // event loops of Node
	"history":         {},
	// logs of other tools and of applications, made into histories
	"audit":       {"history", "strictyaml"},
	"store":       {},
	"hosts":       {},
	"adapter":     {},
	"conformance": {"adapter", "hosts"}, // it tries adapters on hosts of their own
	// a lock may be a program of its own; a broken one names the property that
	// it violates; clienttest makes runs again that decide nothing
	"clients":    {"adapter", "checker", "decided"},
	"spelling":   {},
	"strictyaml": {"spelling"},
	// for the lists of properties and of faults
	"scenarios": {"checker", "nemesis", "spelling", "strictyaml"},
	"policy":    {"checker", "scenarios", "spelling", "strictyaml"},
	"shrink":    {"scenarios"}, // it knows no lock and no runtime: its judge does
	"checker":   {"history"},
	"docs":      {}, // the pages of documentation that reports quote
	"reports":   {"history", "checker", "docs"},
	"survey":    {"checker", "history", "reports", "runs", "scenarios", "spelling", "strictyaml"},
	// for its style, its scripts and its comparison; what runs are it has from their files
	"serve":    {"reports"},
	"backends": {"hosts", "store"}, // it runs the store as a node
	// what tests of locks and of services share
	"backends/backendstest": {"clients", "decided", "hosts"},
	"nemesis":               {"clockskew", "history", "hosts", "hotspot", "inspector", "netfault"},
	// netfault decides about packets, simulated ones too
	"harness": {"adapter", "audit", "history", "clients", "store", "hosts", "scenarios", "backends", "checker",
		"nemesis", "netfault", "spelling"},
	// it runs what it is given: it knows no lock by name
	"runs": {"adapter", "audit", "history", "clients", "conformance", "hosts", "scenarios", "backends", "nemesis",
		"harness", "probe", "checker", "reports", "spelling", "strictyaml", "policy", "clockskew", "netfault"},
	// locktest uses it, and so imports no engine of containers
	"exhaustive": {"checker", "runs", "harness", "hosts", "clients", "history", "nemesis", "outside", "reports", "scenarios"},
	"experiments": {"exhaustive", "runs", "harness", "hosts", "checker", "history", "nemesis", "reports", "scenarios", "shrink",
		"spelling", "strictyaml"},
	"cmd": {"audit", "runs", "exhaustive", "experiments", "adapter", "history", "clients", "conformance", "oracle", "store", "hosts",
		"scenarios", "backends", "nemesis", "clockskew", "netfault", "harness", "checker", "reports", "spelling",
		"strictyaml", "policy", "serve", "shrink", "survey", "synthetic"},
	"netfault": {"hosts"},
	// testing.T in, runs does the work
	"locktest": {"exhaustive", "runs", "clients", "scenarios", "reports", "checker", "history", "harness", "backends", "hosts", "nemesis", "netfault"},

	// tools for this repository, and for tests
	"decided":   {},
	"mutants":   {},
	"notices":   {},
	"oracle":    {"checker", "history"},
	"site":      {"reports", "survey"},
	"synthetic": {"history"},
	"testtimes": {},
	"tidy":      {},

	// rooms of the harness
	"harness/app":      {"audit", "backends", "history", "hosts", "nemesis", "scenarios"},
	"harness/clock":    {},
	"harness/director": {"history", "hosts", "nemesis", "scenarios"},
	"harness/possible": {"backends", "clients", "nemesis", "scenarios", "store"},
	"harness/record":   {"backends", "checker", "clients", "history", "nemesis", "scenarios", "store"},
	"harness/simulated": {"adapter", "backends", "clients", "history", "hosts", "nemesis", "netfault", "scenarios", "spelling",
		"store"},
	"harness/wire":     {"clients", "history", "nemesis"},
	"harness/worker":   {"adapter", "clients", "store"},
	"harness/workload": {"clients", "history", "nemesis", "scenarios"},
}

// rooms is the import graph inside folders that have walls, of their non-test
// code. Of reports the model at the bottom knows none of those that show it. Of
// audit the rooms know none of what is made of their records.
var rooms = map[string][]string{
	"audit":         {"audit/formats", "audit/remarks", "audit/spill", "audit/times", "audit/words"},
	"audit/formats": {"audit/remarks", "audit/times", "audit/words"},
	"audit/remarks": {}, // what readers have to say besides what they read
	"audit/spill":   {}, // lists that do not fit into memory
	"audit/times":   {"audit/remarks"},
	"audit/words":   {"audit/remarks", "audit/times"},
	"harness": {"harness/clock", "harness/director", "harness/possible", "harness/record",
		"harness/simulated", "harness/wire", "harness/worker", "harness/workload"},
	// an application of the user's own
	"harness/app":      {"harness/clock", "harness/director", "harness/possible", "harness/record", "harness/wire"},
	"harness/clock":    {},                                // how the harness waits
	"harness/director": {"harness/clock", "harness/wire"}, // when a fault strikes, and whom
	// what harness and worker say to each other
	"harness/possible": {"harness/workload"},                                                      // whether a plan can be run
	"harness/record":   {"harness/clock", "harness/possible", "harness/wire", "harness/workload"}, // what every run keeps
	// one plan in virtual time
	"harness/simulated": {"harness/clock", "harness/director", "harness/possible", "harness/record", "harness/wire",
		"harness/worker", "harness/workload"},
	"harness/wire":     {},
	"harness/workload": {"harness/clock", "harness/wire"}, // the application, op by op
	"harness/worker":   {"harness/wire"},                  // what runs in a client's process
	"reports":          {"reports/phrase"},
	"reports/phrase":   {}, // numbers, lists and sentences, before anything is known of runs
	"reports/studies":  {"reports", "reports/phrase"},
	"reports/story":    {"reports", "reports/phrase"},
	"reports/draw":     {"reports", "reports/phrase", "reports/story", "reports/studies"},
	"reports/terminal": {"reports", "reports/phrase", "reports/story", "reports/studies"},
	"reports/ci":       {"reports", "reports/phrase", "reports/story"},
	"reports/page":     {"reports", "reports/phrase", "reports/story", "reports/studies", "reports/draw"},
	// runs made up for tests, which alone import it
	"reports/reporttest": {"reports", "reports/phrase", "reports/studies"},
}

// leaves may be used by everyone.
var leaves = []string{"monotime", "procfs", "harmless", "outside", "redact", "logins", "endpoint", "lazyregexp"}

// TestGoTestsNeedNoContainers: what a test in Go is built from has no engine of
// containers. So package runs is handed its runtimes.
func TestGoTestsNeedNoContainers(t *testing.T) {
	t.Chdir(root)
	out, err := exec.Command("go", "list", "-deps", "./locktest").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), module+"internal/runs\n") {
		t.Error("locktest is not built on runs")
	}
	for _, one := range strings.Fields(string(out)) {
		if strings.HasSuffix(one, "/hosts/docker") || strings.HasSuffix(one, "/runs/runtimes") || strings.Contains(one, "moby") {
			t.Errorf("locktest is built from %s", one)
		}
	}
}

// within is the path of one of our packages in the module, without internal/.
func within(imported string) (path string, ours bool) {
	path, ours = strings.CutPrefix(imported, module)
	return strings.TrimPrefix(path, "internal/"), ours
}

// public are the packages that others may import.
var public = []string{"adapter", "checker", "clients", "cmd", "history", "locktest", "nemesis", "reports", "scenarios"}

// TestImportsPublic: whatever others may not import lies in internal, and the root has no folder
// but the public ones and those that hold no library.
func TestImportsPublic(t *testing.T) {
	t.Chdir(root)
	out, err := exec.Command("git", "ls-files").Output()
	if err != nil {
		t.Skip("this copy has no git: ", err)
	}
	roots := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if folder, _, inside := strings.Cut(line, "/"); inside && !strings.HasPrefix(folder, ".") {
			roots[folder] = true
		}
	}
	want := slices.Concat(public, []string{"deploy", "docs", "examples", "internal", "scripts", "servers", "survey"})
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(roots)); !slices.Equal(got, want) {
		t.Errorf("the root's folders are %v, want %v", got, want)
	}
}

// TestImportsRunOneWay holds the import graph to the design: the checker sees
// nothing but the history, and so on.
func TestImportsRunOneWay(t *testing.T) {
	t.Chdir(root)
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		path, ours := within(p.ImportPath)
		if !ours {
			continue
		}
		seen++
		folder, _, _ := strings.Cut(path, "/")
		may, known := allowed[folder]
		if own, narrow := allowed[path]; narrow {
			may = own
		}
		_, walls := rooms[folder]
		if _, room := rooms[path]; walls && !room {
			known = false
		}
		if !known {
			t.Errorf("%s: a folder that the design does not have", path)
		}
		for _, imported := range p.Imports {
			rest, ours := within(imported)
			if !ours {
				continue
			}
			target, _, _ := strings.Cut(rest, "/")
			if walls && target == folder && !slices.Contains(rooms[path], rest) {
				t.Errorf("%s imports %s: of %s it may import %v", path, rest, folder, rooms[path])
			}
			if target != folder && !slices.Contains(leaves, target) && !slices.Contains(may, target) {
				t.Errorf("%s imports %s: %s may import %v", path, rest, folder, may)
			}
		}
	}
	if seen < len(allowed)+len(rooms) {
		t.Errorf("only %d packages were looked at", seen)
	}
}
