package etcd

import (
	"encoding/binary"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

var errNotPrimary = status.Error(codes.Unknown, "not a primary lessor")

// etcd's times of leases.
const (
	leaseCheck  = 500 * time.Millisecond // expired leases are looked for this often
	revokeRetry = 3 * time.Second
	forwardWait = 50 * time.Millisecond // before the leader is asked again
)

// end calls all that wait for the end of a lease.
func (l *lease) end() {
	ended := l.ended
	l.ended = nil
	for _, fn := range ended {
		fn()
	}
}

// watchLeases has expired leases revoked, again and again, while the member leads.
func (m *Member) watchLeases() {
	m.after(leaseCheck, func() {
		now := m.env.Now()
		if m.leads && m.active() {
			for _, l := range m.store.byID() {
				if now >= l.expiry && now >= l.next {
					l.next = now + revokeRetry
					m.agree(nil, &pb.InternalRaftRequest{LeaseRevoke: &pb.LeaseRevokeRequest{ID: l.id}},
						func(proto.Message, error) {})
				}
			}
		}
		m.watchLeases()
	})
}

// active reports whether the member's heartbeat runs: one that stood still may be deposed.
func (m *Member) active() bool { return m.env.Now()-m.ticked <= 3*m.cfg.Heartbeat }

// sureToLead calls done when it is sure whether the member leads.
func (m *Member) sureToLead(s *call, done func(leads bool)) {
	switch {
	case !m.isLeader():
		done(false)
	case m.active():
		done(true)
	default:
		m.linearize(s, func(err error) { done(err == nil && m.isLeader()) })
	}
}

// keepAlives is a call of LeaseKeepAlive.
type keepAlives struct {
	s *call
	// todo are the leases to be renewed: one after the other.
	todo []int64
	busy bool
}

func (k *keepAlives) message(text []byte) error {
	r := &pb.LeaseKeepAliveRequest{}
	if err := k.s.parse(text, r); err != nil {
		return err
	}
	k.todo = append(k.todo, r.ID)
	k.next()
	return nil
}

func (k *keepAlives) end() { k.next() }

// next renews the next lease. When all are, and the client sends no more, the call ends.
func (k *keepAlives) next() {
	if k.busy || k.s.over || k.s.finished {
		return
	}
	if len(k.todo) == 0 {
		if k.s.ended {
			k.s.finish(nil)
		}
		return
	}
	k.busy = true
	m, id := k.s.c.m, k.todo[0]
	k.todo = k.todo[1:]
	// The header is of before: a lease that ended at a later revision is not
	// seen to be alive at it.
	resp := &pb.LeaseKeepAliveResponse{Header: m.header(m.store.rev), ID: id}
	m.renew(k.s, id, func(ttl int64, err error) {
		k.busy = false
		if errors.Is(err, rpctypes.ErrGRPCLeaseNotFound) {
			ttl, err = 0, nil
		}
		if err != nil {
			k.s.finish(err)
			return
		}
		resp.TTL = ttl
		k.s.reply(resp)
		k.next()
	})
}

// renew renews a lease here or at the leader.
func (m *Member) renew(s *call, id int64, done func(ttl int64, err error)) {
	forwarded := func() {
		m.forward(s, 'r', binary.BigEndian.AppendUint64(nil, uint64(id)), func(text []byte, err error) {
			if err != nil || len(text) < 8 {
				done(0, err)
				return
			}
			done(int64(binary.BigEndian.Uint64(text)), nil)
		})
	}
	if !m.isLeader() {
		forwarded()
		return
	}
	m.sureToLead(s, func(leads bool) {
		if !leads {
			done(0, errNotPrimary)
			return
		}
		m.renewHere(s, id, func(ttl int64, err error) {
			if errors.Is(err, errNotPrimary) {
				forwarded()
				return
			}
			done(ttl, err)
		})
	})
}

// renewHere renews a lease of the leader's. One that is expired is not renewed: what comes of it is
// awaited.
func (m *Member) renewHere(s *call, id int64, done func(ttl int64, err error)) {
	l := m.store.leases[id]
	switch {
	case !m.leads:
		done(0, errNotPrimary)
	case l == nil:
		done(0, rpctypes.ErrGRPCLeaseNotFound)
	case m.env.Now() >= l.expiry:
		l.ended = append(l.ended, func() {
			if s != nil && s.over {
				return
			}
			if m.store.leases[id] == nil {
				done(0, rpctypes.ErrGRPCLeaseNotFound)
			} else {
				done(0, errNotPrimary)
			}
		})
	default:
		l.refresh(m.env.Now(), 0)
		done(l.ttl, nil)
	}
}

// timeToLive answers LeaseTimeToLive here or by the leader.
func (m *Member) timeToLive(s *call, r *pb.LeaseTimeToLiveRequest) {
	answer := func(resp *pb.LeaseTimeToLiveResponse, err error) {
		if errors.Is(err, rpctypes.ErrGRPCLeaseNotFound) {
			resp, err = &pb.LeaseTimeToLiveResponse{ID: r.ID, TTL: -1}, nil
		}
		if err == nil {
			resp.Header = m.header(m.store.rev)
		}
		s.answer(resp, err)
	}
	if m.isLeader() {
		answer(m.livesHere(r))
		return
	}
	text, _ := marshal.Marshal(r) // it was read a moment ago
	m.forward(s, 't', text, func(text []byte, err error) {
		resp := &pb.LeaseTimeToLiveResponse{}
		if err == nil {
			err = proto.Unmarshal(text, resp)
		}
		answer(resp, err)
	})
}

func (m *Member) livesHere(r *pb.LeaseTimeToLiveRequest) (*pb.LeaseTimeToLiveResponse, error) {
	l := m.store.leases[r.ID]
	switch {
	case l == nil:
		return nil, rpctypes.ErrGRPCLeaseNotFound
	case !m.leads:
		return nil, rpctypes.ErrGRPCLeaderChanged
	}
	resp := &pb.LeaseTimeToLiveResponse{ID: l.id, TTL: int64((l.expiry - m.env.Now()).Seconds()), GrantedTTL: l.ttl}
	if r.Keys {
		resp.Keys = l.names()
	}
	return resp, nil
}

// The leader's answers to what was forwarded to it: the byte after the number of the question.
const (
	answered = iota
	noLease
	notLeader
)

// forward asks the leader, again and again, until it answers or the time is over.
func (m *Member) forward(s *call, kind byte, text []byte, done func(text []byte, err error)) {
	until := m.env.Now() + m.cfg.requestTimeout()
	id := m.nextID()
	over := false
	end := func(text []byte, err error) {
		if over {
			return
		}
		over = true
		delete(m.asked, id)
		if !s.over && !s.finished {
			done(text, err)
			m.flush()
		}
	}
	var ask func()
	later := func() { m.after(forwardWait, ask) }
	ask = func() {
		switch {
		case over:
		case m.env.Now() >= until:
		case m.lead == 0 || m.isLeader() && !m.leads:
			later()
		default:
			m.question(id, kind, text)
		}
	}
	m.asked[id] = func(text []byte) {
		switch {
		case len(text) == 0 || text[0] == notLeader:
			later()
		case text[0] == noLease:
			end(nil, rpctypes.ErrGRPCLeaseNotFound)
		default:
			end(text[1:], nil)
		}
	}
	m.after(m.cfg.requestTimeout(), func() { end(nil, rpctypes.ErrGRPCTimeout) })
	ask()
}

// question sends a question to the leader, who may be this member by now.
func (m *Member) question(id uint64, kind byte, text []byte) {
	msg := append(binary.BigEndian.AppendUint64([]byte{ofQuestion}, id), kind)
	msg = append(msg, text...)
	if m.isLeader() {
		m.takeForwarded(m.number, msg)
		return
	}
	m.env.Send(int(m.lead), msg)
}

const forwardHead = 9 // the kind of message, and the number of the question

// takeForwarded takes a question to the leader, or its answer.
func (m *Member) takeForwarded(from int, text []byte) {
	if len(text) <= forwardHead {
		return
	}
	id, rest := binary.BigEndian.Uint64(text[1:]), text[forwardHead:]
	if text[0] == ofAnswer {
		if fn := m.asked[id]; fn != nil {
			fn(rest)
		}
		return
	}
	reply := func(code byte, text []byte) {
		msg := append(binary.BigEndian.AppendUint64([]byte{ofAnswer}, id), code)
		msg = append(msg, text...)
		if from == m.number {
			m.after(0, func() { m.takeForwarded(from, msg) })
			return
		}
		m.env.Send(from, msg)
	}
	done := func(text []byte, err error) {
		switch {
		case err == nil:
			reply(answered, text)
		case errors.Is(err, rpctypes.ErrGRPCLeaseNotFound):
			reply(noLease, nil)
		default:
			reply(notLeader, nil)
		}
	}
	if !m.leads {
		done(nil, errNotPrimary)
		return
	}
	switch rest[0] {
	case 'r':
		if len(rest) == 9 {
			m.renewHere(nil, int64(binary.BigEndian.Uint64(rest[1:])), func(ttl int64, err error) {
				done(binary.BigEndian.AppendUint64(nil, uint64(ttl)), err)
			})
		}
	case 't':
		r := &pb.LeaseTimeToLiveRequest{}
		resp := &pb.LeaseTimeToLiveResponse{}
		err := proto.Unmarshal(rest[1:], r)
		if err == nil {
			resp, err = m.livesHere(r)
		}
		var text []byte
		if err == nil {
			text, err = marshal.Marshal(resp)
		}
		done(text, err)
	}
}
