//go:build linux

package locktest_test

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cargoTest is what cargo prints of a test. cargoStory is how it begins what a failed one says.
var cargoTest = regexp.MustCompile(`(?m)^test (\S+)::(\S+) +\.\.\. (ok|FAILED|ignored)(?: \((.*)\))?$`)

const cargoStory = "\n---- %s::%s ----\n"

// cargoCameTo reads what tests came to, which cargo writes into no file.
func cargoCameTo(said string) map[string]string {
	got := map[string]string{}
	for _, m := range cargoTest.FindAllStringSubmatch(said, -1) {
		var failure, skipped *message
		switch m[3] {
		case "FAILED":
			_, story, _ := strings.Cut(said, fmt.Sprintf(cargoStory, m[1], m[2]))
			story, _, _ = strings.Cut(story, "\n---- ")
			failure = &message{Text: story}
		case "ignored":
			skipped = &message{Text: m[4]}
		}
		got[m[1]+" "+m[2]] = cameTo(failure, nil, skipped, "")
	}
	return got
}

// junit is the part of a report that all frameworks write.
type junit struct {
	Suites []junit `xml:"testsuite"`
	Cases  []struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *message `xml:"failure"`
		Error   *message `xml:"error"`
		Skipped *message `xml:"skipped"`
	} `xml:"testcase"`
	Name string `xml:"name,attr"`
}

type message struct {
	Text string `xml:"message,attr"`
	Body string `xml:",chardata"`
}

// outcomes runs the framework, and returns what each of its tests came to. The error says that the
// framework did not end with success.
func (f frontend) outcomes(t *testing.T, dir, binary string) (map[string]string, error) {
	t.Helper()
	cmd := f.shell(dir, f.run, "LOCKCHAOS_BIN="+binary, "LOCKCHAOS_RUNS="+filepath.Join(dir, "runs"), "TMPDIR="+dir)
	said, err := cmd.CombinedOutput()
	if f.program == "cargo" {
		return cargoCameTo(string(said)), err
	}
	text, unread := os.ReadFile(filepath.Join(dir, "junit.xml"))
	if unread != nil {
		t.Fatalf("%v, %v\n%s", err, unread, said)
	}
	var report junit
	if err := xml.Unmarshal(text, &report); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got := map[string]string{}
	report.collect(got)
	return got, err
}

// collect adds what the tests came to, by lock and attack.
func (j junit) collect(to map[string]string) {
	for _, inner := range j.Suites {
		inner.collect(to)
	}
	for _, c := range j.Cases {
		name, reason, _ := strings.Cut(c.Name, " (") // where a framework has no other place for the reason of a skip
		class := c.Class
		if class == "test" { // node:test gives every test this one
			class = ""
		}
		words := strings.FieldsFunc(j.Name+" "+class+" "+name, func(r rune) bool { return strings.ContainsRune(" .>:", r) })
		lock := words[max(0, len(words)-2)]
		to[lock+" "+words[len(words)-1]] = cameTo(c.Failure, c.Error, c.Skipped, strings.TrimSuffix(reason, ")"))
	}
}

// cameTo tells in one form what the frameworks tell in several.
func cameTo(failure, failed, skipped *message, reason string) string {
	switch {
	case skipped != nil:
		if reason == "" {
			reason = skipped.Text
		}
		if reason == "" { // Maven has it in the exception
			_, reason, _ = strings.Cut(strings.TrimSpace(skipped.Body), ": ")
		}
		return "skipped: " + reason
	case failed != nil:
		return "error: " + failed.Text + failed.Body
	case failure != nil:
		text := failure.Text + "\n" + failure.Body
		told := strings.Contains(text, "report: /") && strings.Contains(text, "again: ")
		if _, after, found := strings.Cut(text, "fell: "); found && told {
			return "failed: fell: " + after
		}
		return "failed: " + text
	}
	return passes
}
