package store

import "errors"

// What a request can end in, besides an entry. ErrRefused, ErrConflict, ErrBadRequest,
// ErrNotSent and ErrAborted are definite: the request was not carried out and never will be. Every
// other error is indefinite: the request may have been carried out, or may still be.
var (
	// ErrRefused: the fence refused a write for its old token, or the guard one
	// whose lock key has gone. The refusal is an entry of the ledger all the same.
	ErrRefused = errors.New("refused by the fence")
	// ErrConflict: a write of mode WriteIfVersion found another version than it
	// was made from. That is an entry of the ledger, too.
	ErrConflict = errors.New("another version")
	// ErrBadRequest: the request makes no sense to this store (no key, a negative
	// number, a write without a token to a fenced store, a sum that does not fit).
	// It is a mistake of the scenario or of the caller, and leaves no entry.
	ErrBadRequest = errors.New("bad request")
	// ErrNotSent: there was no connection to the store, so nothing was sent.
	ErrNotSent = errors.New("not sent")
	// ErrAborted: the transaction was rolled back, with all that was done in it.
	ErrAborted = errors.New("the transaction was rolled back")
)

// decided reports whether the request was received and not carried out, as an
// entry of the ledger says.
func decided(err error) bool { return errors.Is(err, ErrRefused) || errors.Is(err, ErrConflict) }

// Definite reports whether the error says for certain that the request was not carried out.
func Definite(err error) bool {
	return decided(err) || errors.Is(err, ErrBadRequest) || errors.Is(err, ErrNotSent) ||
		errors.Is(err, ErrAborted)
}
