// Package ci writes what CI systems read: JUnit, SARIF, GitHub's annotations,
// and Markdown for the summary of a job.
package ci

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// The elements of the JUnit form that CI systems read: a suite for every lock,
// a case for every scenario.
type junitRun struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string      `xml:"name,attr"`
	Tests      int         `xml:"tests,attr"`
	Failures   int         `xml:"failures,attr"`
	Errors     int         `xml:"errors,attr"`
	Skipped    int         `xml:"skipped,attr"`
	Time       string      `xml:"time,attr"`
	Timestamp  string      `xml:"timestamp,attr,omitempty"`
	Properties []junitProp `xml:"properties>property,omitempty"`
	Cases      []junitCase `xml:"testcase"`
}

type junitProp struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	File    string     `xml:"file,attr,omitempty"` // GitLab links it
	Time    string     `xml:"time,attr"`
	Skipped *junitNote `xml:"skipped,omitempty"`
	Failure *junitNote `xml:"failure,omitempty"`
	Error   *junitNote `xml:"error,omitempty"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitNote struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes junit.xml. A scenario that met its expectation passes, also where it
// expects a violation: the file says whether the suite came out as it should. One that did
// not is a failure (type "violated", "inconclusive" or, where a violation was expected and
// missing, "not-caught"), one that did not run to its end an error. One that was skipped,
// or whose open result a policy only warns of, is skipped: no CI system has a word between.
//
// What each system does with it: Jenkins' step junit and GitLab show message or content
// of a failure, so both tell all; GitLab takes the class for the suite, ignores a second
// case of the same name, and links the file; Jenkins makes a tree of the class's dots.
func WriteJUnit(w io.Writer, s reports.Suite) error {
	run := junitRun{Name: phrase.Clip("lockchaos "+s.Name, phrase.MostName), Time: seconds(s.Elapsed)}
	var locks []string
	byLock, number := map[string]int{}, map[string]int{}
	for _, x := range s.Scenarios {
		number[x.Name]++
		i, ok := byLock[x.Lock]
		if !ok {
			i = len(locks)
			byLock[x.Lock] = i
			locks = append(locks, x.Lock)
			run.Suites = append(run.Suites, junitSuite{Name: phrase.Clip(x.Lock, phrase.MostName),
				Timestamp: timestamp(s.Started), Properties: junitProps(s)})
		}
		run.Suites[i].add(x, number[x.Name])
	}
	for i := range run.Suites {
		x := &run.Suites[i]
		run.Tests += x.Tests
		run.Failures += x.Failures
		run.Errors += x.Errors
		var took time.Duration
		for _, sc := range s.Scenarios {
			if sc.Lock == locks[i] {
				took += sc.Elapsed
			}
		}
		x.Time = seconds(took)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(run); err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitProps(s reports.Suite) []junitProp {
	out := []junitProp{{"seed", fmt.Sprint(s.Seed)}, {"runtime", phrase.Clip(s.Runtime, phrase.MostName)}}
	for _, p := range s.Versions {
		out = append(out, junitProp{phrase.Clip(p.Name, phrase.MostName), phrase.Clip(p.Version, phrase.MostName)})
	}
	for _, text := range s.StandIns {
		out = append(out, junitProp{"stand-in", phrase.Clip(text, phrase.MostText)})
	}
	return out
}

// add adds a case; number is which repetition of the scenario it is, from 1.
func (j *junitSuite) add(x reports.Scenario, number int) {
	c := junitCase{Class: phrase.Clip("lockchaos."+x.Lock, phrase.MostName), Name: phrase.Clip(x.Name, phrase.MostName),
		Time: seconds(x.Elapsed), File: phrase.Clip(x.File, phrase.MostText)}
	if number > 1 {
		c.Name += fmt.Sprintf(" (run %d)", number)
	}
	j.Tests++
	r := x.Result()
	switch {
	case r == reports.Skipped:
		c.Skipped = &junitNote{Message: phrase.Clip(phrase.FirstLine(x.Skipped), phrase.MostText),
			Text: phrase.Clip(x.Skipped, phrase.MostText)}
		j.Skipped++
	case r == reports.Inconclusive && !x.Met && x.Lenient && x.Undecided():
		c.Skipped = &junitNote{Message: phrase.Clip(story.Summary(x), phrase.MostText), Type: reports.RuleInconclusive,
			Text: failureText(x)}
		j.Skipped++
	case r == reports.Failed:
		c.Error = &junitNote{Message: phrase.Clip(phrase.FirstLine(x.Failed), phrase.MostText), Type: "failed",
			Text: phrase.Clip(x.Failed, phrase.MostLog) + again(x)}
		if x.ViolatedThough() {
			c.Error.Text = phrase.Clip(x.Failed, phrase.MostLog) + failureText(x)
		}
		j.Errors++
	case !x.Met:
		c.Failure = &junitNote{Message: phrase.Clip(story.Summary(x), phrase.MostText), Type: failureType(x),
			Text: failureText(x)}
		j.Failures++
	default:
		lines := append([]string{story.Summary(x), phrase.Sentence(phrase.Clip(x.Why, phrase.MostText))},
			story.PatternLines(x.Verdict)...)
		for _, e := range x.Expect {
			if e.Known != "" && e.Got == "violated" {
				lines = append(lines, "Known: "+phrase.Clip(e.Property, phrase.MostName)+": "+
					phrase.Sentence(phrase.Clip(e.Known, phrase.MostText)))
			}
		}
		c.Out = strings.Join(lines, "\n")
	}
	j.Cases = append(j.Cases, c)
}

// failureType says in what way the scenario came out wrong.
func failureType(x reports.Scenario) string {
	for _, e := range x.Missed() {
		if strings.HasPrefix(e.Want, "violated") && e.Got != "violated" && x.Result() != reports.Inconclusive {
			return "not-caught"
		}
	}
	if x.Result() == reports.Inconclusive {
		return "inconclusive"
	}
	return "violated"
}

func failureText(x reports.Scenario) string {
	var b strings.Builder
	b.WriteString("\n" + phrase.Clip(story.Summary(x), phrase.MostText) + "\n")
	for _, e := range x.Missed() {
		fmt.Fprintf(&b, "%s: want %s, got %s%s\n", phrase.Clip(e.Property, phrase.MostName),
			phrase.Clip(e.Want, phrase.MostName), phrase.Clip(e.Got, phrase.MostName), reports.NoteOf(e))
	}
	for _, reason := range x.Verdict.Reasons {
		b.WriteString(phrase.Clip(reason, phrase.MostText) + "\n")
	}
	for _, line := range story.PatternLines(x.Verdict) {
		b.WriteString(line + "\n")
	}
	for _, p := range x.Verdict.InOrderOfBlame() {
		fmt.Fprintf(&b, "%s violated %s\n", phrase.Clip(p.Name, phrase.MostName), x.Times(p.Name))
		if v := p.First(); v != nil {
			b.WriteString("  " + story.ViolationLine(*v) + "\n")
		}
	}
	return b.String() + again(x)
}

func again(x reports.Scenario) string {
	out := ""
	for _, c := range []string{x.Rerun, x.Recheck} {
		if c != "" {
			out += "\n" + phrase.Clip(c, phrase.MostText)
		}
	}
	return out + "\n"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}
