package etcd

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// read waits until the member has applied what was agreed on before it began.
type read struct {
	began time.Duration
	index uint64 // 0: the leader has not said it yet
	done  func(err error)
}

// readRetry is how often etcd asks the leader again.
const readRetry = 500 * time.Millisecond

// linearize calls done when a read from this member's store is linearizable.
func (m *Member) linearize(s *call, done func(err error)) {
	id := m.nextID()
	r := &read{began: m.env.Now(), done: done}
	m.reads[id] = r
	if s != nil {
		s.quit = append(s.quit, func() { delete(m.reads, id) })
	}
	m.ask(id)
	var again func()
	again = func() {
		if m.reads[id] != r || r.index > 0 {
			return
		}
		if m.env.Now()-r.began >= m.cfg.requestTimeout() {
			m.endRead(id, rpctypes.ErrGRPCTimeout)
			m.flush()
			return
		}
		m.ask(id)
		m.after(readRetry, again)
	}
	m.after(readRetry, again)
}

// whenReadable calls done when a read from this member's store is linearizable;
// at once if it need not be (serializable).
func (m *Member) whenReadable(s *call, serializable bool, done func(err error)) {
	if serializable {
		done(nil)
	} else {
		m.linearize(s, done)
	}
}

func (m *Member) ask(id uint64) {
	m.node.ReadIndex(binary.BigEndian.AppendUint64(nil, id))
	m.ready()
}

// askAgain asks for all reads that wait for the leader.
func (m *Member) askAgain() {
	for _, id := range slices.Sorted(maps.Keys(m.reads)) {
		if m.reads[id].index == 0 {
			m.node.ReadIndex(binary.BigEndian.AppendUint64(nil, id))
		}
	}
}

// readable takes the leader's answer.
func (m *Member) readable(id, index uint64) {
	if r := m.reads[id]; r != nil && r.index == 0 {
		r.index = max(index, 1)
	}
}

// letReads ends the reads whose index is applied, and reports whether there were any.
func (m *Member) letReads() (some bool) {
	for _, id := range slices.Sorted(maps.Keys(m.reads)) {
		if r := m.reads[id]; r != nil && r.index > 0 && r.index <= m.disk.applied {
			m.endRead(id, nil)
			some = true
		}
	}
	return some
}

// leaderChanged ends the reads that the last leader has not answered.
func (m *Member) leaderChanged() {
	for _, id := range slices.Sorted(maps.Keys(m.reads)) {
		if m.reads[id].index == 0 {
			m.endRead(id, rpctypes.ErrGRPCLeaderChanged)
		}
	}
}

func (m *Member) endRead(id uint64, err error) {
	if r := m.reads[id]; r != nil {
		delete(m.reads, id)
		r.done(err)
	}
}
