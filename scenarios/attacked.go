package scenarios

import (
	"cmp"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// Applies reports why the attack of the name can't be made on the lock; nil: it
// can. An unknown name is an error too.
func (e Exam) Applies(name string, l Examinee) error {
	one, err := e.Only(false, []string{name})
	if err != nil {
		return err
	}
	return one.applies(one.Attacks[0], l)
}

// read lays a scenario's fields over the defaults or, if it names an attack, over the scenario
// that the exam makes of that attack on its lock. p tells where the scenario is written, and
// its lock, if a matrix names it. Mistakes of form are returned. Mistakes of content are noted.
func (v *validator) read(p place, defaults Scenario, nodes ...ast.Node) (place, error) {
	lock := p.scenario.Lock
	sc, err := layer(defaults, nodes...)
	if err != nil {
		return p, err
	}
	if lock != "" {
		sc.Lock = lock
	}
	if lock != "" && (sc.Name != "" || sc.Attack == "") {
		sc.Name = lock + "/" + sc.Name
	}
	p.scenario, p.nameAt = sc, p.at+".name"
	if sc.Attack == "" {
		return p, nil
	}
	if sc.Name == "" {
		p.nameAt = p.at + ".attack"
	}
	made, ok := v.made(p)
	if !ok {
		return p, nil
	}
	p.scenario, err = v.over(p, made, nodes)
	return p, err
}

// made is the scenario that the exam makes of the attack that p names on the lock
// that it names. Where that makes no sense, made notes the mistake and is not ok.
func (v *validator) made(p place) (made Scenario, ok bool) {
	sc := p.scenario
	table, err := Attacks()
	if err == nil {
		table, err = table.Only(false, []string{sc.Attack})
	}
	switch {
	case err != nil:
		v.fail(p.at+".attack", "%v (docs/exam.md)", err)
		return sc, false
	case sc.External() || sc.Own() || v.catalogue.Examinee == nil:
		v.fail(p.at+".attack", "attack %s: a suite can attack locks that come with lockchaos; "+
			"`lockchaos exam --lock-cmd` attacks one of your own", sc.Attack)
		return sc, false
	case !slices.Contains(v.catalogue.Locks, sc.Lock) || sc.TTL <= 0 || sc.TTL > longest:
		v.oneOf(p.lockAt, "lock", sc.Lock, v.catalogue.Locks)
		v.within(p.at, "ttl", sc.TTL)
		return sc, false
	}
	examinee, err := v.catalogue.Examinee(sc)
	if err == nil {
		err = table.applies(table.Attacks[0], examinee)
	}
	if err != nil {
		v.fail(p.lockAt, "attack %s can't be made on %s: %v", sc.Attack, sc.Lock, err)
		return sc, false
	}
	return table.scenario(table.Attacks[0], examinee), true
}

// over lays what the scenario says itself over the attack. The fault and the
// lease are the attack's. Theory says what is expected, unless the scenario
// lists properties. Its list then replaces that of theory.
func (v *validator) over(p place, made Scenario, nodes []ast.Node) (Scenario, error) {
	base := made
	base.Faults, base.Expect = nil, Expect{}
	sc, err := layer(base, nodes...)
	if err != nil {
		return sc, err
	}
	if len(sc.Faults) > 0 {
		v.fail(p.at+".faults", "attack %s brings its own fault: name no faults beside it", sc.Attack)
	}
	sc.Lock, sc.TTL, sc.Faults = made.Lock, made.TTL, made.Faults
	sc.Needs.complete(sc.Faults)
	sc.Name = cmp.Or(p.scenario.Name, made.Name)
	switch own := sc.Expect; {
	case own.Properties == nil:
		sc.Expect = made.Expect
		sc.Expect.Severity, sc.Expect.Why = own.Severity, cmp.Or(own.Why, made.Expect.Why)
	case len(own.Properties) == 0:
		sc.Expect.Properties = nil // as a saved plan has it
	}
	return sc, nil
}
