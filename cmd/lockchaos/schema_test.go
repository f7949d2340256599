package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockchaos/lockchaos/internal/policy"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/pick"
)

// schemaFolder holds the schemas that are published; absolute, for scripts run elsewhere.
var schemaFolder = func() string {
	dir, err := filepath.Abs("../../docs/schema")
	if err != nil {
		panic(err) // no working folder: nothing can be tested
	}
	return dir
}()

// schemaNamed compiles docs/schema/NAME.json.
func schemaNamed(name string) (*jsonschema.Schema, error) {
	return jsonschema.NewCompiler().Compile(filepath.Join(schemaFolder, name+".json"))
}

func validate(s *jsonschema.Schema, text string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// schema_ NAME FILE…: each file is valid by docs/schema/NAME.json; "-lines"
// before the files: each line is.
func schema_(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: schema NAME [-lines] FILE …")
	}
	s, err := schemaNamed(args[0])
	ts.Check(err)
	lines := args[1] == "-lines"
	if lines {
		args = args[1:]
	}
	for _, file := range args[1:] {
		text := ts.ReadFile(file)
		parts := []string{text}
		if lines {
			parts = strings.Split(strings.TrimSpace(text), "\n")
		}
		for i, part := range parts {
			if err := validate(s, part); err != nil {
				ts.Fatalf("%s, part %d: %v\n%.2000s", file, i+1, err, part)
			}
		}
	}
}

// Schemas that take everything would prove nothing; what lockchaos init writes
// is valid, and reads well.
func TestSchemaOfPolicies(t *testing.T) {
	s, err := schemaNamed("policy")
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string) error {
		json, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return fmt.Errorf("no YAML: %w", err)
		}
		return validate(s, string(json))
	}
	starter := policy.Starter(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	if err := check(starter); err != nil {
		t.Errorf("what init writes: %v", err)
	}
	file := filepath.Join(t.TempDir(), "lockchaos.yaml")
	if err := os.WriteFile(file, []byte(starter), 0o644); err != nil {
		t.Fatal(err)
	}
	p, places, err := pick.Request{Settings: runs.Settings{Tool: ours()}, Say: func(string) {}}.ReadPolicy(t.Context(), file)
	if err != nil || len(p.Runs) != 2 || len(p.Known) != 1 || p.Known[0].Expires.Format(time.DateOnly) != "2027-05-20" {
		t.Fatalf("%+v %v", p, err)
	}
	for _, r := range p.Runs {
		if at := places[r.Name]; at.File != file || !strings.Contains(strings.Split(starter, "\n")[at.Line-1], r.Name) {
			t.Errorf("%s is asked for at %+v", r.Name, at)
		}
	}
	const head = "version: 1\nrun: [quick]\n"
	for _, good := range []string{head, head + "properties: expected\nseed: 3\n", "version: 1\nrun: [{exam: redis-setnx, short: true}]\n",
		"version: 1\nrun: [quick, {exam: lock, attacks: [stop-work], repetitions: 2}]\nlock: {command: ./l, service: none}\n", head + "lock: {command: ./l, service: none, ttl: 1.5s}\nskipped: warn\n"} {
		if err := check(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"run: [quick]\n", "version: 2\nrun: [quick]\n", "version: 1\n",
		"version: 1\nrun: []\n", head + "runs: 3\n", head + "properties: some\n",
		head + "repetitions: 0\n", head + "time_budget: soon\n", "version: 1\nrun: [{short: true}]\n",
		"version: 1\nrun: [{exam: x, properties: all}]\n", head + "inconclusive: pass\n", head + "lock: {command: ./l}\n",
		head + "known: [{scenario: a, property: lost-update, reason: r}]\n",
		head + "known: [{scenario: a, property: lost-update, reason: r, expires: tomorrow}]\n",
		head + "known: [{scenario: a, property: lost-update, reason: ' ', expires: 2027-01-01}]\n"} {
		if check(bad) == nil {
			t.Errorf("the schema takes\n%s", bad)
		}
	}
}

func TestSchemasOfOutputRefuse(t *testing.T) {
	for name, bad := range map[string][]string{
		"progress": {`{}`, `{"event":"note","time":"2026-11-21T11:00:00Z"}`, `{"event":"won","time":"2026-11-21T11:00:00Z","text":"a"}`,
			`{"event":"note","time":"2026-11-21T11:00:00Z","text":"a","more":1}`,
			`{"event":"finished","time":"2026-11-21T11:00:00Z","suite":"a","dir":"b","exit_status":9}`},
		"gate":     {`{}`, `{"lockchaos_gate":2}`},
		"complete": {`{}`, `{"lockchaos_complete":1,"lock":"a"}`},
		"verdict":  {`{}`, `{"lockchaos_verdict":1,"result":"good"}`},
	} {
		s, err := schemaNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range bad {
			if validate(s, text) == nil {
				t.Errorf("%s takes %s", name, text)
			}
		}
	}
}
