package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	reportpage "github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/survey"
)

// styleFile is the site's style sheet.
const styleFile = "style.css"

var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed site.css
	style string
	// layout is part of the program: one that does not parse is a bug that every test finds.
	layout = template.Must(template.New("page").Parse(pageText))
)

// view is what a page shows.
type view struct {
	*page
	Site *site
	Menu []group
	// Body is the page's text, and Rest what follows what the first page has in between.
	Body, Rest template.HTML
	Front      *front
}

// group is a part of the menu.
type group struct {
	Title string
	Pages []*page
}

// front is what the first page shows besides the README. Examined is nil, where there is no survey.
type front struct {
	Examined []survey.Library
	Broken   []survey.Library
}

// To is the way from the page to a file of the site.
func (v view) To(file string) string { return relative(v.Path, file) }

// Has reports whether the site has a whole page of lockchaos.
func (v view) Has(file string) bool { return v.Site.has(file) }

// Here reports whether the page is in the group.
func (v view) Here(g group) bool { return slices.Contains(g.Pages, v.page) }

// write writes all pages, and their style.
func (s *site) write() error {
	// First, since it marks the folder as a site's.
	if err := s.save(styleFile, []byte(string(reportpage.Style())+style)); err != nil {
		return err
	}
	menu := s.menu()
	for _, p := range s.pages {
		body, err := p.html()
		if err != nil {
			return err
		}
		v := view{page: p, Site: s, Menu: menu, Body: template.HTML(body)}
		if p.Path == home {
			if err := v.open(body); err != nil {
				return err
			}
		}
		var b bytes.Buffer
		if err := layout.Execute(&b, v); err != nil {
			return fmt.Errorf("render %s: %w", p.Path, err)
		}
		if err := s.save(place(p.Path), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// menu orders the pages by their folders: first those that the README names, as
// it names them, then the others by title.
func (s *site) menu() []group {
	rank := map[string]int{}
	for i, m := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllSubmatch(s.pages[home].source, -1) {
		if file := string(m[1]); rank[file] == 0 {
			rank[file] = i - 1<<20
		}
	}
	groups := []group{{Title: "Guides"}, {Title: "Locks"}, {Title: "Project"}}
	for _, file := range slices.Sorted(maps.Keys(s.pages)) {
		g := &groups[2]
		switch dir := path.Dir(file); {
		case file == home || path.Base(file) == "report.md": // the survey's pages lead to the reports
			continue
		case dir == "docs":
			g = &groups[0]
		case strings.HasPrefix(dir, "docs/"):
			g = &groups[1]
		}
		g.Pages = append(g.Pages, s.pages[file])
	}
	for _, g := range groups {
		slices.SortStableFunc(g.Pages, func(a, b *page) int { return rank[a.Path] - rank[b.Path] })
	}
	return groups
}

// doors is the section of the README that the first page shows as tiles.
const doors = `<h2 id="four-doors">`

// open makes the first page: the README with its doors as tiles, and after them
// the survey and the report.
func (v *view) open(body string) error {
	before, after, found := strings.Cut(body, doors)
	if !found {
		return fmt.Errorf("%s has no section “Four doors”, which the first page is made around", home)
	}
	tiles, rest, found := strings.Cut(after, "<h2")
	if found {
		rest = "<h2" + rest
	}
	first, others, _ := strings.Cut(tiles, "<h3")
	others = strings.ReplaceAll(others, "<h3", `</section><section class="panel"><h3`)
	v.Body = template.HTML(before + doors + first + `<div class="doors"><section class="panel"><h3` + others +
		"</section></div>")
	v.Rest, v.Front = template.HTML(rest), &front{}
	if !v.Has(surveyFolder + "/index.html") {
		return nil
	}
	return v.Front.load(filepath.Join(v.Site.repo, surveyRoot))
}

// load reads what the survey came to.
func (f *front) load(dir string) error {
	all, err := survey.Libraries(dir)
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.Result == nil {
			continue
		}
		f.Examined = append(f.Examined, l)
		if l.Broken() {
			f.Broken = append(f.Broken, l)
		}
	}
	return nil
}
