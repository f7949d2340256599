package clienttest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/decided"
)

// childVar holds the order of a process that is to play a holder.
const childVar = "LOCKCHAOS_CLIENTTEST_HOLDER"

type command struct {
	Kind  string
	Key   string
	Nodes []string
	TTL   time.Duration

	Client int
}

// Child plays a holder, and does not return, in a process that the suite
// started for that. Elsewhere it returns at once. Call it first in TestMain.
func Child(kinds ...clients.Kind) {
	text := os.Getenv(childVar)
	if text == "" {
		return
	}
	var o command
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for _, kind := range kinds {
		if kind.Name == o.Kind {
			if err := hold(kind, o); err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	fmt.Println("error", o.Kind, "is not among the kinds given to Child")
	os.Exit(1)
}

// hold acquires the key and then obeys lines on stdin, until its end. Every answer is a line.
func hold(kind clients.Kind, o command) error {
	ctx := context.Background()
	l, err := kind.Open(ctx, clients.Config{Nodes: o.Nodes, TTL: o.TTL, Client: o.Client,
		Identity: clients.IdentityOf(o.Client, 0), Seed: 99})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(words ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(words...)
	}
	holder, _ := l.(clients.Holder)
	watcher, _ := l.(clients.Watcher)
	say("abilities", holder != nil, watcher != nil)
	if watcher != nil {
		go func() {
			for loss := range watcher.Lost() {
				say("lost", loss.Token, loss.Key, loss.Why)
			}
		}()
	}
	var g clients.Grant
	acquire := func() error {
		var err error
		if g, err = l.Acquire(ctx, o.Key); err == nil {
			say("granted", g.Token)
		}
		return err
	}
	if err := acquire(); err != nil {
		return err
	}
	obey := map[string]func() error{
		"held": func() (err error) {
			if holder != nil {
				err = holder.Held(ctx, g)
			}
			if errors.Is(err, clients.ErrNotHeld) {
				say("not held", err)
				return nil
			}
			if err == nil {
				say("held")
			}
			return err
		},
		"release": func() error {
			if err := l.Release(ctx, g); err != nil && !errors.Is(err, clients.ErrNotHeld) {
				return err
			}
			say("released")
			return nil
		},
		"acquire": acquire,
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := obey[in.Text()](); err != nil {
			say("error", err) // and a loss may be told after it
		}
	}
	return nil
}

// holder is such a process, seen from the test.
type holder struct {
	s               *suite
	cmd             *exec.Cmd
	in              io.WriteCloser
	lines           chan string
	kept            []string // lost-events that came while something else was expected
	holder, watcher bool
}

func (s *suite) startHolder(key string) *holder {
	s.Helper()
	return s.startHolderAs(99, key)
}

func (s *suite) startHolderAs(client int, key string) *holder {
	s.Helper()
	text, err := json.Marshal(command{s.kind.Name, key, s.Nodes, s.TTL, client})
	if err != nil {
		s.Fatal(err)
	}
	h := &holder{s: s, cmd: exec.Command("/proc/self/exe"), lines: make(chan string, 100)}
	h.cmd.Env = append(os.Environ(), childVar+"="+string(text))
	h.cmd.Stderr = os.Stderr
	h.in, err = h.cmd.StdinPipe()
	if err != nil {
		s.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.losses.watch(h.toldLoss)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(h.lines)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			h.lines <- sc.Text()
		}
	}()
	s.Cleanup(func() {
		h.kill()
		<-read
		_ = h.cmd.Wait() // it was killed
	})
	// How long a process takes to start says nothing of a lock.
	ctx, cancel := context.WithTimeout(context.Background(), decided.Limit)
	defer cancel()
	abilities := h.expectWithin(ctx, "abilities")
	h.holder, h.watcher = strings.HasPrefix(abilities, "true"), strings.HasSuffix(abilities, "true")
	return h
}

// toldLoss reports whether the holder has told of a loss that nobody has read yet.
func (h *holder) toldLoss() bool {
	for {
		select {
		case line, ok := <-h.lines:
			if ok {
				h.kept = append(h.kept, line)
				continue
			}
		default:
		}
		return slices.ContainsFunc(h.kept, func(line string) bool { return strings.HasPrefix(line, "lost") })
	}
}

func (h *holder) kill() { _ = h.cmd.Process.Kill() } // fails only when it is dead

func (h *holder) signal(sig syscall.Signal) {
	h.s.Helper()
	if err := h.cmd.Process.Signal(sig); err != nil {
		h.s.Fatal(err)
	}
	if sig != syscall.SIGSTOP {
		return
	}
	h.s.eventually("the holder is stopped", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.cmd.Process.Pid))
		return err == nil && strings.HasPrefix(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " T")
	})
}

func (h *holder) send(line string) {
	h.s.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.s.Fatal(err)
	}
}

// expect waits for a line that begins with the words, and returns the rest of
// it. A lost-event may come in between, and is kept for the call that waits for it.
func (h *holder) expect(words string) string {
	h.s.Helper()
	return h.expectWithin(h.s.patience(), words)
}

func (h *holder) expectWithin(ctx context.Context, words string) string {
	h.s.Helper()
	for i, line := range h.kept {
		if rest, found := strings.CutPrefix(line, words); found {
			h.kept = slices.Delete(h.kept, i, i+1)
			return strings.TrimSpace(rest)
		}
	}
	for {
		select {
		case line, ok := <-h.lines:
			if rest, found := strings.CutPrefix(line, words); found {
				return strings.TrimSpace(rest)
			}
			if !ok || !strings.HasPrefix(line, "lost") {
				if h.s.kind.Claims.NoExpiry {
					h.s.overtaken(0) // only a service that is silent for a TTL ends a hold
				}
				h.s.Fatalf("the holder said %q (ended: %t), expected %q", line, !ok, words)
			}
			h.kept = append(h.kept, line)
		case <-ctx.Done():
			h.s.Fatalf("the holder never said %q", words)
		}
	}
}

func (h *holder) expectGrant() (token int64) {
	h.s.Helper()
	token, err := strconv.ParseInt(h.expect("granted"), 10, 64)
	if err != nil {
		h.s.Fatal(err)
	}
	return token
}

// expectLost waits for the lost-event of the grant, which names its token: one
// that names another is dropped by its reader.
func (h *holder) expectLost(token int64) {
	h.s.Helper()
	start := time.Now()
	event := h.expect("lost")
	if grace := time.Duration(h.s.kind.ClaimsFor(h.s.TTL).LostGrace); grace > 0 &&
		time.Since(start) > grace+h.s.Slack/3 {
		h.s.Errorf("told of the loss after %v, the lock claims %v", time.Since(start), grace)
	}
	if named, _, _ := strings.Cut(event, " "); named != strconv.FormatInt(token, 10) {
		h.s.Errorf("the lost-event is of token %s, the grant's was %d: %s", named, token, event)
	}
}

// expectNothing demands that no grant comes for a moment: the key is taken,
// under a lease that began at since.
func (h *holder) expectNothing(since int64) {
	h.s.Helper()
	if line := h.grantWithin(brief / 5); line != "" {
		h.s.overtaken(since)
		h.s.Errorf("the holder said %q while another held the key", line)
	}
}

// grantWithin returns what the holder says within a moment, "" if that is nothing, or a lost-event.
func (h *holder) grantWithin(moment time.Duration) string {
	select {
	case line := <-h.lines:
		if !strings.HasPrefix(line, "lost") {
			return line
		}
	case <-time.After(moment): // nothing else can show that nothing comes
	}
	return ""
}
