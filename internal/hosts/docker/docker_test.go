package docker

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestHalves(t *testing.T) {
	for _, c := range []struct{ prefix, lower, upper string }{
		{"10.89.4.0/22", "10.89.4.0/23", "10.89.6.0"},
		{"172.18.0.0/16", "172.18.0.0/17", "172.18.128.0"},
		{"10.93.0.0/24", "10.93.0.0/25", "10.93.0.128"},
		{"10.93.0.64/26", "10.93.0.64/27", "10.93.0.96"},
	} {
		lower, upper := halves(netip.MustParsePrefix(c.prefix))
		if lower.String() != c.lower || upper.String() != c.upper {
			t.Errorf("%s: %s and %s, want %s and %s", c.prefix, lower, upper, c.lower, c.upper)
		}
	}
}

func TestCandidatesDoNotOverlap(t *testing.T) {
	for i := range uint32(networks) {
		for j := range i {
			if candidate(i).Overlaps(candidate(j)) {
				t.Fatalf("%d and %d: %s and %s overlap", i, j, candidate(i), candidate(j))
			}
		}
		if !candidate(i).Addr().IsPrivate() || candidate(i) != candidate(i).Masked() {
			t.Errorf("%s is not private, or no range", candidate(i))
		}
	}
}

// An owner is dead when its number belongs to another process, or to none, or
// is from before the machine's last start; where its number means nothing here
// it is unknown, and so is what is no label of ours.
func TestOwner(t *testing.T) {
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	other := me
	other.pid = child.Process.Pid
	if other.start, err = startOf(other.pid); err != nil {
		t.Fatal(err)
	}
	read := func(o owner) owner {
		t.Helper()
		parsed, ok := parseOwner(o.String())
		if !ok || parsed != o {
			t.Fatalf("%q is read as %v", o, parsed)
		}
		return parsed
	}
	again, boot, space := me, me, me
	again.start += "1"
	boot.boot = "another"
	space.space = "pid:[1]"
	for _, c := range []struct {
		name string
		who  owner
		want life
	}{{"me", me, living}, {"another", other, living}, {"the number given again", again, dead},
		{"an earlier boot", boot, dead}, {"another namespace", space, unknown}} {
		if got := read(c.who).alive(me); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	if got := read(other).alive(me); got != dead {
		t.Errorf("after its end: %v", got)
	}
	e := Engine{owner: me}
	for _, label := range []string{"", "1", me.boot + " x y z", "a b c d e"} {
		if got := e.judge(label); got != unknown {
			t.Errorf("label %q: %v", label, got)
		}
	}
}

func TestStatic(t *testing.T) {
	f, err := os.Open("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := static(f); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("a program that needs a loader: %v", err)
	}
	if err := static(strings.NewReader("no program")); err == nil {
		t.Error("what is no program could be an agent")
	}
}

// A node without a task is found before any other is started. The engine here
// is none: to start a node would be a panic.
func TestNoNodeStartsWithoutTheTasksOfAll(t *testing.T) {
	missing := errors.New("there is no such program")
	s := &scenario{net: &bridge{prefix: netip.MustParsePrefix("10.89.4.0/22")}, Spec: Spec{Nodes: []Node{
		{Name: "one-1", Task: func(map[string]string) (Task, error) { return Task{Command: []string{"one"}}, nil }},
		{Name: "one-2", Task: func(map[string]string) (Task, error) { return Task{}, missing }},
	}}}
	nodes, err := s.startNodes(t.Context(), t.Context())
	if nodes != nil || !errors.Is(err, missing) || !strings.Contains(err.Error(), "one-2") {
		t.Errorf("%v, %v", nodes, err)
	}
}
