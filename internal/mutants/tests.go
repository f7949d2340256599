package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// tests is the test binary with all mutants in it, and what is known of its tests.
type tests struct {
	work, binary, dir string
	list              []test // the quickest first
}

type test struct {
	name    string
	took    time.Duration // processor time
	reaches map[int]bool
}

// tiers are the processor times up to which tests are asked together; what
// takes longer is asked one by one, after them.
var tiers = [...]time.Duration{100 * time.Millisecond, 700 * time.Millisecond}

// build compiles the mutated package and its tests.
func build(ctx context.Context, p *source) (*tests, error) {
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	b := &tests{work: work, binary: filepath.Join(work, "mutants.test"), dir: p.dir}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	put := func(name string, text []byte) {
		path := filepath.Join(work, name+".txt")
		overlay.Replace[filepath.Join(p.dir, name)] = path
		err = errors.Join(err, os.WriteFile(path, text, 0o600))
	}
	for name, text := range p.mutated {
		put(name, text)
	}
	put("mutant_switchboard.go", []byte("package "+p.pkg+"\n"+switchboard))
	put("mutant_recorder_test.go", []byte("package "+p.pkg+"\n"+recorder))
	text, encodeErr := json.Marshal(overlay)
	if err = errors.Join(err, encodeErr, os.WriteFile(filepath.Join(work, "overlay.json"), text, 0o600)); err != nil {
		b.remove()
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", filepath.Join(work, "overlay.json"),
		"-o", b.binary, ".")
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the mutated package does not compile (its text is in %s): %w\n%s", work, err, out)
	}
	return b, nil
}

func (b *tests) remove() { os.RemoveAll(b.work) }

// measure runs every test by itself, to know how long it takes and which mutants it reaches.
func (b *tests) measure(ctx context.Context, mutants int, o options) error {
	out, err := b.command(ctx, 0, limits{10, 60}, "-test.list", "^Test").Output()
	if err != nil {
		return fmt.Errorf("list of the tests: %w", err)
	}
	for _, name := range strings.Fields(string(out)) {
		if o.without.MatchString(name) {
			continue
		}
		reached := filepath.Join(b.work, "reached")
		cmd := b.command(ctx, 0, limits{300, 900}, "-test.short", "-test.run", "^"+name+"$")
		cmd.Env = append(cmd.Env, "MUTANT_COUNT="+strconv.Itoa(mutants+1), "MUTANT_REACHED="+reached)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s fails without any mutant: %w\n%s", name, err, out)
		}
		t := test{name: name, took: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
			reaches: map[int]bool{}}
		text, err := os.ReadFile(reached)
		if err != nil {
			return err
		}
		for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
			id, err := strconv.Atoi(s.Text())
			if err != nil {
				return err
			}
			t.reaches[id] = true
		}
		if o.upTo == 0 || t.took <= o.upTo {
			b.list = append(b.list, t)
		}
	}
	slices.SortStableFunc(b.list, func(x, y test) int { return int(x.took - y.took) })
	return nil
}

// tryAll tests mutants, some at once, and says which survive.
func (b *tests) tryAll(ctx context.Context, chosen []*mutant, o options) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.parallel))
	for n, m := range chosen {
		if !o.wants(m) {
			continue
		}
		group.Go(func() (err error) {
			if m.killedBy, err = b.try(ctx, m); err != nil {
				return fmt.Errorf("%s: %w", m, err)
			}
			m.tested = true
			if m.killedBy == "" {
				fmt.Printf("%d/%d survives: %s\n", n+1, len(chosen), m)
			}
			return nil
		})
	}
	return group.Wait()
}

// try runs the tests that reach a mutant against it, and returns the one that noticed, or "".
func (b *tests) try(ctx context.Context, m *mutant) (string, error) {
	var names []string
	spent := time.Duration(0)
	for i, t := range b.list {
		if t.reaches[m.site] {
			names, spent = append(names, t.name), spent+t.took
		}
		last := i+1 == len(b.list)
		if len(names) == 0 || !last && tier(t.took) == tier(b.list[i+1].took) && tier(t.took) < len(tiers) {
			continue
		}
		if by, err := b.ask(ctx, m.id, spent, names...); by != "" || err != nil {
			return by, err
		}
		names, spent = nil, 0
	}
	return "", nil
}

// tier is the place of a test among those that are asked together.
func tier(took time.Duration) int {
	for i, limit := range tiers {
		if took <= limit {
			return i
		}
	}
	return len(tiers)
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// ask runs some tests against a mutant. One that takes ten times as long as
// without it, or has no end, is noticed too.
func (b *tests) ask(ctx context.Context, id int, took time.Duration, names ...string) (string, error) {
	cpu := 3 + int(10*took/time.Second)
	cmd := b.command(ctx, id, limits{cpu, 60 * cpu}, "-test.short", "-test.failfast", "-test.run",
		"^("+strings.Join(names, "|")+")$")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return "", nil
	case !errors.As(err, &exit):
		return "", err
	}
	switch at := failed.FindSubmatch(out); {
	case at != nil && bytes.Contains(out, []byte("\npanic: ")):
		return string(at[1]) + " (panic)", nil
	case at != nil:
		return string(at[1]), nil
	case bytes.Contains(out, []byte("out of memory")), bytes.Contains(out, []byte("cannot allocate memory")):
		return "no memory left", nil
	case !exit.Exited():
		return "no end", nil
	}
	return "crash", nil
}

// limits bound one run: processor time and time on the wall (s).
type limits struct{ cpu, wall int }

// command runs the binary with a mutant, 0: none.
func (b *tests) command(ctx context.Context, id int, l limits, args ...string) *exec.Cmd {
	// The limit of memory (kB) is for mutants that allocate without end.
	shell := fmt.Sprintf(`ulimit -v 6000000; ulimit -t %d; exec "$0" "$@"`, l.cpu)
	args = append([]string{"-c", shell, b.binary, "-test.timeout", strconv.Itoa(l.wall) + "s"}, args...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "MUTANT="+strconv.Itoa(id), "GOMAXPROCS=1", "GOGC=400")
	return cmd
}
