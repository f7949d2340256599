package reports

import (
	"github.com/lockchaos/lockchaos/checker"
)

// telling picks the violation that a report tells first. A certain defect comes before what no lock prevents. Among those of one blame it
// is the one that shows most of the harm that the scenario's result names, or, where a fence contained it, the pair of the refused writer and the holder whose token made the store refuse. Among equals the
// earliest wins, for it is where a reader starts in the history too. Without a record it goes by the verdict alone.
func telling(s Scenario, r *record) *checker.Violation {
	var best *checker.Violation
	bestRank := 0
	most := lostPairs(s)
	if r != nil {
		r.refusedPairs(most)
	}
	for i := range s.Verdict.Properties {
		p := &s.Verdict.Properties[i]
		if p.Outcome != checker.Violated {
			continue
		}
		for j := range p.Violations {
			n := rank(&p.Violations[j])
			if most[pairOf(&p.Violations[j])] {
				n += 3
			}
			if n > bestRank {
				best, bestRank = &p.Violations[j], n
			}
		}
	}
	return best
}

// pair is the two grants of a violation.
type pair struct{ a, b int64 }

func pairOf(v *checker.Violation) pair {
	if v.A == nil || v.B == nil {
		return pair{}
	}
	return pair{v.A.Grant, v.B.Grant}
}

// lostPairs returns the pairs of grants of which one lost the other's update: of all double-holds these tell most.
func lostPairs(s Scenario) map[pair]bool {
	out := map[pair]bool{}
	if p := s.property(checker.LostUpdate); p != nil {
		for i := range p.Violations {
			if x := pairOf(&p.Violations[i]); x.a != 0 {
				out[x], out[pair{x.b, x.a}] = true, true
			}
		}
	}
	return out
}

// refusedPairs adds the pairs of a grant whose write was refused and the grant whose token was the greatest that the store had seen by then.
func (r *record) refusedPairs(out map[pair]bool) {
	for _, o := range r.ledger {
		if !o.refused {
			continue
		}
		if top := r.fenceBefore(o); top != nil && top.token > o.token {
			out[pair{o.grant, top.id}] = true
		}
	}
}

// defectRank is more than any other difference of two ranks.
const defectRank = 1000

// rank orders violations by how much of the story they hold, those that are a certain defect before all others.
func rank(v *checker.Violation) int {
	n := max(1, checker.Named(v.Property).Words.Weight)
	if v.Blame() == checker.Defect {
		n += defectRank
	}
	n += 10 * int(v.Severity)
	if v.A != nil && v.B != nil {
		n += 4
	}
	if v.Kind == "lease-overrun" || v.Kind == "granted-while-valid" {
		n += 2
	}
	if len(v.Faults) > 0 {
		n++
	}
	return n
}

// overlap returns the instants of a double-hold, and whether the violation is one.
func overlap(v *checker.Violation) (from, to int64, ok bool) {
	if v == nil || v.Property != checker.MutualExclusion || v.To <= v.From {
		return 0, 0, false
	}
	return v.From, v.To, true
}

// bothActed tells whether both clients of a double-hold acted in it. Where they did not, the lock promised the key to both, and
// that is all that the history shows.
func bothActed(v *checker.Violation) bool {
	return v.A == nil || v.B == nil || v.A.LastAct >= v.To && v.B.LastAct >= v.To
}

// kindWords explains what kind of violation it is, for people who know locks but not this program.
func kindWords(kind string) string {
	switch kind {
	case "lease-overrun":
		return "inherent: the lease ran out while its holder could not know it. No lock that expires can prevent this; a fence contains it"
	case "granted-while-valid":
		return "a defect of the lock: it gave the key away while it had promised it to another"
	case checker.KindGrantedDead:
		return "a defect of the lock: it granted the key when the lease, or the session, of that grant was over already"
	case "late-notice":
		return "a defect of the lock: it told its client of the loss later than it says it does"
	case "unexplained":
		return "the history does not show for certain why"
	case "stale":
		return "the write began after the later grant: the client no longer had the lock when it sent it"
	case "ghost":
		return "a client that had been told no occupied the key until it was closed"
	case "asleep":
		return "the key was free and another client got it at once, while one that waited for it slept on"
	case "wedged":
		return "nobody held the key, and nobody who asked for it got it"
	case "never-expired":
		return "the last holder gave nothing back, and the key stayed taken after every client was closed"
	case "in-flight":
		return "the write was sent in time and arrived late: no lock can prevent this, only a fence"
	}
	return ""
}
