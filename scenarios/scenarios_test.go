package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var catalogue = Catalogue{
	Locks: []string{"redis-setnx", "redis-setnx-fenced", "redis-watchdog", "redislock", "redlock", "redsync",
		"etcd-lease", "etcd-txn", "cas", "conditional-update"},
	Tokens:      map[string]bool{"redis-setnx-fenced": true, "etcd-lease": true, "etcd-txn": true},
	Guards:      map[string]bool{"etcd-txn": true},
	LockService: map[string]string{"etcd-txn": "etcd"},
	Engines:     []string{"sqlite", "postgres", "redis", "etcd"},
	Faults:      []string{"pause", "kill"},
	Moments:     []string{"after-grant", "between-read-and-write", "before-write", "before-commit", "random"},
	Workloads:   []string{"counter", "payment", "transfer", "transaction", "stampede"},

	Transactions: []string{"postgres"}, Isolations: []string{"read-committed", "serializable"},
	CheckFault: func(_ *Scenario, f Fault) error {
		if f.Target != "holder" {
			return fmt.Errorf("no target %q", f.Target)
		}
		return nil
	},
}

const good = `suite: mine
scenarios:
  - name: a
    lock: redis-setnx
    ttl: 500ms
    clients: 2
    keys: 1
    store: {kind: unfenced}
    workload: {kind: counter, guard: none, think: 1ms..2ms, rest: 1ms, acquire_timeout: 1s, op_timeout: 1s}
    duration: 1s
    faults:
      - {kind: pause, target: holder, when: random, for: 1s, every: 1s}
    needs: {grants: 1}
    expect: {properties: {token-order: not judged}}
`

func TestMistakesAreLocated(t *testing.T) {
	if _, err := Parse([]byte(good), "my.yaml", catalogue); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"unknown key", "    ttl:", "    ttx:", `my.yaml:5:5: unknown field "ttx"`},
		{"unknown key in defaults", "scenarios:", "defaults: {tttl: 1s}\nscenarios:", `my.yaml:2:12: unknown field "tttl"`},
		{"bad duration", "500ms", "soon", `my.yaml:5:10: "soon" is not a duration`},
		{"negative duration", "500ms", "-1s", `my.yaml:5:10: "-1s": a duration here cannot be negative`},
		{"range upside down", "1ms..2ms", "3ms..2ms", `"3ms..2ms": the first duration is longer`},
		{"unknown lock", "redis-setnx", "redis-setny",
			`my.yaml:4:11: unknown lock "redis-setny": one of redis-setnx, redis-setnx-fenced, redis-watchdog, redislock, redlock, redsync, etcd-lease`},
		{"no token", "{kind: unfenced}", "{kind: fenced}", "my.yaml:8:19: redis-setnx gives no fencing token"},
		{"unknown store", "{kind: unfenced}", "{kind: open}",
			`my.yaml:8:19: unknown store kind "open": one of unfenced, fenced, guarded, broken-fence-gte, broken-fence-write-only`},
		{"unknown engine", "{kind: unfenced}", "{kind: unfenced, engine: oracle}",
			`my.yaml:8:37: unknown store engine "oracle": one of sqlite, postgres`},
		{"fence reads of what", "{kind: unfenced}", "{kind: unfenced, fence_reads: false}",
			"my.yaml:8:42: fence_reads is for a store of kind fenced"},
		{"guard without a key", "{kind: unfenced}", "{kind: guarded}", "my.yaml:8:19: redis-setnx has no key that"},
		{"guard elsewhere", "redis-setnx\n    ttl: 500ms\n    clients: 2\n    keys: 1\n    store: {kind: unfenced}",
			"etcd-txn\n    ttl: 500ms\n    clients: 2\n    keys: 1\n    store: {kind: guarded, engine: postgres}",
			"my.yaml:8:36: a guarded store lies in the lock's own service: its engine is etcd, not postgres"},
		{"no guard", "redis-setnx", "etcd-txn", "my.yaml:8:19: etcd-txn guards each write by its own key"},
		{"no lock", "    lock: redis-setnx\n", "", "my.yaml:3:9: lock must be given"},
		{"unknown moment", "when: random", "when: never", `my.yaml:12:45: unknown moment "never"`},
		{"unknown property", "token-order", "token-odor", `unknown property "token-odor"`},
		{"unknown outcome", "not judged", "maybe", `unknown outcome "maybe"`},
		{"no clients", "clients: 2", "clients: 0", "my.yaml:6:14: 0 clients: there may be 1 to 200"},
		{"path in name", "name: a", "name: ../a", `my.yaml:3:11: "../a": a name is words of letters`},
		{"dots in name", "name: a", "name: index.html", `my.yaml:3:11: "index.html": a name is words of letters`},
		{"escape in name", "name: a", `name: "a\e[31mb"`, "a name is words of letters"},
		{"negative needs", "{grants: 1}", "{grants: -1}", "my.yaml:13:12: needs can't be negative"},
		{"endless duration", "duration: 1s", "duration: 9000h", "my.yaml:10:15: duration must be given, longer than 0 and at most 24h0m0s"},
		{"endless think", "1ms..2ms", "0s..2562047h", "think, rest and next_after may last 24h0m0s at most"},
		{"unknown fault", "kind: pause", "kind: hug", `my.yaml:12:16: unknown fault "hug"`},
		{"unknown target", "target: holder", "target: redis-9", `my.yaml:12:31: no target "redis-9"`},
		{"endless pause", "for: 1s", "for: 0s", "a fault must last longer than 0"},
		{"unknown workload", "kind: counter", "kind: juggling",
			`my.yaml:9:22: unknown workload "juggling": one of counter, payment, transfer, transaction, stampede`},
		{"one account", "kind: counter", "kind: transfer, order: ordered", "my.yaml:7:11: workload transfer takes two keys"},
		{"no order", "kind: counter", "kind: transfer", "order must be given: one of ordered, unordered, try"},
		{"order of a counter", "kind: counter", "kind: counter, order: try, try_for: 1s",
			"my.yaml:9:38: order is for workload transfer or transaction, not for counter"},
		{"readers of a mutex", "kind: counter", "kind: counter, readers: 0.5", "my.yaml:9:40: redis-setnx knows no readers"},
		{"too many readers", "kind: counter", "kind: counter, readers: 1.5", "my.yaml:9:40: readers is 1.5: it is the share of rounds"},
		{"readers below zero", "kind: counter", "kind: counter, readers: -0.5", "readers is -0.5"},
		{"no number of readers", "kind: counter", "kind: counter, readers: .nan", "readers is NaN"},
		{"readers of a transfer", "kind: counter", "kind: transfer, order: try, try_for: 1s, readers: 0.5",
			"readers is for workload counter, queue or steps, not for transfer"},
		{"no time to try", "kind: counter", "kind: transfer, order: try", "order try needs try_for"},
		{"time to try", "kind: counter", "kind: transfer, order: ordered, try_for: 1s", "try_for is for workload transfer with order try"},
		{"next_after of a counter", "kind: counter", "kind: counter, next_after: 1s",
			"my.yaml:9:43: next_after is for workload relay, not for counter"},
		{"isolation of a counter", "kind: counter", "kind: counter, isolation: serializable",
			"isolation is for workload transaction, not for counter"},
		{"a transaction without a level", "kind: counter", "kind: transaction, order: commit-first", "isolation level must be given"},
		{"a transaction in a file", "kind: counter", "kind: transaction, order: commit-first, isolation: serializable",
			"workload transaction needs a store with transactions: engine postgres, not sqlite"},
		{"before a commit that there is not", "when: random", "when: before-commit", "before-commit is a moment of workload transaction"},
		{"one twin", "clients: 2", "clients: 2\n    twins: 1", "twins is how many of the 2 clients have one identity"},
		{"more twins than clients", "clients: 2", "clients: 2\n    twins: 3", "twins is how many of the 2 clients"},
		{"a second document", "suite: mine", "suite: mine\n---\nsuite: two", "a second YAML document"},
		{"no mapping", good, "suite: mine\nscenarios: [null, 3]\n", "scenario 1 of the list is no mapping"},
		{"not YAML", "suite: mine", "suite: [mine", "my.yaml:2:1: ',' or ']' must"},
		{"empty", good, "", "my.yaml: the file is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(strings.Replace(good, c.from, c.to, 1)), "my.yaml", catalogue)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got  %v\nwant …%s…", err, c.want)
			}
		})
	}
}

// A kill is over at once, so it needs no length; what takes several clients is refused with one.
func TestWhatKindsNeed(t *testing.T) {
	kill := strings.Replace(good, "kind: pause, target: holder, when: random, for: 1s", "kind: kill, target: holder, when: random", 1)
	if s, err := Parse([]byte(kill), "my.yaml", catalogue); err != nil || s.Scenarios[0].Faults[0].For != 0 {
		t.Errorf("a kill: %v", err)
	}
	for _, kind := range []string{"payment", "stampede"} {
		alone := strings.NewReplacer("kind: counter", "kind: "+kind, "clients: 2", "clients: 1").Replace(good)
		if _, err := Parse([]byte(alone), "my.yaml", catalogue); err == nil ||
			!strings.Contains(err.Error(), "my.yaml:6:14: workload "+kind+" needs at least 2 clients") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// The page on scenarios names every key that a scenario may have.
func TestEveryKeyIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	looked := map[reflect.Type]bool{} // the parts of a fault are faults
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		if looked[typ] {
			return
		}
		looked[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			inner := f.Type
			for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if key == "" {
				continue
			}
			seen++
			if !regexp.MustCompile("[`.]" + key + "[`:. ]").Match(page) {
				t.Errorf("docs/scenarios.md does not name %s (%s.%s)", key, typ.Name(), f.Name)
			}
			if inner.Kind() == reflect.Struct {
				look(inner)
			}
		}
	}
	look(reflect.TypeFor[Scenario]())
	if seen < 25 {
		t.Errorf("only %d keys were looked at", seen)
	}
}

// What a scenario does not say it needs is not nothing; and a planned fault has to strike.
func TestNeedsHaveDefaults(t *testing.T) {
	for _, c := range []struct {
		needs string
		want  Needs
	}{
		{"", Needs{20, 5, 1}},
		{"    needs: {grants: 3}\n", Needs{3, 5, 1}},
		{"    needs: {grants: 0, handovers: 0, bites: 0}\n", Needs{0, 0, 1}},
		{"    needs: {bites: 4}\n", Needs{20, 5, 4}},
	} {
		s, err := Parse([]byte(strings.Replace(good, "    needs: {grants: 1}\n", c.needs, 1)), "my.yaml", catalogue)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Scenarios[0].Needs; got != c.want {
			t.Errorf("%q: %+v, want %+v", c.needs, got, c.want)
		}
	}
}

func TestMistakesInAPlanAreLocated(t *testing.T) {
	s, err := Parse([]byte(good), "my.yaml", catalogue)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plan.yaml")
	s.Scenarios[0].Lock = "nope"
	if err := (Plan{Seed: 1, Scenario: s.Scenarios[0]}).Save(file); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadPlan(file, catalogue); err == nil || !strings.Contains(err.Error(), `plan.yaml:5:9: unknown lock "nope"`) {
		t.Fatalf("got %v", err)
	}
}

func TestStreamsAreIndependent(t *testing.T) {
	p := Plan{Seed: 7, Scenario: Scenario{Name: "s"}}
	a, b := p.Stream("client 1").Uint64(), p.Stream("client 2").Uint64()
	if a == b {
		t.Fatal("two streams draw the same")
	}
	if p.Stream("client 1").Uint64() != a {
		t.Fatal("a stream does not repeat")
	}
	p.Seed = 8
	if p.Stream("client 1").Uint64() == a {
		t.Fatal("the seed changes nothing")
	}
}

func TestDrawStaysInRange(t *testing.T) {
	rng := Plan{Seed: 1}.Stream("draws")
	r := Range{Min: 10, Max: 12}
	seen := map[Duration]int{}
	for range 300 {
		seen[r.Draw(rng)]++
	}
	if len(seen) != 3 || seen[10] == 0 || seen[12] == 0 {
		t.Fatalf("draws %v", seen)
	}
	if d := (Range{Min: 5, Max: 5}).Draw(rng); d != 5 {
		t.Fatalf("a single duration draws %v", d)
	}
}

// TestStores: what each kind of store amounts to.
func TestStores(t *testing.T) {
	no := false
	for _, c := range []struct {
		store                         Store
		engine                        string
		fenced, reads, equal, guarded bool
	}{
		{Store{Kind: "unfenced"}, "sqlite", false, false, false, false},
		{Store{Kind: "fenced"}, "sqlite", true, true, false, false},
		{Store{Kind: "fenced", Engine: "redis"}, "redis", true, true, false, false},
		{Store{Kind: "fenced", FenceReads: &no}, "sqlite", true, false, false, false},
		{Store{Kind: "guarded"}, "etcd", false, false, false, true},
		{Store{Kind: "broken-fence-gte"}, "sqlite", true, true, true, false},
		{Store{Kind: "broken-fence-write-only"}, "sqlite", true, false, false, false},
	} {
		s := c.store
		if s.EngineName() != c.engine || s.Fenced() != c.fenced || s.ReadsRaise() != c.reads ||
			s.AcceptsEqual() != c.equal || s.Guarded() != c.guarded {
			t.Errorf("%+v: engine %s, fenced %t, reads %t, equal %t, guarded %t", s, s.EngineName(), s.Fenced(),
				s.ReadsRaise(), s.AcceptsEqual(), s.Guarded())
		}
	}
}
