package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// The elements of the JUnit form that CI systems read: a suite for every lock, a case for every scenario.
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

// WriteJUnit writes junit.xml. A scenario that met its expectation passes, also where it expects a violation: the file says whether
// the suite came out as it should. One that did not is a failure (type "violated", "inconclusive" or, where a violation was
// expected and missing, "not-caught"), one that did not run to its end an error. One that was skipped, or whose open result a policy only warns of, is skipped:
// no CI system has a word between.
//
// What each system does with it: Jenkins' step junit and GitLab show message or content of a failure, so both tell all; GitLab takes the class for the suite, ignores a
// second case of the same name, and links the file; Jenkins makes a tree of the class's dots.
func WriteJUnit(w io.Writer, s Suite) error {
	run := junitRun{Name: clip("lockchaos "+s.Name, clipName), Time: seconds(s.Elapsed)}
	var locks []string
	byLock, number := map[string]int{}, map[string]int{}
	for _, x := range s.Scenarios {
		number[x.Name]++
		i, ok := byLock[x.Lock]
		if !ok {
			i = len(locks)
			byLock[x.Lock] = i
			locks = append(locks, x.Lock)
			run.Suites = append(run.Suites, junitSuite{Name: clip(x.Lock, clipName), Timestamp: timestamp(s.Started), Properties: junitProps(s)})
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

func junitProps(s Suite) []junitProp {
	out := []junitProp{{"seed", fmt.Sprint(s.Seed)}, {"runtime", clip(s.Runtime, clipName)}}
	for _, p := range s.Versions {
		out = append(out, junitProp{clip(p.Name, clipName), clip(p.Version, clipName)})
	}
	for _, text := range s.StandIns {
		out = append(out, junitProp{"stand-in", clip(text, clipText)})
	}
	return out
}

// add adds a case; number is which repetition of the scenario it is, from 1.
func (j *junitSuite) add(x Scenario, number int) {
	c := junitCase{Class: clip("lockchaos."+x.Lock, clipName), Name: clip(x.Name, clipName), Time: seconds(x.Elapsed), File: clip(x.File, clipText)}
	if number > 1 {
		c.Name += fmt.Sprintf(" (run %d)", number)
	}
	j.Tests++
	r := x.Result()
	switch {
	case r == Skipped:
		c.Skipped = &junitNote{Message: clip(firstLine(x.Skipped), clipText), Text: clip(x.Skipped, clipText)}
		j.Skipped++
	case r == Inconclusive && !x.Met && x.Lenient && x.Undecided():
		c.Skipped = &junitNote{Message: clip(Summary(x), clipText), Type: RuleInconclusive, Text: failureText(x)}
		j.Skipped++
	case r == Failed:
		c.Error = &junitNote{Message: clip(firstLine(x.Failed), clipText), Type: "failed", Text: clip(x.Failed, clipLog) + again(x)}
		if x.violatedThough() {
			c.Error.Text = clip(x.Failed, clipLog) + failureText(x)
		}
		j.Errors++
	case !x.Met:
		c.Failure = &junitNote{Message: clip(Summary(x), clipText), Type: failureType(x), Text: failureText(x)}
		j.Failures++
	default:
		lines := append([]string{Summary(x), sentence(clip(x.Why, clipText))}, PatternLines(x.Verdict)...)
		for _, e := range x.Expect {
			if e.Known != "" && e.Got == "violated" {
				lines = append(lines, "Known: "+clip(e.Property, clipName)+": "+sentence(clip(e.Known, clipText)))
			}
		}
		c.Out = strings.Join(lines, "\n")
	}
	j.Cases = append(j.Cases, c)
}

// failureType says in what way the scenario came out wrong.
func failureType(x Scenario) string {
	for _, e := range x.missed() {
		if strings.HasPrefix(e.Want, "violated") && e.Got != "violated" && x.Result() != Inconclusive {
			return "not-caught"
		}
	}
	if x.Result() == Inconclusive {
		return "inconclusive"
	}
	return "violated"
}

func failureText(x Scenario) string {
	var b strings.Builder
	b.WriteString("\n" + clip(Summary(x), clipText) + "\n")
	for _, e := range x.missed() {
		fmt.Fprintf(&b, "%s: want %s, got %s%s\n", clip(e.Property, clipName), clip(e.Want, clipName), clip(e.Got, clipName), noted(e))
	}
	for _, reason := range x.Verdict.Reasons {
		b.WriteString(clip(reason, clipText) + "\n")
	}
	for _, line := range PatternLines(x.Verdict) {
		b.WriteString(line + "\n")
	}
	for _, p := range x.Verdict.InOrderOfBlame() {
		fmt.Fprintf(&b, "%s violated %s\n", clip(p.Name, clipName), x.Times(p.Name))
		if v := p.First(); v != nil {
			b.WriteString("  " + ViolationLine(*v) + "\n")
		}
	}
	return b.String() + again(x)
}

func noted(e Expectation) string {
	if e.Note == "" {
		return ""
	}
	return " (" + clip(e.Note, clipText) + ")"
}

func again(x Scenario) string {
	out := ""
	for _, c := range []string{x.Rerun, x.Recheck} {
		if c != "" {
			out += "\n" + clip(c, clipText)
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
