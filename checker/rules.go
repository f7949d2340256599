package checker

import (
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// rules are what holds for the whole of a history: what its header says, and what follows from
// that. They are fixed when the judge begins.
type rules struct {
	history.Header
	names []string

	permits   int
	exclusive bool // one permit
	// reads and writes are parts of transactions
	transactional bool
	tokens        bool // exclusive, and the tokens are declared to be fencing tokens
	reentrant     bool
	// a client may have several grants of a key, which do not exclude each other
	owners   bool
	confirms [256]bool // by the kind of op
	patience int64     // how many grants may lie inside a wait
	asked    []bool    // whether the claims and the workload let a property be judged
	// delay is for how long a finding waits for the faults that may explain it.
	delay int64
}

// newRules returns the rules of a history. names are the lock keys' names by number.
func newRules(header history.Header, names []string) rules {
	permits, claims := header.Claims.Permits, &header.Claims
	r := rules{Header: header, names: names, permits: permits, exclusive: permits == 1,
		tokens:    permits == 1 && claims.Token == tokenFencing,
		reentrant: claims.Reentrant && !header.Translated, asked: make([]bool, len(properties))}
	r.transactional = header.Workload == history.WorkloadTransaction
	r.owners = r.reentrant || header.Translated
	for _, kind := range confirming {
		r.confirms[kind] = claims.ConfirmsOp(kind)
	}
	// A stall is recorded when the heartbeat comes that it delayed; half a TTL
	// later it is certainly in the history.
	r.delay = max(header.TTL/2, 2*header.Stall)
	// a header that was not read from a file may say anything
	r.patience = patience * int64(min(max(1, header.Clients), maxClients))
	for _, p := range properties {
		r.asked[p.place] = p.notClaimed(&r.Header) == ""
	}
	return r
}

// asks reports whether the claims and the workload let a property be judged.
func (r *rules) asks(p *Property) bool { return r.asked[p.place] }

// fresh reports whether a client belongs to the probe rather than to the workload.
func (r *rules) fresh(client int32) bool {
	return r.Clients > 0 && client > int32(r.Clients)
}

// name returns a key's name.
func (r *rules) name(k *keyState) string {
	if int(k.id) < len(r.names) {
		return r.names[k.id]
	}
	return fmt.Sprintf("key %d", k.id)
}

// namesOf tells of the keys of ops in a sentence.
func (r *rules) namesOf(keys []*keyState) string {
	last := len(keys) - 1
	if last == 0 {
		return r.name(keys[0])
	}
	text := r.name(keys[0])
	for _, k := range keys[1:last] {
		text += ", " + r.name(k)
	}
	return text + " and " + r.name(keys[last]) + " together"
}

// owns reports whether two grants are one owner's, who does not exclude itself.
func (r *rules) owns(x, y *grant) bool { return r.owners && x.client == y.client }

// exclude reports whether of two grants each excludes the other: they are of one
// exclusive lock. Several locks may protect one key of the store.
func (r *rules) exclude(x, y *grant) bool { return r.exclusive && x.key == y.key }

// trusted reports whether the key's tokens can be trusted to order its grants.
// Final only at the end of the history.
func (r *rules) trusted(k *keyState) bool { return r.tokens && !k.tokenBroken }

// reading is the index of the tally that holds for the key.
func (r *rules) reading(k *keyState) int {
	if r.trusted(k) {
		return 1
	}
	return 0
}

// lifetime is for how long at most a lease or a session stands that nobody renews.
func (r *rules) lifetime() int64 {
	return int64(Lifetime(time.Duration(r.TTL), time.Duration(r.Slack)))
}

// expires reports whether a grant that nobody gives back ends by itself a TTL
// after it was last renewed, by the lock's claims.
func (r *rules) expires() bool {
	v := r.Claims.Validity
	return (v == validityLibrary || v == validityInvocation) && !r.Claims.NoExpiry
}

// abandons is for how long an acquire without a grant may leave something behind.
func (r *rules) abandons() int64 { return stamp(r.Claims.Abandons, r.TTL) }

// lasting is for how long anything may stay at the service that nobody has any more.
func (r *rules) lasting() int64 { return max(r.TTL, r.abandons()) }

// restNs is for how long a client may rest between two acquires that belong together.
func (r *rules) restNs() int64 { return r.TTL + int64(Slack(time.Duration(r.TTL))) }

// margin is what Patience adds to the TTL.
func (r *rules) margin() int64 { return r.lifetime() - r.TTL + int64(pollAllowance) }

// patienceNs is Patience for the run's TTL, or more if the lock says that what
// it abandons stays for longer.
func (r *rules) patienceNs() int64 { return r.lasting() + r.margin() }

// deaf tells that the application trusts its acquire and hears no news of a loss. That it went
// on after such news is then the workload's doing; what took its lock away is what counts.
func (r *rules) deaf() bool { return r.Guard == guardNone }

// stalledFor is for how long uninjected stalls may have lasted between two
// instants, all added up. A stall is measured from heartbeat to heartbeat, or
// from look to look, so either end may lie up to one threshold off.
func (r *rules) stalledFor(spans []span, from, to int64) int64 {
	return timeIn(spans, from, to, uninjectedOnly, 2*r.Stall)
}

// The guards of applications that do not go by every answer: guardNone is that of one which trusts
// its acquire, guardTold of one that asks nothing and goes by lost-events alone.
const (
	guardNone = "none"
	guardTold = "told"
)
