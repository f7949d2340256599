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
	"github.com/lockchaos/lockchaos/reports/studies"
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
		"complete": {studies.SavedComplete{}, []string{reporttest.Text(t, func(w io.Writer) error {
			return studies.WriteCompleteJSON(w, completeSearch())
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

// completeSearch has something of all that a complete search can come to.
func completeSearch() studies.Complete {
	defect, stood := reports.FellDefect.String(), reports.Stood.String()
	mark := studies.Mark{At: 5e8, Host: "client-1", Fault: "killed", Step: "holding"}
	return studies.Complete{Lock: "any", Service: "redis", Program: strings.Repeat("0a", 32), Version: "1.0", TTL: time.Second,
		Clients: 2, Keys: 1, Places: 20, Faults: 2, Schedules: 20, Equal: 14, Tried: 5, Steps: []string{"holding", "resting"},
		Lacking: []studies.Lacking{{Fault: "restarted", Why: "it has no disk"}},
		Rows: []studies.CompleteRow{{Fault: "killed", Cells: []studies.CompleteCell{
			{Tried: 5, Left: 1, Equal: 14, Fates: map[string]int{defect: 1, stood: 4}}, {Why: "no client comes here"}}}},
		Falls: []studies.Fall{{Fate: defect, What: "it gave a key away", Dir: "fall-1", Marks: []studies.Mark{mark}}},
		Spans: []studies.StepSpan{{Host: "client-1", Step: "holding", From: 1e8, To: 9e8}},
		Pairs: &studies.Pairs{Firsts: 4, Ways: 2, About: 5000, Tried: 90, Fates: map[string]int{defect: 2, stood: 88},
			Falls: []studies.PairFall{{Fate: defect, What: "it freed one", New: true, Count: 2, Dir: "pair-1", First: mark, Second: mark}}}}
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
