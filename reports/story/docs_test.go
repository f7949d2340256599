package story

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// anchors lists the places of a Markdown file that a link can name, as GitHub
// makes them of headings.
func anchors(t *testing.T, file string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{"": true}
	for _, m := range regexp.MustCompile(`(?m)^#+ +(.*)$`).FindAllStringSubmatch(string(text), -1) {
		slug := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out[strings.ReplaceAll(strings.TrimSpace(slug), " ", "-")] = true
	}
	return out
}

// TestDocLinks checks that every remedy points at a section of remedies.md, that
// each section is of some use, and that the places exist that it points at.
func TestDocLinks(t *testing.T) {
	const folder = "../../docs"
	check := func(from, link string) {
		t.Helper()
		file, anchor, _ := strings.Cut(link, "#")
		if _, err := os.Stat(filepath.Join(folder, file)); err != nil {
			t.Errorf("%s points at %s: %v", from, link, err)
		} else if !anchors(t, filepath.Join(folder, file))[anchor] {
			t.Errorf("%s points at %s, which has no such heading", from, link)
		}
	}
	places, remedial := map[string]bool{}, regexp.MustCompile(`^(advice|remedies)\.go$`)
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:"|text),\s+"([a-z-]+)"\)|[pP]lace = "([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			if remedial.MatchString(source) {
				places[m[1]+m[2]] = true
			}
		}
	}
	if len(places) < 15 {
		t.Errorf("only %d places were found: does the test still know how they are written?", len(places))
	}
	for place := range places {
		if remedySections()[place] == nil {
			t.Errorf("a remedy points at #%s, which remedies.md does not have", place)
		}
	}
	for place, s := range remedySections() {
		if !places[place] {
			t.Errorf("no remedy points at %q", s.Title)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "remedies.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(string(text), -1) {
		link := m[1]
		if strings.HasPrefix(link, "#") {
			link = "remedies.md" + link
		}
		check("remedies.md", link)
	}
}
