package studies

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Curve is how often a lock is violated, over how far a fault goes beyond its TTL.
type Curve struct {
	Lock     string        `json:"lock"`
	Service  string        `json:"service"`
	Store    string        `json:"store"`
	Fault    string        `json:"fault"`
	TTL      time.Duration `json:"ttl_ns"`
	Property string        `json:"property"`
	// Over is what is varied: "duration" or "offset" of the fault.
	Over    string       `json:"over"`
	Runs    int          `json:"runs"`
	Seed    uint64       `json:"seed"`
	Command string       `json:"command"`
	Version string       `json:"lockchaos"`
	Runtime string       `json:"runtime"`
	Started time.Time    `json:"started"`
	Elapsed int64        `json:"elapsed_ns"`
	Points  []CurvePoint `json:"points"`
}

// CurvePoint is one value of what is varied.
type CurvePoint struct {
	// Ratio is the value in TTLs, Value the value itself, in ns.
	Ratio float64 `json:"ratio"`
	Value int64   `json:"value_ns"`
	// Struck counts the holds that a proven strike of the fault met; Violated how many of
	// them are part of a violation of the property, Harmed how many of one that harms data.
	Struck   int `json:"struck"`
	Violated int `json:"violated"`
	Harmed   int `json:"harmed"`
	// Runs is how many runs this comes from; Failed were not to be used. Missed
	// strikes met no holder.
	Runs   int `json:"runs"`
	Failed int `json:"failed"`
	Missed int `json:"missed"`
	// Shortest and Longest are the measured effects of the strikes, ns.
	Shortest int64 `json:"shortest_ns"`
	Longest  int64 `json:"longest_ns"`
}

// Rate is how many of the struck holds were violated.
func (p CurvePoint) Rate() reports.Rate { return reports.Rate{Hits: p.Violated, Of: p.Struck} }

// Harm is how many of the struck holds harmed data.
func (p CurvePoint) Harm() reports.Rate { return reports.Rate{Hits: p.Harmed, Of: p.Struck} }

// Add takes what one run showed at the point.
func (p *CurvePoint) Add(one CurvePoint) {
	p.Struck += one.Struck
	p.Violated += one.Violated
	p.Harmed += one.Harmed
	p.Runs += one.Runs
	p.Failed += one.Failed
	p.Missed += one.Missed
	if one.Shortest > 0 && (p.Shortest == 0 || one.Shortest < p.Shortest) {
		p.Shortest = one.Shortest
	}
	p.Longest = max(p.Longest, one.Longest)
}

// WriteCurveJSON writes curve.json.
func WriteCurveJSON(w io.Writer, c Curve) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(c)
}

// WriteCurveCSV writes a line for every point: the value, in TTLs and ns, what
// was counted, and both rates with their intervals.
func WriteCurveCSV(w io.Writer, c Curve) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"lock", "fault", "over", "ttl_ns", "ratio", "value_ns", "runs", "failed", "missed", "struck",
		"violated", "rate", "low", "high", "harmed", "harm_rate", "harm_low", "harm_high",
		"shortest_ns", "longest_ns"}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	for _, p := range c.Points {
		line := []string{c.Lock, c.Fault, c.Over, phrase.Itoa(c.TTL), number(p.Ratio), phrase.Itoa(p.Value),
			phrase.Itoa(p.Runs), phrase.Itoa(p.Failed), phrase.Itoa(p.Missed), phrase.Itoa(p.Struck)}
		for _, r := range []struct {
			hits int
			reports.Rate
		}{{p.Violated, p.Rate()}, {p.Harmed, p.Harm()}} {
			low, high := r.Interval()
			share := ""
			if r.Of > 0 {
				share = strconv.FormatFloat(r.Share(), 'f', 4, 64)
			}
			line = append(line, phrase.Itoa(r.hits), share, strconv.FormatFloat(low, 'f', 4, 64),
				strconv.FormatFloat(high, 'f', 4, 64))
		}
		lines = append(lines, append(line, phrase.Itoa(p.Shortest), phrase.Itoa(p.Longest)))
	}
	return out.WriteAll(lines)
}

// Headline says where the lock stops to be safe.
func (c Curve) Headline() string {
	// the last value up to which nothing was violated, the first from which most were
	last, first := -1, -1
	for i, p := range c.Points {
		if p.Struck == 0 || p.Violated > 0 {
			break
		}
		last = i
	}
	for i := len(c.Points) - 1; i >= 0 && c.Points[i].Struck > 0 && 2*c.Points[i].Violated > c.Points[i].Struck; i-- {
		first = i
	}
	what := fmt.Sprintf("%s under %s", phrase.Clip(c.Lock, phrase.MostName), phrase.Clip(c.Fault, phrase.MostName))
	switch {
	case c.strikes() == 0:
		return what + ": no hold was struck, so nothing is known."
	case last == len(c.Points)-1:
		return fmt.Sprintf("%s: %s was never violated, up to %s.", what, c.Property, c.inTTL(last))
	case first == 0:
		return fmt.Sprintf("%s: %s was violated in most struck holds, from %s on.", what, c.Property, c.inTTL(first))
	case last >= 0 && first >= 0:
		return fmt.Sprintf("%s: %s was never violated up to %s, and in most struck holds from %s on.", what, c.Property,
			c.inTTL(last), c.inTTL(first))
	case first >= 0:
		return fmt.Sprintf("%s: %s was violated in most struck holds from %s on, and now and then below.", what,
			c.Property, c.inTTL(first))
	}
	return fmt.Sprintf("%s: %s was violated now and then.", what, c.Property)
}

func (c Curve) strikes() (n int) {
	for _, p := range c.Points {
		n += p.Struck
	}
	return n
}

func (c Curve) inTTL(i int) string { return Ratio(c.Points[i].Ratio) + " × TTL" }

// Ratio writes a number of TTLs.
func Ratio(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// CurveLine tells one point in one line.
func CurveLine(c Curve, p CurvePoint) string {
	text := fmt.Sprintf("%5s × TTL  %8s  %4d struck  %s violated %-14s (%s)", Ratio(p.Ratio), phrase.Span(p.Value),
		p.Struck, c.Property, p.Rate(), p.Rate().Between())
	if p.Harmed > 0 {
		text += fmt.Sprintf("  data harmed %s", reports.Percent(p.Harm().Share()))
	}
	if p.Failed > 0 {
		text += fmt.Sprintf("  %d of %d runs not to be used", p.Failed, p.Runs)
	}
	return text
}
