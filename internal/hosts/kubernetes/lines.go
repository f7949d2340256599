package kubernetes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/commands"
)

// order is what outer tells the agent, as a line on its standard input; an
// empty one says that outer lives. The end of the input is the end of outer.
type order struct {
	Handover *handover `json:"handover,omitempty"` // in the first line
	File     *chunk    `json:"file,omitempty"`
	// Leaves is a client of an application whose pod is to end, Comes another
	// one that has come in the place of one.
	Leaves string      `json:"leaves,omitempty"`
	Comes  *handedNode `json:"comes,omitempty"`
	// Exec is about a command that the inner program has asked for.
	Exec *commands.Told `json:"exec,omitempty"`
	// Ask is what a helper is to do: a commands.Ask.
	Ask json.RawMessage `json:"ask,omitempty"`
}

// handover is what an agent has to know.
type handover struct {
	Nodes []handedNode `json:"nodes,omitempty"`
	// On is the node of the cluster on which the agent is. Helper: the inner
	// program is in another agent, which has this one do what is to be done here.
	On     string       `json:"on"`
	Helper bool         `json:"helper,omitempty"`
	Seats  []handedNode `json:"seats,omitempty"`
	Files  []chunk      `json:"files"` // of the scenario's folder
	agent.Handover
	// Control is where nodes reach the API server.
	Control []netip.AddrPort `json:"control,omitempty"`
	// Build is that of outer: an image may hold another one, which would understand something else.
	Build string `json:"build"`
}

// handedNode is a container: by the number that its runtime gave it the agent finds its processes.
type handedNode struct {
	Name      string     `json:"name,omitempty"`
	ID        string     `json:"id"`
	Addr      netip.Addr `json:"addr"`
	Own       bool       `json:"own,omitempty"` // ends with the agent
	Namespace string     `json:"namespace,omitempty"`
	Pod       string     `json:"pod,omitempty"`
	Container string     `json:"container,omitempty"`
	// UID is the pod's: its containers may be others by the time at which somebody heals it.
	UID string `json:"uid,omitempty"`
	// On is the node of the cluster on which it is.
	On string `json:"on,omitempty"`
	// After is the client in whose place it has come.
	After string `json:"after,omitempty"`

	starts int32 // how often it had been started again
}

// chunk is a part of a file below the scenario's folder. One at 0 begins the file anew.
type chunk struct {
	File string `json:"file"` // first: see chunkMark
	At   int64  `json:"at"`
	Data []byte `json:"data"`
}

// chunkMark begins the lines of an agent that are no output.
var chunkMark = []byte(`{"file":`)

// chunkSize bounds the data of a chunk.
const chunkSize = 1 << 18

// longestLine bounds a line of a pod's output: a chunk is a third longer as text.
const longestLine = 4 * chunkSize

// write puts the chunk where it belongs. What an agent says is not trusted to stay in the folder.
func (c chunk) write(dir string) error {
	if !filepath.IsLocal(c.File) {
		return fmt.Errorf("%q is not below the scenario's folder", c.File)
	}
	path := filepath.Join(dir, c.File)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	flags := os.O_CREATE | os.O_WRONLY
	if c.At == 0 {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(c.Data, c.At)
	return errors.Join(err, f.Close())
}

// inbox is the writer of the output of a program in a pod: it passes whole
// lines on, and puts the files among them below a folder.
type inbox struct {
	dir  string
	out  io.Writer
	rest remnant
}

// remnant is what has come of a line that is not whole.
type remnant []byte

// write takes more of a pod's output, and hands whole lines on, each with its end.
func (r *remnant) write(p []byte, take func(line []byte) error) (int, error) {
	*r = append(*r, p...)
	for {
		end := bytes.IndexByte(*r, '\n')
		if end < 0 && len(*r) > longestLine {
			return 0, fmt.Errorf("a pod has written a line of more than %d bytes", longestLine)
		}
		if end < 0 {
			return len(p), nil
		}
		if err := take((*r)[:end+1]); err != nil {
			return 0, err
		}
		*r = (*r)[end+1:]
	}
}

// Write is called by one goroutine.
func (b *inbox) Write(p []byte) (int, error) {
	return b.rest.write(p, b.take)
}

func (b *inbox) take(line []byte) error {
	if !bytes.HasPrefix(line, chunkMark) {
		_, err := b.out.Write(line)
		return err
	}
	var c chunk
	if err := json.Unmarshal(line, &c); err != nil {
		return fmt.Errorf("read a file of a pod's: %w", err)
	}
	return c.write(b.dir)
}

// flush passes on what is left without an end of line.
func (b *inbox) flush() error {
	_, err := b.out.Write(b.rest)
	return err
}

func newLine(text []byte) io.Reader { return bytes.NewReader(append(text, '\n')) }
