package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// The tests named TestEdgesOf judge histories at the edges of the rules: each differs from one that
// is judged otherwise by a stamp, an answer or a claim. Most of them were written since no other
// test noticed a mutant of the checker (see docs/checker.md).

// A script is a history a human can read. One line an event, times in ms:
//
//	A acquire [0,1] tok=5              client A invokes at 0, the completion is recorded at 1
//	A write   [550,1200] start=1199    the worker began it at 1199 (run=a,b gives both stamps)
//	A write   [10,] @12                it never completed; the store applied it at 12
//	A read    [10,11]                  a read sees the version that the ledger has at the middle of its interval
//	A lost    [600]                    a lost-event        A exit [800]     its process is gone by 800
//	pause A   [2,700]                  an injected fault on A; delay: on its links; stall: an uninjected one; service: of the lock service; +bite, +miss, +own (nobody injected it), from= (noticed late)
//	fault crash-restart [2,700] on=service hosts=3 target=redis-1     (or the names of hosts, redis-1+redis-2) any injected fault: on a client (on=A), the service, the store as A reaches it (on=store:A; the store itself is frozen); links
//	mark probe [900]                   a phase
//	A commit  [20,21]                  in workload transaction, where a write's @ is its commit, if any
//
//	S requests [5] n=120               the service has handled so many requests
//
// One call for several keys is key=k0+k1.
//
// Answers: ok (the default), fail, busy, notheld, declined, refused, conflict, info. Others:
// key=k1, tok=, attempt=, first=, enq=, valid=, value= (of a write), atomic, mode=read (of
// an acquire of a reader-writer lock), permits= (of an acquire of a semaphore), proc= (the
// incarnation; the client's number by default), g=NAME (the grant; the client's last acquire
// by default; NAME= before the client names it), @t or @t,t2 when the store took a write,
// blind (the op has no worker stamps). Clients are letters; P, Q … are fresh ones.
//
// The script's store gives versions in the order of the @ times, and its ledger
// comes at the end unless interleaved is set.
type script struct {
	header     history.Header
	interleave bool
	noLedger   bool
	cut        bool
}

const ms = 1_000_000

// base is added to every time, since a stamp of 0 means that it is not known.
const base = 1000

func at(t float64) int64 { return int64((t + base) * ms) }

// plainLock is an exclusive lock with a lease of 500 ms that claims nothing about its tokens.
func plainLock() script {
	return script{header: history.Header{Clients: 8, TTL: 500 * ms, Stall: 50 * ms,
		Claims: history.Claims{Validity: "from_invocation", Token: "none", Permits: 1, Confirms: []string{"release", "renew"}},
		Store:  history.Store{Engine: "sqlite"}}}
}

// fencedLock is plainLock with fencing tokens.
func fencedLock() script {
	s := plainLock()
	s.header.Claims.Token = "fencing"
	return s
}

// with returns the script changed by f.
func (s script) with(f func(*history.Header)) script {
	f(&s.header)
	return s
}

type line struct {
	name, client, verb string
	inv, ret           float64
	open               bool // no completion
	opts               map[string]string
	flags              []string
	times              []float64 // the @ times
	op, grant, set     int64
}

func (l *line) has(flag string) bool { return slices.Contains(l.flags, flag) }

func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("script: %q is no time: %v", text, err))
	}
	return v
}

func parseLine(text string) *line {
	l := &line{opts: map[string]string{}}
	for i, word := range strings.Fields(text) {
		name, value, isOpt := strings.Cut(word, "=")
		switch {
		case i == 0 && isOpt:
			l.name, l.client = name, value
		case i == 0:
			l.client = word
		case l.verb == "":
			l.verb = word
		case word[0] == '[':
			from, to, _ := strings.Cut(strings.Trim(word, "[]"), ",")
			l.inv, l.ret = number(from), number(from)
			if l.open = strings.HasSuffix(word, ",]"); !l.open && to != "" {
				l.ret = number(to)
			}
		case word[0] == '@':
			for _, t := range strings.Split(word[1:], ",") {
				l.times = append(l.times, number(t))
			}
		case isOpt:
			l.opts[name] = value
		default:
			l.flags = append(l.flags, word)
		}
	}
	return l
}

var verbs = map[string]history.Kind{"acquire": history.Acquire, "release": history.Release, "renew": history.Renew, "held": history.Held,
	"read": history.Read, "write": history.Write, "close": history.Close, "commit": history.Commit}

func clientNumber(letter string) int32 {
	if n := int32(letter[0]-'A') + 1; letter < "P" {
		return n
	}
	return int32(letter[0]-'P') + 101
}

func keyNumber(l *line) history.KeyID {
	if k, ok := l.opts["key"]; ok {
		return history.KeyID(number(k[1:]))
	}
	return 0
}

// stored is one request as the script's store took it.
type stored struct {
	t float64
	l *line
}

// timed is an event with what orders events of equal time: completions come before invocations.
type timed struct {
	e    history.Event
	rank int
}

// history builds the history that the text describes.
func (s script) history(text string) *history.History {
	var lines []*line
	names, last := map[string]int64{}, map[string]int64{}
	for _, raw := range strings.Split(text, "\n") {
		if raw = strings.TrimSpace(raw); raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		keys := strings.Split(parseLine(raw).opts["key"], "+")
		first := int64(len(lines) + 1)
		for _, key := range keys {
			l := parseLine(raw)
			l.op = int64(len(lines) + 1)
			if key != "" {
				l.opts["key"] = key
			}
			if len(keys) > 1 {
				l.set = first
			}
			mine := l.client + l.opts["key"]
			switch {
			case l.verb == "acquire":
				l.grant, last[mine], names[l.name] = l.op, l.op, l.op
			case l.opts["g"] != "":
				l.grant = names[l.opts["g"]]
			case last[mine] == 0:
				l.grant = last[l.client]
			default:
				l.grant = last[mine]
			}
			lines = append(lines, l)
		}
	}
	store := s.runStore(lines)
	var events []timed
	for _, l := range lines {
		events = append(events, s.events(l, store)...)
	}
	slices.SortStableFunc(events, func(a, b timed) int {
		return cmp.Or(cmp.Compare(a.e.Time, b.e.Time), cmp.Compare(a.rank, b.rank))
	})
	h := &history.History{Header: s.header, Keys: []string{"k0", "k1", "k2"}, Truncated: s.cut}
	for _, e := range events {
		for s.interleave && len(store.entries) > 0 && store.entries[0].Time+3*ms < e.e.Time {
			h.Events = append(h.Events, store.entries[0])
			h.Events = append(h.Events, history.Event{Type: history.Watermark, Time: e.e.Time, Start: store.entries[0].Time + 1})
			store.entries = store.entries[1:]
		}
		h.Events = append(h.Events, e.e)
	}
	if !s.noLedger {
		h.Events = append(h.Events, store.entries...)
		h.Events = append(h.Events, history.Event{Type: history.Watermark, Time: at(1e6), Start: at(1e6)})
	}
	h.Events = append(h.Events, history.Event{Type: history.End, Time: at(1e6)})
	return h
}

// ledger is what the script's store did: its entries, and the version that an op saw or made.
type ledger struct {
	entries []history.Event
	version map[int64]int64
}

func (s script) runStore(lines []*line) *ledger {
	var requests []stored
	for _, l := range lines {
		times := l.times
		if s.header.Workload == history.WorkloadTransaction && l.verb == "write" && !l.has("refused") {
			// only what is committed is an entry
		} else if len(times) == 0 && (l.verb == "read" || l.verb == "write") && !l.open && !l.has("declined") && !l.has("info") && !l.has("fail") {
			start, end := l.stamps()
			times = []float64{(start + end) / 2}
		}
		for _, t := range times {
			requests = append(requests, stored{t, l})
		}
	}
	slices.SortStableFunc(requests, func(a, b stored) int { return cmp.Compare(a.t, b.t) })
	led := &ledger{version: map[int64]int64{}}
	head := map[history.KeyID]int64{}
	for _, r := range requests {
		key := keyNumber(r.l)
		if s.header.Workload == history.WorkloadTransaction && r.l.verb == "read" {
			led.version[r.l.op] = head[key] // no entry
			continue
		}
		e := history.Event{Type: history.Ledger, Kind: verbs[r.l.verb], Key: key, Op: r.l.op, Grant: r.l.grant,
			Client: clientNumber(r.l.client),
			Time:   at(r.t), Seq: int64(len(led.entries) + 1), Version: head[key], Atomic: r.l.has("atomic")}
		if v, ok := r.l.opts["value"]; ok {
			e.Value = int64(number(v))
		}
		switch {
		case r.l.verb == "write" && r.l.has("conflict"):
			e.Conflict, e.Version = true, 0
		case r.l.verb == "write" && r.l.has("refused"):
			e.Refused, e.Version = true, 0
		case r.l.verb == "write":
			e.Replaced = head[key]
			head[key]++
			e.Version = head[key]
		}
		if _, seen := led.version[r.l.op]; !seen {
			led.version[r.l.op] = e.Version
		}
		led.entries = append(led.entries, e)
	}
	return led
}

// stamps are the worker's stamps of a completed op, in the script's time.
func (l *line) stamps() (start, end float64) {
	start, end = l.inv, l.ret
	if v, ok := l.opts["start"]; ok {
		start = number(v)
	}
	if v, ok := l.opts["run"]; ok {
		from, to, _ := strings.Cut(v, ",")
		start, end = number(from), number(to)
	}
	return start, end
}

// process is the incarnation that the line is about.
func (l *line) process() int32 {
	if v, ok := l.opts["proc"]; ok {
		return int32(number(v))
	}
	return clientNumber(l.client)
}

func (s script) events(l *line, store *ledger) []timed {
	switch {
	case l.client == "mark":
		return []timed{{history.Event{Type: history.Mark, Text: l.verb, Time: at(l.inv)}, 1}}
	case slices.Contains([]string{"pause", "stall", "kill", "service", "delay"}, l.client):
		return faultEvents(l)
	case l.client == "fault":
		return anyFaultEvents(l)
	case l.verb == "lost":
		return []timed{{history.Event{Type: history.Lost, Grant: l.grant, Client: clientNumber(l.client),
			Time: at(l.inv), Start: at(l.inv)}, 1}}
	case l.verb == "exit":
		return []timed{{history.Event{Type: history.Exit, Client: clientNumber(l.client), Time: at(l.inv), Start: at(l.inv),
			Process: int32(number(cmp.Or(l.opts["proc"], "0")))}, 1}}
	case l.verb == "requests":
		return []timed{{history.Event{Type: history.Count, Text: history.CountRequests, Time: at(l.inv),
			Value: int64(number(l.opts["n"]))}, 1}}
	}
	common := history.Event{Op: l.op, Grant: l.grant, Kind: verbs[l.verb], Key: keyNumber(l),
		Client: clientNumber(l.client), Process: l.process()}
	invoke := common
	invoke.Type, invoke.Time = history.Invoke, at(l.inv)
	if s.header.Claims.ReadWrite && l.verb == "acquire" {
		invoke.Mode = history.ModeWrite
		if l.opts["mode"] == "read" {
			invoke.Mode = history.ModeRead
		}
	}
	invoke.Set, invoke.Permits = l.set, uint8(number(cmp.Or(l.opts["permits"], "0")))
	if l.open {
		return []timed{{invoke, 2}}
	}
	done := common
	done.Type, done.Time = history.OK, at(l.ret)
	start, end := l.stamps()
	if !l.has("blind") {
		done.Start, done.End = at(start), at(end)
	}
	switch {
	case l.has("info"):
		done.Type = history.Info
		if _, ok := l.opts["start"]; !ok {
			done.Start, done.End = 0, 0
		}
	case l.has("busy"), l.has("notheld"), l.has("declined"), l.has("refused"), l.has("conflict"), l.has("fail"):
		done.Type = history.Fail
		done.Conflict = l.has("conflict")
		done.Busy, done.NotHeld, done.Declined, done.Refused = l.has("busy"), l.has("notheld"), l.has("declined"), l.has("refused")
	}
	done.Version = store.version[l.op]
	for name, field := range map[string]*int64{"attempt": &done.Attempt, "first": &done.First, "enq": &done.Enqueued,
		"ended": &done.Ended, "sent": &done.Sent, "came": &done.Came} {
		if v, ok := l.opts[name]; ok {
			*field = at(number(v))
		}
	}
	if v, ok := l.opts["tok"]; ok {
		done.Token = history.TokenOf(int64(number(v)))
	}
	if v, ok := l.opts["valid"]; ok {
		done.HasValidFor, done.ValidFor = true, int64(number(v)*ms)
	}
	return []timed{{invoke, 2}, {done, 0}}
}

// judge judges the text's history, in both forms of the ledger, which must not matter.
func (s script) judge(t *testing.T, text string) Verdict {
	t.Helper()
	h := s.history(text)
	v := Judge(h, Options{})
	s.holdToGolden(t, text, v)
	if looksBack(t, h) {
		t.Error("a record was used again too early")
	}
	if s.noLedger {
		return v
	}
	s.interleave = !s.interleave
	interleaved := s.history(text)
	other := Judge(interleaved, Options{})
	if looksBack(t, interleaved) {
		t.Error("a record was used again too early, with the ledger interleaved")
	}
	for i, r := range v.Properties {
		if o := other.Properties[i]; o.Outcome != r.Outcome || o.Count != r.Count {
			t.Errorf("%s: %v ×%d with the ledger at the end, %v ×%d with it interleaved", r.Name, r.Outcome, r.Count, o.Outcome, o.Count)
		}
	}
	return v
}

// expect checks how often each property was violated; properties that are not
// named must not be violated at all.
func expect(t *testing.T, v Verdict, want map[string]int) {
	t.Helper()
	for _, r := range v.Properties {
		if r.Count != want[r.Name] {
			t.Errorf("%s: violated %d times, want %d", r.Name, r.Count, want[r.Name])
			for _, violation := range r.Violations {
				t.Logf("  %s", violation.Text)
			}
		}
	}
}

// kindOf is the kind of the first violation of a property.
func kindOf(v Verdict, property string) string {
	if r := v.Property(property); r != nil && len(r.Violations) > 0 {
		return r.Violations[0].Kind
	}
	return "no violation"
}

// changed is the history that a text describes, each of its events changed.
func (s script) changed(text string, change func(*history.Event)) *history.History {
	h := s.history(text)
	for i := range h.Events {
		change(&h.Events[i])
	}
	return h
}

// until is the history that a text describes, cut off behind an instant.
func (s script) until(text string, t float64) *history.History {
	h := s.history(text)
	for i := range h.Events {
		if h.Events[i].Time > at(t) {
			h.Events, h.Truncated = h.Events[:i], true
			break
		}
	}
	return h
}

// foundIn is what is found of a property.
func foundIn(h *history.History, property string) *PropertyResult {
	v := Judge(h, Options{})
	return v.Property(property)
}

// holdsTo checks how often a history violates a property.
func holdsTo(t *testing.T, name string, h *history.History, property string, want int) {
	t.Helper()
	if r := foundIn(h, property); r.Count != want {
		t.Errorf("%s: %s is violated %d times, want %d: %+v", name, property, r.Count, want, r)
	}
}

// probeText9 is probeText for locks whose tokens have come no further than 7.
const probeText9 = `
		mark probe [5000]
		P acquire  [5001,5003] tok=8
		P release  [5004,5005]
		mark final [6000]
		Q acquire  [6001,6002] tok=9
		Q release  [6003,6004]`

// inScript writes a time of a script.
func inScript(t float64) string { return strconv.FormatFloat(t, 'f', -1, 64) }

func library(s script) script {
	return s.with(func(h *history.Header) { h.Claims.Validity = "library" })
}

func noClaims(s script) script { return s.with(func(h *history.Header) { h.Claims.Validity = "" }) }

func session(s script) script {
	return s.with(func(h *history.Header) { h.Claims.Validity = "session" })
}

func grace(s script) script {
	return s.with(func(h *history.Header) { h.Claims.LostGrace = 200 * ms })
}

func semaphore(n int) script {
	return plainLock().with(func(h *history.Header) { h.Claims.Permits = n })
}
