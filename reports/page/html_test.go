package page

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/ci"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/lockchaos/lockchaos/reports/story"
	"github.com/lockchaos/lockchaos/reports/terminal"
	"golang.org/x/net/html"
)

func reportOf(t *testing.T, s reports.Scenario) string {
	return reporttest.Text(t, func(w io.Writer) error { return WriteScenario(w, s) })
}

func indexOf(t *testing.T, s reports.Suite) string {
	return reporttest.Text(t, func(w io.Writer) error { return WriteIndex(w, s) })
}

// body strips the style sheet, the scripts and their hashes, which would make
// every golden file change with every colour, and what is compressed.
func body(page string) string {
	page = regexp.MustCompile(`content="default-src[^"]*"`).ReplaceAllString(page, `content="default-src …"`)
	page = regexp.MustCompile(`(?s)<(style|script)>.*?</`).ReplaceAllString(page, "<$1></")
	return regexp.MustCompile(`(href="data:[a-z/]+;base64,)[^"]*`).ReplaceAllString(page, "$1…")
}

// TestGolden holds the outputs to what was last looked at as pictures. After a
// change: go test ./reports/... -update, and look again.
func TestGolden(t *testing.T) {
	short := func() reports.Scenario {
		h, v := reporttest.Sim{Clients: 3, Duration: 2600 * reporttest.Ms, Freezes: 1, Think: 120 * reporttest.Ms}.Run()
		s := reporttest.Scenario("redis-setnx/pause-holder/unfenced", h, v)
		reporttest.Explain(&s)
		return s
	}()
	fenced := func() reports.Scenario {
		h, v := reporttest.Sim{Clients: 3, Duration: 2600 * reporttest.Ms, Freezes: 1, Think: 120 * reporttest.Ms,
			Tokens: true, Fenced: true}.Run()
		return reporttest.Scenario("redis-setnx-fenced/pause-holder/fenced", h, v)
	}()
	quiet := func() reports.Scenario {
		h, v := reporttest.Sim{Clients: 2, Duration: 400 * reporttest.Ms, Tokens: true}.Run()
		return reporttest.Scenario("etcd-lease/none/unfenced", h, v)
	}()
	for name, text := range map[string]string{
		"index-good.golden.html":   body(indexOf(t, reporttest.Stories())),
		"index-mixed.golden.html":  body(indexOf(t, reporttest.Mixed())),
		"corrupted.golden.html":    body(reportOf(t, short)),
		"contained.golden.html":    body(reportOf(t, fenced)),
		"pass.golden.html":         body(reportOf(t, quiet)),
		"inconclusive.golden.html": body(reportOf(t, reporttest.InconclusiveCase())),
		"clocks.golden.html":       body(reportOf(t, reporttest.ClockCase())),
		"failed.golden.html":       body(reportOf(t, reporttest.FailedCase())),
		"skipped.golden.html":      body(reportOf(t, reporttest.SkippedCase())),
	} {
		t.Run(name, func(t *testing.T) { reporttest.Golden(t, name, text) })
	}
}

// TestPure renders everything twice: the same input must give the same bytes.
func TestPure(t *testing.T) {
	report, index := reportOf(t, reporttest.CorruptedCase()), indexOf(t, reporttest.Mixed())
	for range 3 {
		if reportOf(t, reporttest.CorruptedCase()) != report || indexOf(t, reporttest.Mixed()) != index {
			t.Fatal("the same input gave two different pages")
		}
	}
}

// TestHostile checks that nothing a program printed becomes markup, an address
// or a reordering of the text around it.
func TestHostile(t *testing.T) {
	s := reporttest.HostileCase()
	failed, skipped := s, s
	failed.Failed, skipped.Skipped = reporttest.Hostile+strings.Repeat("y\n", 20_000), reporttest.Hostile+strings.Repeat("z", 20_000)
	all := reporttest.Suite(s, failed, skipped)
	all.Name, all.Command, all.Runtime, all.Version = s.Name, s.Name, s.Name, s.Name
	all.StandIns, all.Versions = []string{s.Name}, []history.Part{{Name: s.Name, Version: s.Name}}
	for name, text := range map[string]string{"report": reportOf(t, s), "failed": reportOf(t, failed),
		"skipped": reportOf(t, skipped), "index": indexOf(t, all)} {
		if len(body(text)) > 400_000 { // what is carried compressed is whole
			t.Errorf("%s: %d bytes: long texts are not clipped", name, len(text))
		}
		if i := strings.IndexFunc(text, reporttest.Hidden); i >= 0 {
			t.Errorf("%s: a hidden character %q at %d", name, []rune(text[i:])[0], i)
		}
		checkMarkup(t, name, text)
	}
	var run struct {
		XMLName xml.Name `xml:"testsuites"`
		Tests   int      `xml:"tests,attr"`
	}
	if err := xml.Unmarshal([]byte(reporttest.Text(t, func(w io.Writer) error { return ci.WriteJUnit(w, all) })),
		&run); err != nil || run.Tests != len(all.Scenarios) {
		t.Errorf("junit: %d tests: %v", run.Tests, err)
	}
	matrix := reporttest.Text(t, func(w io.Writer) error { return terminal.Matrix(w, all, false, 100) })
	if i := strings.IndexFunc(matrix, reporttest.Hidden); i >= 0 {
		t.Errorf("terminal: a hidden character %q", []rune(matrix[i:])[0])
	}
	if line := terminal.Line(s, 20, false); strings.ContainsAny(line, "\n\x1b") {
		t.Errorf("a progress line breaks out of its line: %q", line)
	}
}

// checkMarkup parses a page and looks for what must not be in it.
func checkMarkup(t *testing.T, name, text string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	csp := false
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script":
			checkScript(t, name, n)
		case "img", "iframe", "object", "embed", "form", "base":
			t.Errorf("%s: an element <%s>", name, n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"):
				t.Errorf("%s: <%s> has %s", name, n.Data, a.Key)
			case a.Key == "src", a.Key == "href" && !strings.HasPrefix(a.Val, "./") && a.Val != "../index.html" &&
				a.Val != "data:," && !strings.HasPrefix(a.Val, story.OnTheWeb) && !isDownload(n, a.Val):
				t.Errorf("%s: <%s> points at %.60q", name, n.Data, a.Val)
			case a.Key == "href" && strings.Contains(a.Val, "/../"):
				t.Errorf("%s: <%s> leaves the run's folder: %.60q", name, n.Data, a.Val)
			case a.Key == "content" && strings.Contains(a.Val, "default-src 'none'"):
				csp = true
			}
		}
	}
	if !csp {
		t.Errorf("%s: no content security policy", name)
	}
}

// isDownload reports whether an address is data to be saved, which no browser opens as a page.
func isDownload(n *html.Node, address string) bool {
	return n.Data == "a" && strings.HasPrefix(address, "data:application/gzip;base64,") &&
		slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "download" })
}

// checkScript allows data, and those scripts that the page's policy names by their hash.
func checkScript(t *testing.T, name string, n *html.Node) {
	t.Helper()
	text := ""
	if n.FirstChild != nil {
		text = n.FirstChild.Data
	}
	for _, a := range n.Attr {
		if a.Key == "type" && a.Val == "application/json" {
			if !json.Valid([]byte(text)) {
				t.Errorf("%s: the data of the page is no JSON", name)
			}
			return
		}
	}
	if len(n.Attr) > 0 || !strings.Contains(policy(), hashed(text)) {
		t.Errorf("%s: a script that is not ours: %.80q", name, text)
	}
}

// TestClaims checks that a page says what its verdict says, and no more.
func TestClaims(t *testing.T) {
	const whole = "Only a store that checks fencing tokens keeps the data whole"
	const every = "Every lock lets two clients in when its holder is frozen past its lease"
	if text := indexOf(t, reporttest.Stories()); !strings.Contains(text, whole) || !strings.Contains(text, every) ||
		!strings.Contains(text, "all as expected") {
		t.Error("the story of a suite that shows it is not told")
	}
	broken := reporttest.Stories()
	broken.Scenarios[3].Verdict = broken.Scenarios[1].Verdict // the fenced store is corrupted
	if text := indexOf(t, broken); strings.Contains(text, whole) || !strings.Contains(text, "Even the fenced store") {
		t.Error("a corrupted fenced store is passed over")
	}
	survivor := reporttest.Stories()
	survivor.Scenarios[4].Verdict = survivor.Scenarios[0].Verdict
	survivor.Scenarios[5].Verdict = survivor.Scenarios[0].Verdict
	if text := indexOf(t, survivor); strings.Contains(text, every) || !strings.Contains(text, "etcd-lease does not.") {
		t.Error("a lock that held is counted among those that fell")
	}
	nodes := reporttest.Stories()
	nodes.Scenarios[4].Fault, nodes.Scenarios[5].Fault = "pause-nodes:3", "pause-redis-2"
	nodes.Scenarios[4].Strike, nodes.Scenarios[5].Strike = reports.FreezesNodes, reports.FreezesNodes
	if text := indexOf(t, nodes); !strings.Contains(text, "etcd-lease lets two clients in when nodes of the lock service are frozen.") {
		t.Error("a frozen node is told as a frozen holder")
	}
	some := reporttest.Stories()
	some.Scenarios[5].Verdict = some.Scenarios[0].Verdict
	if text := indexOf(t, some); strings.Contains(text, every) || !strings.Contains(text, "Some runs of etcd-lease do so too.") {
		t.Error("a lock that sometimes lets two in is passed over")
	}
	silent := reporttest.Stories()
	silent.Scenarios[4].Skipped, silent.Scenarios[5].Verdict = "no etcd", checker.Verdict{}
	if text := indexOf(t, silent); strings.Contains(text, every) || strings.Contains(text, whole) {
		t.Error("a sentence about every lock, though one was not judged")
	}
	valid := reporttest.Stories()
	for i := range valid.Scenarios {
		p := valid.Scenarios[i].Property(checker.MutualExclusion)
		p.Violations = append([]checker.Violation(nil), p.Violations...)
		for j := range p.Violations {
			p.Violations[j].Kind = "granted-while-valid"
		}
		p.Kinds = map[string]int{"granted-while-valid": p.Count}
	}
	if text := indexOf(t, valid); strings.Contains(text, "is frozen past its lease.") {
		t.Error("a defect is told as a lease that ran out")
	}
	for s, want := range map[string]reports.Scenario{
		"4 holders of <code>k0</code> went on past their lease, and the store took 4 stale writes</h1>": reporttest.CorruptedCase(),
		"the fence refused 4 stale writes: all ":                                                        reporttest.ContainedCase(),
		"Never two holders in 170 grants, and all 170 increments are in the counter":                    reporttest.PassCase(),
		"This run proves nothing either way":                                                            reporttest.InconclusiveCase(),
		"The scenario did not run to its end: start etcd-2 on 10.88.0.4":                                reporttest.FailedCase(),
		"Not run: the kernel refuses user namespaces":                                                   reporttest.SkippedCase(),
		"</b> should <b>pass</b> and is <b>violated</b>":                                                reporttest.SurpriseCase(),
		"What it does not.</b> No fault was injected":                                                   reporttest.PassCase(),
		"s version 43 is lost</b>":                                                                      reporttest.CorruptedCase(),
		"<b>The store refuses it</b>: it has already seen":                                              reporttest.ContainedCase(),
		"A skip is never a pass":                                                                        reporttest.SkippedCase(),
		"No pause met a holder: the scenario needs 2.":                                                  reporttest.InconclusiveCase(),
	} {
		if text := reportOf(t, want); !strings.Contains(text, s) {
			t.Errorf("%s: the report does not say %q", want.Name, s)
		}
	}
}

// TestZeroIsNoPass checks that a scenario which nobody judged never reads as a pass.
func TestZeroIsNoPass(t *testing.T) {
	if r := (reports.Scenario{}).Result(); r != reports.Inconclusive {
		t.Errorf("the zero scenario is %s", r)
	}
	s := reports.Scenario{Name: "a/none/fenced", Lock: "a", Fault: "none", Store: "fenced"}
	if text := reportOf(t, s); strings.Contains(text, `class="pill p"`) || !strings.Contains(text, "inconclusive") {
		t.Error("an unjudged scenario's report does not say that it is inconclusive")
	}
	s.Verdict = checker.Verdict{Outcome: checker.Violated, Severity: checker.Contained, Properties: []checker.PropertyResult{
		{Name: checker.MutualExclusion, Outcome: checker.Violated, Count: 1},
		{Name: checker.StuckLock, Outcome: checker.Violated, Count: 1}}}
	if r := s.Result(); r != reports.Violated {
		t.Errorf("a stuck lock beside a contained double-hold is %s", r)
	}
}

// TestBig holds a report of a long run to a bounded size.
func TestBig(t *testing.T) {
	h, v := reporttest.Sim{Clients: 10, Duration: 300_000 * reporttest.Ms, Freezes: 200, Think: 4 * reporttest.Ms}.Run()
	for i := range v.Properties {
		v.Properties[i].Violations = v.Properties[i].Violations[:min(100, len(v.Properties[i].Violations))]
	}
	if len(h.Events) < 200_000 {
		t.Fatalf("only %d events", len(h.Events))
	}
	if n := len(reportOf(t, reporttest.Scenario("redis-setnx/pause-holder/unfenced", h, v))); n > 1_000_000 {
		t.Errorf("%d bytes for %d events", n, len(h.Events))
	}
}

// TestTruncated renders every prefix of a history: a cut history must not break a page.
func TestTruncated(t *testing.T) {
	s := reporttest.CorruptedCase()
	all := s.History.Events
	for n := 0; n < len(all); n += 97 {
		cut := *s.History
		cut.Events, cut.Truncated = all[:n], true
		s.History = &cut
		if text := reportOf(t, s); !strings.HasSuffix(text, "</html>\n") {
			t.Fatalf("the page of a history cut after %d events is not whole", n)
		}
	}
}

// TestContrast computes the contrast of every pair of text and ground in the
// style sheet, light and dark: at least 4.5 to 1 (WCAG AA).
func TestContrast(t *testing.T) {
	sheet := string(css())
	light := colours(sheet[:strings.Index(sheet, "@media screen and (prefers-color-scheme:dark)")])
	dark := colours(sheet[strings.Index(sheet, "@media screen and (prefers-color-scheme:dark)"):strings.Index(sheet, "*{box-sizing")])
	pairs := [][2]string{{"ink", "bg"}, {"ink", "panel"}, {"mute", "bg"}, {"mute", "panel"}, {"mute", "soft"},
		{"ok", "okbg"}, {"bad", "badbg"}, {"warn", "warnbg"},
		{"info", "infobg"}, {"mute", "mutebg"}, {"bad", "panel"}, {"ok", "panel"}, {"warn", "panel"}, {"info", "panel"},
		{"faultink", "fault"}, {"faultink", "panel"}, {"ink", "holddim"}, {"onhold", "hold"}, {"onhold", "hold2"}}
	for scheme, c := range map[string]map[string]string{"light": light, "dark": dark} {
		for _, p := range pairs {
			if r := contrast(c[p[0]], c[p[1]]); !(r >= 4.5) {
				t.Errorf("%s: %s %s on %s %s: %.2f", scheme, p[0], c[p[0]], p[1], c[p[1]], r)
			}
		}
	}
}

func colours(sheet string) map[string]string {
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`--([a-z0-9]+):#([0-9a-f]{3,6})\b`).FindAllStringSubmatch(sheet, -1) {
		hex := m[2]
		if len(hex) == 3 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		out[m[1]] = hex
	}
	return out
}

// contrast is WCAG's ratio of two relative luminances.
func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(hex string) float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		if len(hex) != 6 {
			return math.NaN()
		}
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			return math.NaN()
		}
		v := float64(n) / 255
		if v <= 0.03928 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}
