package store

import "errors"

// What a request can end in, besides an entry. ErrRefused, ErrBadRequest and ErrNotSent are definite: the request
// was not carried out and never will be. Every other error is indefinite: the request may have been carried
// out, or may still be.
var (
	// ErrRefused: the fence refused a write for its old token. The refusal is an entry of the ledger all the same.
	ErrRefused = errors.New("refused by the fence")
	// ErrBadRequest: the request makes no sense to this store (no key, a negative number, a write without a token
	// to a fenced store). It is a mistake of the scenario or of the caller, and leaves no entry.
	ErrBadRequest = errors.New("bad request")
	// ErrNotSent: there was no connection to the store, so nothing was sent.
	ErrNotSent = errors.New("not sent")
)

// Definite tells whether the error says for certain that the request was not carried out.
func Definite(err error) bool {
	return errors.Is(err, ErrRefused) || errors.Is(err, ErrBadRequest) || errors.Is(err, ErrNotSent)
}
