package scenarios

import "slices"

// Store is the protected resource.
type Store struct {
	// Kind is one of StoreKinds.
	Kind string `yaml:"kind"`
	// Engine is what keeps the ledger: one of store.Engines; "sqlite" when it is not given.
	Engine string `yaml:"engine,omitempty"`
	// FenceReads: on a fenced store, reads raise the fence too. Only "true"
	// (the default) keeps a read-modify-write whole.
	FenceReads *bool `yaml:"fence_reads,omitempty"`
}

// The kinds of store. The last two are broken on purpose.
const (
	storeUnfenced = "unfenced"
	storeFenced   = "fenced"
	// storeGuarded has no fence: each write looks at the lock's own key, or the scheduler's row.
	storeGuarded = "guarded"
	// storeGTE accepts a token that is equal to the highest one seen, though it
	// comes with another grant.
	storeGTE = "broken-fence-gte"
	// storeWriteOnly has a fence that only writes raise.
	storeWriteOnly = "broken-fence-write-only"
)

// StoreKinds lists the kinds of store.
func StoreKinds() []string {
	return []string{storeUnfenced, storeFenced, storeGuarded, storeGTE, storeWriteOnly}
}

// Fenced reports whether the store checks tokens.
func (s Store) Fenced() bool {
	return s.Kind == storeFenced || s.Kind == storeGTE || s.Kind == storeWriteOnly
}

// ReadsRaise reports whether reads raise the fence.
func (s Store) ReadsRaise() bool {
	return s.Fenced() && s.Kind != storeWriteOnly && (s.FenceReads == nil || *s.FenceReads)
}

// AcceptsEqual reports whether the fence is the broken one that accepts an equal
// token of another grant.
func (s Store) AcceptsEqual() bool { return s.Kind == storeGTE }

// Broken reports whether the store is broken on purpose, to see that it is caught.
func (s Store) Broken() bool { return s.Kind == storeGTE || s.Kind == storeWriteOnly }

// Guarded reports whether each write looks at the lock's own key.
func (s Store) Guarded() bool { return s.Kind == storeGuarded }

// EngineName is the engine, where it is not given too.
func (s Store) EngineName() string {
	switch {
	case s.Engine != "":
		return s.Engine
	case s.Guarded():
		return "etcd"
	}
	return "sqlite"
}

func (v *validator) store(at string, s *Scenario) {
	v.oneOf(at+".kind", "store kind", s.Store.Kind, StoreKinds())
	if s.Store.Engine != "" {
		v.oneOf(at+".engine", "store engine", s.Store.Engine, v.catalogue.Engines)
	}
	if s.Store.FenceReads != nil && s.Store.Kind != storeFenced {
		v.fail(at+".fence_reads", "fence_reads is for a store of kind fenced, not %s", s.Store.Kind)
	}
	if s.External() && s.Store.Guarded() {
		v.fail(at+".kind", "a guarded store looks at the lock's own key, and an adapter does not say which that is")
	}
	if s.External() || !slices.Contains(v.catalogue.Locks, s.Lock) {
		return
	}
	if s.Store.Fenced() && !v.catalogue.Tokens[s.Lock] {
		v.fail(at+".kind", "%s gives no fencing token, so a fenced store would refuse all it writes", s.Lock)
	}
	if guards := v.catalogue.Guards[s.Lock]; guards != s.Store.Guarded() {
		if guards {
			v.fail(at+".kind", "%s guards each write by its own key: its store is of kind guarded, not %s", s.Lock,
				s.Store.Kind)
		} else {
			v.fail(at+".kind", "%s has no key that a guarded store could look at; etcd-txn and pg-cron-exact have", s.Lock)
		}
	}
	if service := v.catalogue.LockService[s.Lock]; s.Store.Guarded() && s.Store.EngineName() != service {
		v.fail(at+".engine", "a guarded store lies in the lock's own service: its engine is %s, not %s", service,
			s.Store.EngineName())
	}
}
