package reports

// Strike is what the only fault of a plan does, as far as the closing paragraph of a run tells
// several of them in one sentence. The zero value is any other fault.
type Strike uint8

// What the only fault of a plan may do.
const (
	OtherStrike   Strike = iota
	FreezesHolder        // a client that holds the lock is frozen
	// the same, right after it has asked the lock whether it still holds it
	FreezesAfterCheck
	FreezesNodes // nodes of the lock service are frozen
	KillsHolder  // a client that holds the lock is killed
)
