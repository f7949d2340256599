package formats

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// refusals takes the value false for a refusal where others have the value
// true: so a tryLock answers.
func (r *jepsenReader) refusals() error {
	how, taught := r.words.Taught("false")
	switch {
	case len(r.falses) == 0 || taught && how == words.EndedOK:
		return nil
	case !taught && !r.truths:
		return &history.SyntaxError{File: r.file.Name, Line: int(r.file.Calls.At(r.falses[0]).EndLine), Column: 1,
			Near: ":value false",
			Err:  errors.New("an op that was answered :ok, with the :value false, where none has true: was it refused (--results fail=false) or carried out (--results ok=false)?")}
	case !taught:
		r.file.Assume("The :value true or false answers an acquire or release, so false is a refusal (--results ok=false).")
		how = words.EndedFail
	}
	for _, i := range r.falses {
		r.file.Calls.At(i).ended(how, true)
	}
	return nil
}

// nameKeys takes the bare values of acquires and releases for the names of their locks, if
// one comes twice. If each comes once they are the ops' own names, as in Hazelcast's tests.
func (r *jepsenReader) nameKeys() {
	seen := map[string]bool{}
	twice := false
	for _, name := range r.named {
		twice = twice || name != "" && seen[name]
		seen[name] = true
	}
	if !twice {
		return
	}
	r.file.Leave("The :value of acquires and releases comes more than once, so it is taken for the name of the lock.")
	for i := range int32(len(r.named)) {
		if name := r.named[i]; name != "" {
			r.file.Calls.At(i).Key = r.file.Keys.ID(name)
		}
	}
}

// finish names the owners, now that every answer has been seen.
func (r *jepsenReader) finish() error {
	for i := range r.file.Calls.Count() {
		name, ok := r.owner[r.by[i]]
		if !ok {
			name = fmt.Sprintf("process %d", r.by[i])
		}
		r.file.Calls.At(i).Owner = r.file.Owners.ID(name)
	}
	if err := r.refusals(); err != nil {
		return err
	}
	r.nameKeys()
	r.file.Untimed = r.untimed
	if r.untimed && r.any {
		r.file.Leave("The history has no :time, so its ops are a microsecond apart, in the order of the file.")
	}
	if r.nemesis > 0 {
		r.file.Leave("Ops of the nemesis: %d; they are left out, for they excuse nothing here: a lock is judged by what its clients saw.", r.nemesis)
	}
	if r.nskipped > 0 {
		r.file.Leave("Ops that are not about a lock: %d (:f %s); they are left out.", r.nskipped,
			strings.Join(r.skipped, ", "))
	}
	return nil
}
