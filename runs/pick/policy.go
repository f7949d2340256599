package pick

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/lockchaos/lockchaos/policy"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/own"
	"github.com/lockchaos/lockchaos/scenarios"
)

// ReadPolicy reads a policy, with the place of each of its scenarios: the line in the file of a user's
// own, else the policy's line that names it. A lock of the user's own is met once, where the run is
// to be.
func (r Request) ReadPolicy(ctx context.Context, file string) (*policy.Policy, map[string]scenarios.Place, error) {
	d := demands{Request: r, ctx: ctx, folder: filepath.Dir(file), places: map[string]scenarios.Place{}}
	services := append([]string{scenarios.NoService}, r.Tool.Catalogue().Services...)
	p, err := policy.Load(file, policy.Catalogue{Services: services, Meet: d.meet, Find: d.find, Examine: d.examine})
	if err != nil {
		return nil, nil, err
	}
	for _, run := range p.Runs {
		if _, own := d.places[run.Name]; !own {
			d.places[run.Name] = scenarios.Place{File: file, Line: run.Line}
		}
	}
	return p, d.places, nil
}

// demands answer what the words of a policy mean.
type demands struct {
	Request
	ctx    context.Context
	folder string // of the policy
	places map[string]scenarios.Place
	own    *own.Lock       // that of the policy; nil: it has none
	can    map[string]bool // the faults that can be done here, tried for the first exam
}

func (d *demands) meet(lock policy.Lock) (err error) {
	d.Own = own.Program{Command: lock.Command, Service: lock.Service, TTL: lock.TTL.Std()}
	d.own, err = d.Request.meet(d.ctx)
	return err
}

// find returns the scenarios that a word names.
func (d *demands) find(word string) ([]scenarios.Scenario, error) {
	if word == Random {
		return nil, fmt.Errorf("suite %s is drawn anew for each seed, so a policy can't name what it shows: run it beside the gate", Random)
	}
	if runs.IsFile(word) && !filepath.IsAbs(word) {
		word = filepath.Join(d.folder, word) // as everything that a file names
	}
	chosen, err := d.Tool.Choose([]string{word})
	if err != nil {
		return nil, err
	}
	if runs.IsFile(word) {
		for name, p := range d.Tool.PlacesOf([]string{word}, "") {
			if !p.Builtin {
				d.places[name] = p
			}
		}
	}
	if d.own != nil {
		chosen, err = d.own.Replace(chosen, d.Tool, d.Say)
	}
	return chosen.Scenarios, err
}

// examine returns the attacks of an exam, and tells which make no sense, and why.
func (d *demands) examine(e policy.Exam) ([]scenarios.Scenario, error) {
	if d.can == nil {
		d.can = d.Faults(d.ctx, d.own != nil, d.Say)
	}
	d.Short, d.Attacks = e.Short, e.Attacks
	table, err := d.attacks()
	if err != nil {
		return nil, err
	}
	var lock scenarios.Examinee
	if e.Lock == policy.ExamOwn {
		lock = d.own.Examinee()
	} else if lock, err = Examinee(d.Tool, e.Lock, 0); err != nil {
		return nil, err
	}
	all, exam, err := d.attack(lock, table, d.can)
	if err != nil {
		return nil, err
	}
	for _, line := range exam.Inapplicable() {
		d.Say(lock.Base.Lock + ": " + line)
	}
	return all, nil
}
