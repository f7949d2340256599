package reports

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// voice says what clients and instants are called. A run of lockchaos has numbers for clients, and counts from its
// beginning. A log of somebody else keeps its own names, and the time of day that its lines bear.
type voice struct {
	names []string
	zero  time.Time // of the log's clock; zero: instants count from the beginning
	days  bool      // the log is longer than a day, so an instant needs its date
}

// firstYear is the year before which a log's clock is no time of day: it counts from some beginning of its own.
const firstYear = 1980

// ofOthers tells whether a history is of another tool, or a log. One with an origin is a run, whose application kept a log.
func ofOthers(h *history.Header) bool { return h.Translated && h.Origin == 0 }

func voiceOf(h *history.Header) voice {
	v := voice{names: h.Names}
	if ofOthers(h) && !h.Started.IsZero() {
		v.zero = h.Started
		v.days = h.Started.YearDay() != h.Started.Add(time.Duration(h.Duration)).YearDay()
	}
	return v
}

// client names a client.
func (v voice) client(n int32) string {
	if n >= 1 && int(n) <= len(v.names) && strings.TrimSpace(v.names[n-1]) != "" {
		return clip(strings.Join(strings.Fields(v.names[n-1]), " "), 40)
	}
	return "client " + itoa(n)
}

// subject names a client at the beginning of a sentence.
func (v voice) subject(n int32) string {
	if who := v.client(n); who != "client "+itoa(n) {
		return who
	}
	return "Client " + itoa(n)
}

// lane names a client where there is little room. Names of pods begin alike, so the middle is left out.
func (v voice) lane(n int32, room int) string {
	r := []rune(v.client(n))
	if len(r) <= room || len(v.names) == 0 {
		return string(r)
	}
	head := (room - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(room-1-head):])
}

// clock tells whether instants are told as times of day.
func (v voice) clock() bool { return v.zero.Year() >= firstYear }

// at writes an instant.
func (v voice) at(ns int64) string {
	switch {
	case !v.clock():
		return at(v.base() + ns)
	case v.days:
		return v.when(ns).Format("2006-01-02 15:04:05.000")
	}
	return v.when(ns).Format("15:04:05.000")
}

func (v voice) when(ns int64) time.Time {
	return v.zero.Add(time.Duration(ns)).Round(time.Millisecond)
}

// base is where a clock stands at the beginning that is none of the time of day.
func (v voice) base() int64 {
	if v.zero.IsZero() || v.clock() {
		return 0
	}
	return v.zero.UnixNano()
}

// tick writes an instant on an axis whose marks are step apart.
func (v voice) tick(ns int64, decimals int) string {
	switch {
	case !v.clock():
		return strconv.FormatFloat(float64(v.base()+ns)/1e9, 'f', decimals, 64) + " s"
	case v.days:
		return v.when(ns).Format("01-02 15:04")
	case decimals > 0:
		return v.when(ns).Format("15:04:05." + strings.Repeat("0", decimals))
	}
	return v.when(ns).Format("15:04:05")
}

// local is the time of day at the beginning as µs since 1970, for a script that knows no zones; 0: there is none.
func (v voice) local() int64 {
	if !v.clock() {
		return 0
	}
	_, offset := v.zero.Zone()
	return micro(v.zero.UnixNano()) + int64(offset)*1e6
}

// A judge numbers clients and counts from the beginning of a history.
var (
	numberedClient = regexp.MustCompile(`\bclient \d+\b`)
	countedInstant = regexp.MustCompile(`\b(at|from|to|until|by) (\d+\.\d{3}) s\b`)
)

// retell puts what a judge says into the words of the history.
func (v voice) retell(text string) string {
	if len(v.names) > 0 {
		text = numberedClient.ReplaceAllStringFunc(text, func(found string) string {
			n, err := strconv.ParseInt(strings.TrimPrefix(found, "client "), 10, 32)
			if err != nil {
				return found
			}
			return v.client(int32(n))
		})
	}
	if v.zero.IsZero() {
		return text
	}
	return countedInstant.ReplaceAllStringFunc(text, func(found string) string {
		word, number, _ := strings.Cut(strings.TrimSuffix(found, " s"), " ")
		s, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return found
		}
		return word + " " + v.at(int64(s*1e9+0.5))
	})
}

// Retold puts what a judge says of a history into the words of the log that it was read from: the names of its clients and the times of its
// lines. What is said of a run of lockchaos stays as it is.
func Retold(h *history.Header, v checker.Verdict) checker.Verdict {
	said := voiceOf(h)
	v.Patterns = slices.Clone(v.Patterns)
	for i := range v.Patterns {
		if g := &v.Patterns[i]; g.Pattern == checker.PatternGrantedTwice && ofOthers(h) {
			g.Says = "key given away while promised"
		}
	}
	v.Properties = slices.Clone(v.Properties)
	for i := range v.Properties {
		p := &v.Properties[i]
		p.Violations = slices.Clone(p.Violations)
		for k := range p.Violations {
			p.Violations[k].Text = said.retell(p.Violations[k].Text)
		}
	}
	return v
}

// Instant writes an instant of a history as its log does.
func Instant(h *history.Header, ns int64) string { return voiceOf(h).at(ns) }

// lines says on which lines of a log an op stands; "" where that is not known.
func (s Scenario) lines(op int64) string {
	if s.Lines == nil {
		return ""
	}
	switch first, last := s.Lines(op); {
	case first == 0:
		return ""
	case last <= first:
		return "line " + itoa(first)
	default:
		return "lines " + itoa(first) + " and " + itoa(last)
	}
}

// unsaid tells whether an op stands on no line of the log: it was added for what follows from the others, and is no step of anybody's.
func (s Scenario) unsaid(op int64) bool { return s.Lines != nil && s.lines(op) == "" }

func (r *record) isUnsaid(op int64) bool { return r.unsaid != nil && r.unsaid(op) }
