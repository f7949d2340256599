package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/scenarios"
)

// validYAML reports what is wrong with YAML by docs/schema/NAME.json.
func validYAML(t *testing.T, name, text string) error {
	t.Helper()
	s, err := schemaNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return fmt.Errorf("no YAML: %w", err)
	}
	return validate(s, string(asJSON))
}

// Every suite that comes with lockchaos, and every scenario of docs and examples, is valid by the
// schema.
func TestSchemaOfSuites(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../scenarios/*.yaml", "../../examples/*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 8 {
		t.Fatalf("only %v", files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := validYAML(t, "suite", string(text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, bad := range []string{"suites: a\n", "scenarios: [{lock: a}]\n", "scenarios: [{attack: stop-work}]\n",
		"scenarios: [{name: a, lok: b}]\n", "scenarios: [{name: a, ttl: soon}]\n",
		"scenarios: [{name: a, ttl: 5}]\n", "scenarios: [{name: a, faults: [{kind: paus}]}]\n",
		"scenarios: [{name: a, faults: [{kind: pause, when: later}]}]\n",
		"scenarios: [{name: a, workload: {think: 5ms...20ms}}]\n",
		"scenarios: [{name: a, expect: {properties: {herd: good}}}]\n", "matrix: [{locks: []}]\n"} {
		if validYAML(t, "suite", bad) == nil {
			t.Errorf("the schema takes\n%s", bad)
		}
	}
}

// The schema has the keys that scenarios are read by, and no others; its lists of words are the
// catalogue's.
func TestSchemaOfSuitesIsComplete(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(schemaFolder, "suite.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]any `json:"properties"`
		Defs       map[string]struct {
			Properties map[string]struct {
				Enum       []string       `json:"enum"`
				Properties map[string]any `json:"properties"`
			} `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for def, of := range map[string]any{"scenario": scenarios.Scenario{}, "fault": scenarios.Fault{},
		"workload": scenarios.Workload{}, "store": scenarios.Store{}, "app": scenarios.App{}} {
		inSchema := schema.Defs[def].Properties
		if got, want := sortedKeys(inSchema), yamlKeys(reflect.TypeOf(of)); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, the file may have %v", def, got, want)
		}
	}
	for member, of := range map[string]any{"needs": scenarios.Needs{}, "expect": scenarios.Expect{}, "adapter": scenarios.Adapter{}} {
		if got, want := sortedKeys(schema.Defs["scenario"].Properties[member].Properties),
			yamlKeys(reflect.TypeOf(of)); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, the file may have %v", member, got, want)
		}
	}
	for member, of := range map[string]any{"log": scenarios.AppLog{}, "hooks": scenarios.AppHooks{}} {
		if got, want := sortedKeys(schema.Defs["app"].Properties[member].Properties),
			yamlKeys(reflect.TypeOf(of)); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, the file may have %v", member, got, want)
		}
	}
	c := catalogue()
	for _, list := range []struct {
		def, member string
		want        []string
	}{{"fault", "kind", c.Faults}, {"fault", "when", c.Moments}, {"workload", "kind", c.Workloads},
		{"store", "engine", c.Engines}, {"store", "kind", scenarios.StoreKinds()}} {
		if got := schema.Defs[list.def].Properties[list.member].Enum; !slices.Equal(slices.Sorted(slices.Values(got)),
			slices.Sorted(slices.Values(list.want))) {
			t.Errorf("%s.%s: the schema has %v, there are %v", list.def, list.member, got, list.want)
		}
	}
}

// What the commands write for editors to complete has their line, and is valid.
func TestWrittenFilesNameTheirSchema(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's mine")
	command := rootCommand()
	command.SetArgs([]string{"adapter", "new", "--lang", "python", "--dir", dir})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "scenarios.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validYAML(t, "suite", string(text)); err != nil {
		t.Error(err)
	}
	suite, err := scenarios.Parse(text, "scenarios.yaml", catalogue())
	if err != nil || len(suite.Scenarios) != 2 || !strings.Contains(suite.Scenarios[0].Adapter.Command, "it") {
		t.Errorf("%+v %v", suite, err)
	}
	small, err := experiments.SuiteText(suite.Scenarios[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := validYAML(t, "suite", string(small)); err != nil {
		t.Errorf("what shrink writes: %v\n%s", err, small)
	}
	const line = "# yaml-language-server: $schema=https://"
	if !strings.HasPrefix(string(text), line) {
		t.Errorf("no line for editors: %.100s", text)
	}
}

// The mapping of a compose project has a schema, and its mistakes have a place.
func TestSchemaOfMappings(t *testing.T) {
	if err := validYAML(t, "compose", "nodes:\n  redis-1: cache\n  etcd-1: kv:1\n"); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"node: {redis-1: cache}\n", "nodes: {redis: cache}\n", "nodes: {redis-1: [cache]}\n",
		"nodes: {redis-1: cache, more: 1}\n"} {
		if validYAML(t, "compose", bad) == nil {
			t.Errorf("the schema takes %s", bad)
		}
	}
	file := filepath.Join(t.TempDir(), runtimes.MappingFile)
	if err := os.WriteFile(file, []byte("nodes:\n  redis-1: cache\nnods:\n  etcd-1: kv\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := runtimes.LoadMapping(file); err == nil || !strings.Contains(err.Error(), file+":3:1: ") || exit.Of(err) != exit.Usage {
		t.Errorf("a mistake without its place: %v", err)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// yamlKeys are those that a struct is read by.
func yamlKeys(of reflect.Type) (keys []string) {
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("yaml"), ","); name != "" && name != "-" {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
}
