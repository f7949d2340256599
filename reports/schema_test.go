package reports_test

import (
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What is written is valid by the schemas that are published, and they know
// every field that could be written.
func TestPublishedSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		form  any
		texts []string
	}{
		"verdict": {reports.Saved{}, verdicts(t, reporttest.Gated(), reporttest.Suite(reporttest.ClockCase()))},
		"gate": {reports.SavedGate{}, []string{reporttest.Text(t, func(w io.Writer) error {
			return reports.WriteGate(w, reports.Gate{Exit: 1, Inconclusive: "warn", Skipped: "fail",
				Runs: []reports.RepeatedRun{{Seed: 7, Dir: "seed-7"}}}, reporttest.Gated())
		})}},
	} {
		file := "../docs/schema/" + name + ".json"
		schema, err := jsonschema.NewCompiler().Compile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range c.texts {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err == nil {
				err = schema.Validate(value)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		published, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range jsonFields(reflect.TypeOf(c.form), map[reflect.Type]bool{}) {
			if !strings.Contains(string(published), `"`+field+`": {`) {
				t.Errorf("%s.json can have the field %q, which %s does not know: add it there", name, field, file)
			}
		}
	}
}

func verdicts(t *testing.T, all ...reports.Suite) (texts []string) {
	for _, s := range all {
		for _, x := range s.Scenarios {
			texts = append(texts, reporttest.Text(t, func(w io.Writer) error { return reports.WriteVerdict(w, x) }))
		}
	}
	return texts
}

// jsonFields lists the names of all fields that a form can have, at any depth.
func jsonFields(x reflect.Type, seen map[reflect.Type]bool) (names []string) {
	switch x.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return jsonFields(x.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if seen[x] || x == reflect.TypeFor[time.Time]() {
		return nil
	}
	seen[x] = true
	for i := range x.NumField() {
		f := x.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name != "" {
			names = append(names, name)
		}
		names = append(names, jsonFields(f.Type, seen)...)
	}
	return names
}
