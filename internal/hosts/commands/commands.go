// Package commands lets an inner program run commands in the containers of others,
// where outer alone speaks to their engine: it asks for them by lines on its
// standard output, and is told what came of them by lines on its standard input.
package commands

import "github.com/lockchaos/lockchaos/internal/hosts"

// Ask is what the inner program asks for, as a line on its standard output: a
// command in a node's container, or an act; then, by the same number, that it
// gets its input; or that nobody waits for it any more.
type Ask struct {
	Exec    int64    `json:"exec"` // first: see mark
	Node    string   `json:"node,omitempty"`
	Command []string `json:"command,omitempty"`
	Input   []byte   `json:"input,omitempty"`
	// Act is something else than a command that outer is to do to the node: a
	// word that outer knows.
	Act  string `json:"act,omitempty"`
	Drop bool   `json:"drop,omitempty"`
}

// mark begins the lines that are no output, but an Ask.
var mark = []byte(`{"exec":`)

// Told is what outer tells of it: that it runs, and then how it ended.
type Told struct {
	Exec   int64           `json:"exec"`
	PID    int             `json:"pid,omitempty"`
	Ended  *hosts.Executed `json:"ended,omitempty"`
	Failed string          `json:"failed,omitempty"`
}

// Unnumbered is the process number of a command that runs, or is about to, of
// which outer does not know it.
const Unnumbered = -1

// keep is how much of what a command prints is kept, in bytes, of each of its two streams.
const keep = 1 << 16

// Kept is the beginning of what is written to it.
type Kept struct{ Text []byte }

// Write keeps what there is room for.
func (k *Kept) Write(p []byte) (int, error) {
	k.Text = append(k.Text, p[:min(len(p), keep-len(k.Text))]...)
	return len(p), nil
}
