package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
	"github.com/lockchaos/lockchaos/internal/audit/times"
)

// maxClockError bounds Options.ClockError.
const maxClockError = 24 * time.Hour

// errFarApart: a log is longer than any history may be.
var errFarApart = fmt.Errorf("more than %d years apart", history.MaxLength/int64(365*24*time.Hour))

// translate makes a source of what was read.
func translate(l *log, o Options) (*Source, error) {
	if o.ClockError > maxClockError {
		return nil, fmt.Errorf("a clock error of %s: with more than %s nothing could be told", o.ClockError,
			maxClockError)
	}
	if l.Untimed && o.ClockError > 0 {
		return nil, fmt.Errorf("%s has no times, so there is nothing that --clock-error could widen", l.Name)
	}
	if l.Untimed && o.Validity.TTL > 0 {
		return nil, fmt.Errorf("%s has no times, so nobody can tell what --ttl ended", l.Name)
	}
	if l.versions {
		o.Tokens = "version"
	}
	t := trace(l, o)
	defer t.close()
	if err := t.number(); err != nil {
		return nil, err
	}
	l.read = l.ops.Length
	t.addImplied()
	var inDoubt holdDoubts
	var tokens string
	// which needs no op
	doubts := spill.Aside(func() { inDoubt, tokens = t.uncertainHolds(), t.uncertainTokens() })
	defer func() { <-doubts }()
	out, entries := newEmitter(t)
	spill.Join(doubts)
	if t.latest > history.MaxLength {
		return nil, fmt.Errorf("%s: its times are %w", l.Name, errFarApart)
	}
	s := &Source{Keys: l.Keys.List, log: l, out: out, number: o.number}
	if t.holds.Length == 0 && !t.wanted {
		err := errNoAcquire
		if t.loose+t.idle.N > 0 {
			err = errNoGrant
		}
		return nil, &history.SyntaxError{File: l.Name, Line: 1, Err: err}
	}
	t.open()
	s.Open = slices.Clone(l.Open)
	for i := range s.Open {
		s.Open[i].Line = o.number(s.Open[i].Line)
	}
	holds := strings.TrimSpace(t.sayHolds(inDoubt) + " " + openLines(s.Open))
	s.Header = t.header(entries, holds, tokens)
	s.Doubt = cmp.Or(holds, tokens, t.writesInDoubt(s.Header.Doubts))
	t.noteAlike()
	s.Assumed, s.Left = t.assumed(), l.Left
	return s, nil
}

// header says what the lock is taken to claim, and what the history does not tell.
func (t *tracer) header(entries int, holds, tokens string) history.Header {
	o := t.options
	h := history.Header{Format: history.FormatVersion, Scenario: t.log.What, Lock: "unknown", Service: "unknown",
		Workload: t.log.What,
		Needs:    history.Needs{Grants: 1}, Translated: true, TTL: int64(o.Validity.TTL),
		Claims: history.Claims{Token: "none", Permits: o.Permits,
			Confirms: []string{history.Renew.String(), history.Release.String()}}}
	for _, list := range t.log.clients {
		h.Clients = max(h.Clients, len(list))
	}
	if t.log.hasZero {
		h.Started, h.Duration = time.Unix(0, t.log.zero).In(t.log.zone), t.latest
	}
	if t.log.everyone != nil {
		h.Names = t.log.everyone.List
	}
	switch {
	case o.Validity.Released:
		h.Claims.Validity = "session"
	case o.Validity.TTL > 0:
		h.Claims.Validity = "from_invocation"
	}
	if t.tokens.known {
		h.Claims.Token = o.Tokens
	}
	if t.late > 0 && slices.Contains(t.broken, true) {
		// when tokens were given is not told, and they are not to be trusted
		h.Claims.Token = "version"
	}
	if entries+t.unordered+t.loose > 0 {
		h.Store.Engine = "log"
	}
	h.Untold, h.Doubts = t.untold(entries), t.doubtfulFacts(entries, holds, tokens)
	return h
}

// untold says what the history can't tell about.
func (t *tracer) untold(entries int) map[string]string {
	untold := map[string]string{
		history.FactVersions: "The history does not tell which version a write replaced.",
		history.FactAnswers:  "An answer is taken for the client's word here, not for the lock's.",
		history.FactAttempts: "The history does not tell when the attempt that succeeded began.",
		history.FactService:  "The history does not tell what befell the lock service.",
		history.FactProbe:    "No fresh client probed the keys when all was over.",
		history.FactClients:  "The history does not tell whether its clients ran undisturbed.",
	}
	switch {
	case !t.log.ledgered:
		untold[history.FactWrites] = "The history does not tell in which order the store took the writes."
	case entries+t.unordered+t.loose == 0:
		untold[history.FactWrites] = "The history has no writes."
	}
	switch {
	case !t.tokens.known && t.options.Tokens == "fencing":
		untold[history.FactTokens] = "No grant in the history has a token."
	case t.granted == 0:
		untold[history.FactTokens] = "The history has no acquires, so it does not tell when a token was given."
	case t.late > 0:
		untold[history.FactTokens] = fmt.Sprintf("%s used without an acquire in the history, after a greater one was granted: it does not tell when they were given.",
			remarks.Were(t.late, "token"))
	}
	if t.granted == 0 && t.holds.Length > 0 && t.renewals == 0 {
		untold[history.FactHolds] = "The history has no acquires, so it does not tell who held the lock."
	}
	return untold
}

// doubtfulFacts says what the history tells only perhaps.
func (t *tracer) doubtfulFacts(entries int, holds, tokens string) map[string]string {
	doubts := map[string]string{}
	add := func(fact, why string) {
		if why != "" {
			doubts[fact] = why
		}
	}
	if holds == "" {
		holds = t.neverContended()
	}
	add(history.FactHolds, holds)
	add(history.FactTokens, tokens)
	if entries+t.unordered+t.loose > 0 {
		add(history.FactWrites, t.uncertainWrites(holds))
	}
	return doubts
}

// writesInDoubt says what is in doubt about writes, by what the history tells only perhaps. That
// of a key which only one client was granted is none.
func (t *tracer) writesInDoubt(facts map[string]string) string {
	if why := facts[history.FactWrites]; t.excluded || why != byGrants {
		return why
	}
	return ""
}

// neverContended says that no key was granted often enough for one to be excluded; empty when one
// was.
func (t *tracer) neverContended() string {
	if t.excluded {
		return ""
	}
	if t.options.Permits > 1 {
		return "No key was granted more often than it has permits, so there was nothing to exclude."
	}
	return "No key was granted to two clients, so there was nothing to exclude."
}

// assumed says in full sentences what was taken for granted.
func (t *tracer) assumed() []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	o := t.options
	switch {
	case o.Reentrant:
		add("The lock is reentrant: an owner's nested acquires are one hold.")
	case o.Permits > 1:
		add("A key has %d permits.", o.Permits)
	default:
		add("The lock is exclusive and not reentrant (--permits N, --reentrant).")
	}
	switch {
	case o.Validity.Released:
		add("A grant is good until it is released (--ttl), and no release is missing%s.", t.leftOut())
	case o.Validity.TTL > 0:
		add("A grant is good for %s from when it was asked for, or last renewed, unless a line says that it was given up; no such line is missing%s.", o.Validity.TTL, t.leftOut())
	default:
		add("Nobody says for how long a grant is good (--ttl): a client holds until the last line that shows it as holder.")
	}
	if t.renewals > 0 {
		add("Who renews a lease held it before, though the log lacks its grant: %s.",
			remarks.Count(t.renewals, "lease"))
	}
	if t.log.zoneless {
		add("Times without a zone are UTC (--timezone).")
	}
	switch {
	case o.ClockError > 0:
		add("Each stamp is within %s of the instant that it tells.", o.ClockError)
	case !t.log.OneClock:
		add("All stamps are from one clock, and exact%s, and a release is logged before the key is free (--clock-error).", t.toTheGrain())
	}
	if len(t.cutters) > 0 {
		add("The stamps of %s tell the %s and nothing finer, and those of others are finer. So each stands for any instant of its %[2]s.", t.cutClients(), t.coarsest)
	}
	return append(list, t.log.Assumed...)
}

// leftOut says that lines may be missing after all.
func (t *tracer) leftOut() string {
	if t.log.Missing == 0 {
		return ""
	}
	return ", but for those that are left out"
}

// toTheGrain says how exact stamps can be.
func (t *tracer) toTheGrain() string {
	switch finest := t.log.grains.finest(); {
	case t.vague() == times.Exact:
		return ""
	case finest == times.Exact:
		return " as far as they go"
	default:
		return " to the " + finest.String() + ", which is as fine as they are"
	}
}
