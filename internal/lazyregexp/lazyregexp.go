// Package lazyregexp has regular expressions that are compiled when they are first used. Each
// client and each node of a run is a process of this one program, and uses next to none of them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp returns the expression. Safe for concurrent use.
type Regexp func() *regexp.Regexp

// New is the expression that text says. Where text is none, its first use panics.
func New(text string) Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
