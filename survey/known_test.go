package survey

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports"
)

// repository is a folder in which the survey and its pages lie as in the
// repository, and in which tests may write.
func repository(t *testing.T) (top string) {
	t.Helper()
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
	return top
}

// TestPagesAreMadeFromTheCards: the table in docs and the list of the track
// record are what would be made now from the cards and the results.
func TestPagesAreMadeFromTheCards(t *testing.T) {
	top := repository(t)
	for page, fill := range map[string]func(dir, file string) error{"docs/survey.md": Table, "docs/track-record.md": TrackRecord} {
		want, err := os.ReadFile(filepath.Join(top, page))
		if err == nil {
			err = os.WriteFile(page, want, 0o644)
		}
		if err == nil {
			err = fill("survey", page)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(page); err != nil || string(got) != string(want) {
			t.Errorf("%s is not what the cards and the results say (%v): run `lockchaos survey site` at the top of the repository", page, err)
		}
	}
}

// TestPagesTellTheSame: there is a page for each library and for each witness, and no other;
// each library's page, the index, the table and the track record name the same defects.
func TestPagesTellTheSame(t *testing.T) {
	top := repository(t)
	made, err := Pages("survey", filepath.Join("docs", "survey"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Libraries("survey")
	if err != nil {
		t.Fatal(err)
	}
	lines, record := rows(t, filepath.Join(top, "docs", "survey.md")), unwrapped(t, filepath.Join(top, "docs", "track-record.md"))
	if len(lines) != len(all) {
		t.Errorf("docs/survey.md has %d libraries, not %d", len(lines), len(all))
	}
	for _, l := range all {
		own := string(made[l.Page()])
		for _, m := range l.Marks() {
			if !strings.Contains(lines[l.Card.Name], "**"+m.Name+"**") {
				t.Errorf("the line of %s in docs/survey.md lacks %q: %s", l.Card.Name, m.Name, lines[l.Card.Name])
			}
		}
		if l.Broken() != strings.Contains(lines[l.Card.Name], "**") {
			t.Errorf("%s: %d known defects, and its line is %s", l.Card.Name, len(l.Card.Defects), lines[l.Card.Name])
		}
		for _, k := range l.Card.Defects {
			if !strings.Contains(own, string(prose(k.What))) || !strings.Contains(record, k.What+". "+k.How()) {
				t.Errorf("the page of %s and the track record do not both tell that %s", l.Card.Name, k.What)
			}
		}
		if l.Result != nil {
			for _, d := range l.Result.Defects {
				if d.Witness != "" && (made[l.WitnessPage(d)] == nil || !strings.Contains(own, l.WitnessPage(d))) {
					t.Errorf("%s: no page shows %s, or that of the library does not lead to it", l.Card.Name, d.Name)
				}
				delete(made, l.WitnessPage(d))
			}
		}
		if own == "" || !strings.Contains(string(made[reports.IndexFile]), `href="./`+l.Page()+`"`) {
			t.Errorf("%s: no page, or the index does not lead to it", l.Card.Name)
		}
		delete(made, l.Page())
	}
	if delete(made, reports.IndexFile); len(made) > 0 {
		t.Errorf("pages of nothing: %v", slices.Sorted(maps.Keys(made)))
	}
}

// rows are the lines of a page's table, by the libraries that they begin with.
func rows(t *testing.T, file string) map[string]string {
	t.Helper()
	lines := map[string]string{}
	for line := range strings.Lines(textOf(t, file)) {
		if rest, is := strings.CutPrefix(line, "| ["); is {
			name, _, _ := strings.Cut(rest, "]")
			lines[name] = line
		}
	}
	return lines
}

// unwrapped is a page's text in one line.
func unwrapped(t *testing.T, file string) string {
	t.Helper()
	return strings.Join(strings.Fields(textOf(t, file)), " ")
}

func textOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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
