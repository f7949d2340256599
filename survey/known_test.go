package survey

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// style is what pages have in common with those of reports, which are not made from cards.
var style = regexp.MustCompile(`(?s)<style>.*?</style>`)

// TestPagesAreMadeFromTheCards: the pages in docs and the list of the track
// record are what would be made now from the cards and the results.
func TestPagesAreMadeFromTheCards(t *testing.T) {
	const again = "run `lockchaos survey site` at the top of the repository"
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // ways from page to page are as in the repository
	if err := os.Mkdir("docs", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"survey", "docs/locks"} {
		if err := os.Symlink(filepath.Join(top, folder), folder); err != nil {
			t.Fatal(err)
		}
	}
	to := filepath.Join("docs", "survey")
	if err := Site("survey", to); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(top, "docs", "survey")
	made := read(t, to)
	for name, text := range read(t, kept) {
		if made[name] == "" {
			t.Errorf("docs/survey/%s would not be made now: %s, and remove it", name, again)
		} else if strings.Count(name, ".") == 1 && style.ReplaceAllString(text, "") != style.ReplaceAllString(made[name], "") {
			// witnesses are pages of reports
			t.Errorf("docs/survey/%s is not what its card and its results say: %s", name, again)
		}
		delete(made, name)
	}
	for name := range made {
		t.Errorf("docs/survey/%s is missing: %s", name, again)
	}
	const record = "docs/track-record.md"
	want, err := os.ReadFile(filepath.Join(top, record))
	if err == nil {
		err = os.WriteFile(record, want, 0o644)
	}
	if err == nil {
		err = TrackRecord("survey", record)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(record); err != nil || string(got) != string(want) {
		t.Errorf("%s lists other defects than the cards (%v): %s", record, err, again)
	}
}

// read returns the files of a folder.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

// TestSurveyTellsOneStory: no library of which a defect is known is among those
// that showed none, and each report is told of by a card.
func TestSurveyTellsOneStory(t *testing.T) {
	all, err := Libraries(".")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, l := range all {
		for _, k := range l.Card.Defects {
			told = append(told, filepath.Clean(l.reportOf(k)))
		}
		if says := l.Title(); l.Broken() == strings.Contains(says, "no defect") {
			t.Errorf("%s: %d known defects, and its title is %q", l.Card.Name, len(l.Card.Defects), says)
		}
	}
	reports, _ := filepath.Glob("*/report.md") // the pattern is well-formed
	if len(reports) < 20 {
		t.Fatalf("%d reports", len(reports))
	}
	for _, r := range reports {
		if !slices.Contains(told, r) {
			t.Errorf("%s: no card has a defect that it tells of", r)
		}
	}
}

// TestTitles: the title of a library's page, by what is known.
func TestTitles(t *testing.T) {
	exam := Defect{Name: "stuck-lock", Words: "a key stayed locked", Attacks: []string{"stop-work"}}
	for _, c := range []struct {
		exams  []Defect
		known  []Known
		others []Other
		want   string
	}{
		{want: "its exams showed no defect"},
		{exams: []Defect{exam}, others: []Other{{Defect: "stuck-lock", Attack: "stop-work"}},
			want: "its exams showed no defect of its own"},
		{exams: []Defect{exam}, want: "a key stayed locked"},
		{exams: []Defect{exam}, known: []Known{{Attacks: []string{"kill-work"}, Shows: []string{"stuck-lock"}}},
			want: "a key stayed locked"},
		{exams: []Defect{exam}, known: []Known{{}, {}}, want: "a key stayed locked; 2 defects found by hand"},
		{known: []Known{{}}, want: "1 defect found by hand"},
		{known: []Known{{Attacks: []string{"late-giving-up"}}}, want: "1 defect that other exams showed"},
	} {
		l := Library{Card: Card{Defects: c.known, Others: c.others}, Result: &Result{Defects: c.exams}}
		if got := l.Title(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestProse: of Markdown there is code and links to the web; everything else is text.
func TestProse(t *testing.T) {
	for text, want := range map[string]string{
		"`a<b>` is <b>": "<code>a&lt;b&gt;</code> is &lt;b&gt;",
		"[#1](https://example.com/1?a=1&b), open": `<a href="https://example.com/1?a=1&amp;b">#1</a>, open`,
		"[x](javascript:alert(1))":                "[x](javascript:alert(1))",
		`[x](https://e.com/"onclick=)`:            `<a href="https://e.com/&#34;onclick=">x</a>`,
	} {
		if got := string(prose(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
