package formats

import (
	"cmp"
	"fmt"
	"math"

	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// Some files have samples of who holds a lock, such as a watch of Kubernetes' Leases, or a
// table of locks that was read now and then. Each sample says who held the lock, since when,
// until when at most, and often as which version of the record. They are followed lock by lock:
//
//   - A hold lasts at least from when its record says that it began to the last
//     renewal that a sample shows.
//   - A record that names nobody, or that was deleted, is a release.
//   - A holder that another one follows after its time was over held until then: its lease ran out.
//   - A holder that another one follows earlier was robbed of the lock, if no change
//     of the record is missing. Else it may have given the lock up between two
//     samples, and that stays open. What shows that none is missing: see complete.
//
// What lies between two samples is not told. Only numbers that rise with each
// change of the record, or of its holder, show that there was nothing.

// holderSample is one sample.
type holderSample struct {
	line    int
	key     string
	holder  string // "": nobody
	since   int64  // ns, as all times
	seen    int64  // the last instant at which the record shows its holder
	until   int64  // when its time is over; times.Never: it is not limited
	changes int64  // a number that rises by one with each change of the holder; -1: there is none
	version int64  // a number that rises with each change of the record; -1: there is none
	counted bool   // count has the changes of the record since there was none
	count   int64
	change  bool // it was told as a change of its record
	// of a hold that was followed early: only the rhythm of its renewals shows
	// that nothing is missing
	guessed bool
	least   int64
	// the least and the most time between renewals of the hold; least is 0
	// before the second sample of it
	most  int64
	over  bool // it was given up, and the record still names its holder
	given bool // of the same hold, a time that is over earlier shows that it was given up
}

// holderSamples follows the samples of a file.
type holderSamples struct {
	last    map[string]holderSample
	early   []holderSample // holds that were followed early, with what ends them if nothing is missing
	earlies remarks.Tally
	gaps    map[string]bool // records of which changes are missing
	uneven  map[string]bool // records whose renewals came in no rhythm
	missed  remarks.Tally   // samples between which holders are missing
	unsure  remarks.Tally   // early takeovers before which a release may be missing
	between remarks.Tally   // samples between which nothing is known
	late    remarks.Tally   // samples before which a renewal in time is missing
	polled  remarks.Tally   // samples that show that records were looked at now and then
}

func newHolderSamples() *holderSamples {
	return &holderSamples{last: map[string]holderSample{}, gaps: map[string]bool{}, uneven: map[string]bool{}}
}

// add takes the next sample.
func (s *holderSamples) add(w *words.Worker, now holderSample) error {
	was, known := s.last[now.key]
	if known && now.since == 0 && now.holder == was.holder && now.changes == was.changes {
		now.since = was.since
	}
	now.since = cmp.Or(now.since, now.seen)
	line := int32(min(now.line, math.MaxInt32))
	same := known && was.holder == now.holder && was.since == now.since
	if known && was.version >= 0 && now.version >= 0 {
		switch {
		case now.version < was.version:
			return fmt.Errorf("version %d comes after version %d of line %d: the samples are not in order, or they are of several files", now.version, was.version, was.line)
		case now.version == was.version:
			s.polled.Add(line)
			return nil
		case now.counted && now.count != 0 && now.count != was.count+1:
			s.noteGap(&s.missed, &now)
		}
	} else if same && was.seen == now.seen && was.until == now.until {
		s.polled.Add(line)
		return nil
	}
	if same && now.holder != "" {
		now.rhythm(&was)
		s.uneven[now.key] = s.uneven[now.key] || now.least > 0 && !now.steady()
		s.last[now.key] = now
		s.renewed(w, &was, &now)
		return nil
	}
	s.last[now.key] = now
	if known {
		s.followed(w, &was, &now)
	}
	if now.holder == "" {
		return nil
	}
	s.say(w, &now, words.Grant, now.since)
	if now.seen > now.since {
		s.say(w, &now, words.Renew, now.seen)
	}
	return nil
}

// say says something of a sample's lock and its holder.
func (s *holderSamples) say(w *words.Worker, of *holderSample, means words.Meaning, at int64) {
	w.Tell(of.line, of.key, of.holder, means, at)
}

// renewed follows a sample of a hold that is known.
func (s *holderSamples) renewed(w *words.Worker, was, now *holderSample) {
	if now.given && now.until < was.until {
		s.say(w, now, words.Release, max(now.until, now.since))
		over := *now
		over.over = true
		s.last[now.key] = over
		return
	}
	if was.over {
		now.over = true
		s.last[now.key] = *now
		return
	}
	if now.changes != was.changes {
		s.noteGap(&s.missed, now)
	}
	if now.seen >= was.until {
		s.noteGap(&s.late, now)
	}
	if now.seen > was.seen {
		s.say(w, now, words.Renew, now.seen)
	}
}

// followed ends a hold, or nobody's time, that another one follows.
func (s *holderSamples) followed(w *words.Worker, was, now *holderSample) {
	line := int32(min(now.line, math.MaxInt32))
	switch {
	case was.counted || now.holder == "":
	case was.changes < 0 || now.changes < 0:
		s.noteGap(&s.between, now)
	case now.changes != was.changes+1:
		s.noteGap(&s.missed, now)
	}
	if was.holder == "" || was.over {
		return
	}
	ends := *was
	ends.line = now.line
	switch {
	case now.holder == "" && now.seen >= was.seen:
		s.say(w, &ends, words.Release, now.seen)
	case now.holder == "": // when is not told
		s.say(w, &ends, words.Release, was.seen)
	case now.since >= was.until:
		s.say(w, &ends, words.Lost, was.until)
	case now.holder == was.holder:
		s.say(w, &ends, words.Lost, min(was.until, max(was.seen, now.since)))
	case !was.complete(now):
		s.unsure.Add(line)
	default:
		s.earlies.Add(line)
		if ends.until == times.Never { // until it is told
			ends.until = now.since + 1
		}
		ends.guessed = !was.showsChange(now)
		s.early = append(s.early, ends)
	}
}

// rhythm notes how long it took from one renewal to the next.
func (now *holderSample) rhythm(was *holderSample) {
	took := now.seen - was.seen
	now.least, now.most = was.least, was.most
	if took > 0 && (now.least == 0 || took < now.least) {
		now.least = took
	}
	now.most = max(now.most, took)
}

// steady reports whether the renewals of a hold came in a rhythm.
func (now *holderSample) steady() bool { return now.most < now.least+now.least/2 }

// showsChange reports whether a watch with its events shows the change to the next holder.
func (was *holderSample) showsChange(now *holderSample) bool { return was.counted || now.change }

// complete reports whether no change of a record can be missing between the last sample of
// a holder and the first of the next one. A watch says so itself, with events. Else the
// samples must be those that a watch would show, and nobody who looks at the record now
// and then: the next hold is seen from its first instant, and all renewals of the record
// come in a steady rhythm. Looks that are as steady as that come at most one and a half
// rhythms apart. So a release that they miss comes, with the takeover behind it, within
// two and a half rhythms of the last renewal that they show, and mostly not at once.
func (was *holderSample) complete(now *holderSample) bool {
	if was.showsChange(now) {
		return true
	}
	gap := now.since - was.seen
	return now.seen == now.since && was.least > 0 && was.steady() && (gap < was.least/2 || gap > 2*was.most+was.most/2)
}

// noteGap notes that changes of a record are missing before a sample.
func (s *holderSamples) noteGap(of *remarks.Tally, now *holderSample) {
	of.Add(int32(min(now.line, math.MaxInt32)))
	s.gaps[now.key] = true
}

// finish says what only the whole file tells: of early takeovers, that the
// holders before had their time, if no change of the record is missing.
func (s *holderSamples) finish(w *words.Worker, polled bool) {
	for _, ends := range s.early {
		switch {
		case polled || s.polled.N > 0 || s.gaps[ends.key]:
		case ends.guessed && s.uneven[ends.key]:
			s.unsure.Add(int32(min(ends.line, math.MaxInt32)))
		default:
			s.say(w, &ends, words.Lost, ends.until)
		}
	}
	s.early = nil
}

// tell says what was taken for granted, and what is open.
func (s *holderSamples) tell(l *remarks.Remarks, polled bool) {
	l.Doubt(s.missed, "changes of the record are missing before it, so others may have held the lock.")
	l.Doubt(s.late, "its holder renewed the lock when its time was over, so changes of the record may be missing before it.")
	l.Doubt(s.between, "who held the lock between it and the sample before is not told.")
	if !polled && s.polled.N == 0 {
		l.Doubt(s.unsure, "it is of another holder before the time of the one before was over. Either the lock was taken early, or a release is missing: "+
			"a watch with its events tells (kubectl get -w --output-watch-events).")
		l.Assume("The samples are all changes of their records, as a watch prints them (--polled: they were looked at now and then).")
		return
	}
	if s.polled.N == 0 {
		s.polled.Add(int32(cmp.Or(s.earlies.First, 1)))
	}
	if len(s.last) > 0 {
		l.Doubt(s.polled, "the record was looked at now and then, so what happened between two samples is not told.")
	}
}
