package etcd_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestSandboxConnections: a client that takes more of a member than it may is told so.
func TestSandboxConnections(t *testing.T) {
	for _, c := range []struct {
		want string
		send func(f *http2.Framer)
	}{
		{"headers of", func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, 16<<10)})
			for range 5 {
				_ = f.WriteContinuation(1, false, make([]byte, 16<<10))
			}
		}},
		{"has on one connection", func(f *http2.Framer) {
			var b bytes.Buffer
			e := hpack.NewEncoder(&b)
			for i := range 10_001 {
				b.Reset()
				for name, value := range map[string]string{":path": "/etcdserverpb.Watch/Watch", ":method": "POST"} {
					_ = e.WriteField(hpack.HeaderField{Name: name, Value: value})
				}
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: b.Bytes(), EndHeaders: true})
			}
		}},
	} {
		w := newWorld(t, 1)
		w.pass(2 * time.Second)
		conn := w.all[0].member.Accept(func([]byte) {})
		said := ""
		conn.Exceeds = func(what string, _ int64, _ string) { said = what }
		text := bytes.NewBufferString(http2.ClientPreface)
		f := http2.NewFramer(text, nil)
		_ = f.WriteSettings()
		c.send(f)
		if err := conn.Receive(text.Bytes()); !strings.Contains(said, c.want) {
			t.Errorf("%q, %v, want %s", said, err, c.want)
		}
	}
}
