package hosts

import "errors"

// ErrForbidden: what runs others' programs, a cluster say, does not allow
// what was asked of it, and nothing was done.
var ErrForbidden = errors.New("it is not allowed")
