package etcd

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// call is one call of gRPC, on a stream of its own
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
type call struct {
	c      *Conn
	id     uint32
	method string
	// needsLeader: the client wants the call ended when the member knows no leader.
	needsLeader bool
	handler     handler
	ended       bool // the client sends no more
	over        bool // nothing is sent any more
	in          []byte
	unsettled   uint32
	window      int64
	headed      bool
	waiting     []byte // for a window
	status      error  // to be sent when nothing waits
	finished    bool
	// quit are called when the call is over, however it ends.
	quit []func()
}

// handler takes the messages of a call.
type handler interface {
	message(text []byte) error
	// end tells that the client sends no more.
	end()
}

const prefix = 5 // of a message: whether it is compressed, and its length

func (s *call) begin(fields []hpack.HeaderField) {
	if s.handler != nil || s.finished { // trailers, which clients of gRPC do not send
		return
	}
	for _, f := range fields {
		switch f.Name {
		case ":path":
			s.method = f.Value
		case rpctypes.MetadataRequireLeaderKey:
			s.needsLeader = f.Value == rpctypes.MetadataHasLeader
		case "grpc-timeout":
			if d, ok := timeout(f.Value); ok {
				s.after(d, func() { s.finish(status.Error(codes.DeadlineExceeded, "context deadline exceeded")) })
			}
		}
	}
	if s.needsLeader && s.c.m.leader() == 0 {
		s.finish(rpctypes.ErrGRPCNoLeader)
		return
	}
	if s.handler = s.c.m.handlerOf(s); s.handler == nil {
		s.finish(unknown(s.method))
	}
}

// unknown is the error of a method that nobody serves, in the words of grpc-go.
func unknown(path string) error {
	service, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if served[service] {
		return status.Errorf(codes.Unimplemented, "unknown method %s for service %s", method, service)
	}
	return status.Errorf(codes.Unimplemented, "unknown service %s", service)
}

// timeout reads the value of grpc-timeout.
func timeout(text string) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	unit, ok := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond,
		'u': time.Microsecond, 'n': 1}[text[len(text)-1]]
	n, err := strconv.ParseInt(text[:len(text)-1], 10, 64)
	if !ok || err != nil || n < 0 || n > int64(forever/unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// after has fn called later, unless the call is over then.
func (s *call) after(d time.Duration, fn func()) {
	s.c.m.after(d, func() {
		if !s.over && !s.finished {
			fn()
			s.c.flush()
		}
	})
}

// receive takes a part of what the client sends.
func (s *call) receive(part []byte, last bool) {
	s.ended = s.ended || last
	if s.finished || s.over {
		return
	}
	s.in = append(s.in, part...)
	for !s.finished && !s.over && len(s.in) >= prefix {
		n := int(binary.BigEndian.Uint32(s.in[1:]))
		if s.in[0] != 0 {
			s.finish(status.Error(codes.Unimplemented, "grpc: Decompressor is not installed for grpc-encoding"))
			return
		}
		if n > mostReceived {
			s.finish(status.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", n,
				mostReceived))
			return
		}
		if len(s.in) < prefix+n {
			break
		}
		text := s.in[prefix : prefix+n]
		s.in = s.in[prefix+n:]
		s.c.m.served++
		if err := s.handler.message(text); err != nil {
			s.finish(err)
		}
	}
	if last && !s.finished && !s.over {
		s.handler.end()
	}
}

// streams reports whether the call has many messages.
func (s *call) streams() bool {
	_, unary := s.handler.(unaryCall)
	return !unary
}

// mostReceived is the longest message of a client (bytes): etcd's longest request and what is added
// to it.
const (
	mostRequest  = 3 << 19
	mostReceived = mostRequest + 512<<10
)

// reply sends a message.
func (s *call) reply(m proto.Message) {
	if s.over || s.finished {
		return
	}
	text, err := marshal.Marshal(m)
	if err != nil {
		s.finish(status.Error(codes.Internal, err.Error()))
		return
	}
	s.waiting = append(s.waiting, 0)
	s.waiting = binary.BigEndian.AppendUint32(s.waiting, uint32(len(text)))
	s.waiting = append(s.waiting, text...)
	s.c.waits(prefix + len(text))
	s.pump()
}

var marshal = proto.MarshalOptions{Deterministic: true}

// finish ends the call with a status; nil: all is well.
func (s *call) finish(err error) {
	if s.finished || s.over {
		return
	}
	s.finished, s.status = true, err
	s.leave()
	s.pump()
}

// cancel ends the call, which the client does not want any more.
func (s *call) cancel() {
	if s.over {
		return
	}
	s.over = true
	s.c.waits(-len(s.waiting))
	s.waiting = nil
	delete(s.c.streams, s.id)
	s.leave()
}

func (s *call) leave() {
	quit := s.quit
	s.quit = nil
	for _, fn := range quit {
		fn()
	}
}

// pump sends what the windows allow, and the status after the last of it.
func (s *call) pump() {
	if s.over {
		return
	}
	if len(s.waiting) > 0 && !s.headed {
		s.headed = true
		s.c.writeHeaders(s.id, false, head...)
	}
	for len(s.waiting) > 0 {
		n := min(int64(len(s.waiting)), s.window, s.c.window, int64(s.c.frame))
		if n <= 0 {
			return
		}
		_ = s.c.framer.WriteData(s.id, false, s.waiting[:n]) // into memory
		s.waiting = s.waiting[n:]
		s.c.waits(-int(n))
		s.window -= n
		s.c.window -= n
	}
	if s.finished {
		s.trailers()
	}
}

var head = []hpack.HeaderField{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"}}

// trailers ends the stream.
func (s *call) trailers() {
	st, _ := status.FromError(s.status)
	var fields []hpack.HeaderField
	if !s.headed {
		fields = append(fields, head...)
	}
	fields = append(fields, hpack.HeaderField{Name: "grpc-status", Value: strconv.Itoa(int(st.Code()))},
		hpack.HeaderField{Name: "grpc-message", Value: percent(st.Message())})
	s.c.writeHeaders(s.id, true, fields...)
	if !s.ended {
		_ = s.c.framer.WriteRSTStream(s.id, http2.ErrCodeNo)
	}
	s.over = true
	delete(s.c.streams, s.id)
}

// percent encodes what may not stand in a header.
func percent(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if ch := text[i]; ch >= ' ' && ch <= '~' && ch != '%' {
			b.WriteByte(ch)
		} else {
			fmt.Fprintf(&b, "%%%02X", ch)
		}
	}
	return b.String()
}
