package etcd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Env is the machine of a member.
type Env interface {
	// Now reads its monotonic clock.
	Now() time.Duration
	// After has fn called when d has passed on that clock. Nothing is called of a member that was
	// closed.
	After(d time.Duration, fn func())
	// Send sends a message to a member, by its number, whose Receive is called with it. It comes
	// late, or never.
	Send(to int, text []byte)
	// Draws are the member's random numbers.
	Draws() *rand.Rand
	// Fail ends the simulation.
	Fail(err error)
	// Trace notes what the member carries out, if anybody wants to know.
	Trace(what func() string)
}

// Config is how a cluster is set up.
type Config struct {
	Members   int
	Heartbeat time.Duration
	// Election is how long a member waits for a heartbeat, at least.
	Election time.Duration
	// Names and URLs are those of the members, for clients.
	Names, URLs []string
}

// ticks is how many heartbeats an election timeout has.
func (c Config) ticks() int { return int(c.Election / c.Heartbeat) }

// requestTimeout is how long etcd tries to carry a request out.
func (c Config) requestTimeout() time.Duration { return 5*time.Second + 2*c.Election }

// leastTTL is the shortest lease (s).
func (c Config) leastTTL() int64 {
	return int64((3*time.Duration(c.ticks())/2*c.Heartbeat + time.Second - 1) / time.Second)
}

// Disk is what a member has written down, and knows again after a crash.
type Disk struct {
	log     *raft.MemoryStorage
	store   *store
	applied uint64
	boots   uint64
}

// NewDisk returns the disk of a new member of a cluster.
func NewDisk(c Config) *Disk {
	d := &Disk{log: raft.NewMemoryStorage(), store: newStore()}
	var voters []uint64
	for i := range c.Members {
		voters = append(voters, uint64(i+1))
	}
	snap := &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{ConfState: &raftpb.ConfState{Voters: voters},
		Index: proto.Uint64(1), Term: proto.Uint64(1)}}
	if err := d.log.ApplySnapshot(snap); err != nil {
		panic(err) // the storage is empty
	}
	d.applied = 1
	return d
}

// Member is one member of a cluster.
type Member struct {
	number  int // from 1
	cfg     Config
	env     Env
	disk    *Disk
	store   *store
	node    *raft.RawNode
	closed  bool
	served  int64
	written int    // bytes of requests that were to be agreed on
	id      uint64 // of the last request
	term    uint64
	silent  int // heartbeats for which nobody led
	patient int // how many of them before it stands for election
	// lead is who leads, as far as it knows (0: nobody); leads whether it does, and has committed
	// something.
	lead       uint64
	leads      bool
	ledSince   time.Duration // when lead became known
	changes    int           // of lead
	ticked     time.Duration
	leaderless int // election timeouts

	proposed map[uint64]func(resp proto.Message, err error) // what was proposed here, by request
	queue    []*proposal                                    // while nobody leads
	reads    map[uint64]*read
	asked    map[uint64]func(text []byte) // questions to the leader

	busy      bool // in ready
	serving   bool // it has joined the others since it started
	conns     []*Conn
	watchers  []*watcher
	resyncing bool
}

// New starts a member with what it has written down. The first member to stand for election does so
// at once.
func New(number int, cfg Config, disk *Disk, env Env) (*Member, error) {
	disk.boots++
	m := &Member{number: number, cfg: cfg, env: env, disk: disk, store: disk.store,
		id:       uint64(number)<<56 | disk.boots<<32,
		proposed: map[uint64]func(proto.Message, error){}, reads: map[uint64]*read{}, asked: map[uint64]func([]byte){},
		ticked: env.Now()}
	var err error
	m.node, err = raft.NewRawNode(&raft.Config{ID: uint64(number), ElectionTick: cfg.ticks(), HeartbeatTick: 1,
		Storage: disk.log, Applied: disk.applied,
		MaxSizePerMsg: 512 << 10, MaxInflightMsgs: 512, CheckQuorum: true, PreVote: true, Logger: silentLogger{}})
	if err != nil {
		return nil, fmt.Errorf("start member %d of etcd: %w", number, err)
	}
	for _, l := range m.store.leases {
		l.expiry, l.next, l.ended = forever, forever, nil
	}
	m.draw()
	m.tick()
	m.watchLeases()
	m.watchLeader()
	m.serve()
	if number == min(2, cfg.Members) && disk.boots == 1 {
		m.after(0, m.campaign)
	}
	return m, nil
}

// Close ends the member, as a crash does.
func (m *Member) Close() {
	m.closed = true
	m.conns = nil
}

// serve begins to answer clients when the member has joined the others.
func (m *Member) serve() {
	m.linearize(nil, func(err error) {
		if err != nil {
			m.after(m.cfg.Heartbeat, m.serve)
			return
		}
		m.serving = true
		for _, c := range slices.Clone(m.conns) {
			c.process()
		}
	})
}

// Served is how many messages of clients it has taken.
func (m *Member) Served() int64 { return m.served }

// Leads reports whether it leads, as far as it knows, and the term of that.
func (m *Member) Leads() (leads bool, term uint64) { return m.isLeader(), m.term }

func (m *Member) isLeader() bool { return m.lead == uint64(m.number) }

func (m *Member) after(d time.Duration, fn func()) {
	m.env.After(d, func() {
		if !m.closed {
			fn()
		}
	})
}

func (m *Member) leader() uint64 { return m.lead }

func (m *Member) nextID() uint64 {
	m.id++
	return m.id
}

// draw decides anew how long it waits before it stands for election.
func (m *Member) draw() {
	m.silent = 0
	m.patient = m.cfg.ticks() + m.env.Draws().IntN(m.cfg.ticks())
}

// tick is the heartbeat. The raft library draws its election timeouts from the machine's random
// numbers, so only a leader's clock is its own: a member that hears nothing forgets its leader, and
// stands for election, when this one says so.
func (m *Member) tick() {
	m.after(m.cfg.Heartbeat, func() {
		m.ticked = m.env.Now()
		if m.node.BasicStatus().RaftState == raft.StateLeader {
			m.silent = 0
			m.node.Tick()
		} else {
			m.silent++
			if m.silent == m.cfg.ticks() {
				_ = m.node.ForgetLeader() // only with reads by lease it has an error
			}
			if m.silent >= m.patient {
				m.campaign()
			}
		}
		m.ready()
		m.tick()
	})
}

func (m *Member) campaign() {
	m.draw()
	_ = m.node.Campaign() // of one that may not, nothing comes
	m.ready()
}

// The kinds of messages between members: the first byte.
const (
	ofRaft = iota
	ofQuestion
	ofAnswer
)

// Receive takes a message of another member.
func (m *Member) Receive(from int, text []byte) {
	if m.closed || len(text) == 0 {
		return
	}
	if text[0] != ofRaft {
		m.takeForwarded(from, text)
		return
	}
	msg := &raftpb.Message{}
	if err := proto.Unmarshal(text[1:], msg); err != nil {
		m.env.Fail(fmt.Errorf("a message of member %d to member %d of etcd: %w", from, m.number, err))
		return
	}
	before := m.node.BasicStatus()
	_ = m.node.Step(msg) // what it does not want, it drops
	after := m.node.BasicStatus()
	led := after.Lead != raft.None && after.Lead == msg.GetFrom() &&
		(msg.GetType() == raftpb.MsgHeartbeat || msg.GetType() == raftpb.MsgApp)
	voted := after.HardState.GetVote() == msg.GetFrom() && msg.GetType() == raftpb.MsgVote
	if led || voted || after.HardState.GetTerm() != before.HardState.GetTerm() {
		m.draw()
	}
	m.ready()
}

// ready does what raft asks for, until it asks for nothing and no read can end.
func (m *Member) ready() {
	if m.busy { // what this was called for is seen to there
		return
	}
	m.busy = true
	for !m.closed && (m.node.HasReady() || m.letReads()) {
		if m.node.HasReady() {
			m.step(m.node.Ready())
		}
	}
	m.busy = false
	m.flush()
}

// step does what raft asks for at once.
func (m *Member) step(rd raft.Ready) {
	if rd.SoftState != nil {
		m.softly(rd.SoftState)
	}
	if !raft.IsEmptyHardState(rd.HardState) {
		m.term = rd.HardState.GetTerm()
		_ = m.disk.log.SetHardState(rd.HardState) // in memory
	}
	if err := m.disk.log.Append(rd.Entries); err != nil {
		m.env.Fail(err)
		return
	}
	for _, msg := range rd.Messages {
		m.transmit(msg)
	}
	for _, e := range rd.CommittedEntries {
		m.commit(e)
	}
	for _, r := range rd.ReadStates {
		m.readable(binary.BigEndian.Uint64(r.RequestCtx), r.Index)
	}
	m.node.Advance(rd)
}

func (m *Member) transmit(msg *raftpb.Message) {
	text, err := marshal.MarshalAppend([]byte{ofRaft}, msg)
	if err != nil {
		m.env.Fail(err)
		return
	}
	m.env.Send(int(msg.GetTo()), text)
}

// softly takes it that the leader has changed.
func (m *Member) softly(s *raft.SoftState) {
	if s.Lead != m.lead {
		m.lead = s.Lead
		if s.Lead != raft.None {
			m.ledSince = m.env.Now()
			m.changes++
			m.after(0, m.propose)
			m.leaderChanged()
		}
	}
	if m.leads && s.RaftState != raft.StateLeader {
		m.leads = false
		for _, l := range m.store.byID() {
			l.expiry, l.next = forever, forever
			l.end()
		}
	}
}

func (m *Member) flush() {
	for _, c := range slices.Clone(m.conns) {
		c.flush()
	}
}

// proposal is a request that is to be agreed on.
type proposal struct {
	id   uint64
	text []byte
}

// agree has a request carried out by all members, and tells what came of it here.
func (m *Member) agree(s *call, r *pb.InternalRaftRequest, done func(resp proto.Message, err error)) {
	id := m.nextID()
	r.Header = &pb.RequestHeader{ID: id}
	text, err := marshal.Marshal(r)
	if err == nil && len(text) > mostRequest {
		err = rpctypes.ErrGRPCRequestTooLarge
	}
	if err != nil {
		done(nil, err)
		return
	}
	if m.written += len(text); s != nil && m.written > mostWritten {
		s.c.exceeds("is the last to write to etcd", mostWritten, "bytes")
	}
	began := m.env.Now()
	m.proposed[id] = done
	forget := func() {
		delete(m.proposed, id)
		m.queue = slices.DeleteFunc(m.queue, func(p *proposal) bool { return p.id == id })
	}
	if s != nil {
		s.quit = append(s.quit, forget)
	}
	m.after(m.cfg.requestTimeout(), func() {
		if m.proposed[id] != nil {
			forget()
			done(nil, m.tooLate(began))
			m.flush()
		}
	})
	m.queue = append(m.queue, &proposal{id, text})
	m.propose()
}

// tooLate is the error of a request that took too long.
func (m *Member) tooLate(began time.Duration) error {
	if began > m.ledSince-2*m.cfg.Election && began < m.ledSince {
		return rpctypes.ErrGRPCTimeoutDueToLeaderFail
	}
	return rpctypes.ErrGRPCTimeout
}

// propose hands what waits to raft, when somebody leads.
func (m *Member) propose() {
	for m.lead != raft.None && len(m.queue) > 0 {
		p := m.queue[0]
		if err := m.node.Propose(p.text); errors.Is(err, raft.ErrProposalDropped) {
			break
		}
		m.queue = m.queue[1:]
	}
	m.ready()
}

// commit carries an entry out that the members have agreed on.
func (m *Member) commit(e *raftpb.Entry) {
	m.disk.applied = e.GetIndex()
	if len(e.Data) == 0 { // the first of a term
		m.firstOfTerm()
		return
	}
	r := &pb.InternalRaftRequest{}
	if err := proto.Unmarshal(e.Data, r); err != nil {
		m.env.Fail(err)
		return
	}
	resp, events, err := m.apply(r)
	m.notify(events)
	id := r.GetHeader().GetID()
	if done := m.proposed[id]; done != nil {
		delete(m.proposed, id)
		done(resp, err)
	}
}

func (m *Member) firstOfTerm() {
	if m.node.BasicStatus().RaftState == raft.StateLeader && !m.leads {
		m.leads = true
		for _, l := range m.store.byID() {
			l.refresh(m.env.Now(), m.cfg.Election)
		}
	}
	m.askAgain()
}

// apply carries a request out.
func (m *Member) apply(r *pb.InternalRaftRequest) (resp proto.Message, events []*mvccpb.Event, err error) {
	s := m.store
	switch {
	case r.Put != nil:
		var p *pb.PutResponse
		if p, events, err = s.put(r.Put); err == nil {
			m.fill(p.Header)
		}
		return p, events, err
	case r.DeleteRange != nil:
		p, events := s.delete(r.DeleteRange)
		m.fill(p.Header)
		return p, events, nil
	case r.Txn != nil:
		var p *pb.TxnResponse
		if p, events, err = s.txn(r.Txn); err == nil {
			m.fill(p.Header)
		}
		return p, events, err
	case r.Compaction != nil:
		err := s.compact(r.Compaction.Revision)
		return &pb.CompactionResponse{Header: m.header(s.rev)}, nil, err
	case r.LeaseGrant != nil:
		l, err := s.grant(r.LeaseGrant, m.cfg.leastTTL())
		if err != nil {
			return nil, nil, err
		}
		if m.leads {
			l.refresh(m.env.Now(), 0)
		}
		return &pb.LeaseGrantResponse{Header: m.header(s.rev), ID: l.id, TTL: l.ttl}, nil, nil
	case r.LeaseRevoke != nil:
		l, events, err := s.revoke(r.LeaseRevoke.ID)
		if err == nil {
			l.end()
		}
		return &pb.LeaseRevokeResponse{Header: m.header(s.rev)}, events, err
	}
	return nil, nil, fmt.Errorf("the simulated etcd does not know the request %v", r)
}

// clusterID is the cluster's name in headers.
const clusterID = 0x10c4ca05

func (m *Member) header(rev int64) *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: clusterID, MemberId: uint64(m.number), Revision: rev, RaftTerm: m.term}
}

// fill adds to a header who answers.
func (m *Member) fill(h *pb.ResponseHeader) {
	rev := h.Revision
	if rev == 0 {
		rev = m.store.rev
	}
	proto.Merge(h, m.header(rev))
}
