package main

import (
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/lockchaos/lockchaos/survey"
)

// The folders of the site that hold whole pages of lockchaos: those of the survey,
// and the report of a run. surveyRoot is where the repository has the survey.
const (
	surveyRoot   = "survey"
	surveyFolder = "docs/survey"
	runFolder    = "run"
)

// collect finds what is copied: pictures, and the run's files. It makes the survey's pages.
func (s *site) collect() error {
	const images = "docs/images"
	if err := s.take(filepath.Join(s.repo, filepath.FromSlash(images)), images); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take the files of %s: %w", images, err)
	}
	if err := s.examined(); err != nil {
		return err
	}
	if s.run == "" {
		return nil
	}
	run, err := filepath.EvalSymlinks(s.run) // runs/latest is a link
	if err == nil {
		err = s.take(run, runFolder)
	}
	if err == nil && s.copies[runFolder+"/index.html"] == "" {
		err = errors.New("it has no index.html: name the folder of a run, for example runs/latest")
	}
	if err != nil {
		return fmt.Errorf("take the report of the run %s: %w", s.run, err)
	}
	return nil
}

// examined makes the pages of the survey, if the repository has one.
func (s *site) examined() error {
	dir := filepath.Join(s.repo, surveyRoot)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	made, err := survey.Pages(dir, filepath.Join(s.repo, filepath.FromSlash(surveyFolder)))
	if err != nil {
		return fmt.Errorf("make the survey's pages: %w", err)
	}
	for name, text := range made {
		s.made[path.Join(surveyFolder, name)] = text
	}
	return nil
}

// has reports whether the site has a file that is no page of the repository's Markdown.
func (s *site) has(file string) bool { return s.copies[file] != "" || s.made[file] != nil }

// shown is what a link to a file leads to: in the place of a library's card, to the library's page.
func (s *site) shown(target string) string {
	if folder, file := path.Split(target); file == survey.CardFile && path.Dir(path.Clean(folder)) == surveyRoot {
		if page := path.Join(surveyFolder, path.Base(folder)+".html"); s.has(page) {
			return page
		}
	}
	return target
}

// take notes the files of a folder to be copied to another of the site. Logs
// stay out: they are for those who have the run.
func (s *site) take(from, to string) error {
	return filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "logs":
			return filepath.SkipDir
		case !d.Type().IsRegular() || filepath.Ext(file) == ".md":
			return nil
		}
		rel, err := filepath.Rel(from, file)
		s.copies[path.Join(to, filepath.ToSlash(rel))] = file
		return err
	})
}

// link turns the links of all pages into links of the site.
func (s *site) link() error {
	var wrong []error
	for _, p := range s.pages {
		wrong = append(wrong, ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			var to string
			var err error
			switch n := n.(type) {
			case *ast.Link:
				to, err = s.resolve(p.Path, string(n.Destination))
				n.Destination = []byte(to)
			case *ast.AutoLink:
				_, err = s.resolve(p.Path, string(n.URL(p.source)))
			case *ast.RawHTML:
				err = errHTML(p)
			case *ast.HTMLBlock:
				if n.HTMLBlockType != ast.HTMLBlockType2 { // a comment, which no reader is to see
					err = errHTML(p)
				}
			case *ast.Image:
				if s.copies[path.Join(path.Dir(p.Path), string(n.Destination))] == "" {
					err = fmt.Errorf("%s shows %q: a page has pictures of docs/images only", p.Path, n.Destination)
				}
			}
			wrong = append(wrong, err)
			return ast.WalkContinue, nil
		}))
	}
	return errors.Join(wrong...)
}

func errHTML(p *page) error {
	return fmt.Errorf("%s has HTML, which the site would leave out: put `<x>` into backticks", p.Path)
}

// resolve turns a link of a file into one of its page: to a page, to a file
// that is copied, or to the repository on the web.
func (s *site) resolve(from, address string) (string, error) {
	file, ours := strings.CutPrefix(address, s.web)
	if !ours {
		file, ours = strings.CutPrefix(address, web)
	}
	u, err := url.Parse(file)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: the link %q: %w", from, address, err)
	case u.Scheme == "https", u.Scheme == "http", u.Scheme == "mailto", u.Path == "" && u.Host == "" && u.Scheme == "":
		return address, nil
	case u.Scheme != "" || u.Host != "" || path.IsAbs(u.Path):
		return "", fmt.Errorf("%s: the link %q: write https://…, or a path from the file itself", from, address)
	}
	target := path.Clean(u.Path)
	if !ours {
		target = path.Join(path.Dir(from), u.Path)
	}
	if !filepath.IsLocal(target) {
		return "", fmt.Errorf("%s: the link %q leads out of the repository", from, address)
	}
	anchor := ""
	if u.Fragment != "" {
		anchor = "#" + u.EscapedFragment()
	}
	target = s.shown(target)
	if s.pages[target] == nil && !s.has(target) {
		if _, err := os.Stat(filepath.Join(s.repo, filepath.FromSlash(target))); err != nil {
			return "", fmt.Errorf("%s: the link %q: %w", from, address, err)
		}
		return s.web + target + anchor, nil
	}
	return relative(from, target) + anchor, nil
}

// relative is the way from the page of one file to that of another.
func relative(from, to string) string {
	way, err := filepath.Rel(path.Dir(from), place(to))
	if err != nil {
		panic(err) // both are relative, and cleaned
	}
	return (&url.URL{Path: filepath.ToSlash(way)}).String()
}

// copy writes what is taken as it is, and the survey's pages.
func (s *site) copy() error {
	for to, from := range s.copies {
		data, err := os.ReadFile(from)
		if err == nil {
			err = s.whole(to, data)
		}
		if err != nil {
			return fmt.Errorf("copy a file of the site: %w", err)
		}
	}
	for to, data := range s.made {
		if err := s.whole(to, data); err != nil {
			return err
		}
	}
	return nil
}

// whole writes a whole page of lockchaos, or another file. In a page only the links change:
// to the site where it has what they lead to, and to nowhere where a file was left out.
func (s *site) whole(to string, data []byte) error {
	if path.Ext(to) == ".html" {
		data = href.ReplaceAllFunc(data, func(attribute []byte) []byte { return s.relink(to, attribute) })
	}
	return s.save(to, data)
}

var href = regexp.MustCompile(` href="[^"]*"`)

func (s *site) relink(from string, attribute []byte) []byte {
	address := html.UnescapeString(string(attribute[len(` href="`) : len(attribute)-1]))
	if strings.HasPrefix(address, "data:") {
		return attribute
	}
	to, err := s.resolve(from, address)
	if err != nil {
		return nil
	}
	return []byte(` href="` + html.EscapeString(to) + `"`)
}

// save writes a file of the site.
func (s *site) save(file string, data []byte) error {
	file = filepath.Join(s.out, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
