package tidy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)

// TestLinksOfTheDocsLead checks that every file that a page links to, pictures included, exists.
func TestLinksOfTheDocsLead(t *testing.T) {
	t.Chdir(root)
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob("docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, deeper...)
	examples, err := filepath.Glob("examples/*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, examples...)
	seen := 0
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "survey/README.md", "llms.txt") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			seen++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s points at %s: %v", page, m[1], err)
			}
		}
	}
	if seen == 0 {
		t.Error("no link was found: the pattern is wrong")
	}
}
