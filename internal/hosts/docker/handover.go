package docker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/commands"
	"golang.org/x/sys/unix"
)

// handover is what outer tells the agent, as the first line on its standard input.
// What follows is about commands (commands.Told); its end is the end of outer.
type handover struct {
	Bridge string       `json:"bridge"`
	Prefix netip.Prefix `json:"prefix"`
	First  netip.Addr   `json:"first"` // of the hosts that are plugged in
	Taken  []netip.Addr `json:"taken,omitempty"`
	Nodes  []handedNode `json:"nodes,omitempty"`
	agent.Handover
	// Dir is the folder whose files are to belong to UID and GID at the end.
	Dir string `json:"dir"`
	UID int    `json:"uid"`
	GID int    `json:"gid"`
}

type handedNode struct {
	Name string     `json:"name"`
	PID  int        `json:"pid"`
	Addr netip.Addr `json:"addr"`
	Log  string     `json:"log"`
	Own  bool       `json:"own"` // ends with the agent
}

// Joined is where the agent finds itself.
type Joined struct {
	agent.Joined

	told  handover
	asked *commands.Asked
	claim io.Closer // of the bridge
}

// Join does the agent's part: it takes what outer hands over, joins the network and attaches to
// the nodes. The context that it returns ends when outer does. What is asked of outer is written
// to out, where whole lines of others may be written, too. Close must be called in any case.
func Join(ctx context.Context, in io.Reader, out io.Writer) (context.Context, *Joined, error) {
	if !hosts.Agent() {
		return ctx, nil, hosts.ErrOutside
	}
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return ctx, nil, fmt.Errorf("the run ended before it began: %w", err)
	}
	j := &Joined{asked: commands.NewAsked(out)}
	if err := json.Unmarshal(line, &j.told); err != nil {
		return ctx, nil, fmt.Errorf("read where the nodes are: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		j.listen(lines)
		cancel(errors.New("the run was ended from outside"))
	}()
	return ctx, j, j.join(ctx)
}

// bridgeWait is how long the agent of a run that was killed may have the bridge: it heals first.
const bridgeWait = 2 * agent.Grace

// claimBridge keeps others off the bridge: all take its addresses from the same one on. Who has
// it removes what a run left that could not.
func (j *Joined) claimBridge(ctx context.Context) error {
	claim, err := Claim(ctx, "bridge-"+j.told.Bridge, bridgeWait)
	if errors.Is(err, unix.EADDRINUSE) {
		return fmt.Errorf("another run of lockchaos has its clients on the engine's network %s (%s): wait for its end",
			j.told.Prefix, j.told.Bridge)
	}
	if err != nil {
		return fmt.Errorf("claim the engine's network %s: %w", j.told.Prefix, err)
	}
	j.claim = claim
	return nil
}

// listen hears what outer tells, until the input ends or says nothing that can be read.
func (j *Joined) listen(in *bufio.Reader) {
	lines := json.NewDecoder(in)
	for {
		var told commands.Told
		if lines.Decode(&told) != nil {
			return
		}
		j.asked.Hear(told)
	}
}

// Exec runs a command in a node's container: see commands.Asked.
func (j *Joined) Exec(ctx context.Context, node string, command []string, input []byte,
	ready func(pid int) error) (hosts.Executed, error) {
	return j.asked.Exec(ctx, node, command, input, nil, ready)
}

func (j *Joined) join(ctx context.Context) (err error) {
	j.Handover = j.told.Handover
	if err := j.claimBridge(ctx); err != nil {
		return err
	}
	for _, n := range j.told.Nodes {
		host, process, err := hosts.Attach(n.Name, n.PID, n.Addr, n.Log)
		if err != nil {
			return err
		}
		j.Nodes = append(j.Nodes, agent.Attached{Name: n.Name, Host: host, Process: process, Own: n.Own})
	}
	j.Network, err = hosts.Join(j.told.Bridge, j.told.Prefix, j.told.First, j.told.Taken...)
	return err
}

// Close takes our hosts off the network, kills the nodes that are ours to end,
// and gives the files to the user.
func (j *Joined) Close() error {
	if j == nil {
		return nil
	}
	errs := []error{j.Joined.Close()}
	if j.claim != nil {
		errs = append(errs, j.claim.Close())
	}
	if j.told.Dir != "" {
		errs = append(errs, filepath.WalkDir(j.told.Dir, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, j.told.UID, j.told.GID))
		}))
	}
	return errors.Join(errs...)
}
