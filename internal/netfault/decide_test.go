package netfault

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

var (
	client  = netip.MustParseAddrPort("10.0.0.1:40000")
	server  = netip.MustParseAddrPort("10.0.0.2:6379")
	client2 = netip.MustParseAddrPort("10.0.0.1:40001")
)

// tcp makes a packet as it is seen on the client's host.
func tcp(from, to netip.AddrPort, seq, ack uint32, flags uint8, payload string) *Packet {
	dir := Out
	if to.Addr() == client.Addr() {
		dir = In
	}
	return &Packet{Dir: dir, Src: from, Dst: to, TCP: true, Seq: seq, Ack: ack, Flags: flags | FlagACK,
		Payload: []byte(payload), Size: 40 + len(payload)}
}

func TestConditionsAreChecked(t *testing.T) {
	for _, bad := range []Conditions{
		{}, {Loss: -.1}, {Loss: 1.1}, {Duplicate: 2}, {Delay: -1}, {Delay: 1, Jitter: 2}, {Reorder: .5}, {Rate: -1},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	for _, good := range []Conditions{{Loss: 1}, {Delay: 2, Jitter: 2, Reorder: .1}, {Rate: 1}, {Duplicate: .5}} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
}

// Same seed, same fates; delays within their bounds; what one condition draws
// does not depend on the others.
func TestDegradeIsAFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Conditions{
			Delay: time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "delay")), Loss: rapid.Float64Range(0, 1).Draw(t, "loss"),
			Duplicate: rapid.Float64Range(0, 1).Draw(t, "duplicate"), Reorder: rapid.Float64Range(0, 1).Draw(t, "reorder"),
		}
		c.Jitter = time.Duration(rapid.Int64Range(0, int64(c.Delay)).Draw(t, "jitter"))
		seed := rapid.Uint64().Draw(t, "seed")
		rng := func() *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
		one, two, onlyLoss := Degrade(c, rng()), Degrade(c, rng()), Degrade(Conditions{Loss: c.Loss}, rng())
		for range 100 {
			p := &Packet{Size: 100}
			f, lost := one(p), onlyLoss(p).Drop
			if g := two(p); f != g {
				t.Fatalf("%+v, then %+v", f, g)
			}
			if f.Drop != lost {
				t.Fatalf("lost %v, without other conditions %v", f.Drop, lost)
			}
			if f.Delay != 0 && (f.Delay < c.Delay-c.Jitter || f.Delay > c.Delay+c.Jitter) || f.Copies > 1 || f.Hold || f.Reset {
				t.Fatalf("%+v under %+v", f, c)
			}
		}
	})
}

// The probabilities are those that were asked for.
func TestDegradeFrequencies(t *testing.T) {
	c := Conditions{Delay: 10, Loss: .2, Duplicate: .3, Reorder: .4}
	decide, n := Degrade(c, seeded()), 100_000
	var lost, twice, early float64
	for range n {
		f := decide(&Packet{})
		switch {
		case f.Drop:
			lost++
			continue
		case f.Copies == 1:
			twice++
		}
		if f.Delay == 0 {
			early++
		}
	}
	for name, pair := range map[string][2]float64{"lost": {lost, .2}, "twice": {twice, .3 * .8}, "early": {early, .4 * .8}} {
		if got := pair[0] / float64(n); got < pair[1]-.01 || got > pair[1]+.01 {
			t.Errorf("%s: %v, want %v", name, got, pair[1])
		}
	}
}

// A rate sends one packet after the other, starts afresh after a pause, and
// loses what does not fit into the backlog.
func TestDegradeRate(t *testing.T) {
	decide := Degrade(Conditions{Rate: 1000, Delay: time.Second}, seeded())
	for i, c := range []struct {
		at   time.Duration
		want time.Duration
	}{{0, 2 * time.Second}, {0, 3 * time.Second}, {500 * time.Millisecond, 3500 * time.Millisecond}, {10 * time.Second, 2 * time.Second}} {
		if f := decide(&Packet{At: int64(c.at), Size: 1000}); f.Delay != c.want || f.Drop {
			t.Errorf("packet %d: %+v, want a delay of %v", i, f, c.want)
		}
	}
	taken := 0
	for ; !decide(&Packet{At: int64(10 * time.Second), Size: 1500}).Drop; taken++ {
		if taken > 2000 {
			t.Fatal("the backlog has no end")
		}
	}
	if taken != 1000 {
		t.Errorf("%d full packets wait, want 1000", taken)
	}
}

func TestAims(t *testing.T) {
	set := "*3\r\n$3\r\nset\r\n$2\r\nk0\r\n$1\r\nv\r\n"
	for _, c := range []struct {
		name    string
		is      Is
		payload string
		want    bool
	}{
		{"command", RedisCommand("SET"), set, true},
		{"command and key", RedisCommand("SET", "k0"), set, true},
		{"all words", RedisCommand("SET", "k0", "v"), set, true},
		{"other key", RedisCommand("SET", "k1"), set, false},
		{"key in capitals", RedisCommand("SET", "K0"), set, false},
		{"longer key", RedisCommand("SET", "k"), set, false},
		{"too many words", RedisCommand("SET", "k0", "v", "PX"), set, false},
		{"other command", RedisCommand("GET"), set, false},
		{"behind another", RedisCommand("SET", "k0"), "*1\r\n$4\r\nPING\r\n" + set, true},
		{"a star in a value", RedisCommand("SET"), "*2\r\n$3\r\nGET\r\n$1\r\n*\r\n", false},
		{"cut off", RedisCommand("SET", "k0"), set[:17], false},
		{"nothing", RedisCommand("SET"), "", false},
		{"garbage", RedisCommand("SET"), "*x\r\n*\r\n*3\r\n$9\r\nSET", false},
		{"text", Contains("k0"), set, true},
		{"no text", Contains("k1"), set, false},
		{"all", All(HasPayload, Contains("k0"), Sent(Out)), set, true},
		{"not all", All(HasPayload, Contains("k0"), Sent(In)), set, false},
	} {
		if got := c.is(tcp(client, server, 1, 1, 0, c.payload)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// script runs packets through a decision and says what became of each: p
// passed, d dropped, h held, r reset as well.
func script(decide Decide, packets ...*Packet) string {
	var out strings.Builder
	for _, p := range packets {
		f := decide(p)
		letter := "p"
		switch {
		case f.Drop:
			letter = "d"
		case f.Hold:
			letter = "h"
		}
		if f.Reset {
			letter += "r"
		}
		out.WriteString(letter + " ")
	}
	return strings.TrimSpace(out.String())
}

func TestCutAtIsAFunction(t *testing.T) {
	before := tcp(client, server, 1, 1, 0, "other")
	request := tcp(client, server, 10, 1, 0, "aim")
	another := tcp(client2, server, 10, 1, 0, "aim") // of another connection
	ackOfRequest := tcp(server, client, 1, 13, 0, "")
	reply := tcp(server, client, 1, 13, 0, "OK")
	rest := tcp(server, client, 3, 13, 0, "OK")
	halfAck := tcp(client, server, 13, 3, 0, "")
	ack := tcp(client, server, 13, 5, 0, "")
	next := tcp(client, server, 13, 5, 0, "next")
	fin := tcp(client, server, 13, 5, FlagFIN, "")
	rst := tcp(server, client, 5, 13, FlagRST, "")
	all := []*Packet{before, request, another, ackOfRequest, reply, rest, halfAck, ack, next, fin, rst, another}
	for _, c := range []struct {
		when Moment
		how  Cutting
		want string
	}{
		{BeforeRequest, Reset, "p dr p p d d p p d d p p"},
		{BeforeRequest, Silence, "p d p d d d d d d d d p"},
		{AfterRequest, Reset, "p p p p dr d p p d d p p"},
		{AfterRequest, Silence, "p p p p d d d d d d d p"},
		{AfterReply, Reset, "p p p p p p p pr d d p p"},
		{AfterReply, Silence, "p p p p p p p p d d d p"},
		{BeforeRequest, Mute, "p d p p d d p p d p p p"},
		{AfterRequest, Mute, "p p p p d d p p d p p p"},
	} {
		if got := script(CutAt(c.when, Contains("aim"), nil, c.how), all...); got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.when, c.how, got, c.want)
		}
	}
	if got := script(CutAt(AfterReply, Contains("aim"), nil, Reset), request, reply,
		tcp(client, server, 13, 3, 0, "next")); got != "p p dr" {
		t.Errorf("a request that acknowledges the reply: %q", got)
	}
}

func TestHoldIsAFunction(t *testing.T) {
	request, reply, other := tcp(client, server, 1, 1, 0, "aim"), tcp(server, client, 1, 4, 0, "OK"), tcp(server, client2, 1, 4, 0, "OK")
	if got := script(Hold(Contains("aim"), 0), reply, request, request, reply); got != "p h p p" {
		t.Errorf("hold: %q", got)
	}
	if got := script(HoldReply(Contains("aim"), nil, 0), reply, request, other, tcp(server, client, 1, 4, 0, ""), reply,
		reply); got != "p p p p h p" {
		t.Errorf("hold the reply: %q", got)
	}
	if got := script(DropFrom(2, Contains("aim")), request, reply, request, reply, request); got != "p p d p d" {
		t.Errorf("drop from the second: %q", got)
	}
}

// A reply that is not aimed at ends the request, and the next one is meant.
func TestRepliesAreAimedAt(t *testing.T) {
	ask := func(text string) *Packet { return tcp(client, server, 1, 1, 0, "*1\r\n$3\r\n"+text) }
	answer := func(text string) *Packet { return tcp(server, client, 1, 20, 0, text+"\r\n") }
	busy := []*Packet{ask("aim"), answer("$-1"), ask("aim"), answer(":0"), ask("bim"), answer("+OK"), ask("aim"), answer(":17")}
	if got := script(HoldReply(Contains("aim"), RedisYes, 0), busy...); got != "p p p p p p p h" {
		t.Errorf("hold the reply: %q", got)
	}
	if got := script(CutAt(AfterRequest, Contains("aim"), RedisYes, Reset), busy...); got != "p p p p p p p dr" {
		t.Errorf("cut after the request: %q", got)
	}
	if got := script(CutAt(BeforeRequest, Contains("aim"), RedisYes, Reset), busy[:3]...); got != "dr d d" {
		t.Errorf("cut before the request: %q", got)
	}
	for text, want := range map[string]bool{"+OK": true, ":1": true, "*2": true, "$5": true, "$-1": false, "*-1": false,
		"_": false, ":0": false, ":-2": false, "-ERR": false} {
		if RedisYes(ask("aim"), answer(text)) != want {
			t.Errorf("%s is a yes: %v", text, !want)
		}
	}
	if !RedisYes(tcp(client, server, 1, 1, 0, "GET /"), answer("-")) {
		t.Error("another protocol's reply is taken for a no")
	}
}

// A packet that measures is as late as others, and counts for nothing: it takes
// no random number, is not lost, and uses nothing of a rate.
func TestGaugesChangeNothing(t *testing.T) {
	other, ours := tcp(client, server, 1, 1, 0, "x"), tcp(client, netip.AddrPortFrom(server.Addr(), gaugePort), 1, 1, FlagSYN, "")
	other.Size, ours.Size, other.At, ours.At = 100, 50, 1, 1
	c := Conditions{Delay: time.Second, Loss: .5, Rate: 100}
	with, without := Degrade(c, seeded()), Degrade(c, seeded())
	waits := time.Second // of the line
	for i := range 20 {
		if got := with(ours); got != (Fate{Delay: c.Delay + time.Second/2 + waits - time.Second, Gauge: true}) {
			t.Fatalf("packet %d of ours: %+v, the line is busy for %v", i, got, waits)
		}
		got, want := with(other), without(other)
		if got != want {
			t.Fatalf("packet %d: %+v, without ours %+v", i, got, want)
		}
		if !got.Drop {
			waits += time.Second
		}
	}
}

// build makes the bytes of an IPv4 packet.
func build(proto byte, options int, l4 []byte) []byte {
	raw := make([]byte, ipHeader+options)
	raw[0], raw[9] = byte(4<<4|(ipHeader+options)/4), proto
	copy(raw[12:], client.Addr().AsSlice())
	copy(raw[16:], server.Addr().AsSlice())
	return append(raw, l4...)
}

func TestParse(t *testing.T) {
	l4 := make([]byte, tcpHeader+4)
	binary.BigEndian.PutUint16(l4[0:], client.Port())
	binary.BigEndian.PutUint16(l4[2:], server.Port())
	binary.BigEndian.PutUint32(l4[4:], 7)
	binary.BigEndian.PutUint32(l4[8:], 9)
	l4[12], l4[13] = 6<<4, FlagACK|FlagPSH
	p := parse(build(6, 8, append(l4, "hello"...)), Out, 5)
	if p.Src != client || p.Dst != server || !p.TCP || p.Seq != 7 || p.Ack != 9 || string(p.Payload) != "hello" ||
		p.At != 5 || p.Size != 28+24+5 {
		t.Errorf("%+v", p)
	}
	if c := p.Connection(); c.Local != client || c.Peer != server {
		t.Errorf("connection %v", c)
	}
	fragment := build(6, 0, l4)
	fragment[7] = 1
	if p := parse(fragment, In, 0); p.TCP || p.Payload != nil || p.Src.Addr() != client.Addr() {
		t.Errorf("a fragment: %+v", p)
	}
}

// Whatever arrives, parsing neither fails nor reads beyond it.
func TestParseAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "raw")
		if len(raw) > 9 && rapid.Bool().Draw(t, "plausible") {
			raw[0], raw[6], raw[7] = raw[0]&15|4<<4, 0, 0
			raw[9] = rapid.SampledFrom([]byte{unix.IPPROTO_TCP, unix.IPPROTO_UDP}).Draw(t, "protocol")
		}
		p := parse(raw, In, 1)
		if p.Size != len(raw) || len(p.Payload) > len(raw) || p.TCP && !p.Src.Addr().Is4() {
			t.Fatalf("%+v", p)
		}
		_, _ = Match{Peer: client.Addr()}.meets(&p), RedisCommand("SET", "k")(&p)
	})
}

// Segments that share bytes are repetitions, also where sequence numbers wrap around.
func TestRepeats(t *testing.T) {
	for _, c := range []struct {
		first, second uint32
		want          bool
	}{{100, 100, true}, {100, 103, true}, {100, 97, true}, {100, 104, false}, {100, 96, false}, {1<<32 - 2, 1, true},
		{1<<32 - 2, 2, false}} {
		if got := tcp(client, server, c.second, 0, 0, "four").repeats(tcp(client, server, c.first, 0, 0, "four")); got != c.want {
			t.Errorf("%d after %d: %v", c.second, c.first, got)
		}
	}
	four := tcp(client, server, 100, 0, 0, "four")
	if tcp(server, client, 100, 0, 0, "four").repeats(four) || tcp(client, server, 100, 0, 0, "").repeats(four) {
		t.Error("another way, or no payload, is no repetition")
	}
}

func TestMatchMeets(t *testing.T) {
	in, out := tcp(server, client, 1, 1, 0, "x"), tcp(client, server, 1, 1, 0, "x")
	for _, c := range []struct {
		m       Match
		in, out bool
	}{
		{Match{}, true, false},
		{Match{Dir: Out}, false, true},
		{Match{Peer: server.Addr()}, true, false},
		{Match{Peer: client.Addr()}, false, false},
		{Match{PeerPort: 6379}, true, false},
		{Match{Dir: Out, PeerPort: 6379, Port: 40000}, false, true},
		{Match{Port: 6379}, false, false},
	} {
		if c.m.meets(in) != c.in || c.m.meets(out) != c.out {
			t.Errorf("%v: in %v, out %v", c.m, c.m.meets(in), c.m.meets(out))
		}
	}
	if (Match{Port: 1}).meets(&Packet{Dst: netip.AddrPortFrom(client.Addr(), 1)}) {
		t.Error("a port means TCP")
	}
	if got := fmt.Sprint(Match{Dir: Out, Peer: server.Addr(), PeerPort: 6379, Port: 1}); got != "out 10.0.0.2 peer port 6379 port 1" {
		t.Error(got)
	}
}
