// Command site makes a static site of the repository's Markdown: pages that
// need no server, no script and no network.
//
// Every page lies where its Markdown lies, with .html for .md, and a README is the index
// of its folder. So a link between two files of the repository is the same link between
// two pages. A link to a file that is no page leads to the repository on the web.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// web is where the repository's files are shown. The reports lead there too,
// and in the site they lead to its pages instead.
const web = "https://github.com/lockchaos/lockchaos/blob/main/"

// options say what the site is made of.
type options struct {
	// repo is the repository's folder, out the site's.
	repo, out string
	// run is the folder of a run, whose report the site shows; "": none.
	run string
	// web is the address under which the repository's files are shown. It ends with a slash.
	web string
}

func main() {
	o := options{repo: "."}
	flag.StringVar(&o.out, "out", "build/site", "the site's `folder`, which is made anew")
	flag.StringVar(&o.run, "run", "", "the `folder` of the run to show, for example runs/latest")
	flag.StringVar(&o.web, "web", web, "the `address` of the repository's files, for links to what is no page")
	flag.Parse()
	o.web = strings.TrimSuffix(o.web, "/") + "/"
	pages, err := o.build()
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages: %s\n", pages, filepath.Join(o.out, "index.html"))
	if o.run == "" {
		fmt.Println("without a report to play with: make run, then make site again")
	}
}

// build makes the site, and returns how many pages it wrote.
// An earlier site stays if this one can't be made.
func (o options) build() (int, error) {
	s := &site{options: o, pages: map[string]*page{}, copies: map[string]string{}, made: map[string][]byte{}}
	for _, step := range []func() error{s.parse, s.collect, s.link, s.clear, s.write, s.copy} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	return len(s.pages), nil
}

// clear takes an earlier site away. It takes no folder away that is none.
func (o options) clear() error {
	entries, err := os.ReadDir(o.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(o.out, styleFile)); err != nil {
			return fmt.Errorf("%s has files, and no %s of an earlier site: name another folder with -out", o.out,
				styleFile)
		}
	}
	return os.RemoveAll(o.out)
}
