package formats

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// scriptPurpose is what a script is for, by its text.
type scriptPurpose uint8

const (
	unknownAim scriptPurpose = iota
	takes                    // it takes the lock, whatever else it does
	renews
	releases
)

// callOf is a command in the text of a script.
var callOf = lazyregexp.New(`(?i)\bp?call\s*\(\s*['"](\w+)['"]`)

// setters are the commands with which a script takes a lock.
var setters = []string{"set", "setnx", "psetex", "setex", "hset", "hsetnx", "hmset", "hincrby"}

// extenders give a lock more time, deleters give it up, comparers look who has it.
var (
	extenders = []string{"expire", "pexpire", "expireat", "pexpireat"}
	deleters  = []string{"del", "unlink"}
	comparers = []string{"get", "hexists", "hget"}
)

// purposeOf is what a script is for. One that can delete is a release: such as
// Redisson's, which counts down before.
func purposeOf(text string) scriptPurpose {
	found := map[string]bool{}
	for _, call := range callOf().FindAllStringSubmatch(text, -1) {
		found[strings.ToLower(call[1])] = true
	}
	has := func(names []string) bool { return slices.ContainsFunc(names, func(n string) bool { return found[n] }) }
	switch {
	case !has(comparers):
		return unknownAim
	case has(deleters) && !found["set"] && !found["setnx"] && !found["hsetnx"]:
		return releases
	case has(setters):
		return takes
	case has(extenders):
		return renews
	}
	return unknownAim
}

// mostScripts bounds the scripts that are remembered.
const mostScripts = 1 << 10

// scripts are the aims of scripts by their digests.
type scripts map[string]scriptPurpose

// learn remembers a script by the digest that EVALSHA names it by.
func (s scripts) learn(text string) scriptPurpose {
	if len(s) > mostScripts {
		clear(s)
	}
	digest := sha1.Sum([]byte(text)) //nolint:gosec // Redis names scripts so
	name := hex.EncodeToString(digest[:])
	if a, known := s[name]; known {
		return a
	}
	a := purposeOf(text)
	s[name] = a
	return a
}

// scriptRun is a call of a script, with what its own lines show.
type scriptRun struct {
	command
	aim                               scriptPurpose
	args                              []string
	told                              bool // there were lines of it
	compared, extended, deleted, sets bool
	// the lock, which is the first key, and the field of a hash that names its owner
	key, field string
}

// runOf begins a script's run; nil: the command is none.
func (s scripts) runOf(c *command) *scriptRun {
	if c.name != "eval" && c.name != "evalsha" || len(c.words) < 3 {
		return nil
	}
	n, err := strconv.Atoi(c.words[1])
	if err != nil || n < 1 || n > len(c.words)-2 {
		return nil
	}
	r := &scriptRun{command: *c, key: c.words[2], args: c.words[2+n:]}
	if c.name == "evalsha" {
		r.aim = s[strings.ToLower(c.words[0])]
	} else {
		r.aim = s.learn(c.words[0])
	}
	return r
}

// lua reads a line of the script. Lines about other keys, such as of Redisson's
// latches, say nothing of the lock.
func (r *scriptRun) lua(c *command) {
	r.told = true
	if len(c.words) == 0 || c.words[0] != r.key {
		return
	}
	switch {
	case slices.Contains(comparers, c.name):
		r.compared = true
		if c.name != "get" && len(c.words) > 1 {
			r.field = c.words[1]
		}
	case slices.Contains(extenders, c.name):
		r.extended = true
	case slices.Contains(deleters, c.name):
		r.deleted = true
	case c.name == "hincrby" && len(c.words) > 2:
		r.field = c.words[1]
		r.sets = r.sets || !strings.HasPrefix(c.words[2], "-")
	case slices.Contains(setters, c.name):
		r.sets = true
	}
}
