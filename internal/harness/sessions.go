package harness

import (
	"encoding/hex"
	"slices"
	"sync"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// sessions are those that the clients have told of: what a fault needs to end
// them. The zero value is empty.
type sessions struct {
	mu sync.Mutex
	of map[int32][]backends.Session // client → its sessions, the oldest first
	// ended are the sessions that the service was made to end, with the stamp by which it had.
	ended map[int64]int64
}

// mostSessions is how many sessions of a client are remembered: a lock that
// opens one for each grant holds a few at most.
const mostSessions = 16

// opened notes a session that a worker tells of. A worker may tell of one
// again, when it has connected anew.
func (s *sessions) opened(client int32, e wire.Reply) {
	// one that is not understood is refused by the service, aloud
	password, _ := hex.DecodeString(e.Password)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[int32][]backends.Session{}
	}
	known := slices.DeleteFunc(s.of[client], func(k backends.Session) bool { return k.ID == e.Session })
	known = append(known, backends.Session{ID: e.Session, Password: password})
	s.of[client] = known[max(0, len(known)-mostSessions):]
}

// forget forgets a client's sessions: a fresh process takes its place, and what
// the old one had is not its own.
func (s *sessions) forget(client int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, client)
}

func (s *sessions) list(client int32) []backends.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.of[client])
}

// endedBy is the stamp by which the service had been made to end a session; 0: it was not.
func (s *sessions) endedBy(id int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended[id]
}

// over notes that the service has ended sessions, if it had not before.
func (s *sessions) over(all []backends.Session) {
	at := monotime.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = map[int64]int64{}
	}
	for _, one := range all {
		if s.ended[one.ID] == 0 {
			s.ended[one.ID] = at
		}
	}
}
