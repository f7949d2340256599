package checker

import (
	"fmt"
	"slices"
)

// Clients that share an identity: two at a time, or one that comes back under the name of one that
// died. A lock that finds its own name at the service may take the key for its own.

// twins reports whether two clients have one identity.
func (r *rules) twins(a, b int32) bool {
	return a != b && max(a, b) <= int32(min(r.Twins, maxClients)) && min(a, b) > 0
}

// recognised notes whom a lock may have taken for the client that was just granted the key: a twin
// that is promised the key, or the client's own predecessor, which died and gave nothing back. A
// client that is granted a key which its predecessor's lease still keeps from all others has it as
// the predecessor's. That lease ends by the predecessor's time, and not by that of the grant.
func (s *Sweep) recognised(k *keyState, g *grant) {
	if s.rules.Twins > 1 {
		k.open.all(func(x *grant) bool {
			if s.rules.twins(x.client, g.client) && x.limit() > g.end {
				x.doubled, g.doubled = true, true
			}
			return true
		})
	}
	if last := k.lastGrant; s.rules.namesComeBack() && last != nil && last.client == g.client && last.process != g.process &&
		!last.released && last.releasing == 0 && !slices.Contains(k.unsure, last.client) && last.timed() &&
		g.end < last.promise {
		g.inherited = true
	}
}

// namesComeBack reports whether the lock knows a client by a name that comes back, by its claims.
func (r *rules) namesComeBack() bool {
	return r.Claims.Identity != "" && r.Claims.Identity != identityUnique
}

// grantedKind is the kind of a double-hold in which b was granted inside a's promise. Where a twin
// had come into a's grant before, what it gave back was a's. Where a was taken for its predecessor,
// what ended was the predecessor's.
func (r *rules) grantedKind(a, b *grant) string {
	switch {
	case !a.doubled && !a.inherited:
		return KindGrantedWhileValid
	case r.Claims.Identity == identityNone || r.Claims.Identity == "":
		return KindConfiguredIdentity
	}
	return KindSameIdentity
}

// grantedInPromise reports whether a double-hold is of a kind in which the later grant should not
// have been made.
func grantedInPromise(kind string) bool {
	return kind == KindGrantedWhileValid || kind == KindSameIdentity || kind == KindConfiguredIdentity
}

// tookForOwn tells for whom the lock took a client.
func (ex *explanations) tookForOwn(a, b *grant) string {
	made := "a name of the lock's own making"
	if k := ex.rules.grantedKind(a, b); k == KindConfiguredIdentity {
		made = "a name that they were given"
	}
	switch {
	case ex.rules.twins(a.client, b.client):
		return fmt.Sprintf(": the lock took client %d for client %d, which has the same identity, by %s", b.client,
			a.client, made)
	case a.doubled:
		return fmt.Sprintf(": a client with the same identity as client %d had come into its grant, and gave it back", a.client)
	}
	return fmt.Sprintf(": client %d had been granted it as what its predecessor of the same name left, whose lease ended", a.client)
}

// The claims of a lock whose clients' names are configured, and of one where each is made anew.
const (
	identityNone   = "none"
	identityUnique = "unique"
)
