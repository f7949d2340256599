package sim

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// The errors of WASI preview 1 that programs are told.
const (
	errAgain       = 6
	errBadFD       = 8
	errRefused     = 14
	errReset       = 15
	errInvalid     = 28
	errTooMany     = 33
	errNoSys       = 52
	errUnreachable = 23
)

// What host calls cost. Reading a clock costs something too: else a loop that waits for the time
// would never end.
const (
	costClock = 50 * time.Nanosecond
	costOther = 100 * time.Nanosecond
	costPoll  = 500 * time.Nanosecond
	costRead  = 2 * time.Microsecond
	costWrite = 5 * time.Microsecond
	costYield = 10 * time.Microsecond
)

// hostCall is one function that programs import. do returns an errno.
type hostCall struct {
	cost time.Duration
	do   func(in *Instance, mem api.Memory, stack []uint64) uint32
}

// hostCalls are all that a program can do beside computing. There is no file among them.
var hostCalls = map[string]hostCall{
	"args_sizes_get": {costOther, func(in *Instance, mem api.Memory,
		st []uint64) uint32 {
		return sizes(mem, st, in.args)
	}},
	"args_get": {costOther, func(in *Instance, mem api.Memory,
		st []uint64) uint32 {
		return texts(mem, st, in.args)
	}},
	"environ_sizes_get": {costOther, func(in *Instance, mem api.Memory,
		st []uint64) uint32 {
		return sizes(mem, st, in.env)
	}},
	"environ_get": {costOther, func(in *Instance, mem api.Memory,
		st []uint64) uint32 {
		return texts(mem, st, in.env)
	}},
	"clock_time_get": {costClock, clockTimeGet},
	"clock_res_get": {costClock, func(_ *Instance, mem api.Memory, st []uint64) uint32 {
		return written(mem.WriteUint64Le(uint32(st[1]), 1))
	}},
	"random_get":    {costOther, randomGet},
	"sched_yield":   {costYield, func(*Instance, api.Memory, []uint64) uint32 { return 0 }},
	"poll_oneoff":   {costPoll, pollOneoff},
	"fd_fdstat_get": {costOther, fdstatGet},
	"fd_fdstat_set_flags": {costOther, func(*Instance, api.Memory, []uint64) uint32 {
		return 0 // every descriptor is non-blocking
	}},
	"fd_prestat_get": {costOther, func(*Instance, api.Memory, []uint64) uint32 { return errBadFD }},
	"fd_read":        {costRead, fdRead},
	"fd_write":       {costWrite, fdWrite},
	"fd_close": {costOther, func(in *Instance, _ api.Memory, st []uint64) uint32 {
		s := in.sockets[int32(st[0])]
		if s == nil {
			return errBadFD
		}
		s.close()
		return 0
	}},
	"sock_shutdown": {costOther, func(*Instance, api.Memory, []uint64) uint32 { return 0 }},
	"proc_exit": {costOther, func(_ *Instance, _ api.Memory, st []uint64) uint32 {
		panic(sys.NewExitError(uint32(st[0])))
	}},
	"dial":       {costWrite, dial},
	"dial_error": {costOther, dialError},
}

var le = binary.LittleEndian

// written is the errno of a write to a program's memory.
func written(ok bool) uint32 {
	if !ok {
		return errInvalid
	}
	return 0
}

func sizes(mem api.Memory, st []uint64, all []string) uint32 {
	total := 0
	for _, s := range all {
		total += len(s) + 1
	}
	return written(mem.WriteUint32Le(uint32(st[0]), uint32(len(all))) &&
		mem.WriteUint32Le(uint32(st[1]), uint32(total)))
}

func texts(mem api.Memory, st []uint64, all []string) uint32 {
	at, to := uint32(st[0]), uint32(st[1])
	for i, s := range all {
		if !mem.WriteUint32Le(at+uint32(i)*4, to) || !mem.WriteString(to, s+"\x00") {
			return errInvalid
		}
		to += uint32(len(s)) + 1
	}
	return 0
}

// clockRealtime is the number of the time of day; every other clock is the monotonic one.
const clockRealtime = 0

func (in *Instance) clock(id uint32) int64 {
	if id == clockRealtime {
		return in.host.Wall().UnixNano()
	}
	return in.host.Mono()
}

func clockTimeGet(in *Instance, mem api.Memory, st []uint64) uint32 {
	return written(mem.WriteUint64Le(uint32(st[2]), uint64(in.clock(uint32(st[0])))))
}

func randomGet(in *Instance, mem api.Memory, st []uint64) uint32 {
	b, ok := mem.Read(uint32(st[0]), uint32(st[1]))
	if ok = ok && len(b) <= mostRandom; ok {
		in.works(int64(len(b)) / 4096)
		_, _ = in.random.Read(b) // it has no error
	}
	return written(ok)
}

func fdstatGet(in *Instance, mem api.Memory, st []uint64) uint32 {
	const character, stream, nonblocking = 2, 6, 4
	var b [24]byte
	switch fd := int32(st[0]); {
	case fd >= 0 && fd < 3, fd == in.in, fd == in.out:
		b[0] = character
		if fd == in.in {
			le.PutUint16(b[2:], nonblocking)
		}
	case in.sockets[fd] != nil:
		b[0] = stream
		le.PutUint16(b[2:], nonblocking)
	default:
		return errBadFD
	}
	for i := range 16 { // every right
		b[8+i] = 0xff
	}
	return written(mem.Write(uint32(st[1]), b[:]))
}

// vectors lists the parts of a program's memory that a read or a write names, as far as they hold
// no more than most bytes together: parts may overlap, so they can be larger than all memory.
func vectors(mem api.Memory, st []uint64, most int) (all [][]byte, ok bool) {
	count := uint32(st[2])
	if count > mostVectors {
		return nil, false
	}
	for i := range count {
		at, there := mem.ReadUint32Le(uint32(st[1]) + i*8)
		n, sized := mem.ReadUint32Le(uint32(st[1]) + i*8 + 4)
		b, ok := mem.Read(at, n)
		if !there || !sized || !ok {
			return nil, false
		}
		b = b[:min(len(b), most)]
		most -= len(b)
		all = append(all, b)
	}
	return all, true
}

// fdWrite takes a part of what is written if all of it is too much, as a kernel does.
func fdWrite(in *Instance, mem api.Memory, st []uint64) uint32 {
	fd, most := int32(st[0]), longestLine
	s := in.sockets[fd]
	switch {
	case fd == in.out, fd == 1, fd == 2:
	case s == nil:
		return errBadFD
	default:
		var errno uint32
		if most, errno = s.room(); errno != 0 {
			return errno
		}
	}
	parts, ok := vectors(mem, st, most)
	if !ok {
		return errInvalid
	}
	text := bytes.Join(parts, nil)
	if s != nil {
		s.write(text)
	} else {
		in.prints(fd, text)
	}
	return written(mem.WriteUint32Le(uint32(st[3]), uint32(len(text))))
}

// longestRead bounds one read: nothing larger is ever there.
const longestRead = mostUnread

func fdRead(in *Instance, mem api.Memory, st []uint64) uint32 {
	parts, ok := vectors(mem, st, longestRead)
	if !ok {
		return errInvalid
	}
	from, ended, errno := &in.stdin, in.stdinEnd, uint32(0)
	var s *socket
	switch fd := int32(st[0]); fd {
	case in.in:
	case 0:
		from, ended = new([]byte), true
	default:
		if s = in.sockets[fd]; s == nil {
			return errBadFD
		}
		from, ended, errno = &s.received, s.ended, s.errno
	}
	if len(*from) == 0 && errno != 0 {
		return errno
	}
	if len(*from) == 0 && !ended {
		return errAgain
	}
	total := 0
	for _, p := range parts {
		n := copy(p, *from)
		*from = (*from)[n:]
		total += n
	}
	if s != nil {
		s.unread -= total
		in.w.hold(-total, in)
	}
	return written(mem.WriteUint32Le(uint32(st[3]), uint32(total)))
}

// subscription is one thing that a program polls for.
type subscription struct {
	user     [8]byte
	kind     byte
	fd       int32
	clock    uint32
	deadline int64 // reading of that clock
}

// The kinds of subscriptions.
const (
	pollClock = 0
	pollRead  = 1
	pollWrite = 2
)

const (
	subscriptionSize = 48
	eventSize        = 32
	mostPolled       = 4096
)

func pollOneoff(in *Instance, mem api.Memory, st []uint64) uint32 {
	n := uint32(st[2])
	raw, ok := mem.Read(uint32(st[0]), n*subscriptionSize)
	if !ok || n == 0 || n > mostPolled {
		return errInvalid
	}
	subs := make([]subscription, n)
	for i := range subs {
		b, u := raw[i*subscriptionSize:], &subs[i]
		copy(u.user[:], b)
		u.kind = b[8]
		if u.kind != pollClock {
			u.fd = int32(le.Uint32(b[16:]))
			continue
		}
		const absolute = 1
		u.clock, u.deadline = le.Uint32(b[16:]), int64(le.Uint64(b[24:]))
		if le.Uint16(b[40:])&absolute == 0 {
			u.deadline += in.clock(u.clock)
		}
	}
	in.stands(subs)
	for {
		in.works(int64(n) / 64)
		ready, next := in.polled(subs)
		if len(ready) > 0 {
			return written(mem.Write(uint32(st[1]), ready) &&
				mem.WriteUint32Le(uint32(st[3]), uint32(len(ready)/eventSize)))
		}
		if next > 0 {
			in.task.wakeAt(in.w.now + next + 1_000 + drawn(in.w.draws, 50_000, in.host.steady))
		}
		in.polling = true
		in.park()
		in.polling = false
		in.host.Note(Woken)
	}
}

// polled returns the events of what is ready, and in how long the next timer is due (ns); 0: there
// is none.
func (in *Instance) polled(subs []subscription) (ready []byte, next int64) {
	for i := range subs {
		u := &subs[i]
		var errno uint16
		switch u.kind {
		case pollClock:
			left := u.deadline - in.clock(u.clock)
			if left > 0 {
				left = in.trueTime(u.clock, left)
				if next == 0 || left < next {
					next = left
				}
				continue
			}
		default:
			r, known := in.readable(u.fd, u.kind == pollWrite)
			if !known {
				errno = errBadFD
			} else if !r {
				continue
			}
		}
		var b [eventSize]byte
		copy(b[:], u.user[:])
		le.PutUint16(b[8:], errno)
		b[10] = u.kind
		ready = append(ready, b[:]...)
	}
	return ready, next
}

// trueTime is how long a time of a host's clock is.
func (in *Instance) trueTime(id uint32, d int64) int64 {
	c := &in.host.mono
	if id == clockRealtime {
		c = &in.host.wall
	}
	return max(1, c.trueTime(d))
}

// readable reports whether a descriptor is ready, and whether there is one.
func (in *Instance) readable(fd int32, write bool) (ready, known bool) {
	switch fd {
	case in.in:
		return write || len(in.stdin) > 0 || in.stdinEnd, true
	case 0:
		return true, true
	case 1, 2, in.out:
		return write, true
	}
	s := in.sockets[fd]
	if s == nil {
		return false, false
	}
	if write {
		return s.errno != 0 || s.connected && s.unsent < mostUnsent, true
	}
	return len(s.received) > 0 || s.ended || s.errno != 0, true
}
