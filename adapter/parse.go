package adapter

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/internal/harmless"
)

// maxName bounds what is printed in every report.
const maxName = 80

// mostPerAcquire is the greatest number of permits that one acquire can ask for
// (history.MaxPerAcquire).
const mostPerAcquire = 255

// mostKeys is the greatest number of keys that one acquire can ask for (history.MaxMultiKey).
const mostKeys = 64

// maxPassword bounds that of a session; ZooKeeper's have 16 bytes.
const maxPassword = 64

// line is what an adapter printed: a reply, or an event. The members of a reply
// are read when it is known what was asked.
type line struct {
	event   *Event
	id      int64
	members map[string]json.RawMessage
}

// parseLine reads one line, up to what depends on the request.
func parseLine(text []byte) (line, error) {
	if !utf8.Valid(text) {
		return line{}, errors.New("is not valid UTF-8")
	}
	members, err := object(text)
	if err != nil {
		return line{}, err
	}
	if _, ok := members["event"]; ok {
		e, err := parseEvent(members)
		return line{event: e}, err
	}
	l := line{members: members}
	if members["id"] == nil {
		return line{}, errors.New(`has neither "id" (a reply) nor "event"`)
	}
	if err := json.Unmarshal(members["id"], &l.id); err != nil || l.id == 0 {
		return line{}, fmt.Errorf(`"id" is %s: it must be the number of the request that is answered`,
			brief(members["id"]))
	}
	return l, nil
}

// object splits a line into its members. A name that comes twice is refused: it
// is open which was meant.
func object(text []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		// scenarios side by side have process numbers of their own, and one /tmp
		if bytes.Contains(text, []byte("hsperfdata")) {
			return nil, errors.New("is no JSON object: start java with -XX:-UsePerfData")
		}
		return nil, errors.New("is no JSON object; what is for humans belongs on standard error")
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("is no JSON: %w", err)
		}
		name := t.(string) // the decoder lets nothing else be a name
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("has the member %q twice", name)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("is no JSON: member %q: %w", name, err)
		}
		members[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("is no JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("goes on after the JSON object: a line holds one")
	}
	return members, nil
}

func parseEvent(members map[string]json.RawMessage) (*Event, error) {
	var e Event
	r := reader{members: members}
	r.text("event", &e.Kind)
	switch e.Kind {
	case EventLost:
		r.text("key", &e.Key)
		r.number("grant", &e.Grant)
		r.text("run", &e.Run)
		r.text("why", &e.Why)
	case EventRun:
		r.text("run", &e.Run)
		r.number("tick", &e.Tick)
		r.number("attempt_ns", &e.Attempt)
	case EventDone:
		r.text("run", &e.Run)
	default:
		return nil, fmt.Errorf("is an event %.40q: there is only lost, and of an instance of a job or a candidate run and done", e.Kind)
	}
	if err := r.end(fmt.Sprintf("a %s-event", e.Kind)); err != nil {
		return nil, err
	}
	return &e, nil
}

// check refuses what an instance of a job or a candidate may tell and a lock may not, and the
// other way round. kind is that of the greeting.
func (e *Event) check(kind string) error {
	lock := kind == ""
	switch {
	case lock && e.Kind != EventLost:
		return fmt.Errorf("is a %s-event, and the greeting asked for a lock, not for a job or a leader", e.Kind)
	case lock && e.Run != "":
		return errors.New(`is a lost-event with "run", and the greeting asked for a lock, not for a job or a leader`)
	case lock && e.Key == "":
		return errors.New(`is a lost-event without "key"`)
	case !lock && (e.Run == "" || len(e.Run) > maxName):
		return fmt.Errorf(`is a %s-event whose "run" is %.100q: it must name the execution or the term, in at most %d bytes`, e.Kind, e.Run, maxName)
	case !lock && e.Key != "":
		return errors.New(`is a lost-event with "key": an instance of a job and a candidate name the "run"`)
	case kind == KindLeader && e.Tick != 0:
		return errors.New(`is a run-event with "tick": a term of a leader has none`)
	}
	return nil
}

// reply reads the members of an answer to the op.
func (l line) reply(op string) (Reply, error) {
	reply := Reply{ID: l.id}
	r := reader{members: l.members}
	delete(r.members, "id")
	if _, said := l.members["ok"]; !said {
		return reply, errors.New(`has no "ok"`)
	}
	r.flag("ok", &reply.OK)
	r.text("error", &reply.Error)
	r.text("text", &reply.Text)
	switch {
	case op == OpHello && reply.OK:
		reply.Declaration = r.declaration()
		r.session(&reply.Session)
		r.rule(reply.Session.ID == 0 || reply.Declaration.Sessions, `has "session" without "sessions": true`)
	case op == OpAcquire && reply.OK:
		r.token(&reply.Token)
		r.validFor(&reply)
		r.number("attempt_ns", &reply.Attempt)
		r.number("first_ns", &reply.First)
		r.number("enqueued_ns", &reply.Enqueued)
		r.session(&reply.Session)
	case op == OpAcquire:
		r.number("first_ns", &reply.First)
		r.session(&reply.Session)
	case op == OpRenew && reply.OK:
		r.validFor(&reply)
		r.number("attempt_ns", &reply.Attempt)
	}
	if err := r.end(fmt.Sprintf("a reply to %s with ok %t", op, reply.OK)); err != nil {
		return reply, err
	}
	return reply, reply.ambiguous()
}

// ambiguous tells of a reply that says both, or neither, that it was done and that it failed.
func (r Reply) ambiguous() error {
	switch {
	case r.OK && r.Error != "":
		return fmt.Errorf("says ok, and an error (%q)", r.Error)
	case !r.OK && r.Error == "":
		return errors.New(`says that it failed, and no "error"`)
	}
	return nil
}

// reader takes members one by one. It keeps the first mistake; at the end nothing may be left.
type reader struct {
	members map[string]json.RawMessage
	taken   []string
	err     error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// rule notes a mistake where what must be so is not.
func (r *reader) rule(so bool, format string, args ...any) {
	if !so {
		r.fail(fmt.Errorf(format, args...))
	}
}

// take reads a member into a value of the wanted type. It returns false where there is none.
func (r *reader) take(name string, into any, want string) bool {
	r.taken = append(r.taken, name)
	text, ok := r.members[name]
	if !ok {
		return false
	}
	delete(r.members, name)
	if string(text) == "null" || json.Unmarshal(text, into) != nil {
		r.fail(fmt.Errorf("%q is %s: it must be %s", name, brief(text), want))
		return false
	}
	return true
}

func (r *reader) text(name string, into *string)    { r.take(name, into, "a string") }
func (r *reader) flag(name string, into *bool)      { r.take(name, into, "true or false") }
func (r *reader) words(name string, into *[]string) { r.take(name, into, "a list of strings") }

// number reads a positive integer. It may stand in quotes, for languages whose numbers are doubles.
func (r *reader) number(name string, into *int64) {
	var text json.RawMessage
	const want = "a positive whole number below 2^63 (larger than 2^53: in quotes)"
	if !r.take(name, &text, want) {
		return
	}
	n, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	if err != nil || n < 1 {
		r.fail(fmt.Errorf("%q is %s: it must be %s", name, brief(text), want))
		return
	}
	*into = n
}

func (r *reader) token(into *int64) { r.number("token", into) }

// milliseconds reads a duration; it may have a fraction.
func (r *reader) milliseconds(name string, into *time.Duration) bool {
	var ms float64
	if !r.take(name, &ms, "a number of milliseconds") {
		return false
	}
	const longest = 366 * 24 * time.Hour
	if math.Abs(ms) > float64(longest/time.Millisecond) {
		r.fail(fmt.Errorf("%q is %v ms: more than a year", name, ms))
		return false
	}
	*into = time.Duration(ms * float64(time.Millisecond))
	return true
}

// session reads the number of a session, decimal or after 0x in hexadecimal, and after
// a colon its password in hexadecimal. ZooKeeper's numbers may have all 64 bits.
func (r *reader) session(into *Session) {
	var text string
	if !r.take("session", &text, `a string, such as "0x694d7f1c5d9a0b31"`) {
		return
	}
	number, password, _ := strings.Cut(text, ":")
	id, err := strconv.ParseUint(number, 0, 64)
	secret, wrong := hex.DecodeString(password)
	if err != nil || wrong != nil || id == 0 || len(secret) > maxPassword {
		r.fail(fmt.Errorf(`"session" is %.40q: it must be a number, and for ZooKeeper a colon and the password in hexadecimal: "0x100000a3b2c0001:9f86d081884c7d65"`, number))
		return
	}
	into.ID, into.Password = int64(id), secret
}

func (r *reader) validFor(reply *Reply) {
	reply.HasValidFor = r.milliseconds("valid_for_ms", &reply.ValidFor)
}

// declaration reads what a hello is answered with.
func (r *reader) declaration() *Declaration {
	d := &Declaration{Token: "none", Permits: 1}
	protocol := Version
	r.take("protocol", &protocol, "a number")
	r.rule(protocol == Version, "says protocol %d: this is %d", protocol, Version)
	r.text("name", &d.Name)
	r.rule(d.Name != "" && len(d.Name) <= maxName && !strings.ContainsFunc(d.Name, harmless.Hidden),
		`"name" is %.100q: it must say what the lock is called, in at most %d bytes, such as "my-lock 1.2"`, d.Name,
		maxName)
	r.oneOf("validity", &d.Validity, "", "library", "from_invocation", "session")
	r.oneOf("token", &d.Token, "fencing", "version", "owner", "none")
	r.someOf("confirms", &d.Confirms, OpRenew, OpRelease, OpHeld)
	r.someOf("can", &d.Can, OpRenew, OpHeld, OpCancel)
	r.milliseconds("lost_grace_ms", &d.LostGrace)
	r.rule(d.LostGrace >= 0, `"lost_grace_ms" is negative`)
	r.oneOf("notices", &d.Notices, "", "undisturbed", "alone")
	r.rule(d.Notices == "" || d.LostGrace != 0,
		`"notices" is %q without "lost_grace_ms": say within which time a loss is noticed`, d.Notices)
	r.oneOf("tolerates", &d.Tolerates, "", "minority")
	r.oneOf("identity", &d.Identity, "", "unique", "process", "host", "none")
	said := r.milliseconds("abandons_ms", &d.Abandons)
	r.rule(!said || d.Abandons > 0, `"abandons_ms" must be greater than 0: leave it out for a TTL`)
	r.lease(&d.Lease)
	r.flag("fair", &d.Fair)
	r.take("permits", &d.Permits, "a number")
	r.rule(d.Permits >= 1 && d.Permits <= 1_000_000, `"permits" is %d: it must be 1 (an exclusive lock) or more`,
		d.Permits)
	r.flag("reentrant", &d.Reentrant)
	if r.take("permits_per_acquire", &d.PerAcquire, "a number") {
		r.rule(d.PerAcquire >= 1 && d.PerAcquire <= min(d.Permits, mostPerAcquire),
			`"permits_per_acquire" is %d, of %d permits: it lies between 1 and "permits", and %d at most`,
			d.PerAcquire, d.Permits, mostPerAcquire)
		r.rule(!d.Reentrant, `"permits_per_acquire" with "reentrant": not both`)
	}
	r.flag("read_write", &d.ReadWrite)
	r.rule(!d.ReadWrite || d.Permits == 1,
		`"read_write" with "permits" %d: a reader-writer lock has one permit, which readers share`, d.Permits)
	if r.take("multi_key", &d.MultiKey, "a number") {
		r.rule(d.MultiKey >= 1 && d.MultiKey <= mostKeys, `"multi_key" is %d: it lies between 1 and %d`, d.MultiKey,
			mostKeys)
		r.rule(d.Permits == 1 && !d.Reentrant && !d.ReadWrite,
			`"multi_key" with "permits", "reentrant" or "read_write": it is for exclusive locks that are none of these`)
	}
	r.flag("no_expiry", &d.NoExpiry)
	r.flag("sessions", &d.Sessions)
	r.jobClaims(d)
	return d
}

// jobClaims reads what an instance of a scheduler claims.
func (r *reader) jobClaims(d *Declaration) {
	r.oneOf("job", &d.Job, "", "at-most-once", "at-least-once", "exactly-once")
	r.flag("overlap", &d.Overlap)
	r.oneOf("misfire", &d.Misfire, "", "skip", "once", "all")
	r.milliseconds("stops_ms", &d.Stops)
	r.milliseconds("handover_ms", &d.Handover)
	r.milliseconds("stop_handover_ms", &d.StopHandover)
	r.rule(d.Stops >= 0 && d.Handover >= 0 && d.StopHandover >= 0, `"stops_ms", "handover_ms" or "stop_handover_ms" is negative`)
	claims := d.Overlap || d.Misfire != "" || d.Stops != 0 || d.Handover != 0
	r.rule(d.Job != "" || !claims, `has "overlap", "misfire", "stops_ms" or "handover_ms" without "job": say at-most-once, at-least-once or exactly-once`)
	asked := d.Token != "none" || len(d.Confirms)+len(d.Can) > 0 || d.Permits != 1 || d.MultiKey != 0 || d.Reentrant ||
		d.ReadWrite || d.Fair || d.Sessions
	r.flag("leader", &d.Leader)
	r.rule(!d.Leader || !asked && d.Job == "", `has "leader" and a claim that only a lock that is asked for keys makes, or "job" (token, confirms, can, permits, multi_key, reentrant, read_write, fair, sessions)`)
	r.rule(!d.Leader || d.Validity == "" || d.Validity == "session", `has "leader" and "validity" %q: a term lasts until its loss is told ("session"), or nothing is promised`, d.Validity)
	ofLock := d.Validity != "" || asked || d.NoExpiry
	r.rule(d.Job == "" || !ofLock, `has "job" and a claim that only a lock makes (validity, token, confirms, can, permits, multi_key, reentrant, read_write, fair, no_expiry, sessions)`)
}

// lease reads a lease that can't be set. It must be one that a hello can have asked for.
func (r *reader) lease(into *time.Duration) {
	said := r.milliseconds("lease_ms", into)
	whole := *into >= time.Millisecond && *into <= 24*time.Hour && *into%time.Millisecond == 0
	r.rule(!said || whole, `"lease_ms" is %v: it must be a whole number of milliseconds above 0, a day at most. A lock that keeps to ttl_ms leaves it out`, *into)
}

func (r *reader) oneOf(name string, into *string, known ...string) {
	if r.take(name, into, "a string"); !slices.Contains(known, *into) {
		r.fail(fmt.Errorf("%q is %.40q: it must be one of %s", name, *into, quoted(known)))
	}
}

func (r *reader) someOf(name string, into *[]string, known ...string) {
	r.words(name, into)
	for _, word := range *into {
		if !slices.Contains(known, word) {
			r.fail(fmt.Errorf("%q has %.40q: there may be %s", name, word, quoted(known)))
		}
	}
}

// end tells the first mistake. A member that nobody asked for is one: it may be a misspelt claim.
func (r *reader) end(what string) error {
	if r.err != nil {
		return r.err
	}
	left := slices.Sorted(maps.Keys(r.members))
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("has the unknown member %.40q: %s may have %s", left[0], what, quoted(r.taken))
}

func quoted(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, strconv.Quote(w))
	}
	return strings.Join(out, ", ")
}

// brief is the beginning of what was printed, safe to be shown. What looks like
// JSON is easier to read as it is.
func brief(text []byte) string {
	const most = 120
	rest := ""
	if len(text) > most {
		text, rest = text[:most], "…"
	}
	if len(text) > 0 && text[0] == '{' && utf8.Valid(text) &&
		!bytes.ContainsFunc(text, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return string(text) + rest
	}
	return strconv.Quote(string(text)) + rest
}
