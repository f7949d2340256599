package etcd

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Sizes of HTTP/2, as a server of grpc-go has them (https://www.rfc-editor.org/rfc/rfc9113).
const (
	usualWindow = 65535
	usualFrame  = 16384
	frameHeader = 9
	// What was received is acknowledged when there is this much of it.
	acknowledge = usualWindow / 4
)

var errHTTP1 = errors.New("the simulated etcd speaks gRPC, and not HTTP/1.1 or JSON; use a real one (--runtime local)")

// Conn is the server's end of a connection: HTTP/2 as a state machine on bytes.
type Conn struct {
	// Exceeds is called when the client takes more than a bound, with what it does.
	Exceeds func(what string, bound int64, unit string)

	m       *Member
	send    func(text []byte)
	gone    bool
	waiting int // bytes of calls that wait for a window

	in        []byte // what has come, and is not a whole frame yet
	greeted   bool
	read      bytes.Buffer // the frame that is being read
	out       bytes.Buffer
	framer    *http2.Framer
	decoder   *hpack.Decoder
	encoder   *hpack.Encoder
	encoded   bytes.Buffer
	block     []byte // the beginning of a block of headers
	streams   map[uint32]*call
	window    int64 // how much may be sent
	first     int64 // the window of a new stream
	frame     int   // the longest frame that may be sent
	unsettled uint32
}

// Accept begins a connection. What is to be sent to the client goes to send.
func (m *Member) Accept(send func(text []byte)) *Conn {
	c := &Conn{m: m, send: send, streams: map[uint32]*call{}, window: usualWindow, first: usualWindow,
		frame: usualFrame}
	c.framer = http2.NewFramer(&c.out, &c.read)
	c.framer.SetMaxReadFrameSize(usualFrame)
	c.decoder = hpack.NewDecoder(4096, nil)
	c.encoder = hpack.NewEncoder(&c.encoded)
	m.conns = append(m.conns, c)
	return c
}

// Gone ends the connection, which its client has left: its calls are cancelled.
func (c *Conn) Gone() {
	c.gone = true
	for _, id := range slices.Sorted(maps.Keys(c.streams)) {
		c.streams[id].cancel()
	}
	c.m.conns = slices.DeleteFunc(c.m.conns, func(o *Conn) bool { return o == c })
}

// Receive takes what the client has sent. The error says what is no HTTP/2 in it.
func (c *Conn) Receive(text []byte) error {
	c.in = append(c.in, text...)
	if len(c.in) > mostWaiting {
		c.exceeds("sends a member of etcd that does not answer yet", mostWaiting, "bytes")
		return nil
	}
	if !c.m.serving { // it listens, and does not answer yet
		return nil
	}
	err := c.parse()
	c.flush()
	return err
}

// process takes what came before the member answered.
func (c *Conn) process() {
	if err := c.Receive(nil); err != nil {
		c.m.env.Fail(err)
	}
}

func (c *Conn) parse() error {
	if !c.greeted {
		n := min(len(c.in), len(http2.ClientPreface))
		if string(c.in[:n]) != http2.ClientPreface[:n] {
			return errHTTP1
		}
		if n < len(http2.ClientPreface) {
			return nil
		}
		c.in, c.greeted = c.in[n:], true
		_ = c.framer.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: usualFrame})
	}
	for len(c.in) >= frameHeader && !c.gone {
		n := frameHeader + int(c.in[0])<<16 + int(c.in[1])<<8 + int(c.in[2])
		if n <= usualFrame+frameHeader && len(c.in) < n {
			break
		}
		c.read.Reset()
		c.read.Write(c.in[:min(n, len(c.in))])
		f, err := c.framer.ReadFrame()
		if err == nil {
			err = c.take(f)
		}
		if err != nil {
			return fmt.Errorf("HTTP/2: %w", err)
		}
		c.in = c.in[n:]
	}
	return nil
}

// flush sends what was written.
func (c *Conn) flush() {
	if c.out.Len() > 0 && !c.gone {
		c.send(c.out.Bytes())
	}
	c.out.Reset()
}

func (c *Conn) take(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			_ = c.framer.WritePing(true, f.Data)
		}
	case *http2.WindowUpdateFrame:
		c.widen(f.StreamID, int64(f.Increment))
	case *http2.HeadersFrame:
		return c.headers(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded(), f.StreamEnded())
	case *http2.ContinuationFrame:
		return c.headers(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded(), false)
	case *http2.DataFrame:
		c.data(f)
	case *http2.RSTStreamFrame:
		if s := c.streams[f.StreamID]; s != nil {
			s.cancel()
		}
	}
	return nil
}

func (c *Conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	err := f.ForeachSetting(func(s http2.Setting) error {
		switch s.ID {
		case http2.SettingInitialWindowSize:
			for _, one := range c.streams {
				one.window += int64(s.Val) - c.first
			}
			c.first = int64(s.Val)
		case http2.SettingMaxFrameSize:
			c.frame = int(s.Val)
		case http2.SettingHeaderTableSize:
			c.encoder.SetMaxDynamicTableSize(min(s.Val, 4096))
		}
		return s.Valid()
	})
	_ = c.framer.WriteSettingsAck()
	c.pump()
	return err
}

// widen lets more be sent, on a stream or (0) on all together.
func (c *Conn) widen(stream uint32, by int64) {
	if stream == 0 {
		c.window += by
	} else if s := c.streams[stream]; s != nil {
		s.window += by
	}
	c.pump()
}

// headers begins a call when its headers are whole.
func (c *Conn) headers(stream uint32, part []byte, whole, last bool) error {
	if c.block = append(c.block, part...); len(c.block) > mostHeaders {
		c.exceeds("sends a member of etcd headers of", mostHeaders, "bytes")
		return nil
	}
	if s := c.streams[stream]; s == nil {
		if len(c.streams) >= mostStreams {
			c.exceeds("has on one connection to a member of etcd", mostStreams, "calls")
			return nil
		}
		c.streams[stream] = &call{c: c, id: stream, window: c.first, ended: last}
	} else {
		s.ended = s.ended || last
	}
	if !whole {
		return nil
	}
	fields, err := c.decoder.DecodeFull(c.block)
	c.block = c.block[:0]
	if err != nil {
		return err
	}
	c.streams[stream].begin(fields)
	return nil
}

// data gives a part of a message to its call. What has come for nobody is acknowledged, too.
func (c *Conn) data(f *http2.DataFrame) {
	if c.unsettled += f.Length; c.unsettled >= acknowledge {
		_ = c.framer.WriteWindowUpdate(0, c.unsettled)
		c.unsettled = 0
	}
	s := c.streams[f.StreamID]
	if s == nil {
		return
	}
	if s.unsettled += f.Length; s.unsettled >= acknowledge && !f.StreamEnded() {
		_ = c.framer.WriteWindowUpdate(f.StreamID, s.unsettled)
		s.unsettled = 0
	}
	s.receive(f.Data(), f.StreamEnded())
}

// pump sends what waited for a window, the oldest stream first.
func (c *Conn) pump() {
	for _, id := range slices.Sorted(maps.Keys(c.streams)) {
		c.streams[id].pump()
	}
}

// writeHeaders writes a block of headers.
func (c *Conn) writeHeaders(stream uint32, last bool, fields ...hpack.HeaderField) {
	c.encoded.Reset()
	for _, f := range fields {
		_ = c.encoder.WriteField(f) // into memory
	}
	_ = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.encoded.Bytes(),
		EndHeaders: true, EndStream: last})
}
