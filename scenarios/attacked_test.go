package scenarios

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// attackable is a catalogue whose locks can do everything but redislock, which
// can't be asked, and cas, which is no lock.
func attackable() Catalogue {
	c := catalogue
	c.Faults = append(slices.Clone(c.Faults), "hold", "partition", "expire-session")
	c.Moments = append(slices.Clone(c.Moments), "before-release")
	c.CheckFault = nil
	c.Examinee = func(base Scenario) (Examinee, error) {
		e := anyLock(0, Nature{Permits: 1})
		e.Base = base
		switch base.Lock {
		case "redislock":
			e.Abilities = nil
		case "cas":
			e.Nature.Permits = 0
		case "etcd-lease":
			e.Fits = func(Fault) error { return errors.New("nothing fits") }
		}
		return e, nil
	}
	return c
}

const attackedSuite = `suite: mine
defaults: {ttl: 500ms, store: {kind: unfenced}, clients: 9}
scenarios:
  - {attack: late-release, lock: redis-setnx}
  - name: mine/late
    attack: late-release
    lock: redis-setnx
    about: mine
    clients: 3
    workload: {guard: check}
    needs: {grants: 4}
    expect: {properties: {mutual-exclusion: violated}, why: so}
matrix:
  - locks: [redis-setnx, redlock]
    with: {expect: {severity: none}}
    cases:
      - {attack: cut-off-asking}
      - {name: twice, attack: cut-off-asking, ttl: 1s}
`

// What names an attack is that attack, as the exam makes it, but for what it says itself.
func TestScenariosThatNameAnAttack(t *testing.T) {
	s, err := Parse([]byte(attackedSuite), "my.yaml", attackable())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, sc := range s.Scenarios {
		names = append(names, sc.Name)
	}
	if want := []string{"redis-setnx/late-release/unfenced", "mine/late", "redis-setnx/cut-off-asking/unfenced", "redis-setnx/twice",
		"redlock/cut-off-asking/unfenced", "redlock/twice"}; !slices.Equal(names, want) {
		t.Fatalf("names %q, want %q", names, want)
	}
	table, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	lock, err := attackable().Examinee(Scenario{Lock: "redis-setnx", TTL: examTTL / 2, Store: Store{Kind: storeUnfenced}})
	if err != nil {
		t.Fatal(err)
	}
	all, _ := table.Of(lock)
	made := all[slices.IndexFunc(all, func(s Scenario) bool { return s.Attack == "late-release" })]
	if plain := s.Scenarios[0]; !reflect.DeepEqual(plain, made) {
		t.Errorf("got  %+v\nwant %+v", plain, made)
	}
	want := made
	want.Name, want.About, want.Clients, want.Workload.Guard, want.Needs.Grants = "mine/late", "mine", 3, "check", 4
	want.Expect = Expect{Properties: map[string]string{checker.MutualExclusion: "violated"}, Why: "so"}
	if own := s.Scenarios[1]; !reflect.DeepEqual(own, want) {
		t.Errorf("got  %+v\nwant %+v", own, want)
	}
	if strict := parsed(t, "expect: {properties: {mutual-exclusion: violated}, why: so}",
		"expect: {properties: {}}"); !reflect.DeepEqual(strict.Expect, Expect{}) {
		t.Errorf("an empty list expects that everything passes: %+v", strict.Expect)
	}
	asking, twice := s.Scenarios[2], s.Scenarios[3]
	if asking.Expect.Severity != "none" || !asking.Expect.Inherent || asking.Expect.Properties[checker.MutualExclusion] != overrunOutcome {
		t.Errorf("a severity alone leaves theory's properties: %+v", asking.Expect)
	}
	if twice.TTL != 2*asking.TTL || twice.Faults[0].For != 2*asking.Faults[0].For ||
		twice.Workload.Think != asking.Workload.Think.times(2) {
		t.Errorf("with twice the lease:\n%+v\n%+v", twice, asking)
	}
}

// parsed is the second scenario of the suite when a line of it is another.
func parsed(t *testing.T, from, to string) Scenario {
	t.Helper()
	s, err := Parse([]byte(strings.Replace(attackedSuite, from, to, 1)), "my.yaml", attackable())
	if err != nil {
		t.Fatal(err)
	}
	return s.Scenarios[1]
}

// An attack keeps the lease that it needs where the suite's is shorter.
func TestAttackKeepsItsLease(t *testing.T) {
	text := "suite: a\ndefaults: {ttl: 500ms, store: {kind: unfenced}}\nscenarios: [{attack: failover, lock: redis-setnx, ttl: 1s}]\n"
	c := attackable()
	c.Faults = append(c.Faults, "failover")
	s, err := Parse([]byte(text), "my.yaml", c)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Scenarios[0]; got.TTL != 7*examTTL || got.Workload.Think.Min < 4*examTTL {
		t.Errorf("a lease of %v, work of %v", got.TTL, got.Workload.Think)
	}
}

func TestMistakesInAttacksAreLocated(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"unknown attack", "{attack: late-release,", "{attack: late-relase,",
			`my.yaml:4:14: there is no attack named "late-relase"; did you mean late-release?`},
		{"unknown lock", "lock: redis-setnx}", "lock: redis-setny}", `my.yaml:4:34: unknown lock "redis-setny"`},
		{"no lock", "late-release, lock: redis-setnx}", "late-release}", "lock must be given"},
		{"no lease", "ttl: 500ms, ", "", "my.yaml:4:5: ttl must be given"},
		{"no store", "store: {kind: unfenced}, ", "", `my.yaml:4:5: store kind must be given`},
		{"can't", "[redis-setnx, redlock]", "[redis-setnx, redislock]",
			"my.yaml:14:26: attack cut-off-asking can't be made on redislock: it can't be asked"},
		{"no such fault", "late-release, lock: redis-setnx}", "late-release, lock: etcd-lease}",
			"my.yaml:4:34: attack late-release can't be made on etcd-lease: nothing fits"},
		{"no lock at all", "late-release, lock: redis-setnx}", "late-release, lock: cas}",
			"my.yaml:4:34: attack late-release can't be made on cas: it is no lock"},
		{"a fault beside it", "    about: mine\n", "    faults: [{kind: pause}]\n",
			"my.yaml:8:13: attack late-release brings its own fault"},
		{"an adapter", "    about: mine\n", "    adapter: {command: x, service: redis}\n",
			"my.yaml:6:13: attack late-release: a suite can attack locks that come with lockchaos"},
		{"unknown key", "    about: mine\n", "    abuot: mine\n", `my.yaml:8:5: unknown field "abuot"`},
		{"unknown property", "mutual-exclusion: violated", "mutual-inclusion: violated", "unknown property"},
		{"no workload", "{guard: check}", "{guard: chuck}", `my.yaml:10:23: unknown guard "chuck"`},
		{"the same twice", "name: twice, ", "", `my.yaml:18:18: a second scenario named "redis-setnx/cut-off-asking/unfenced"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(strings.Replace(attackedSuite, c.from, c.to, 1)), "my.yaml", attackable())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got  %v\nwant …%s…", err, c.want)
			}
		})
	}
	if _, err := Parse([]byte(attackedSuite), "my.yaml", catalogue); err == nil {
		t.Error("a catalogue that knows no examinees takes attacks")
	}
}

// FuzzParse: whatever a file holds, it is a suite whose scenarios can be told
// apart, or an error that names the file.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(goodMatrix))
	f.Add([]byte(attackedSuite))
	c := attackable()
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text, "my.yaml", c)
		if err != nil {
			if !strings.Contains(err.Error(), "my.yaml") {
				t.Errorf("no place: %v", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, sc := range s.Scenarios {
			if seen[sc.Name] || sc.Name == "" || sc.TTL <= 0 || sc.Duration <= 0 {
				t.Errorf("%+v", sc)
			}
			seen[sc.Name] = true
		}
	})
}
