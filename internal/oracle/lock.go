package oracle

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/lockchaos/lockchaos/history"
)

// Lock says what a lock must exclude. The zero value is none; a mutex is Lock{Permits: 1}.
type Lock struct {
	// Permits is how many may hold the key at once.
	Permits int
	// Owners: the grants of one client do not exclude each other (a reentrant lock).
	Owners bool
	// ReadWrite: readers do not exclude each other.
	ReadWrite bool
	// Fenced: the token of a grant is strictly above that of every earlier one, but
	// that a client may get its own again. Tokens of readers say nothing of each other.
	Fenced bool
	// Idle: grants without an act, which are no holds, exclude others all the same for an
	// instant. Without it they only have their place in the order of tokens of a fenced mutex.
	Idle bool
}

// LockOf returns the lock that a history's header claims. Tokens order the
// grants of an exclusive lock that one client has once at a time.
func LockOf(h *history.Header) Lock {
	c := &h.Claims
	l := Lock{Permits: c.Permits, Owners: c.Reentrant || h.Translated && c.Permits == 1, ReadWrite: c.ReadWrite}
	l.Fenced = c.Token == "fencing" && c.Permits == 1 && !l.Owners
	return l
}

// String names the model.
func (l Lock) String() string {
	switch {
	case l.Permits > 1:
		return fmt.Sprintf("a semaphore with %d permits", l.Permits)
	case l.Owners && l.ReadWrite:
		return "a reentrant reader-writer lock"
	case l.ReadWrite && l.Fenced:
		return "a reader-writer lock whose tokens rise with every writer"
	case l.ReadWrite:
		return "a reader-writer lock"
	case l.Owners:
		return "a mutex whose owner may have it more than once"
	case l.Fenced:
		return "a mutex whose tokens rise with every grant"
	}
	return "a mutex"
}

// Token is the greatest token that was given, and to whom. Of a reader-writer lock it is the
// greatest of a writer, and Reader that of a reader, given to Owner, or to several clients (-1).
type Token struct {
	Value  history.Token
	Client int32
	Reader history.Token
	Owner  int32
}

// with is the greatest token when a hold has got its own.
func (top Token) with(d *Hold) Token {
	switch {
	case d.Mode != history.ModeRead && d.Token > top.Value:
		top.Value, top.Client = d.Token, d.Client
	case d.Mode == history.ModeRead && d.Token > top.Reader:
		top.Reader, top.Owner = d.Token, d.Client
	case d.Mode == history.ModeRead && d.Token == top.Reader && d.Client != top.Owner:
		top.Owner = -1
	}
	return top
}

// admits reports whether a hold may get its token after the greatest so far.
func (top Token) admits(d *Hold) bool {
	above := func(token history.Token, client int32) bool {
		return d.Token > token || d.Token == token && d.Client == client
	}
	return above(top.Value, top.Client) && (d.Mode == history.ModeRead || above(top.Reader, top.Owner))
}

// Linearizable reports whether the holds of one key are those of the lock.
// Unknown means that the time did not suffice.
func (l Lock) Linearizable(holds []Hold, limit time.Duration) porcupine.CheckResult {
	return l.after(Token{}, holds, limit)
}

// after is Linearizable of holds that come after others, of which the greatest token is known.
func (l Lock) after(top Token, holds []Hold, limit time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(l.model(top, holds), l.operations(holds), limit)
}

// input is one operation of the model.
type input struct {
	hold  int // index, from 1
	token history.Token
	begin bool
	idle  bool // it takes its token, and holds nothing
	maybe bool // it may or may not happen
}

// operations are the reduced begins and ends.
func (l Lock) operations(holds []Hold) []porcupine.Operation {
	var ops []porcupine.Operation
	for i, d := range holds {
		idle := !d.Maybe && d.Acts == 0 && !l.Idle
		if d.Acquired == 0 || idle && !l.Fenced {
			continue
		}
		begin := porcupine.Operation{ClientId: int(d.Client), Call: d.Earliest, Return: d.Acquired,
			Input: input{hold: i + 1, token: d.Token, begin: true, idle: idle, maybe: d.Maybe}}
		if idle {
			ops = append(ops, begin)
			continue
		}
		end := porcupine.Operation{ClientId: int(d.Client), Call: max(d.Last, d.Earliest), Return: d.Released,
			Input: input{hold: i + 1, maybe: d.Maybe || d.Released == math.MaxInt64}}
		if !d.Maybe {
			end.Call = max(d.Last, d.Acquired)
			if d.Acts == 0 {
				end.Call = d.Earliest // it may have been over before its client knew of it
			}
		}
		if end.Return < end.Call {
			end.Return = math.MaxInt64
		}
		ops = append(ops, begin, end)
	}
	return ops
}

// state is who holds the key, sorted, and the greatest fencing token given out.
type state struct {
	holders string // the holds' indices as runes
	top     Token
}

// model is the lock as a nondeterministic specification, for the holds that the
// operations are made of.
func (l Lock) model(top Token, holds []Hold) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{top: top}} },
		Step: func(s, in, _ any) []any { return l.step(holds, s.(state), in.(input)) },
	}
	return m.ToModel()
}

func (l Lock) step(holds []Hold, s state, in input) []any {
	var next []any
	if in.maybe {
		next = append(next, s)
	}
	holders := []rune(s.holders)
	at := slices.Index(holders, rune(in.hold))
	switch {
	case in.begin && (in.idle || l.admits(holds, holders, in.hold)) && l.rises(s.top, in, &holds[in.hold-1]):
		if !in.idle {
			holders = append(holders, rune(in.hold))
			slices.Sort(holders)
		}
		if !in.maybe && in.token != 0 {
			s.top = s.top.with(&holds[in.hold-1])
		}
		next = append(next, state{string(holders), s.top})
	case !in.begin && at >= 0:
		next = append(next, state{string(slices.Delete(holders, at, at+1)), s.top})
	}
	return next
}

// admits reports whether a hold may begin beside the holders.
func (l Lock) admits(holds []Hold, holders []rune, hold int) bool {
	d, others := &holds[hold-1], 0
	for _, i := range holders {
		x := &holds[i-1]
		if l.Owners && x.Client == d.Client || l.ReadWrite && x.Mode == history.ModeRead && d.Mode == history.ModeRead {
			continue
		}
		others += max(x.Takes, 1)
	}
	return others+max(d.Takes, 1) <= l.Permits
}

// rises reports whether a grant's token may follow the greatest so far. Of a
// grant that nobody knows to have been made, no token is known.
func (l Lock) rises(top Token, in input, d *Hold) bool {
	return !l.Fenced || in.maybe || in.token == 0 || top.admits(d)
}
