package reports

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// The names of clients and the times of day by which a history is told.

// Labels says what clients and instants are called. A run of lockchaos has
// numbers for clients, and counts from its beginning. A log of somebody else
// keeps its own names, and the time of day that its lines bear.
type Labels struct {
	Names []string
	zero  time.Time // of the log's clock; zero: instants count from the beginning
	Days  bool      // the log is longer than a day, so an instant needs its date
}

// firstYear is the year before which a log's clock is no time of day: it counts
// from some beginning of its own.
const firstYear = 1980

// OfOthers reports whether a history is of another tool, or a log. One with an
// origin is a run, whose application kept a log.
func OfOthers(h *history.Header) bool { return h.Translated && h.Origin == 0 }

func labelsOf(h *history.Header) Labels {
	v := Labels{Names: h.Names}
	if OfOthers(h) && !h.Started.IsZero() {
		v.zero = h.Started
		v.Days = h.Started.YearDay() != h.Started.Add(time.Duration(h.Duration)).YearDay()
	}
	return v
}

// Client names a client.
func (v Labels) Client(n int32) string {
	if n >= 1 && int(n) <= len(v.Names) && strings.TrimSpace(v.Names[n-1]) != "" {
		return phrase.Clip(strings.Join(strings.Fields(v.Names[n-1]), " "), 40)
	}
	return "client " + phrase.Itoa(n)
}

// Subject names a client at the beginning of a sentence.
func (v Labels) Subject(n int32) string {
	if who := v.Client(n); who != "client "+phrase.Itoa(n) {
		return who
	}
	return "Client " + phrase.Itoa(n)
}

// Lane names a client where there is little room. Names of pods begin alike, so
// the middle is left out.
func (v Labels) Lane(n int32, room int) string {
	r := []rune(v.Client(n))
	if len(r) <= room || len(v.Names) == 0 {
		return string(r)
	}
	head := (room - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(room-1-head):])
}

// clock reports whether instants are told as times of day.
func (v Labels) clock() bool { return v.zero.Year() >= firstYear }

// At writes an instant.
func (v Labels) At(ns int64) string {
	switch {
	case !v.clock():
		return phrase.At(v.Base() + ns)
	case v.Days:
		return v.when(ns).Format("2006-01-02 15:04:05.000")
	}
	return v.when(ns).Format("15:04:05.000")
}

func (v Labels) when(ns int64) time.Time {
	return v.zero.Add(time.Duration(ns)).Round(time.Millisecond)
}

// Base is where a clock stands at the beginning that is none of the time of day.
func (v Labels) Base() int64 {
	if v.zero.IsZero() || v.clock() {
		return 0
	}
	return v.zero.UnixNano()
}

// Tick writes an instant on an axis whose marks are step apart.
func (v Labels) Tick(ns int64, decimals int) string {
	switch {
	case !v.clock():
		return strconv.FormatFloat(float64(v.Base()+ns)/1e9, 'f', decimals, 64) + " s"
	case v.Days:
		return v.when(ns).Format("01-02 15:04")
	case decimals > 0:
		return v.when(ns).Format("15:04:05." + strings.Repeat("0", min(decimals, 3)))
	}
	return v.when(ns).Format("15:04:05")
}

// Local is the time of day at the beginning as µs since 1970, for a script that
// knows no zones; 0: there is none.
func (v Labels) Local() int64 {
	if !v.clock() {
		return 0
	}
	_, offset := v.zero.Zone()
	return phrase.Micro(v.zero.UnixNano()) + int64(offset)*1e6
}

// A judge numbers clients and counts from the beginning of a history.
var (
	numberedClient = lazyregexp.New(`\bclient \d+\b`)
	countedInstant = lazyregexp.New(`\b(at|from|to|until|by) (\d+\.\d{3}) s( and (\d+\.\d{3}) s)?\b`)
)

// relabel puts what a judge says into the words of the history.
func (v Labels) relabel(text string) string {
	if len(v.Names) > 0 {
		text = numberedClient().ReplaceAllStringFunc(text, func(found string) string {
			n, err := strconv.ParseInt(strings.TrimPrefix(found, "client "), 10, 32)
			if err != nil {
				return found
			}
			return v.Client(int32(n))
		})
	}
	if v.zero.IsZero() {
		return text
	}
	return countedInstant().ReplaceAllStringFunc(text, func(found string) string {
		word, instants, _ := strings.Cut(found, " ")
		var told []string
		for number := range strings.SplitSeq(instants, " and ") {
			s, err := strconv.ParseFloat(strings.TrimSuffix(number, " s"), 64)
			if err != nil {
				return found
			}
			told = append(told, v.At(int64(s*1e9+0.5)))
		}
		return word + " " + strings.Join(told, " and ")
	})
}

// instantly rewords a violation that is certain of one instant only: it says
// how long each client certainly held.
func (v Labels) instantly(text string, x *checker.Violation) string {
	at := v.At(x.From)
	if x.A == nil || x.B == nil || x.From != x.To || !strings.Contains(text, " from "+at+" to "+at) {
		return text
	}
	var ends []string
	for _, g := range []*checker.GrantRef{x.A, x.B} {
		if g.LastAct > x.To {
			ends = append(ends, v.Client(g.Client)+" held it until "+v.At(g.LastAct))
		} else {
			ends = append(ends, "for how long "+v.Client(g.Client)+" held it is not told")
		}
	}
	return strings.Replace(text, " from "+at+" to "+at, " at "+at+": "+strings.Join(ends, ", and "), 1)
}

// Relabeled puts what a judge says of a history into the words of the log that it
// was read from: the names of its clients and the times of its lines. What is
// said of a run of lockchaos stays as it is.
func Relabeled(h *history.Header, v checker.Verdict) checker.Verdict {
	said := labelsOf(h)
	v.Patterns = slices.Clone(v.Patterns)
	for i := range v.Patterns {
		if g := &v.Patterns[i]; g.Pattern == checker.PatternGrantedTwice && OfOthers(h) {
			g.Says = "key given away while promised"
		}
	}
	v.Properties = slices.Clone(v.Properties)
	for i := range v.Properties {
		p := &v.Properties[i]
		p.Violations = slices.Clone(p.Violations)
		for k := range p.Violations {
			x := &p.Violations[k]
			if x.Text = said.relabel(x.Text); OfOthers(h) {
				x.Text = said.instantly(x.Text, x)
			}
		}
	}
	return v
}

// Instant writes an instant of a history as its log does.
func Instant(h *history.Header, ns int64) string { return labelsOf(h).At(ns) }

// LinesOf says on which lines of a log an op stands; "" where that is not known.
func (s Scenario) LinesOf(op int64) string {
	if s.Lines == nil {
		return ""
	}
	switch first, last := s.Lines(op); {
	case first == 0:
		return ""
	case last <= first:
		return "line " + phrase.Itoa(first)
	default:
		return "lines " + phrase.Itoa(first) + " and " + phrase.Itoa(last)
	}
}

// Unsaid reports whether an op stands on no line of the log: it was added for
// what follows from the others, and is no step of anybody's.
func (s Scenario) Unsaid(op int64) bool { return s.Lines != nil && s.LinesOf(op) == "" }

func (r *Record) IsUnsaid(op int64) bool { return r.Unsaid != nil && r.Unsaid(op) }

// Labels says what clients and instants are called.
func (s Scenario) Labels() Labels {
	if s.History == nil {
		return Labels{}
	}
	return labelsOf(&s.History.Header)
}
