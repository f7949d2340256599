// Command mutants tests the tests of a package: it plants one small defect
// after the other (a comparison flipped, a condition left out, a statement
// dropped) and runs the package's tests against each. A defect that no test
// notices is a test that is missing, or a line that does nothing.
//
//	go run ./internal/mutants                            every mutant of package checker; the list goes to docs/checker-mutants.txt
//	go run ./internal/mutants -again                     only those that the list does not have as killed or equivalent
//	go run ./internal/mutants -sample 60 -seed 7 -list ""   a few, drawn at random
//
// All mutants are compiled into one test binary, each behind a switch that the environment
// sets (mutant schemata, Untch, Offutt and Harrold 1993). To compile a package of this
// size takes seconds and to run its quick tests takes a tenth of one, so this is what
// makes thousands of mutants affordable. A first run of every test by itself records which
// mutants it reaches: a mutant is run against those tests alone, the quickest first.
//
// A mutant that changes nothing anybody can see is equivalent. It is named,
// with the reason, in equivalent.txt; an entry there that no mutant has, or
// whose mutant a test does kill, is an error: nothing is excused for good.
//
// Exit status: 0 all mutants are killed or equivalent, 1 some survive, 3 it could not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"
)

type options struct {
	dir, list, equivalents string
	again                  bool
	upTo                   time.Duration
	without                pattern
	only                   string
	sample, parallel       int
	seed                   uint64
}

// wants reports whether a mutant is to be tested.
func (o options) wants(m *mutant) bool {
	return (o.only == "" || slices.Contains(strings.Split(o.only, ","), m.file)) && m.killedBy == "" && !m.stands
}

// pattern is a regular expression as a flag; without one, nothing matches.
type pattern struct{ *regexp.Regexp }

func (p pattern) String() string { return "" }

func (p *pattern) Set(text string) (err error) {
	p.Regexp, err = regexp.Compile(text)
	return err
}

// MatchString reports whether the name matches.
func (p pattern) MatchString(name string) bool { return p.Regexp != nil && p.Regexp.MatchString(name) }

func main() {
	var o options
	flag.StringVar(&o.dir, "package", "./checker", "the package, as a folder of this module")
	flag.StringVar(&o.list, "list", "docs/checker-mutants.txt", `the file for the whole list; "" writes none`)
	flag.StringVar(&o.equivalents, "equivalents", "internal/mutants/equivalent.txt",
		"the mutants that change nothing, with reasons")
	flag.BoolVar(&o.again, "again", false,
		"test only what the list does not have as killed, or as equivalent for a reason that is still there; what it has stands")
	flag.StringVar(&o.only, "only", "", "test only the mutants of these files (histogram.go,text.go), in the order of the package")
	flag.DurationVar(&o.upTo, "up-to", 0,
		"ask only tests that take no more processor time than this; 0: all, the slow ones where the quick ones notice nothing")
	flag.Var(&o.without, "without", "leave out the tests whose names match")
	flag.IntVar(&o.sample, "sample", 0, "test so many mutants, drawn at random; 0: all")
	flag.IntVar(&o.parallel, "parallel", 1, "how many to test at once")
	flag.Uint64Var(&o.seed, "seed", 1, "the seed of the sample")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, o)
	switch {
	case errors.Is(err, errSurvivors):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(3)
	}
}

// errSurvivors: there are mutants that no test kills and that are not named as equivalent.
var errSurvivors = errors.New("mutants survive: write a test that notices each, or name it in equivalent.txt with the reason")

func run(ctx context.Context, o options) error {
	p, err := load(ctx, o.dir)
	if err != nil {
		return err
	}
	excused, err := readEquivalents(o.equivalents)
	if err != nil {
		return err
	}
	mutants := p.mutate()
	chosen := mutants
	if o.again {
		if err := takeOver(mutants, excused, o.list); err != nil {
			return err
		}
	}
	if o.sample > 0 {
		chosen = sample(mutants, excused, o.sample, o.seed)
	}
	// the list alone is written anew: lines have moved, reasons have come or gone
	if !slices.ContainsFunc(chosen, o.wants) {
		return report(chosen, excused, o)
	}
	b, err := build(ctx, p)
	if err != nil {
		return err
	}
	defer b.remove()
	if err := b.measure(ctx, len(mutants), o); err != nil {
		return err
	}
	err = b.tryAll(ctx, chosen, o)
	if errors.Is(err, context.Canceled) { // what is known by then is worth keeping
		return errors.Join(report(chosen, excused, o), errors.New("interrupted"))
	}
	if err != nil {
		return err
	}
	return report(chosen, excused, o)
}
