package ci

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestGoldenOfCI(t *testing.T) {
	for name, text := range map[string]string{
		"annotations.golden.txt": reporttest.Text(t, func(w io.Writer) error { return WriteAnnotations(w, reporttest.Gated()) }),
		"summary.golden.md":      reporttest.Text(t, func(w io.Writer) error { return WriteSummary(w, reporttest.Gated()) }),
		"sarif.golden.json":      reporttest.Text(t, func(w io.Writer) error { return WriteSARIF(w, reporttest.Gated()) }),
		"junit-gate.golden.xml":  reporttest.Text(t, func(w io.Writer) error { return WriteJUnit(w, reporttest.Gated()) }),
	} {
		t.Run(name, func(t *testing.T) { reporttest.Golden(t, name, text) })
	}
}

// TestSARIFIsValid holds what is written to the schema that OASIS publishes
// with the standard (sarif-schema-2.1.0.json, errata 01).
func TestSARIFIsValid(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	validate := func(text string) error {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return err
		}
		return schema.Validate(value)
	}
	hostileSuite := reporttest.Suite(reporttest.HostileCase())
	hostileSuite.Name, hostileSuite.Command = reporttest.Hostile, reporttest.Hostile
	for name, s := range map[string]reports.Suite{"mixed": reporttest.Mixed(), "good": reporttest.Stories(),
		"gated": reporttest.Gated(), "empty": {}, "hostile": hostileSuite} {
		text := reporttest.Text(t, func(w io.Writer) error { return WriteSARIF(w, s) })
		if err := validate(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var log sarifLog
		if err := json.Unmarshal([]byte(text), &log); err != nil {
			t.Fatal(err)
		}
		run := log.Runs[0]
		for _, r := range run.Results {
			if rule := run.Tool.Driver.Rules[r.RuleIndex]; rule.ID != r.RuleID || len(r.Locations) != 1 ||
				r.Fingerprints["lockchaos/v1"] == "" {
				t.Errorf("%s: a result of %s points at rule %s", name, r.RuleID, rule.ID)
			}
		}
		if strings.IndexFunc(text, reporttest.Hidden) >= 0 {
			t.Errorf("%s: a hidden character", name)
		}
	}
	good := reporttest.Text(t, func(w io.Writer) error { return WriteSARIF(w, reporttest.Gated()) })
	for _, c := range [][2]string{{`"level": "error"`, `"level": "awful"`}, {`"startLine": 12`, `"startLine": 0`}, {`"ruleId"`, `"rule"`}} {
		if broken := strings.Replace(good, c[0], c[1], 1); broken == good || validate(broken) == nil {
			t.Errorf("with %s the schema takes everything", c[1])
		}
	}
}

// The fingerprint of a finding is that of the scenario and the property, not of
// the seed or of what happened this time.
func TestFingerprintsStay(t *testing.T) {
	marks := func(s reports.Suite) (all []string) {
		var log sarifLog
		if err := json.Unmarshal([]byte(reporttest.Text(t, func(w io.Writer) error { return WriteSARIF(w, s) })), &log); err != nil {
			t.Fatal(err)
		}
		for _, r := range log.Runs[0].Results {
			all = append(all, r.Fingerprints["lockchaos/v1"])
		}
		return all
	}
	before := marks(reporttest.Gated())
	again := reporttest.Gated()
	again.Seed = 99
	for i := range again.Scenarios {
		again.Scenarios[i].Seed, again.Scenarios[i].Verdict.Stats.Grants = 99, 3
		for p := range again.Scenarios[i].Verdict.Properties {
			again.Scenarios[i].Verdict.Properties[p].Count += 7
		}
	}
	if after := marks(again); strings.Join(before, " ") != strings.Join(after, " ") {
		t.Errorf("%v\n%v", before, after)
	}
	seen := map[string]bool{}
	for _, m := range before {
		if seen[m] {
			t.Errorf("two findings share %s", m)
		}
		seen[m] = true
	}
}

// What a program says can neither end an annotation nor begin a command of its
// own, nor become a row or markup of a summary.
func TestHostileInCI(t *testing.T) {
	s := reporttest.HostileCase()
	s.Expect[0] = reports.Expectation{Property: checker.MutualExclusion, Want: "pass", Got: "violated"}
	s.Met = false
	evil := "\n::set-env name=X::y\r\n::error::%0A| a | b |\n</details> `code` [x](http://192.0.2.1) @all"
	for i := range s.Verdict.Properties {
		for j := range s.Verdict.Properties[i].Violations {
			s.Verdict.Properties[i].Violations[j].Text = reporttest.Hostile + evil
		}
	}
	failed := s
	failed.Name, failed.Failed = "evil,file=x::y", evil
	all := reporttest.Suite(s, failed)
	all.Name, all.Command, all.Runtime, all.Version, all.StandIns = reporttest.Hostile+evil, reporttest.Hostile+evil,
		evil, evil, []string{evil}
	text := reporttest.Text(t, func(w io.Writer) error { return WriteAnnotations(w, all) })
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		props, data, ok := strings.Cut(strings.TrimPrefix(line, "::error "), "::")
		if !strings.HasPrefix(line, "::error ") || !ok || strings.Contains(props, ":") ||
			strings.Count(props, "file=")-strings.Count(props, "%2Cfile=") > 0 || strings.Contains(data, "\r") {
			t.Errorf("not one command: %q", line)
		}
	}
	summary := reporttest.Text(t, func(w io.Writer) error { return WriteSummary(w, all) })
	for _, bad := range []string{"</details> ", "<script", "<img", "`code`", "[x]", "| a |", "\n::"} {
		if strings.Contains(summary, bad) {
			t.Errorf("%q stands in the summary", bad)
		}
	}
	for _, line := range strings.Split(summary, "\n") {
		if n := strings.Count(line, "|"); n != 0 && n != 5 && n != 6 {
			t.Errorf("a row with %d borders: %q", n, line)
		}
	}
	var run junitRun
	if err := xml.Unmarshal([]byte(reporttest.Text(t, func(w io.Writer) error { return WriteJUnit(w, all) })), &run); err != nil {
		t.Error(err)
	}
}

// More annotations than GitHub shows are counted in the last one.
func TestManyAnnotations(t *testing.T) {
	var all []reports.Scenario
	for i := range 14 {
		s := reporttest.FailedCase()
		s.Name = fmt.Sprintf("a/b/%d", i)
		all = append(all, s)
	}
	lines := strings.Split(strings.TrimSpace(reporttest.Text(t,
		func(w io.Writer) error { return WriteAnnotations(w, reporttest.Suite(all...)) })), "\n")
	if len(lines) != annotationsShown || !strings.Contains(lines[9], "5 more") {
		t.Errorf("%d lines, the last is %s", len(lines), lines[len(lines)-1])
	}
}

// What CI systems take: every name once in its class, counts that agree, and no
// attribute that Jenkins' schemas don't know beside GitLab's file.
func TestJUnitForCI(t *testing.T) {
	text := reporttest.Text(t, func(w io.Writer) error { return WriteJUnit(w, reporttest.Gated()) })
	var run junitRun
	if err := xml.Unmarshal([]byte(text), &run); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range run.Suites {
		failures, errs, skipped := 0, 0, 0
		for _, c := range s.Cases {
			if names[c.Class+c.Name] {
				t.Errorf("two cases are named %s %s: GitLab drops one", c.Class, c.Name)
			}
			names[c.Class+c.Name] = true
			for _, n := range []*junitNote{c.Failure, c.Error, c.Skipped} {
				if n != nil && (n.Message == "" || !strings.Contains(n.Text, strings.Fields(n.Message)[1])) {
					t.Errorf("%s: GitLab shows the content only: %q %q", c.Name, n.Message, n.Text)
				}
			}
			failures, errs, skipped = failures+boolInt(c.Failure != nil), errs+boolInt(c.Error != nil), skipped+boolInt(c.Skipped != nil)
		}
		if s.Tests != len(s.Cases) || s.Failures != failures || s.Errors != errs || s.Skipped != skipped {
			t.Errorf("suite %s: counts that disagree: %+v", s.Name, s)
		}
	}
	allowed := map[string]string{"testsuites": "name tests failures errors time",
		"testsuite": "name tests failures errors skipped time timestamp",
		"testcase":  "classname name time file", "failure": "message type", "error": "message type",
		"skipped": "message type", "property": "name value",
		"properties": "", "system-out": ""}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			break
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		known, ok := allowed[start.Name.Local]
		if !ok {
			t.Errorf("element %s", start.Name.Local)
		}
		for _, a := range start.Attr {
			if !strings.Contains(" "+known+" ", " "+a.Name.Local+" ") {
				t.Errorf("%s has the attribute %s", start.Name.Local, a.Name.Local)
			}
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
