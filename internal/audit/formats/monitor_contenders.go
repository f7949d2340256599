package formats

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// What the commands of a lock prove, though their replies are missing. The client is the value
// that it sets, or the field of a hash: an address is no client, for threads share connections.
//
//   - SET NX asks. Whether it was granted is not told.
//   - A script that compares and then extends shows by its own lines that it found
//     its value: its client held the lock then, and takes itself for the holder.
//   - One that finds another value was sent by a client that still took itself
//     for the holder, if it held the lock before and never asks again. A client
//     that asks again knew, perhaps, and tries one after the other.
//   - A release proves nothing but the end: clients also release what they were
//     not granted, as the algorithm Redlock has it.
//   - Where the lines of scripts are missing, a renewal shows that the one before
//     succeeded: else there would be a request in between, or a look at the key.
//   - DEL and EXPIRE by themselves name no client.

// contender is a client that has renewed its lock.
type contender struct {
	held   bool     // it was shown to hold the lock, and has not given it up
	failed position // the renewal that found another value
	open   position // a renewal of which the result is not told
}

// position is where and when a command stands; its line is 0 where there is none.
type position struct {
	at   int64
	line int32
}

// ownerOn is a client of a lock.
type ownerOn struct{ key, owner string }

func (p ownerOn) compare(q ownerOn) int {
	return cmp.Or(cmp.Compare(p.key, q.key), cmp.Compare(p.owner, q.owner))
}

// mostWanted bounds the requests that are remembered: a value may be good for one request only.
const mostWanted = 1 << 16

// contenders follows the clients of locks.
type contenders struct {
	keys     map[string]bool      // that were asked for
	wanted   map[ownerOn]position // the first request of a client
	renewing map[ownerOn]*contender
	looks    map[ownerOn]int32 // lines of the last look at a key by an address
	scripts  scripts
	run      *scriptRun // of which lines may follow
	lua      bool       // lines of scripts were seen
	first    ownerOn    // the first request of all
	firstAt  position
	said     bool          // something was said of a client
	requests remarks.Tally // SET NX and its like
	unclear  remarks.Tally // scripts of which it is open what they were for, or for whom
	nameless remarks.Tally // commands on a lock that name no client
}

func newContenders() *contenders {
	return &contenders{keys: map[string]bool{}, wanted: map[ownerOn]position{}, renewing: map[ownerOn]*contender{},
		looks: map[ownerOn]int32{}, scripts: scripts{}}
}

// add takes the next command.
func (s *contenders) add(w *words.Worker, c *command) {
	if c.client == luaClient {
		if s.lua = true; s.run != nil {
			s.run.lua(c)
		}
		return
	}
	s.ran(w)
	switch c.name {
	case "eval", "evalsha":
		if s.run = s.scripts.runOf(c); s.run == nil {
			s.unclear.Add(c.line)
		}
	case "script":
		if len(c.words) > 1 && strings.EqualFold(c.words[0], "load") {
			s.scripts.learn(c.words[1])
		}
	case "set", "setnx":
		s.set(w, c)
	case "get", "exists", "ttl", "pttl":
		if len(c.words) > 0 && len(s.renewing) > 0 {
			if len(s.looks) > mostWanted {
				clear(s.looks)
			}
			s.looks[ownerOn{c.lock(c.words[0]), c.client}] = c.line
		}
	default:
		s.aside(c)
	}
}

// aside counts a command on a lock that names no client.
func (s *contenders) aside(c *command) {
	if len(c.words) > 0 && s.keys[c.lock(c.words[0])] {
		s.nameless.Add(c.line)
	}
}

// ran follows the script of which no more lines follow.
func (s *contenders) ran(w *words.Worker) {
	r := s.run
	if s.run = nil; r == nil || !r.told && s.lua {
		return // where others have lines, it was refused: the server did not know it
	}
	p := ownerOn{r.lock(r.key), s.ownerOf(r)}
	switch {
	case p.owner == "":
		s.unclear.Add(r.line)
	case r.sets && s.holds(p) && r.compared: // an owner's nested acquire
		s.renewed(w, r.spot(), p)
	case r.sets || r.aim == takes:
		s.asks(w, &r.command, p)
	case r.compared && r.deleted:
		s.released(w, &r.command, p, words.Release)
	case r.compared && r.extended:
		s.renewed(w, r.spot(), p)
	case r.compared && r.aim == renews:
		s.refused(r.spot(), p)
	case r.compared && r.aim == releases:
		s.released(w, &r.command, p, words.NotHeld)
	case !r.told && r.aim == renews:
		s.perhaps(w, &r.command, p)
	case !r.told && r.aim == releases:
		s.released(w, &r.command, p, words.NotHeld)
	case r.told || r.aim == unknownAim:
		s.unclear.Add(r.line)
	}
}

// ownerOf is for whom a script was run: a hash names the owner, and else it is
// an argument. Empty: that is open.
func (s *contenders) ownerOf(r *scriptRun) string {
	if r.field != "" {
		return r.field
	}
	texts, key := []string{}, r.lock(r.key)
	for _, arg := range r.args {
		if p := (ownerOn{key, arg}); s.renewing[p] != nil || s.knows(p) {
			return arg
		}
		if _, err := strconv.ParseFloat(arg, 64); err != nil && arg != "" {
			texts = append(texts, arg)
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return ""
}

func (s *contenders) holds(p ownerOn) bool { return s.renewing[p] != nil && s.renewing[p].held }

// renewed follows a renewal that found its own value.
func (s *contenders) renewed(w *words.Worker, at position, p ownerOn) {
	r := s.contender(p)
	r.failed, r.open = position{}, position{}
	if r.held {
		s.say(w, at, p, words.Renew)
		return
	}
	r.held = true
	if asked, ok := s.wanted[p]; ok {
		s.say(w, asked, p, words.Request)
		delete(s.wanted, p)
	}
	s.say(w, at, p, words.Grant)
}

func (s *contenders) contender(p ownerOn) *contender {
	r := s.renewing[p]
	if r == nil {
		r = &contender{}
		s.renewing[p] = r
	}
	return r
}

// refused follows a renewal that found another value.
func (s *contenders) refused(at position, p ownerOn) {
	if r := s.renewing[p]; r != nil && r.held && r.failed.line == 0 {
		r.failed = at
	}
}

// perhaps follows a renewal of which the result is not told.
func (s *contenders) perhaps(w *words.Worker, c *command, p ownerOn) {
	if s.renewing[p] == nil && !s.knows(p) {
		s.unclear.Add(c.line)
		return
	}
	r := s.contender(p)
	if last := r.open; last.line > 0 && s.looks[ownerOn{p.key, c.client}] < last.line {
		s.renewed(w, last, p)
	}
	r.open = c.spot()
}

// released follows a release, or a try of one.
func (s *contenders) released(w *words.Worker, c *command, p ownerOn, means words.Meaning) {
	if s.holds(p) {
		s.last(w, p)
		s.say(w, c.spot(), p, means)
	}
	delete(s.renewing, p)
	delete(s.wanted, p)
}

// last says what a contender's last renewal shows: until it was sent, its
// client took itself for the holder.
func (s *contenders) last(w *words.Worker, p ownerOn) {
	r := s.renewing[p]
	for _, at := range [...]position{r.failed, r.open} {
		if at.line > 0 && r.held {
			w.TellFailed(int(at.line), p.key, p.owner, words.Renew, at.at)
		}
	}
}

func (c *command) spot() position { return position{c.at, c.line} }

func (s *contenders) say(w *words.Worker, at position, p ownerOn, means words.Meaning) {
	s.said = true
	w.Tell(int(at.line), p.key, p.owner, means, at.at)
}

// finish says what only the whole file tells.
func (s *contenders) finish(w *words.Worker) {
	s.ran(w)
	for _, p := range slices.SortedFunc(maps.Keys(s.renewing), ownerOn.compare) {
		s.last(w, p)
	}
	clear(s.renewing)
	if !s.said && s.requests.N > 0 {
		s.say(w, s.firstAt, s.first, words.Request)
	}
}

// tell says what was taken for granted, and what is open.
func (s *contenders) tell(l *remarks.Remarks) {
	if s.requests.N > 0 {
		l.Doubt(s.requests, "MONITOR shows no replies, so whether it was granted is not told.")
	} else {
		l.Doubt(remarks.Tally{N: 1, First: 1}, "MONITOR shows no replies, so what its commands came to is not told.")
	}
	l.Assume("The client of a lock is the value that it sets, or the field of a hash. Who renews a lock under its own value takes itself for the holder.")
	if s.said && !s.lua {
		l.Assume("The lines of scripts (lua) are missing. A renewal that follows another, with no request and no look at the key in between, shows that the one before succeeded.")
	}
	if s.nameless.N > 0 {
		l.Leave("Commands that may end or extend a lock and name no client (such as DEL, EXPIRE): %d, the first is line %d; they are left out.", s.nameless.N, s.nameless.First)
	}
	if s.unclear.N > 0 {
		l.Leave("Scripts that are not known here: %d, the first is line %d; they are left out.", s.unclear.N,
			s.unclear.First)
	}
}
