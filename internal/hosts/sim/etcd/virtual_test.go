package etcd_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/lockchaos/lockchaos/internal/hosts/sim/etcd"
)

// world is a cluster of the model in virtual time, on links that may be cut.
type world struct {
	t   *testing.T
	now time.Duration
	due []due
	cfg etcd.Config
	all []*machine
	cut map[*machine]bool
}

type due struct {
	at time.Duration
	fn func()
}

// machine is that of one member. Its clock runs at a rate.
type machine struct {
	*world
	number int
	disk   *etcd.Disk
	member *etcd.Member
	draws  *rand.Rand
	rate   float64
	read   time.Duration // the clock, when its rate was set
	at     time.Duration
}

func newWorld(t *testing.T, members int) *world {
	w := &world{t: t, cut: map[*machine]bool{},
		cfg: etcd.Config{Members: members, Heartbeat: 50 * time.Millisecond, Election: 500 * time.Millisecond,
			Names: make([]string, members), URLs: make([]string, members)}}
	for i := range members {
		m := &machine{world: w, number: i + 1, disk: etcd.NewDisk(w.cfg), draws: rand.New(rand.NewPCG(1, uint64(i))), rate: 1}
		w.all = append(w.all, m)
	}
	for _, m := range w.all {
		m.start()
	}
	w.pass(time.Second)
	return w
}

func (m *machine) start() {
	var err error
	if m.member, err = etcd.New(m.number, m.cfg, m.disk, m); err != nil {
		m.t.Fatal(err)
	}
}

func (w *world) after(d time.Duration, fn func()) {
	at := w.now + d
	i, _ := slices.BinarySearchFunc(w.due, at+1, func(e due, at time.Duration) int { return int(e.at - at) })
	w.due = slices.Insert(w.due, i, due{at, fn})
}

// until lets time pass until something is so, at the longest for d, and reports whether it is.
func (w *world) until(d time.Duration, ok func() bool) bool {
	for end := w.now + d; !ok() && len(w.due) > 0 && w.due[0].at <= end; {
		e := w.due[0]
		w.due = w.due[1:]
		w.now = e.at
		e.fn()
	}
	return ok()
}

func (w *world) pass(d time.Duration) {
	end := w.now + d
	w.until(d, func() bool { return false })
	w.now = end
}

// leader is the member that leads, of those that live.
func (w *world) leader() *machine {
	w.t.Helper()
	var leader *machine
	if !w.until(5*time.Second, func() bool {
		most := uint64(0)
		for _, m := range w.all {
			if m.member == nil || w.cut[m] {
				continue
			}
			if leads, term := m.member.Leads(); leads && term >= most {
				leader, most = m, term
			}
		}
		return leader != nil
	}) {
		w.t.Fatal("nobody leads")
	}
	return leader
}

// other is a member that is not m.
func (w *world) other(m *machine) *machine { return w.all[m.number%len(w.all)] }

func (m *machine) crash() {
	m.member.Close()
	m.member = nil
}

func (m *machine) Now() time.Duration {
	return m.read + time.Duration(float64(m.now-m.at)*m.rate)
}

func (m *machine) setRate(rate float64) { m.read, m.at, m.rate = m.Now(), m.now, rate }

func (m *machine) After(d time.Duration, fn func()) { m.after(time.Duration(float64(d)/m.rate), fn) }

func (m *machine) Send(to int, text []byte) {
	other := m.all[to-1]
	m.after(100*time.Microsecond, func() {
		if other.member != nil && !m.cut[m] && !m.cut[other] {
			other.member.Receive(m.number, text)
		}
	})
}

func (m *machine) Draws() *rand.Rand { return m.draws }

func (m *machine) Fail(err error) { m.t.Error(err) }

func (m *machine) Trace(what func() string) { _ = what() }

// caller is a client of gRPC that says when it sends, and how much it takes.
type caller struct {
	m       *machine
	conn    *etcd.Conn
	in, out bytes.Buffer
	framer  *http2.Framer
	encoded bytes.Buffer
	encoder *hpack.Encoder
	id      uint32
	data    map[uint32][]byte
	fields  map[uint32]map[string]string
	decoder *hpack.Decoder
}

func (m *machine) dial(settings ...http2.Setting) *caller {
	c := &caller{m: m, id: 1, data: map[uint32][]byte{}, fields: map[uint32]map[string]string{}, decoder: hpack.NewDecoder(4096, nil)}
	c.framer = http2.NewFramer(&c.out, &c.in)
	c.encoder = hpack.NewEncoder(&c.encoded)
	c.conn = m.member.Accept(func(text []byte) { c.take(text) })
	c.out.WriteString(http2.ClientPreface)
	_ = c.framer.WriteSettings(settings...)
	c.flush()
	return c
}

func (c *caller) take(text []byte) {
	c.in.Write(text)
	for c.in.Len() > 0 {
		f, err := c.framer.ReadFrame()
		if err != nil {
			c.m.t.Fatal(err)
		}
		switch f := f.(type) {
		case *http2.DataFrame:
			c.data[f.StreamID] = append(c.data[f.StreamID], f.Data()...)
		case *http2.HeadersFrame:
			fields, err := c.decoder.DecodeFull(f.HeaderBlockFragment())
			if err != nil {
				c.m.t.Fatal(err)
			}
			if c.fields[f.StreamID] == nil {
				c.fields[f.StreamID] = map[string]string{}
			}
			for _, one := range fields {
				c.fields[f.StreamID][one.Name] = one.Value
			}
		}
	}
}

// flush sends what was written, byte by byte: a frame may come in pieces.
func (c *caller) flush() {
	text := bytes.Clone(c.out.Bytes())
	c.out.Reset()
	for i := range text {
		if err := c.conn.Receive(text[i : i+1]); err != nil {
			c.m.t.Fatal(err)
		}
	}
}

// call begins a call.
func (c *caller) call(method string, r proto.Message, more ...hpack.HeaderField) (stream uint32) {
	stream = c.id
	c.id += 2
	c.encoded.Reset()
	for _, f := range append([]hpack.HeaderField{{Name: ":method", Value: "POST"},
		{Name: ":path", Value: "/etcdserverpb." + method}}, more...) {
		_ = c.encoder.WriteField(f)
	}
	_ = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.encoded.Bytes(), EndHeaders: true})
	text, _ := proto.Marshal(r)
	text = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text))), text...)
	for part := range slices.Chunk(text, 10_000) {
		_ = c.framer.WriteData(stream, false, part)
	}
	_ = c.framer.WriteData(stream, true, nil)
	c.flush()
	return stream
}

// ask makes a call and returns what it came to: grpc-status, and its message.
func (c *caller) ask(method string, r, into proto.Message, more ...hpack.HeaderField) (code, message string) {
	c.m.t.Helper()
	stream := c.call(method, r, more...)
	if !c.m.until(20*time.Second, func() bool { return c.fields[stream]["grpc-status"] != "" }) {
		c.m.t.Fatalf("%s was not answered", method)
	}
	if text := c.data[stream]; len(text) > 5 {
		if err := proto.Unmarshal(text[5:], into); err != nil {
			c.m.t.Fatal(err)
		}
	}
	return c.fields[stream]["grpc-status"], c.fields[stream]["grpc-message"]
}

func (c *caller) put(key, value string, lease int64) {
	c.m.t.Helper()
	if code, why := c.ask("KV/Put", &pb.PutRequest{Key: []byte(key), Value: []byte(value), Lease: lease}, &pb.PutResponse{}); code != "0" {
		c.m.t.Fatalf("put: %s %s", code, why)
	}
}

func (c *caller) get(key string, serializable bool) (value, code, why string) {
	resp := &pb.RangeResponse{}
	code, why = c.ask("KV/Range", &pb.RangeRequest{Key: []byte(key), Serializable: serializable}, resp)
	if len(resp.Kvs) == 0 {
		return "", code, why
	}
	return string(resp.Kvs[0].Value), code, why
}

func (c *caller) grant(id, ttl int64) {
	c.m.t.Helper()
	if code, why := c.ask("Lease/LeaseGrant", &pb.LeaseGrantRequest{ID: id, TTL: ttl}, &pb.LeaseGrantResponse{}); code != "0" {
		c.m.t.Fatalf("grant: %s %s", code, why)
	}
}

// TestLeasesGoByTheLeadersClock: a lease ends by the clock of the leader, and by no other.
func TestLeasesGoByTheLeadersClock(t *testing.T) {
	for _, c := range []struct {
		name        string
		fast        func(w *world) *machine
		least, most time.Duration
	}{
		{"true clocks", nil, 4 * time.Second, 4600 * time.Millisecond},
		{"a fast leader", (*world).leader, 2 * time.Second, 2400 * time.Millisecond},
		{"a fast follower", func(w *world) *machine { return w.other(w.leader()) }, 4 * time.Second, 4600 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 3)
			if c.fast != nil {
				c.fast(w).setRate(2)
			}
			client := w.other(w.leader()).dial()
			client.grant(7, 4)
			began := w.now
			client.put("k", "held", 7)
			for w.now < began+10*time.Second {
				if value, _, _ := client.get("k", false); value == "" {
					break
				}
				w.pass(10 * time.Millisecond)
			}
			if took := w.now - began; took < c.least || took > c.most {
				t.Errorf("the lease of 4 s ended after %v", took)
			}
		})
	}
}

// TestLeaderCrashes: another member leads then, with all that was answered for;
// leases begin anew; and the one that crashed comes back with what it knew.
func TestLeaderCrashes(t *testing.T) {
	w := newWorld(t, 3)
	old := w.leader()
	client := w.other(old).dial()
	client.grant(7, 4)
	client.put("k", "before", 7)
	w.pass(3 * time.Second)
	old.crash()
	w.until(3*time.Second, func() bool { return false })
	if fresh := w.leader(); fresh == old {
		t.Fatal("a dead member leads")
	}
	if value, code, why := client.get("k", false); value != "before" {
		t.Errorf("after 6 s of a lease of 4 s, 3 s after its leader's crash: %q, %s %s", value, code, why)
	}
	client.put("k2", "after", 0)
	old.start()
	w.pass(2 * time.Second)
	if value, _, why := old.dial().get("k2", true); value != "after" {
		t.Errorf("the member that came back has %q, %s", value, why)
	}
	w.pass(4 * time.Second)
	if value, _, _ := client.get("k", false); value != "" {
		t.Error("the lease does not end any more")
	}
}

// TestMinority: a member without the others answers what need not be new, and nothing else; a call
// that needs a leader is ended.
func TestMinority(t *testing.T) {
	w := newWorld(t, 3)
	alone := w.leader()
	client := alone.dial()
	client.put("k", "old", 0)
	stream := client.call("Watch/Watch", &pb.WatchRequest{}, hpack.HeaderField{Name: "hasleader", Value: "true"})
	w.cut[alone] = true
	w.leader().dial().put("k", "new", 0)
	if value, code, why := client.get("k", true); value != "old" {
		t.Errorf("serializable: %q, %s %s", value, code, why)
	}
	if value, code, why := client.get("k", false); code != "14" || value != "" || !strings.HasPrefix(why, "etcdserver: request timed out") {
		t.Errorf("linearizable: %q, %s %s", value, code, why)
	}
	if got := client.fields[stream]; got["grpc-message"] != "etcdserver: no leader" {
		t.Errorf("the watch: %v", got)
	}
	w.cut[alone] = false
	w.pass(2 * time.Second)
	if value, code, why := client.get("k", false); value != "new" {
		t.Errorf("together again: %q, %s %s", value, code, why)
	}
}

// TestFlowControl: no more is sent than the client takes.
func TestFlowControl(t *testing.T) {
	w := newWorld(t, 1)
	w.all[0].dial().put("k", strings.Repeat("x", 50_000), 0)
	c := w.all[0].dial(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1000})
	stream := c.call("KV/Range", &pb.RangeRequest{Key: []byte("k")})
	for want := 1000; want <= 50_000; want += 7000 {
		if got := len(c.data[stream]); got != want || c.fields[stream]["grpc-status"] != "" {
			t.Fatalf("%d bytes, the window is %d; %v", got, want, c.fields[stream])
		}
		_ = c.framer.WriteWindowUpdate(stream, 7000)
		c.flush()
	}
	if got := c.fields[stream]; got["grpc-status"] != "0" {
		t.Errorf("%d bytes, %v", len(c.data[stream]), got)
	}
}

// TestDeadline: a call is ended at its deadline, though its client may not be able to say so.
func TestDeadline(t *testing.T) {
	w := newWorld(t, 3)
	alone := w.leader()
	w.cut[alone] = true
	began := w.now
	code, _ := alone.dial().ask("KV/Put", &pb.PutRequest{Key: []byte("k")}, &pb.PutResponse{},
		hpack.HeaderField{Name: "grpc-timeout", Value: "300m"})
	if took := w.now - began; code != "4" || took != 300*time.Millisecond {
		t.Errorf("status %s after %v", code, took)
	}
}

func TestUnknownMethods(t *testing.T) {
	c := newWorld(t, 1).all[0].dial()
	for method, want := range map[string]string{"Auth/AuthEnable": "unknown service etcdserverpb.Auth",
		"KV/Nothing": "unknown method Nothing for service etcdserverpb.KV"} {
		if code, why := c.ask(method, &pb.RangeRequest{}, &pb.RangeResponse{}); code != "12" || why != want {
			t.Errorf("%s: %s %s", method, code, why)
		}
	}
}

// FuzzReceive: whatever a client sends, the server does not break.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x05\x00\x01\x00\x00\x00\x01hello"))
	f.Add([]byte("\x00\x00\x01\x01\x05\x00\x00\x00\x01\x83"))
	f.Fuzz(func(t *testing.T, text []byte) {
		w := newWorld(t, 1)
		c := w.all[0].member.Accept(func([]byte) {})
		_ = c.Receive(append([]byte(http2.ClientPreface), text...))
		w.pass(time.Second)
		c.Gone()
	})
}
