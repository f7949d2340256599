package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// tree writes files into a folder of the test's own.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// aRun is a folder as a run leaves it.
var aRun = map[string]string{
	"index.html": `<a href="./a.b/report.html">a</a>`,
	"a.b/report.html": `<h2 id="todo">x</h2><a href="#todo">x</a><a href="../index.html">run</a><a href="./history.jsonl">h</a><a href="./logs/">logs</a>
<a href="` + web + `docs/faults.md#healing">faults</a><a href="data:text/plain,x">kept</a>`,
	"a.b/history.jsonl": "{}", "a.b/logs/store.log": "its host is secret",
}

// TestSite: the site of this repository is whole. Each link and anchor leads,
// nothing is loaded from a network, and the menu has every page of docs.
func TestSite(t *testing.T) {
	o := options{repo: "../..", out: filepath.Join(t.TempDir(), "site"), run: tree(t, aRun), web: web}
	if _, err := o.build(); err != nil {
		t.Fatal(err)
	}
	all := read(t, o.out)
	for _, p := range problems(all) {
		t.Error(p)
	}
	menu := map[string]bool{}
	for _, l := range all["index.html"].links {
		menu[l] = true
	}
	docs := 0
	err := fs.WalkDir(os.DirFS(o.repo), "docs", func(file string, _ fs.DirEntry, err error) error {
		if path.Ext(file) == ".md" {
			docs++
			if !menu[place(file)] {
				t.Errorf("the menu has no %s", file)
			}
		}
		return err
	})
	if err != nil || docs < 20 {
		t.Errorf("%d pages of docs: %v", docs, err)
	}
	report := all["run/a.b/report.html"]
	if !slices.Contains(report.links, "../../docs/faults.html#healing") || slices.Contains(report.links, "./logs/") {
		t.Errorf("the links of the run's report are %q", report.links)
	}
	if _, err := os.Stat(filepath.Join(o.out, "run", "a.b", "logs")); err == nil {
		t.Error("the run's logs are in the site")
	}
	if err := os.WriteFile(filepath.Join(o.out, "old.html"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := o.build(); err != nil {
		t.Errorf("made anew: %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.out, "old.html")); err == nil {
		t.Error("a page of an earlier site is left")
	}
}

// small is a repository with a page of everything.
var small = map[string]string{
	"README.md":             "# lock\n\n## Four doors\n\n### one\n\n[a](docs/a.md#b-1)\n\n### two\n\n[go](main.go)\n\n## More\n\nend\n",
	"main.go":               "package main",
	"docs/a.md":             "<!-- made by hand -->\n\n# A `<b>` & c < d\n\n## B\n\n    <script>alert(1)</script>\n\n## B\n\n`<img src=x>` [\\<b>](a.md \"\\\"><i>\")\n\n|x|\n|:-:|\n|`<b>`|\n",
	"docs/survey.md":        "# survey\n\n[mine](../survey/mine/card.yaml)\n",
	"survey/mine/report.md": "# mine\n",
	"survey/mine/card.yaml": "library: mine\nlanguage: Go\nhome: " + web +
		"main.go\nservice: redis\npromises: [{says: one, at: \"https://example.com\"}]\ncommand: ./x\ndefects: [{release: mine 1, what: it breaks}]\n",
	"survey/results/mine.json":  `{"name":"mine","version":"<b>1","defects":[{"name":"mutual-exclusion","attacks":["stop-work"]}]}`,
	"survey/other/card.yaml":    "library: other\nlanguage: Go\nhome: https://example.com\nservice: redis\npromises: [{says: one, at: \"https://example.com\"}]\ncommand: ./x\n",
	"survey/results/other.json": `{"name":"other","version":"1"}`,
}

// with is the small repository with one file more, or another.
func with(file, text string) map[string]string {
	all := map[string]string{}
	for name, old := range small {
		all[name] = old
	}
	all[file] = text
	return all
}

// TestSmallSite: what a page shows of Markdown is text, the first page shows
// the survey, and other files are shown on the web.
func TestSmallSite(t *testing.T) {
	o := options{repo: tree(t, small), out: filepath.Join(t.TempDir(), "site"), web: "https://example.org/x/"}
	if _, err := o.build(); err != nil {
		t.Fatal(err)
	}
	all := read(t, o.out)
	for _, p := range problems(all) {
		t.Error(p)
	}
	a := all["docs/a.html"]
	if n := a.elements["script"] + a.elements["img"] + a.elements["b"] + a.elements["i"]; n != 0 {
		t.Errorf("%d elements of Markdown's HTML are in the page:\n%s", n, a.source)
	}
	for _, want := range []string{`&lt;script&gt;alert(1)`, `&lt;img src=x&gt;`, `id="b-1"`,
		`<title>A &lt;b&gt; &amp; c &lt; d · lockchaos</title>`} {
		if !strings.Contains(a.source, want) {
			t.Errorf("the page has no %s:\n%s", want, a.source)
		}
	}
	front := all["index.html"]
	for _, want := range []string{"docs/a.html#b-1", "https://example.org/x/main.go", "docs/survey/mine.html", "docs/survey/index.html"} {
		if !slices.Contains(front.links, want) {
			t.Errorf("the first page has no link to %s: %q", want, front.links)
		}
	}
	for _, want := range []string{"examined 2 libraries", "1 broke a promise of its own", "mutual-exclusion",
		"This copy of the site has none"} {
		if !strings.Contains(front.source, want) {
			t.Errorf("the first page does not say %q:\n%s", want, front.source)
		}
	}
	if n := strings.Count(front.source, `<section class="panel"><h3`); n != 2 ||
		strings.Index(front.source, `id="survey"`) > strings.Index(front.source, `id="more"`) {
		t.Errorf("%d doors, and then:\n%s", n, front.source)
	}
	if mine := all["docs/survey/mine.html"]; !slices.Equal(mine.links,
		[]string{"index.html", "https://example.org/x/main.go", "../../survey/mine/report.html", "https://example.com"}) {
		t.Errorf("the library's page leads to %q", mine.links)
	}
	if table := all["docs/survey.html"]; !slices.Contains(table.links, "survey/mine.html") {
		t.Errorf("the table leads to %q, and not to the library's page", table.links)
	}
}

// TestRefusals: what would make a broken site makes none.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ name, file, text, run, want string }{
		{"a link to nowhere", "docs/x.md", "[x](gone.md)", "", `docs/x.md: the link "gone.md"`},
		{"a script as a link", "docs/x.md", "[x](javascript:alert)", "", "write https://"},
		{"a script as an address", "docs/x.md", "<javascript:alert(1)>", "", "write https://"},
		{"a path of the machine", "docs/x.md", "[x](/etc/passwd)", "", "write https://"},
		{"a way out", "docs/x.md", "[x](../../../../../etc/passwd)", "", "out of the repository"},
		{"HTML in a line", "docs/x.md", "a <img src=x onerror=alert(1)> b", "", "docs/x.md has HTML"},
		{"a block of HTML", "docs/x.md", "<script>alert(1)</script>\n", "", "docs/x.md has HTML"},
		{"a picture from a network", "docs/x.md", "![x](https://example.com/x.png)", "", "pictures of docs/images only"},
		{"no doors", home, "# lock\n", "", "Four doors"},
		{"no run", "docs/x.md", "", "gone", "the run gone"},
		{"a run without a report", "docs/x.md", "", ".", "no index.html"},
	} {
		o := options{repo: tree(t, with(c.file, c.text)), out: filepath.Join(t.TempDir(), "site"), run: c.run, web: web}
		if _, err := o.build(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	precious := tree(t, map[string]string{"thesis.txt": "only copy"})
	_, err := options{repo: tree(t, small), out: precious, web: web}.build()
	if _, lost := os.Stat(filepath.Join(precious, "thesis.txt")); err == nil || lost != nil {
		t.Errorf("a folder with other files: %v %v", err, lost)
	}
	if _, err := (options{repo: t.TempDir(), out: filepath.Join(t.TempDir(), "site")}).build(); err == nil ||
		!strings.Contains(err.Error(), "README.md") {
		t.Errorf("no repository: %v", err)
	}
}

// TestSlug: headings get the places that GitHub gives them.
func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"As an image: macOS, Windows, and runners with Docker only": "as-an-image-macos-windows-and-runners-with-docker-only",
		"flock: flock(1) on a file":                                 "flock-flock1-on-a-file",
		"What's new – in 1.0?":                                      "whats-new--in-10",
		"snake_case and Größe":                                      "snake_case-and-größe",
	} {
		if got := slug(title); got != want {
			t.Errorf("%q: %q, not %q", title, got, want)
		}
	}
}

// TestProblems: the test's own eyes see each defect that a site can have.
func TestProblems(t *testing.T) {
	for text, want := range map[string]string{
		`<a href="gone.html">x</a>`:                                       "leads nowhere",
		`<a href="#gone">x</a>`:                                           "no such place",
		`<a href="b.html#gone">x</a>`:                                     "no such place",
		`<img src="https://example.com/x.png">`:                           "loads",
		`<img src="//example.com/x.png">`:                                 "loads",
		`<link rel="stylesheet" href="http://example.com/x">`:             "loads",
		`<style>a{background:url(https://example.com)}</style>`:           "loads",
		`<p style="background:url('//example.com')">`:                     "loads",
		`<style>@import "https://example.com"</style>`:                    "loads",
		`<a href="b.html#here">x</a><a href="https://example.com/">y</a>`: "",
	} {
		got := problems(read(t, tree(t, map[string]string{"a.html": text, "b.html": `<p id="here">`})))
		if (want == "") != (len(got) == 0) || want != "" && !strings.Contains(got[0], want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// file is what a test sees of a file of the site.
type file struct {
	source   string
	links    []string
	loads    []string
	places   map[string]bool
	elements map[string]int
}

// read reads the site.
func read(t *testing.T, dir string) map[string]*file {
	t.Helper()
	all := map[string]*file{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f := &file{source: string(text), places: map[string]bool{"": true}, elements: map[string]int{}}
		switch filepath.Ext(name) {
		case ".html":
			err = f.parse(text)
		case ".css":
			f.style(string(text))
		}
		rel, _ := filepath.Rel(dir, name)
		all[filepath.ToSlash(rel)] = f
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (f *file) parse(text []byte) error {
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return err
	}
	for n := range root.Descendants() {
		if n.Type == html.TextNode && n.Parent.DataAtom == atom.Style {
			f.style(n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		f.elements[n.Data]++
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				f.places[a.Val] = true
			case a.Key == "style":
				f.style(a.Val)
			case a.Key == "href" && n.DataAtom == atom.A:
				f.links = append(f.links, a.Val)
			case slices.Contains([]string{"href", "src", "srcset", "data", "action", "poster"}, a.Key):
				f.loads = append(f.loads, a.Val)
			}
		}
	}
	return nil
}

var styleLoads = regexp.MustCompile(`(?:url\(|@import)\s*["']?([^"')\s]*)`)

func (f *file) style(css string) {
	for _, m := range styleLoads.FindAllStringSubmatch(css, -1) {
		f.loads = append(f.loads, m[1])
	}
}

// problems are the links of a site that lead nowhere, and what it loads from elsewhere.
func problems(all map[string]*file) (found []string) {
	for name, f := range all {
		for _, l := range f.loads {
			if strings.HasPrefix(l, "data:") || strings.HasPrefix(l, "#") {
				continue
			}
			if all[path.Join(path.Dir(name), l)] == nil {
				found = append(found, fmt.Sprintf("%s loads %s", name, l))
			}
		}
		for _, l := range f.links {
			u, err := url.Parse(l)
			if err != nil || u.IsAbs() {
				continue
			}
			target := all[name]
			if u.Path != "" {
				target = all[path.Join(path.Dir(name), u.Path)]
			}
			switch {
			case target == nil:
				found = append(found, fmt.Sprintf("%s: %s leads nowhere", name, l))
			case !target.places[u.Fragment]:
				found = append(found, fmt.Sprintf("%s: %s: no such place", name, l))
			}
		}
	}
	return found
}
