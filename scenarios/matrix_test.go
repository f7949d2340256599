package scenarios

import (
	"slices"
	"strings"
	"testing"
)

const goodMatrix = `suite: mine
defaults: {ttl: 500ms, clients: 2, keys: 1, duration: 1s}
matrix:
  - locks: [redis-setnx-fenced, etcd-lease]
    with:
      ttl: 2s
      workload: {kind: counter, guard: none, think: 1ms, rest: 1ms, acquire_timeout: 1s, op_timeout: 1s}
    cases:
      - name: none/unfenced
        store: {kind: unfenced}
      - name: pause-holder/fenced
        store: {kind: fenced}
        duration: 3s
        faults: [{kind: pause, target: holder, when: random, for: 1s, every: 1s}]
        expect: {properties: {mutual-exclusion: violated}}
  - locks: [redlock]
    with: {workload: {kind: counter, guard: none, think: 1ms, rest: 1ms, acquire_timeout: 1s, op_timeout: 1s}}
    cases: [{name: none/unfenced, store: {kind: unfenced}}]
`

func TestMatrixIsExpanded(t *testing.T) {
	s, err := Parse([]byte(goodMatrix), "my.yaml", catalogue)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, sc := range s.Scenarios {
		names = append(names, sc.Name)
	}
	want := []string{"redis-setnx-fenced/none/unfenced", "redis-setnx-fenced/pause-holder/fenced", "etcd-lease/none/unfenced",
		"etcd-lease/pause-holder/fenced", "redlock/none/unfenced"}
	if !slices.Equal(names, want) {
		t.Fatalf("%q", names)
	}
	quiet, paused, last := s.Scenarios[2], s.Scenarios[3], s.Scenarios[4]
	if quiet.Lock != "etcd-lease" || quiet.TTL.String() != "2s" || len(quiet.Faults) != 0 ||
		len(quiet.Expect.Properties) != 0 || quiet.Needs != usualNeeds {
		t.Errorf("%+v", quiet)
	}
	if len(paused.Faults) != 1 || paused.Duration.String() != "3s" || paused.Needs.Bites != 1 ||
		paused.Expect.Properties["mutual-exclusion"] != "violated" {
		t.Errorf("%+v", paused)
	}
	if last.TTL.String() != "500ms" {
		t.Errorf("%+v", last)
	}
}

func TestMistakesInAMatrixAreLocated(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"unknown key", "duration: 3s", "durations: 3s", `my.yaml:13:9: unknown field "durations"`},
		{"unknown key of a group", "cases: [", "fails: [", `my.yaml:18:5: unknown field "fails"`},
		{"unknown lock", "etcd-lease", "etcd-leash", `my.yaml:4:33: unknown lock "etcd-leash"`},
		{"no token", "etcd-lease", "redsync", "my.yaml:12:23: redsync gives no fencing token"},
		{"no locks", "[redlock]", "[]", "a matrix needs locks"},
		{"no cases", "[{name: none/unfenced, store: {kind: unfenced}}]", "[]", "a matrix needs cases"},
		{"null", "[{name: none/unfenced, store: {kind: unfenced}}]", "[null]",
			"case 1 of matrix 2, or what it is laid over, is no mapping"},
		{"twice", "[redlock]", "[etcd-lease]", `a second scenario named "etcd-lease/none/unfenced"`},
		{"includes nothing that is there", "suite: mine", "suite: mine\ninclude: [quack]", `there is no suite "quack" to include`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(strings.Replace(goodMatrix, c.from, c.to, 1)), "my.yaml", catalogue)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "unknown lock") > 1 {
				t.Fatalf("got  %v\nwant …%s…", err, c.want)
			}
		})
	}
}
