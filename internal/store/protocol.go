package store

import (
	"errors"
	"fmt"
)

// The protocol is JSON lines on a TCP connection: one call, one answer, one at
// a time. A call that is not understood is answered with an error; a line that
// is too long ends the connection, since where the next one begins is unknown.

// maxLine is the length of the longest call, in bytes: a key of MaxKey bytes
// may need six bytes for each in JSON, and so may a guard.
const maxLine = 8192

// The calls.
const (
	callRead    = "read"
	callWrite   = "write"
	callEntries = "entries"
	callInfo    = "info"
	// callCommit commits the connection's transaction. One begins with the first read or write
	// that has an isolation level, and is rolled back if the connection ends.
	callCommit = "commit"
)

type call struct {
	Do string `json:"do"`
	// Request of a read or a write.
	Request *Request `json:"request,omitempty"`
	// Isolation is the level of the transaction that the request is part of; empty: of none.
	Isolation string `json:"isolation,omitempty"`
	// After and Limit of entries.
	After int64 `json:"after,omitempty"`
	Limit int   `json:"limit,omitempty"`
}

type answer struct {
	Entry *Entry `json:"entry,omitempty"`
	// Entries and Watermark answer entries.
	Entries   []Entry `json:"entries,omitempty"`
	Watermark int64   `json:"watermark,omitempty"`
	Info      *Info   `json:"info,omitempty"`
	// Error says what went wrong; Code makes it an error value again.
	Error string `json:"error,omitempty"`
	Code  string `json:"code,omitempty"`
}

// Info is what a store says of itself.
type Info struct {
	// Version names the engine and its version.
	Version string `json:"version"`
	// Fencing is the kind of store, as ParseFencing reads it.
	Fencing string `json:"fencing"`
}

// The codes of errors.
const (
	codeRefused    = "refused"
	codeConflict   = "conflict"
	codeBadRequest = "bad_request"
	codeAborted    = "aborted"
	codeFailed     = "failed"
)

func (a *answer) setError(err error) {
	a.Error = err.Error()
	switch {
	case errors.Is(err, ErrRefused):
		a.Code = codeRefused
	case errors.Is(err, ErrConflict):
		a.Code = codeConflict
	case errors.Is(err, ErrBadRequest):
		a.Code = codeBadRequest
	case errors.Is(err, ErrAborted):
		a.Code = codeAborted
	default:
		a.Code = codeFailed
	}
}

// err makes the answer's error a value that errors.Is knows, and keeps its words.
func (a *answer) err() error {
	switch {
	case a.Error == "" && a.Code == "":
		return nil
	case a.Code == codeRefused:
		return remoteError{a.Error, ErrRefused}
	case a.Code == codeConflict:
		return remoteError{a.Error, ErrConflict}
	case a.Code == codeBadRequest:
		return remoteError{a.Error, ErrBadRequest}
	case a.Code == codeAborted:
		return remoteError{a.Error, ErrAborted}
	}
	return fmt.Errorf("the store answered: %s", a.Error)
}

// remoteError has the words of the store and the identity of the error that they stand for.
type remoteError struct {
	words string
	is    error
}

func (e remoteError) Error() string { return e.words }
func (e remoteError) Unwrap() error { return e.is }
