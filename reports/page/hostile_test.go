package page

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/harmless/harmlesstest"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/ci"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/lockchaos/lockchaos/reports/story"
	"github.com/lockchaos/lockchaos/reports/terminal"
)

// poison calls f with every string of a value set to the hostile text, one
// after the other, and sets it back.
func poison(v reflect.Value, at string, f func(at string)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			poison(v.Elem(), at, f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				poison(v.Field(i), at+"."+field.Name, f)
			}
		}
	case reflect.Slice:
		shown := 1
		if v.Type() == reflect.TypeFor[[]reports.Scenario]() {
			shown = v.Len()
		}
		for i := range min(v.Len(), shown) {
			poison(v.Index(i), at+"[]", f)
		}
	case reflect.String:
		if !v.CanSet() {
			return
		}
		before := v.String()
		v.SetString(before + harmlesstest.Hostile)
		f(at)
		v.SetString(before)
	}
}

// TestHostileFields puts hostile text into each field of a run and its
// scenarios, and looks at each output.
func TestHostileFields(t *testing.T) {
	s := reporttest.Gated()
	s.Scenarios = append(s.Scenarios[:1], reporttest.FailedCase(), reporttest.SkippedCase(), reporttest.InconclusiveCase())
	s.StandIns, s.Scenarios[0].StandIns = []string{"an imitation"}, []string{"an imitation"}
	s.Scenarios[0].About, s.Scenarios[0].Why, s.Scenarios[0].Rerun, s.Scenarios[0].Program = "about", "why", "again", "lockchaos"
	colored := func(f func(io.Writer) error) func(io.Writer) error {
		return func(w io.Writer) error {
			out := harmless.NewWriter(w)
			if err := f(out); err != nil {
				return err
			}
			return out.Close()
		}
	}
	outputs := map[string]func(io.Writer) error{
		"terminal": colored(func(w io.Writer) error { return terminal.Matrix(w, s, false, 0) }),
		"narrow":   colored(func(w io.Writer) error { return terminal.Matrix(w, s, false, 40) }),
		"lines": func(w io.Writer) error {
			var b strings.Builder
			for _, x := range s.Scenarios {
				b.WriteString(terminal.Line(x, 20, false) + "\n")
				for _, p := range x.Verdict.Properties {
					for _, v := range p.Violations {
						b.WriteString(story.ViolationLine(v) + "\n")
					}
				}
				b.WriteString(strings.Join(story.PatternLines(x.Verdict), "\n") + "\n")
			}
			return colored(func(w io.Writer) error { _, err := io.WriteString(w, b.String()); return err })(w)
		},
		"annotations": func(w io.Writer) error { return ci.WriteAnnotations(w, s) },
		"summary":     func(w io.Writer) error { return ci.WriteSummary(w, s) },
		"junit":       func(w io.Writer) error { return ci.WriteJUnit(w, s) },
		"sarif":       func(w io.Writer) error { return ci.WriteSARIF(w, s) },
		"index":       func(w io.Writer) error { return WriteIndex(w, s) },
	}
	fields := map[string]bool{}
	poison(reflect.ValueOf(&s), "Suite", func(at string) {
		fields[at] = true
		for name, write := range outputs {
			text := reporttest.Text(t, write)
			switch name {
			case "index", "junit", "sarif":
				if i := strings.IndexFunc(text, reporttest.Hidden); i >= 0 {
					t.Errorf("%s in %s: a hidden character: %.200q", at, name, text[max(0, i-100):])
				}
				continue
			case "annotations": // within a command of ours no runner looks for another
				text = strings.ReplaceAll(strings.ReplaceAll(text, "##[", ""), "##vso[", "")
			}
			if wrong := harmlesstest.Wrong(text, "::error ", "::warning ", "::notice "); wrong != "" {
				t.Errorf("%s in %s: %s", at, name, wrong)
			}
		}
	})
	if len(fields) < 30 || !fields["Suite.Scenarios[].Verdict.Properties[].Violations[].Text"] {
		t.Errorf("only %d fields were tried: %v", len(fields), fields)
	}
}
