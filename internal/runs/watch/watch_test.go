package watch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/runs/saved"
)

// TestMain is also a watch of its own, for a test to kill.
func TestMain(m *testing.M) {
	if dir := os.Getenv("LOCKCHAOS_TEST_WATCH"); dir != "" {
		if _, err := Run(context.Background(), os.Stdin, settings(dir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func settings(dir string) Settings {
	return Settings{Format: formats.Auto, Dir: dir, Late: 50 * time.Millisecond, Forget: 2 * time.Second,
		Program: "lockchaos", Out: io.Discard,
		Options: audit.Options{Map: map[string]string{"client": "pod"}}}
}

// log makes a log in which a lock is granted twice now and then, and tokens go back.
func log(seed uint64, lines int, defects bool) (all [][]byte) {
	r := rand.New(rand.NewPCG(seed, 1))
	type line struct {
		at   int64
		text string
	}
	var out []line
	at := int64(1_700_000_000_000)
	say := func(at int64, pod, event, key string, token int) {
		out = append(out, line{at, fmt.Sprintf("%d,%s,%s,%s,%d", at, pod, event, key, token)})
	}
	token, free := map[string]int{}, map[string]int64{}
	for len(out) < lines {
		at += int64(r.IntN(8)) + 1
		key := fmt.Sprintf("k%d", r.IntN(6))
		if free[key] >= at && !(defects && r.IntN(40) == 0) {
			continue
		}
		pod := fmt.Sprintf("p%d", r.IntN(9))
		token[key]++
		given := token[key]
		if defects && r.IntN(60) == 0 {
			given = max(1, given-2)
		}
		end := at + int64(r.IntN(60)) + 2
		free[key] = max(free[key], end)
		say(at, pod, "granted", key, given)
		if r.IntN(3) == 0 {
			say(end-1, pod, "write", key, given)
		}
		if r.IntN(30) > 0 {
			say(end, pod, "released", key, given)
		}
	}
	slices.SortStableFunc(out, func(a, b line) int { return int(a.at - b.at) })
	all = append(all, []byte("time,pod,event,key,token"))
	for i := range out {
		all = append(all, []byte(out[i].text))
	}
	for range lines / 50 { // some come a little late
		if i := 1 + r.IntN(len(all)-3); !bytes.Equal(all[i], all[i+1]) {
			all[i], all[i+1] = all[i+1], all[i]
		}
	}
	return all
}

// whole is what check finds in the whole log.
func whole(t *testing.T, lines [][]byte) (ids []string) {
	t.Helper()
	s, err := audit.Read(bytes.NewReader(append(bytes.Join(lines, []byte("\n")), '\n')), "whole", formats.CSV, settings("").Options)
	if err != nil {
		t.Fatal(err)
	}
	j, err := saved.Translated(s, everything, false)
	if err != nil {
		t.Fatal(err)
	}
	of := func(op int64) int { first, _ := s.Lines(op); return first }
	for _, p := range j.Verdict.Properties {
		for _, v := range p.Violations {
			id := v.Property + " " + v.Key
			if v.A != nil {
				id += fmt.Sprintf(" %d/%d", of(v.A.Grant), v.A.Token)
			}
			if v.B != nil {
				id += fmt.Sprintf(" %d/%d", of(v.B.Grant), v.B.Token)
			}
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func told(t *testing.T, dir string) (ids []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, FindingsFile))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var f Finding
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, f.ID)
		if _, err := os.Stat(f.Page); f.Page != "" && err != nil {
			t.Errorf("no page of %s: %v", f.ID, err)
		}
	}
	slices.Sort(ids)
	return ids
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if len(want) < 3 {
		t.Fatalf("the log shows too little: %v", want)
	}
	for _, id := range want {
		if !slices.Contains(got, id) {
			t.Errorf("left out: %s", id)
		}
	}
	for i, id := range got {
		if !slices.Contains(want, id) {
			t.Errorf("told, and not found by check: %s", id)
		}
		if i > 0 && got[i-1] == id {
			t.Errorf("told twice: %s", id)
		}
	}
}

// TestFindsWhatCheckFinds watches logs that come at once and line by line.
func TestFindsWhatCheckFinds(t *testing.T) {
	for seed := range uint64(6) {
		dir, lines := t.TempDir(), log(seed, 3000, true)
		s := settings(dir)
		in, out := io.Pipe()
		go func() {
			for i, line := range lines {
				_, _ = out.Write(append(slices.Clone(line), '\n'))
				if i%600 == 0 {
					// so that passes fall among the lines; the outcome hangs on none
					time.Sleep(passEvery)
				}
			}
			_ = out.Close()
		}()
		r, err := Run(t.Context(), in, s)
		if err != nil || r.Lines != int64(len(lines)) || r.Bad+r.Beyond != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		same(t, told(t, dir), whole(t, lines))
	}
}

// TestKilledAtAnyMoment kills a watch again and again, and sends it the log from its start.
func TestKilledAtAnyMoment(t *testing.T) {
	dir, lines := t.TempDir(), log(11, 6000, true)
	r := rand.New(rand.NewPCG(5, 5))
	killed := 0
	for round := 0; ; round++ {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "LOCKCHAOS_TEST_WATCH="+dir)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		last := round == 25
		until := len(lines)
		if !last {
			until = min(len(lines), 1+(round+1)*len(lines)/26+r.IntN(200))
		}
		out := bufio.NewWriter(in)
		for _, line := range lines[:until] {
			_, _ = out.Write(append(slices.Clone(line), '\n'))
		}
		_ = out.Flush()
		if last {
			_ = in.Close()
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			break
		}
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond) // any moment
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		killed++
	}
	same(t, told(t, dir), whole(t, lines))
	t.Logf("killed %d times", killed)
}

// TestEndSentAgain: tail sends the last lines again, and those that followed.
func TestEndSentAgain(t *testing.T) {
	dir, lines := t.TempDir(), log(21, 2000, true)
	for from, until := 0, 900; ; from, until = until-10, min(len(lines), until+500) {
		part := append(bytes.Join(lines[max(0, from):until], []byte("\n")), '\n')
		r, err := Run(t.Context(), bytes.NewReader(part), settings(dir))
		if err != nil || r.Lines != int64(until) {
			t.Fatalf("from line %d to %d: %+v, %v", from, until, r, err)
		}
		if until == len(lines) {
			break
		}
	}
	same(t, told(t, dir), whole(t, lines))
}

// TestBadLines are kept aside, and what they say harms no one.
func TestBadLines(t *testing.T) {
	dir := t.TempDir()
	lines := log(3, 800, true)
	clean := whole(t, lines)
	bad := slices.Clone(lines)
	bad = append(bad, []byte("what"), []byte(`"half`), []byte(strings.Repeat("x", longestLine+5)), []byte("\x1b[31m,a,b,c,1"))
	r, err := Run(t.Context(), bytes.NewReader(append(bytes.Join(bad, []byte("\n")), '\n')), settings(dir))
	if err != nil || r.Bad != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(told(t, dir)) != len(clean) {
		t.Errorf("%d findings, want %d", len(told(t, dir)), len(clean))
	}
	if info, err := os.Stat(filepath.Join(dir, "bad-lines")); err != nil || info.Size() > 1<<14 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestForgets: what is kept of a log does not grow with it.
func TestForgets(t *testing.T) {
	dir, lines := t.TempDir(), log(9, 120_000, false)
	if _, err := Run(t.Context(), bytes.NewReader(append(bytes.Join(lines, []byte("\n")), '\n')), settings(dir)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, journalFile))
	if err != nil || info.Size() > 4<<20*3/4 {
		t.Errorf("journal: %v, %v", info, err)
	}
}

// TestLateLineExcuses: a release that another pod's line overtook still comes
// in time. Nothing is told meanwhile; a second holder that nothing excuses is.
func TestLateLineExcuses(t *testing.T) {
	for _, format := range []string{"csv", "json"} {
		t.Run(format, func(t *testing.T) {
			s := settings(t.TempDir())
			s.Late, s.Options.Validity = time.Minute, &audit.Validity{Released: true}
			w := &watcher{Settings: s, keys: map[string]*key{}, dirty: map[string]*key{}, arrived: time.Now()}
			var err error
			if w.found, err = openFindings(s.Dir); err != nil {
				t.Fatal(err)
			}
			defer w.found.close()
			w.aside = &unjudgedLines{dir: s.Dir}
			at := int64(1_700_000_000_000)
			line := func(after int64, pod, event string) []byte {
				if format == "json" {
					return fmt.Appendf(nil, `{"time":%d,"pod":%q,"event":%q,"key":"k"}`, at+after, pod, event)
				}
				return fmt.Appendf(nil, "%d,%s,%s,k", at+after, pod, event)
			}
			come := func(over bool, want int, lines ...[]byte) {
				t.Helper()
				if err := errors.Join(w.takeAll(lines), w.pass(over)); err != nil {
					t.Fatal(err)
				}
				if len(w.found.all) != want {
					t.Fatalf("%d findings, want %d: %v", len(w.found.all), want, w.found.all)
				}
			}
			first := [][]byte{line(0, "a", "acquire"), line(1, "a", "write")}
			if format == "csv" {
				first = append([][]byte{[]byte("time,pod,event,key")}, first...)
			}
			come(false, 0, first...)
			come(false, 0, line(1000, "b", "acquire"), line(1001, "b", "write"))
			come(false, 0, line(900, "a", "release"))
			come(false, 0, line(70_000, "b", "write"), line(90_000, "c", "acquire"), line(90_001, "c", "write"))
			come(false, 0, line(91_000, "b", "write"), line(92_000, "b", "release"))
			// its clock may be ahead, until another client's line has come as far
			come(false, 0, line(200_000, "c", "release"))
			come(false, 2, line(200_001, "d", "acquire"))
			come(true, 2) // the two holds, and the write of b that c's hold makes a stale one
			if err := w.journal.close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
