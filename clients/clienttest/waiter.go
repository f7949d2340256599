package clienttest

import (
	"strings"
	"syscall"

	"github.com/lockchaos/lockchaos/internal/decided"
)

// frozenWaiter stops the process of a waiter until its lease is over, if it has one, and others
// have what it waited for. When it runs on it must not take for its own what came free meanwhile.
func frozenWaiter(s *suite) {
	key := s.key()
	h := s.startHolder(key)
	h.expectGrant()
	h.send("release")
	h.expect("released")
	taken := s.fill(key, s.kind.Claims.Permits)
	h.send("acquire")
	s.stillWaits(h, taken)
	h.signal(syscall.SIGSTOP)
	s.drain(taken)
	if s.kind.Claims.NoExpiry { // its place in the queue may stand: the key is its own, or will be
		h.signal(syscall.SIGCONT)
	} else {
		taken = s.house(key)
		h.signal(syscall.SIGCONT)
		s.stillWaits(h, taken)
		s.drain(taken)
	}
	h.expectGrant()
	h.send("held")
	h.expect("held")
}

// stillWaits demands that the waiter is not granted while others have every permit.
func (s *suite) stillWaits(h *holder, taken []ownedGrant) {
	s.Helper()
	early := h.grantWithin(brief / 2)
	if strings.HasPrefix(early, "error ") {
		// Where the freeze met a request, its answer comes too late for the waiter that wakes up.
		decided.Lacks("a waiter that goes on: %s", early)
	}
	if early != "" {
		s.overtaken(earliest(taken...))
		s.Fatalf("others have every permit, and the waiter said %q", early)
	}
}
