// Package survey examines lock libraries that people use.
//
// Each folder of survey/ is a library: an adapter with which lockchaos drives it, and a
// card. What the exams of a library came to is kept as a Result, from which a site is made.
package survey

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/internal/strictyaml"
	"github.com/lockchaos/lockchaos/scenarios"
)

// CardFile is what makes a folder one of a library.
const CardFile = "card.yaml"

// ResultFolder is where the survey's folder keeps what exams came to.
const ResultFolder = "results"

// Card says what the library of a folder is, what it promises, and how it is tried.
type Card struct {
	// Name is that of the folder.
	Name string `yaml:"-"`
	// Dir is the folder, as it was given.
	Dir string `yaml:"-"`
	// Library is what its users call it, Home where they find it.
	Library  string `yaml:"library"`
	Language string `yaml:"language"`
	Home     string `yaml:"home"`
	// Service is the lock service, "none" for a library without one, and TTL
	// the lease; 0: that of an exam.
	Service string             `yaml:"service"`
	TTL     scenarios.Duration `yaml:"ttl"`
	// Promises are what its documentation says, and the claims of the adapter follow from.
	Promises []Promise `yaml:"promises"`
	// Install is run by sh in the folder, and Command starts the adapter there.
	Install string `yaml:"install"`
	Command string `yaml:"command"`
	// Others are defects that exams of the library have shown, and that are not
	// its own: each was looked at by hand.
	Others []Other `yaml:"others"`
	// Defects are those of the library that are certain.
	Defects []Known `yaml:"defects"`
	// NotRun is why there is no way to try it here; "": there is.
	NotRun string `yaml:"not_run"`
}

// Other is a defect that is not the library's own: that of its service, say.
type Other struct {
	// Defect and Attack are what the exam calls them.
	Defect string `yaml:"defect"`
	Attack string `yaml:"attack"`
	// Whose defect it is, why that is certain, and at which address one can read on.
	Whose string `yaml:"whose"`
	Why   string `yaml:"why"`
	At    string `yaml:"at"`
}

// Promise is a sentence of the library's documentation, and where it stands.
type Promise struct {
	Says string `yaml:"says"`
	At   string `yaml:"at"`
}

// Cards reads the cards of a survey's folder, in the order of their names.
func Cards(dir string) ([]Card, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", CardFile))
	if err != nil {
		return nil, fmt.Errorf("look for the survey's cards: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no folder with a %s: name the survey's folder with --dir: %w", dir, CardFile,
			fs.ErrNotExist)
	}
	var all []Card
	var wrong []error
	for _, file := range files {
		c, err := readCard(file)
		all, wrong = append(all, c), append(wrong, err)
	}
	return all, errors.Join(wrong...)
}

func readCard(file string) (Card, error) {
	var c Card
	text, err := strictyaml.ReadFile(file)
	if err != nil {
		return c, err
	}
	m, err := strictyaml.Read(text, file, &c)
	if err != nil {
		return c, err
	}
	c.Dir = filepath.Dir(file)
	c.Name = filepath.Base(c.Dir)
	c.check(m)
	return c, m.Err()
}

// check notes what a card lacks.
func (c *Card) check(m *strictyaml.Mistakes) {
	for _, need := range []struct{ key, value string }{{"library", c.Library}, {"language", c.Language},
		{"home", c.Home}, {"service", c.Service}} {
		if need.value == "" {
			m.Add("$", "the card has no %s", need.key)
		}
	}
	if len(c.Promises) == 0 {
		m.Add("$", "the card has no promises: what does the documentation say that the lock does, and where?")
	}
	for i, p := range c.Promises {
		if p.Says == "" || !link(p.At) {
			m.Add(fmt.Sprintf("$.promises[%d]", i), "a promise has what it says, and at which address (https://…)")
		}
	}
	for i, o := range c.Others {
		if slices.Contains([]string{o.Defect, o.Attack, o.Whose, o.Why}, "") || !link(o.At) {
			m.Add(fmt.Sprintf("$.others[%d]", i),
				"a defect that is not the library's own has what the exam calls it (defect, attack), whose it is, why, and at which address (https://…)")
		}
	}
	c.checkDefects(m)
	if c.Home != "" && !link(c.Home) {
		m.Add("$.home", "home is an address: https://…")
	}
	if (c.Command == "") == (c.NotRun == "") {
		m.Add("$", "the card has either a command, or the reason why the library is not_run")
	}
}

// link reports whether a page may lead its reader there.
func link(address string) bool { return strings.HasPrefix(address, "https://") }

// Adapter is the command line that starts the adapter, from where the survey's folder was named.
func (c *Card) Adapter() string { return "cd " + c.Dir + " && " + c.Command }

// Select returns the cards of the names, in their order; all, where none is given.
func Select(all []Card, names []string) (chosen []Card, err error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, c := range all {
		known = append(known, c.Name)
	}
	for _, name := range names {
		found := false
		for _, c := range all {
			if c.Name == name {
				chosen, found = append(chosen, c), true
			}
		}
		if !found {
			return nil, fmt.Errorf("the survey has no folder %q%s", name, spelling.Suggest(name, known))
		}
	}
	return chosen, nil
}

// resultFile is where a library's result is kept.
func resultFile(dir, name string) string { return filepath.Join(dir, ResultFolder, name+".json") }

// witnessFile is where the smallest history is kept that shows a defect of a library.
func witnessFile(dir, name, defect string) string {
	return filepath.Join(dir, ResultFolder, name+"."+defect+".jsonl")
}

// forget takes away what an earlier survey has left of a library.
func forget(dir, name string) error {
	old, err := filepath.Glob(witnessFile(dir, name, "*"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("take away what an earlier survey has left: %w", err)
		}
	}
	return nil
}
