// Package exit has the exit statuses of lockchaos: what a run comes to, in one
// number that a script or a CI system can act on, and the error that carries it.
// A program that runs lockchaos inside itself gets the same number from Of.
package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
)

// The exit statuses that the command promises.
const (
	OK           = 0  // every scenario met its expectation
	Violated     = 1  // a property was violated, or a control was not caught
	Inconclusive = 2  // something could not be decided
	Failed       = 3  // the harness or a service failed, or the run was interrupted
	Usage        = 64 // wrong words on the command line, or a wrong file
)

// Status is an error that carries the exit status. Its text, if any, is printed.
type Status struct {
	Code int
	// Err says what went wrong; nil: it has been said already.
	Err error
}

// Error returns the text of Err, or "exit status N" without one.
func (s *Status) Error() string {
	if s.Err == nil {
		return fmt.Sprintf("exit status %d", s.Code)
	}
	return s.Err.Error()
}

// Unwrap returns Err.
func (s *Status) Unwrap() error { return s.Err }

// With returns an error that carries a status. err says what went wrong; nil:
// it has been said already.
func With(code int, err error) error { return &Status{Code: code, Err: err} }

// Misuse marks an error as the user's: wrong words on the command line, or a wrong
// file. An error that is the machine's, or an interrupt, keeps the status of a failure.
func Misuse(err error) error {
	if OfMachine(err) {
		return With(Failed, err)
	}
	return With(Usage, err)
}

// OfMachine reports whether an error is none of the user's words or files: an
// interrupt, no room, no folder for temporary files, no user's cache.
func OfMachine(err error) bool {
	for _, kind := range []error{context.Canceled, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE,
		syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, kind) {
			return true
		}
	}
	var says interface{ OfMachine() bool }
	if errors.As(err, &says) {
		return says.OfMachine()
	}
	path, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return false
	}
	temporary := filepath.Clean(os.TempDir())
	ours := filepath.Dir(path.Path) == temporary && strings.HasPrefix(filepath.Base(path.Path), "lockchaos-")
	return ours || filepath.Clean(path.Path) == temporary
}

// Ended is the error with which a command ends that has told what came out: code, unless something
// could not be written, or it was interrupted.
func Ended(code int, unwritten error, interrupted bool) error {
	if interrupted {
		unwritten = errors.Join(unwritten, errors.New("interrupted: the report holds what there is"))
	}
	switch {
	case unwritten != nil:
		return With(Failed, unwritten)
	case code != OK:
		return With(code, nil)
	}
	return nil
}

// Of returns the exit status that an error stands for: OK for nil, Failed for
// an error that carries none.
func Of(err error) int {
	var s *Status
	switch {
	case err == nil:
		return OK
	case errors.As(err, &s):
		return s.Code
	}
	return Failed
}

// OfOutcome is the exit status of a judgement by properties alone.
func OfOutcome(o checker.Outcome) int {
	switch o {
	case checker.Pass:
		return OK
	case checker.Violated:
		return Violated
	}
	return Inconclusive
}

// Worse returns the graver of two exit statuses: a failed harness first, then a
// violation, then an inconclusive run.
func Worse(a, b int) int {
	for _, s := range []int{Failed, Violated, Inconclusive} {
		if a == s || b == s {
			return s
		}
	}
	return OK
}

// OfSuite is the exit status of a run: the worst of its scenarios.
func OfSuite(suite reports.Suite, noExpect bool) int {
	code := OK
	for _, sc := range suite.Scenarios {
		code = Worse(code, OfScenario(sc, noExpect))
	}
	return code
}

// OfScenario is the exit status that one scenario alone would give. What did
// not meet its expectation because it could not be decided is inconclusive; a
// violation that did not come is as bad as one that did.
func OfScenario(sc reports.Scenario, noExpect bool) int {
	switch {
	case sc.Failed != "":
		return Failed
	case sc.Skipped != "" && sc.Demanded && !sc.Lenient:
		return Inconclusive
	case sc.Skipped != "":
		return OK // said aloud in the matrix, and never counted as a pass
	case noExpect:
		return OfOutcome(sc.Verdict.Outcome)
	case sc.Met:
		return OK
	case sc.Lenient && sc.Undecided():
		return OK // said aloud, as the policy wants it
	}
	if sc.Undecided() {
		return Inconclusive
	}
	return Violated
}

// OfFate is the exit status of an attack that came to that.
func OfFate(f reports.Fate) int {
	switch {
	case f == reports.FellDefect:
		return Violated
	case f == reports.FellUnclear || f == reports.NothingFollows:
		return Inconclusive
	case f == reports.NotRun:
		return Failed
	}
	return OK
}
