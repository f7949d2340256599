package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless/harmlesstest"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// lockedBuffer is what a verb prints to that may go on for a while when it is interrupted.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// tried runs a command line, and looks at all that it prints. Commands are the
// beginnings of lines that are ours to a CI runner.
func tried(t *testing.T, ctx context.Context, about string, args ...string) int {
	t.Helper()
	var out, errs lockedBuffer
	code := execute(ctx, args, &out, &errs)
	for name, text := range map[string]string{"stdout": out.String(), "stderr": errs.String()} {
		if wrong := harmlesstest.Wrong(text); wrong != "" {
			t.Errorf("%s: %s: %s", about, name, wrong)
		}
	}
	return code
}

// poisoned calls f with each string of a JSON value replaced by the hostile
// text, one after the other: alone, and behind what was there.
func poisoned(v any, at string, set func(any), f func(at string)) {
	switch x := v.(type) {
	case string:
		for _, evil := range []string{harmlesstest.Hostile, x + harmlesstest.Hostile} {
			set(evil)
			f(at)
		}
		set(x)
	case []any:
		for i := range x {
			poisoned(x[i], at+"[]", func(n any) { x[i] = n }, f)
		}
	case map[string]any:
		for k := range x {
			poisoned(x[k], at+"."+k, func(n any) { x[k] = n }, f)
		}
		for k, value := range x {
			delete(x, k)
			x[k+harmlesstest.Hostile] = value
			f(at + "." + k + " (its name)")
			delete(x, k+harmlesstest.Hostile)
			x[k] = value
		}
	}
}

// filled sets every string of a value, in lists of one, to "x".
func filled(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				filled(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0))
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String && v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.ValueOf(map[string]string{"mutual-exclusion": "x"}).Convert(v.Type()))
		}
	case reflect.String:
		v.SetString("x")
	}
}

// TestHostileHistories puts hostile text into each field of a history, and
// looks at what the commands about histories print.
func TestHostileHistories(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.jsonl")
	if code := execute(t.Context(), []string{"generate", "--events", "200", "--clients", "3", "--bad", "2", "--out",
		good}, &bytes.Buffer{}, &bytes.Buffer{}); code != exit.OK {
		t.Fatal(code)
	}
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var header history.Header
	filled(reflect.ValueOf(&header).Elem())
	rich, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	fault := `{"t":1,"type":"fault","fault":{"id":1,"kind":"pause","phase":"begin","target":"holder","when":"held","hosts":["client-1"],"injected":true,"bit":true,"evidence":"x"},"text":"x"}`
	lost := `{"t":2,"type":"lost","client":1,"key":"k0","text":"x"}`
	lines = slices.Insert(lines, 1, fault, lost)
	lines[0] = merged(t, lines[0], string(rich))
	seen, tries := map[string]bool{}, 0
	for i, line := range lines {
		var value any
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			t.Fatal(err)
		}
		poisoned(value, "", nil, func(at string) {
			// once for each kind of line
			if i > 0 && seen[at+fmt.Sprint(value.(map[string]any)["type"])] {
				return
			}
			seen[at+fmt.Sprint(value.(map[string]any)["type"])] = true
			tries++
			evil, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			all := slices.Clone(lines)
			all[i] = string(evil)
			file := filepath.Join(dir, "evil.jsonl")
			if err := os.WriteFile(file, []byte(strings.Join(all, "\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			about := fmt.Sprintf("line %d%s", i+1, at)
			tried(t, t.Context(), about, "check", file)
			tried(t, t.Context(), about, "witness", file)
			if i < 3 {
				tried(t, t.Context(), about, "check", "--oracle", "porcupine", "--report", filepath.Join(dir, "report"), file)
			}
		})
	}
	if tries < 60 {
		t.Errorf("only %d fields", tries)
	}
}

// merged is a JSON object with the members of another that it lacks.
func merged(t *testing.T, a, b string) string {
	t.Helper()
	var x, y map[string]any
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	for k, v := range y {
		if _, is := x[k]; !is {
			x[k] = v
		}
	}
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHostileLogs puts hostile text into each cell of an audit log in CSV and
// in JSON lines, and into histories of other tools, byte by byte.
func TestHostileLogs(t *testing.T) {
	dir := t.TempDir()
	columns := "time=ts,client=pod,event=action,key=resource,token=fence"
	in, err := os.Open("../../examples/audit.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	try := func(about, name string, text []byte, flags ...string) {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		tried(t, t.Context(), about, append(append([]string{"check"}, flags...), file)...)
	}
	for r := range rows[:6] {
		for c := range rows[r] {
			before := rows[r][c]
			for _, evil := range []string{harmlesstest.Hostile, before + harmlesstest.Hostile} {
				all := rows
				// a client or a key: wherever it is named, so that it is in the finding
				if r > 0 && (c == 1 || c == 3) {
					all = nil
					for _, row := range rows {
						row = slices.Clone(row)
						if row[c] == before {
							row[c] = evil
						}
						all = append(all, row)
					}
				} else {
					rows[r][c] = evil
				}
				var b bytes.Buffer
				if err := csv.NewWriter(&b).WriteAll(all); err != nil {
					t.Fatal(err)
				}
				about := fmt.Sprintf("row %d, column %d", r, c)
				try(about, "log.csv", b.Bytes(), "--map", columns)
				try(about, "log.csv", b.Bytes())
				try(about, "log.csv", b.Bytes(), "--map", columns, "--report", filepath.Join(dir, "report"))
				var jsonl bytes.Buffer
				for _, row := range all[1:] {
					line := map[string]string{}
					for i, cell := range row {
						line[all[0][i]] = cell
					}
					text, _ := json.Marshal(line)
					jsonl.Write(append(text, '\n'))
				}
				try(about+" as JSON", "log.jsonl", jsonl.Bytes(), "--map", columns)
				rows[r][c] = before
			}
		}
	}
	for _, format := range []string{"jepsen", "porcupine", "csv", "json", "native"} {
		try(format, "evil.edn", []byte(harmlesstest.Hostile), "--format", format)
		try(format, "evil.edn", []byte("{:type :invoke, :f :acquire, :process \""+harmlesstest.Hostile+
			"\", :time 1}\n"), "--format", format)
		try(format, "evil.edn", []byte(`{"`+harmlesstest.Hostile+`": "`+harmlesstest.Hostile+"\"}\n"), "--format", format)
	}
}

// TestHostileFiles puts hostile text into each value of a scenario file, a
// policy and a plan, and runs them, interrupted before they begin.
func TestHostileFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	one := "{name: mine/pause/unfenced, about: x, lock: redis-setnx, ttl: 500ms, clients: 2, keys: 1, store: {kind: unfenced}, duration: 1s, needs: {grants: 20},\n" +
		"    workload: {kind: counter, guard: none, think: 5ms..20ms, rest: 5ms..30ms, acquire_timeout: 8s, op_timeout: 8s},\n" +
		"    faults: [{kind: pause, target: holder, when: before-write, for: 900ms, every: 200ms..400ms}], expect: {why: x, severity: none, properties: {lost-update: violated}}}\n"
	scenario := "suite: mine\nabout: x\nscenarios:\n  - " + one
	policy := "version: 1\nrun: [{scenarios: [redis-setnx/none/unfenced], repetitions: 1}]\nproperties: [mutual-exclusion]\ninconclusive: warn\nknown:\n" +
		"  - {scenario: redis-setnx/none/unfenced, property: mutual-exclusion, reason: x, expires: 2999-12-31}\n"
	plan := "seed: 1\nscenario:\n  " + one
	forms, n := [][]string{nil, {"--json"}, {"--quiet"}, {"--verbose"}}, 0 // by turns
	for _, file := range []struct {
		name, text string
		args       []string
	}{
		{"mine.yaml", scenario, []string{"run", "mine.yaml"}},
		{"lockchaos.yaml", policy, []string{"gate", "lockchaos.yaml"}},
		{"plan.yaml", plan, []string{"run", "--plan", "plan.yaml"}},
	} {
		var value any
		if err := yaml.Unmarshal([]byte(file.text), &value); err != nil {
			t.Fatal(err)
		}
		try := func(at string) int {
			text, err := yaml.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file.name, text, 0o644); err != nil {
				t.Fatal(err)
			}
			forms, n = append(forms[1:], forms[0]), n+1
			return tried(t, over, file.name+at, append(append(file.args, "--runtime", "local"), forms[0]...)...)
		}
		if code := try(" as it is"); code != exit.Failed { // a mistake in it would be exitUsage
			t.Errorf("%s: exit status %d, want %d: it is interrupted, and not refused", file.name, code, exit.Failed)
		}
		poisoned(value, "", nil, func(at string) { try(at) })
	}
	if n < 100 {
		t.Errorf("only %d files were tried", n)
	}
}

// TestHostileWords gives hostile words to every verb, as its words and as the
// value of each of its flags.
func TestHostileWords(t *testing.T) {
	t.Chdir(t.TempDir())
	over, cancel := context.WithCancel(t.Context())
	cancel()
	evil := strings.ReplaceAll(harmlesstest.Hostile, "\x00", "") // no argument can hold it
	for _, verb := range rootCommand().Commands() {
		if verb.Hidden || verb.Name() == "serve" || verb.Name() == "clean" {
			continue
		}
		tried(t, over, verb.Name(), verb.Name(), evil)
		tried(t, over, verb.Name(), verb.Name(), "--"+evil)
		verb.Flags().VisitAll(func(f *pflag.Flag) {
			tried(t, over, verb.Name()+" --"+f.Name, verb.Name(), "--"+f.Name, evil, "x")
		})
	}
	tried(t, over, "no verb", evil)
}

// TestEverythingPrintedIsHarmless holds the command to print values by package
// harmless alone. What a Writer can't know is where a value ends: a line break
// in a name would begin a line that looks like one of ours.
func TestEverythingPrintedIsHarmless(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	for _, name := range files {
		// words of ours alone
		if strings.HasSuffix(name, "_test.go") || name == "completion.go" || name == "man.go" {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Fprintln" {
					for _, arg := range call.Args {
						if text, ok := arg.(*ast.BasicLit); ok && strings.Contains(text.Value, `\n`) {
							t.Errorf("%s: harmless.Fprintln shows a line break as \\n: use Fprintf", set.Position(call.Pos()))
						}
					}
				}
			}
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "fmt" &&
					(strings.HasPrefix(s.Sel.Name, "Fprint") || strings.HasPrefix(s.Sel.Name, "Print")) {
					t.Errorf("%s: fmt.%s prints values as they are: use harmless.%[2]s", set.Position(s.Pos()), s.Sel.Name)
				}
			}
			return true
		})
	}
}
