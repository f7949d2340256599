package tidy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
)

// otherWords are words of another meaning that are names of faults, too: a cut,
// a reset, a loss or a rate of packets, how long a client holds.
var otherWords = map[string][]string{
	"cmd/lockchaos/sweep_curve.go":          {"clock-jump"}, // its help
	"checker/figures.go":                    {"hold"},
	"internal/audit/words/joinedclients.go": {"partition"}, // a column of that name
	"internal/harness/wire/protocol.go":     {"stall"},     // which a worker tells of itself
	"internal/audit/uncertain.go":           {"hold"},
	"nemesis/cut.go":                        {"reset"},
	"nemesis/killatreply.go":                {"kill"}, // the section of docs/faults.md
	"nemesis/degrade.go":                    {"delay-loss-duplicate-reorder-rate"},
	"internal/netfault/decide.go":           {"loss", "duplicate", "reorder"},
	"internal/netfault/filter.go":           {"cut"},
	"internal/netfault/reset.go":            {"reset"},
	"internal/netfault/table.go":            {"cut"},
	"reports/causes.go":                     {"hold"},
	"reports/studies/curve.go":              {"rate"},
	"reports/page/gatepage.go":              {"hold"},
	"reports/page/tables.go":                {"hold"},
	"reports/story/timings.go":              {"hold"},
	"reports/result.go":                     {"hold"},
	"reports/draw/sequence.go":              {"hold"},
	"reports/draw/still.go":                 {"hold"},
	"nemesis/spec.go":                       {"delay", "rate"}, // fields of that name
	"nemesis/clockrate.go":                  {"rate"},
}

// TestFaultsAreNamedOnce: the name of a fault stands in one constant, in its own file or in that of
// its like, and in the table of old histories. All other code asks what the fault
// does. Prose may use words that are names too, such as "a pause".
func TestFaultsAreNamedOnce(t *testing.T) {
	t.Chdir(root)
	defined := map[string]string{}
	var all []string
	for _, k := range nemesis.Kinds() {
		all = append(all, k.Name)
	}
	names := strings.Join(all, "|")
	named := regexp.MustCompile(`^(` + names + `)$|(^|[\s"'=:,])(` + names + `)([\s"',]|$)`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || forTests(path) || strings.HasPrefix(path, "examples/") {
			return err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		own := definedBy(f)
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || path == "history/format1.go" {
				return true
			}
			text, _ := strconv.Unquote(lit.Value)
			for _, m := range named.FindAllStringSubmatch(text, -1) {
				name := m[1] + m[3]
				switch {
				case text != name && !strings.Contains(name, "-"), slices.Contains(otherWords[path], name):
				case slices.Contains(own, name) && filepath.Dir(path) == "nemesis":
					defined[name] = path
				default:
					t.Errorf("%s names the fault %s: ask what it does, or use its constant of package nemesis",
						files.Position(lit.Pos()), name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if defined[name] == "" {
			t.Errorf("no constant Kind… of package nemesis has the name %s", name)
		}
	}
}

// definedBy are the values of a file's constants Kind….
func definedBy(f *ast.File) (names []string) {
	ast.Inspect(f, func(node ast.Node) bool {
		v, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(v.Names[0].Name, "Kind") || len(v.Values) != 1 {
			return true
		}
		if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			name, _ := strconv.Unquote(lit.Value)
			names = append(names, name)
		}
		return true
	})
	return names
}

// TestFaultsAreDocumented: each fault points at the section of docs/faults.md that tells of it.
func TestFaultsAreDocumented(t *testing.T) {
	t.Chdir(root)
	text, err := os.ReadFile("docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			sections[strings.NewReplacer(",", "", " ", "-").Replace(strings.ToLower(strings.TrimSpace(title)))] = true
		}
	}
	for _, k := range nemesis.Kinds() {
		if !sections[k.Touch.Words.Doc] {
			t.Errorf("%s points at %q, and docs/faults.md has %v", k.Name, k.Touch.Words.Doc, sections)
		}
	}
}

// TestOldFaultsDidWhatTheyDo: a history of format 1 is judged by what faults of these names do now.
func TestOldFaultsDidWhatTheyDo(t *testing.T) {
	t.Chdir(root)
	for _, k := range nemesis.Kinds() {
		now := nemesis.Spec{Kind: k.Name}.Touch()
		old := *(&history.FaultInfo{Kind: k.Name, Injected: true}).Touches()
		if old.Words.Did == "" {
			continue // younger than format 2
		}
		old.Words, now.Words = history.FaultWords{}, history.FaultWords{}
		old.Clock, old.Strobes = "", false // which the plan says
		if old != now {
			t.Errorf("%s: %+v, and once %+v", k.Name, now, old)
		}
	}
}

// TestEveryFaultHasWords: a report tells of it as of whomever it can strike.
func TestEveryFaultHasWords(t *testing.T) {
	t.Chdir(root)
	for _, k := range nemesis.Kinds() {
		w := k.Touch.Words
		links := nemesis.Spec{Kind: k.Name}.OnLinks()
		if w.Did == "" || len(w.Did) > 10 && w.Bar == "" && w.Did != "cut short" || len(w.Bar) > 10 {
			t.Errorf("%s: it was %q, in short %q", k.Name, w.Did, w.Bar)
		}
		if links != (w.Links != "") || !links && (!k.NodesOnly && w.Client == "" || k.Nodes && w.Nodes == "") {
			t.Errorf("%s is told as %+v", k.Name, w)
		}
	}
}

// forTests reports whether a file is there for tests alone, which make histories up.
func forTests(path string) bool {
	return strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "reports/reporttest"
}
