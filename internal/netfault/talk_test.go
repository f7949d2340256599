package netfault

import (
	"net/netip"
	"strings"
	"testing"
)

// TestTalk: what the packets of one call tell of its bounds. Each word is a packet
// at the instant of its place, from 1 on: r a request, a an answer, k a bare
// acknowledgement, f the end of the connection; R is the last request sent again.
// A digit before it is its connection, 1 if there is none. E is the call's end. The call
// begins with the first word, or with B.
func TestTalk(t *testing.T) {
	for _, x := range []struct {
		name, packets string
		want          Bounds
	}{
		{"a request and its answer", "r a E", Bounds{1, 2}},
		{"it polls", "r a r a k E", Bounds{3, 4}},
		{"it waits in the service's queue", "r k a E", Bounds{1, 3}},
		{"an answer in two segments", "r a a E", Bounds{1, 3}},
		{"the request is sent again", "r R R a E", Bounds{1, 4}},
		{"something is said behind the answer", "r a r E", Bounds{0, 2}},
		{"another connection has asked", "r a 2r 2a E", Bounds{0, 4}},
		{"another connection has only told", "r a 2a r a E", Bounds{4, 5}},
		{"another connection has told last", "r a 2a E", Bounds{0, 3}},
		{"an answer behind the end", "r E a", Bounds{}},
		{"nothing was said", "k f E", Bounds{}},
		{"the host spoke before its first call", "r a B r a E", Bounds{4, 5}},
		{"a connection of the same ports", "r a f r a E", Bounds{4, 5}},
	} {
		t.Run(x.name, func(t *testing.T) {
			var tk exchanged
			if !strings.Contains(x.packets, "B") {
				tk.begin(0)
			}
			end, seq := int64(0), map[string]uint32{}
			for i, word := range strings.Fields(x.packets) {
				at := int64(i + 1)
				if word == "B" {
					tk.begin(at)
					continue
				}
				if word == "E" {
					end = at
					continue
				}
				what, conn := word[len(word)-1:], word[:len(word)-1]
				host, server := netip.MustParseAddrPort("10.0.0.2:4000"), netip.MustParseAddrPort("10.0.0.1:6379")
				if conn == "2" {
					host = netip.MustParseAddrPort("10.0.0.2:4001")
				}
				p := &Packet{At: at, Dir: Out, Src: host, Dst: server, TCP: true, Flags: FlagACK, Seq: seq[conn]}
				switch what {
				case "a":
					p.Dir, p.Src, p.Dst, p.Payload = In, server, host, []byte("answer")
				case "r":
					p.Payload = []byte("request")
					seq[conn] += 7
				case "R":
					p.Payload, p.Seq = []byte("request"), seq[conn]-7
				case "f":
					p.Flags |= FlagFIN
					seq[conn] = 0
				}
				tk.note(p)
			}
			if got := tk.end(end); got != x.want {
				t.Errorf("%+v, want %+v", got, x.want)
			}
		})
	}
}

// TestTalkForgets: a call knows nothing of the one before, but for what its host had sent.
func TestTalkForgets(t *testing.T) {
	var tk exchanged
	host, server := netip.MustParseAddrPort("10.0.0.2:4000"), netip.MustParseAddrPort("10.0.0.1:6379")
	request := func(at int64) *Packet {
		return &Packet{At: at, Dir: Out, Src: host, Dst: server, TCP: true, Payload: []byte("request")}
	}
	answer := func(at int64) *Packet {
		return &Packet{At: at, Dir: In, Src: server, Dst: host, TCP: true, Payload: []byte("answer")}
	}
	tk.begin(0)
	tk.note(request(1))
	tk.begin(2)
	tk.note(request(3)) // again
	tk.note(answer(4))
	if got, want := tk.end(5), (Bounds{0, 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
