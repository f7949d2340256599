package netfault

import "fmt"

// Stats is the evidence of a diversion: what has become of the packets so far.
type Stats struct {
	Seen     uint64 // packets that matched and were decided upon
	Dropped  uint64
	Delayed  uint64 // held ones not included
	Held     uint64
	Released uint64 // of those held
	Repeated uint64 // retransmissions of a held segment, dropped
	Copied   uint64
	Reset    uint64 // connections
	Gone     uint64 // connections that were to be reset and had just ended by themselves
	Errors   uint64 // verdicts, copies and resets that failed
	Overruns uint64 // times at which the host's queue could not keep up, and packets passed unseen
	// First and Last are when the first and the last packet was not simply let
	// through (monotime.Now stamps); 0: never.
	First, Last int64
}

// String tells what is not zero, and always how many packets were seen.
func (s Stats) String() string {
	text := fmt.Sprintf("%d packets seen", s.Seen)
	for _, c := range []struct {
		n    uint64
		what string
	}{{s.Dropped, "dropped"}, {s.Delayed, "delayed"}, {s.Held, "held"}, {s.Released, "released"},
		{s.Repeated, "retransmissions dropped"},
		{s.Copied, "copies sent"}, {s.Reset, "connections reset"}, {s.Gone, "connections gone before"},
		{s.Errors, "errors"}, {s.Overruns, "overruns"}} {
		if c.n > 0 {
			text += fmt.Sprintf(", %d %s", c.n, c.what)
		}
	}
	return text
}

// Add sums up the evidence of two diversions. An overrun is the queue's, and is counted for each.
func (s Stats) Add(t Stats) Stats {
	s.Seen, s.Dropped, s.Delayed, s.Held, s.Released = s.Seen+t.Seen, s.Dropped+t.Dropped, s.Delayed+t.Delayed,
		s.Held+t.Held, s.Released+t.Released
	s.Repeated, s.Copied, s.Reset, s.Gone = s.Repeated+t.Repeated, s.Copied+t.Copied, s.Reset+t.Reset, s.Gone+t.Gone
	s.Errors, s.Overruns = s.Errors+t.Errors, s.Overruns+t.Overruns
	if s.First == 0 || t.First != 0 && t.First < s.First {
		s.First = t.First
	}
	s.Last = max(s.Last, t.Last)
	return s
}
