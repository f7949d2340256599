package policy

import "time"

// Standing is how a known violation stands after a run.
type Standing struct {
	Known
	// Shown, Clear and Open count the runs it is about: those that violate the
	// property, those that were judged and do not, and those that leave it open.
	Shown, Clear, Open int
}

// Gone reports whether the violation showed in no run, though its property was judged in each.
func (s Standing) Gone() bool { return s.Shown == 0 && s.Clear > 0 && s.Open == 0 }

// DaysLeft is how many more days the violation is tolerated, the last one
// included. It is 0 from the day after the last.
func (k Known) DaysLeft(now time.Time) int {
	const aDay = 24 * time.Hour
	left := k.Expires.AddDate(0, 0, 1).Sub(now)
	return int(max(0, left+aDay-1) / aDay)
}

// Standings sets each known violation beside what the runs showed of it.
func (p *Policy) Standings(all []Seen) (out []Standing) {
	for _, k := range p.Known {
		st := Standing{Known: k}
		for _, s := range all {
			if !k.names(s.Scenario) {
				continue
			}
			o := s.observed(k.Property)
			switch {
			case !s.Ran || o == nil || o.Outcome == inconclusive || o.Outcome == notJudged:
				st.Open++
			case o.Outcome == violated:
				st.Shown++
			default:
				st.Clear++
			}
		}
		out = append(out, st)
	}
	return out
}
