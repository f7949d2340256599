package draw

import (
	"strconv"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
)

// The rows of the timeline's data: instants in µs, lane and key as numbered in it. A write was sent
// at an instant, and the store decided on it at another; how a mark went is 0 ok, 1 no, 2 unclear.
type (
	hold  struct{ from, to, lane, key, grant, token int64 }
	wait  struct{ from, to, lane, key, how int64 }
	mark  struct{ at, lane, what, how, grant int64 }
	write struct{ at, decided, lane, how, grant, version int64 }
)

// What a mark is of.
const (
	markRead = iota
	markRenew
	markRelease
	markLost // the client was told that its hold is lost
)

// What became of a wait, and of a write, in words, by their how.
var (
	waitWords  = []string{"granted", "told busy", "failed", "no clear answer"}
	writeWords = []string{"accepted", "refused by the fence", "stale, and accepted", "accepted over a version not read",
		"not taken: the store had another version", "not known to have arrived"}
)

const (
	writeAccepted = iota
	writeRefused
	writeStale
	writeLossy
	writeConflict
	writeUnknown
)

func waitHow(o *history.Op) int64 {
	switch {
	case o.Outcome == history.OK:
		return 0
	case o.Busy:
		return 1
	case o.Outcome == history.Fail:
		return 2
	}
	return 3
}

func markWhat(k history.Kind) int64 {
	switch k {
	case history.Renew:
		return markRenew
	case history.Release:
		return markRelease
	}
	return markRead
}

func markHow(o *history.Op) int64 {
	switch o.Outcome {
	case history.OK:
		return 0
	case history.Fail:
		return 1
	}
	return 2
}

func writeHow(r *reports.Record, o *history.Op) int64 {
	switch {
	case o.Conflict:
		return writeConflict
	case o.Refused:
		return writeRefused
	case r.Stale[o.ID]:
		return writeStale
	case r.Lossy[o.ID]:
		return writeLossy
	case o.Accepted():
		return writeAccepted
	}
	return writeUnknown
}

// tokenCell is a grant's token as a page carries it: 0 for none, and noughtToken for 0.
func tokenCell(g *history.Grant) int64 {
	if g.Token == history.TokenOf(0) {
		return noughtToken
	}
	return g.Token.Number()
}

// noughtToken is the least number that every reader of JSON keeps exact: -Number.MAX_SAFE_INTEGER.
const noughtToken = 1 - exact

func (h hold) cells() []int64 { return []int64{h.from, h.to - h.from, h.lane, h.key, h.grant, h.token} }
func (w wait) cells() []int64 { return []int64{w.from, w.to - w.from, w.lane, w.key, w.how} }
func (m mark) cells() []int64 { return []int64{m.at, m.lane, m.what, m.how, m.grant} }
func (w write) cells() []int64 {
	return []int64{w.at, w.lane, w.decided - w.at, w.how, w.grant, w.version}
}

// table is written as JSON by hand, for a page may have ten thousand rows of
// it: the first cell of a row is the distance from the row before.
type table[T interface{ cells() []int64 }] []T

// exact is the greatest integer that every reader of JSON keeps exact.
const exact = 1 << 53

// MarshalJSON writes the table.
func (t table[T]) MarshalJSON() ([]byte, error) {
	buf, last := []byte{'['}, int64(0)
	for i, row := range t {
		if i > 0 {
			buf = append(buf, ',')
		}
		cells := row.cells()
		last, cells[0] = cells[0], cells[0]-last
		for j, c := range cells {
			buf = append(buf, "[,"[min(j, 1)])
			if c > exact || c < -exact {
				buf = append(strconv.AppendInt(append(buf, '"'), c, 10), '"')
				continue
			}
			buf = strconv.AppendInt(buf, c, 10)
		}
		buf = append(buf, ']')
	}
	return append(buf, ']'), nil
}
