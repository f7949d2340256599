package store

import "fmt"

// register is the state of one key: all that is needed to decide its next request.
type register struct{ version, value, fence int64 }

// decide carries a request out and completes its entry. It returns ErrRefused, wrapped, when the fence refuses.
func (r *register) decide(e *Entry, f Fencing) error {
	defer func() { e.Fence = r.fence }()
	if !e.Write {
		if f.Reads {
			r.fence = max(r.fence, e.Token)
		}
		e.Version, e.Value = r.version, r.value
		return nil
	}
	if f.Writes && e.Token < r.fence {
		e.Refused = true
		return refusal(*e, r.fence)
	}
	if f.Writes {
		r.fence = e.Token
	}
	e.Replaced = r.version
	r.version++
	r.value, e.Version = e.Value, r.version
	return nil
}

func refusal(e Entry, fence int64) error {
	return fmt.Errorf("write to %q with token %d, the fence stands at %d: %w", e.Key, e.Token, fence, ErrRefused)
}
