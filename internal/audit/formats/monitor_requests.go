package formats

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// lock is the name of a key, with its database but for the first.
func (c *command) lock(key string) string {
	if c.db == "" {
		return key
	}
	return key + " (db " + c.db + ")"
}

// set reads SET, with its options in any order, and SETNX.
func (s *contenders) set(w *words.Worker, c *command) {
	if len(c.words) < 2 {
		return
	}
	p := ownerOn{c.lock(c.words[0]), c.words[1]}
	has := func(option string) bool {
		return slices.ContainsFunc(c.words[2:], func(word string) bool { return strings.EqualFold(word, option) })
	}
	switch {
	case c.name == "setnx" || has("nx"):
		s.asks(w, c, p)
	case has("xx") && (s.renewing[p] != nil || s.knows(p)):
		s.perhaps(w, c, p)
	default:
		s.aside(c)
	}
}

func (s *contenders) knows(p ownerOn) bool {
	_, ok := s.wanted[p]
	return ok
}

// asks follows a request.
func (s *contenders) asks(w *words.Worker, c *command, p ownerOn) {
	if p.owner == "" {
		return
	}
	if s.requests.Add(c.line); s.requests.N == 1 {
		s.first, s.firstAt = p, position{c.at, c.line}
	}
	if r := s.renewing[p]; r != nil {
		if r.held {
			s.say(w, c.spot(), p, words.NotHeld)
		}
		delete(s.renewing, p)
		delete(s.wanted, p)
	}
	if len(s.wanted) > mostWanted {
		clear(s.wanted)
	}
	if len(s.keys) > mostWanted {
		clear(s.keys)
	}
	s.keys[p.key] = true
	if !s.knows(p) {
		s.wanted[p] = position{c.at, c.line}
	}
}
