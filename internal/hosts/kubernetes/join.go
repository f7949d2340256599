package kubernetes

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/commands"
)

// agentVar says that an inner program is in a pod.
const agentVar = "LOCKCHAOS_POD"

// Inside reports whether this is the inner program in an agent's pod.
func Inside() bool { return os.Getenv(agentVar) != "" && hosts.Agent() }

// toldFile is where an agent keeps the handover for itself, in case that it is
// killed and started again. It is there from the first start on.
const toldFile = agentData + "/told.json"

// Joined is where the agent finds itself.
type Joined struct {
	agent.Joined
	// Changes are those of the clients of an application, as outer tells of them.
	Changes chan agent.Change

	expected atomic.Int64 // until when silence is planned, ns since 1970

	mu     sync.Mutex
	told   handover // guarded by mu: there may come more nodes
	asked  *commands.Asked
	asks   chan commands.Ask // of a helper
	out    *agent.Lines
	mirror mirror
	over   context.CancelFunc
	kept   chan error // the end of the mirror
}

// Rescued reports whether this agent is one that was started again after its
// death: then it heals what it was told of, by heal, says so, and must end.
func Rescued(heal func(name string, h *hosts.Host) error) (yes bool, err error) {
	if received.lines != nil {
		return false, nil
	}
	told, err := readTold()
	if err != nil {
		return true, err
	}
	var errs []error
	for _, n := range told.Nodes {
		errs = append(errs, rescue(n, heal))
	}
	return true, errors.Join(errs...)
}

// rescue heals one node, if it is there.
func rescue(n handedNode, heal func(string, *hosts.Host) error) error {
	// systemd's names have no "-" of others in them
	pids, err := processesIn(n.UID, strings.ReplaceAll(n.UID, "-", "_"))
	if err != nil || len(pids) == 0 {
		return err // its own end has healed it
	}
	h, err := hosts.Visit(n.Name, hosts.Seat{PID: pids[0], Addr: n.Addr})
	if err != nil {
		return err
	}
	_, err = h.Revive()
	return errors.Join(err, heal(n.Name, h), h.Close())
}

// received is what outer has handed over, and the rest of the input.
var received struct {
	told  handover
	lines *bufio.Reader
}

// failed is the status of an inner program that could do nothing: that of
// package internal/runs/exit, which lies above this one.
const failed = 3

// begin receives what outer hands over, if this is the agent's first start. An
// agent that was started again before it was told anything ends here: it has
// done nothing that it could heal, and its run has lost it.
func begin(in io.Reader) {
	told, err := readTold()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := receive(in); err != nil {
			// As the inner program tells of what went wrong: it would miss its plan, and say that.
			_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"error": err.Error()})
			os.Exit(failed)
		}
	case err == nil && len(told.Nodes) == 0:
		fmt.Fprintln(os.Stderr, "lockchaos, in a pod: this agent was started again, and has nothing to heal")
		os.Exit(0)
	}
}

// build tells this program from others: by its version, which names the commit,
// or by the beginning of its hash where that says less.
var build = sync.OnceValues(func() (string, error) {
	if version := hosts.Program(); version != "" {
		return version, nil
	}
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("read this program: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read this program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
})

// readTold reads what this agent was told when it was started first.
func readTold() (told handover, err error) {
	text, err := os.ReadFile(toldFile)
	if err != nil {
		return told, err
	}
	return told, json.Unmarshal(text, &told)
}

// keep keeps the handover in a file, of which there is no half.
func (h handover) keep() error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := os.WriteFile(toldFile+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(toldFile+".new", toldFile)
}

// receive reads the handover, and puts the scenario's folder where the inner program
// looks for it. Outer may have died before it knew of us: so we end if we hear nothing.
func receive(in io.Reader) error {
	received.lines = bufio.NewReader(in)
	if err := (handover{}).keep(); err != nil {
		return err
	}
	silent := endUnlessTold(firstWord)
	defer silent.Stop()
	var o order
	for o.Handover == nil {
		line, err := received.lines.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &o)
		}
		if err != nil {
			return fmt.Errorf("the run ended before it began: %w", err)
		}
		silent.Reset(Silence)
	}
	received.told = *o.Handover
	if own, err := build(); err != nil || own != received.told.Build {
		return errors.Join(errors.New("the image holds another build of lockchaos than the one that was started: --image lockchaos=IMAGE names one of the same"), err)
	}
	for _, c := range received.told.Files {
		if err := c.write(scenarioDir); err != nil {
			return fmt.Errorf("unpack the scenario's folder: %w", err)
		}
	}
	return received.told.keep()
}

// endUnlessTold ends this process after a time, unless it is stopped.
func endUnlessTold(limit time.Duration) *time.Timer {
	return time.AfterFunc(limit, func() {
		fmt.Fprintf(os.Stderr, "lockchaos, in a pod: nothing was heard of the run for %v\n", limit)
		os.Exit(1)
	})
}

// Join does the agent's part: it attaches to the nodes that outer has handed over. The
// context that it returns ends when outer does. Files of the scenario's folder are written to
// out, which the inner program writes whole lines to, too. Close must be called in any case.
func Join(ctx context.Context, out io.Writer) (context.Context, *Joined, error) {
	if !Inside() {
		return ctx, nil, hosts.ErrOutside
	}
	if received.lines == nil {
		return ctx, nil, errors.New("kubernetes.Stage has not received what outer hands over")
	}
	told := received.told
	to := &agent.Lines{Out: out}
	j := &Joined{told: told, Joined: agent.Joined{Handover: told.Handover}, kept: make(chan error, 1),
		Changes: make(chan agent.Change), asks: make(chan commands.Ask), out: to, asked: commands.NewAsked(to)}
	j.mirror = mirror{dir: scenarioDir, sent: map[string]sentFile{}, skip: map[string]bool{},
		send: func(c chunk) error { return to.Say(c) }}
	for _, c := range told.Files {
		j.mirror.skip[c.File] = true
	}
	for _, n := range told.Nodes {
		j.mirror.skip[logName(n.Name)] = true
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() { cancel(fmt.Errorf("the run was ended from outside: %w", j.listen(ctx, received.lines))) }()
	mirroring, over := context.WithCancel(context.WithoutCancel(ctx))
	j.over = over
	if !told.Helper {
		go func() { j.kept <- j.mirror.keep(mirroring) }()
	} else {
		close(j.kept)
	}
	return ctx, j, j.join()
}

// logName is a node's log below the scenario's folder.
func logName(node string) string { return filepath.Join("logs", node+".log") }

// listen takes what outer says until its end, or until it has been silent for too long.
func (j *Joined) listen(ctx context.Context, in *bufio.Reader) error {
	changes := make(chan order, mostChanges) // who hears of them may be busy
	defer close(changes)
	go j.changed(ctx, changes)
	orders, ended := make(chan order), make(chan error, 1)
	go func() {
		lines := json.NewDecoder(in)
		for {
			var o order
			if err := lines.Decode(&o); err != nil {
				ended <- err
				return
			}
			orders <- o
		}
	}()
	for {
		silent := time.NewTimer(Silence)
		select {
		case err := <-ended:
			return err
		case <-silent.C:
			if time.Now().UnixNano() < j.expected.Load() {
				continue
			}
			return fmt.Errorf("nothing was heard of it for %v", Silence)
		case o := <-orders:
			if o.Leaves != "" || o.Comes != nil {
				changes <- o
			}
			if o.Ask != nil {
				j.help(ctx, o.Ask)
			}
			if o.Exec != nil {
				j.asked.Hear(*o.Exec)
			}
			if o.File != nil {
				j.mirror.came(o.File.File)
				if err := o.File.write(scenarioDir); err != nil {
					return err
				}
			}
		}
		silent.Stop()
	}
}

// mostChanges is how many changes may wait to be heard.
const mostChanges = 1000

// changed passes changes on.
func (j *Joined) changed(ctx context.Context, orders <-chan order) {
	for o := range orders {
		c := agent.Change{Client: o.Leaves}
		if o.Comes != nil {
			c.Client, c.Comes = o.Comes.After, j.comes(*o.Comes)
		}
		select {
		case j.Changes <- c:
		case <-ctx.Done():
		}
	}
}

// comes attaches to a client that has come in the place of another, and keeps it for one who heals.
func (j *Joined) comes(n handedNode) *agent.Attached {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told.Nodes = append(j.told.Nodes, n)
	at := agent.Attached{Name: n.Name}
	err := j.told.keep()
	if err == nil {
		at, err = j.attach(n)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s has come in the place of %s, and no fault will strike it: %v\n", n.Name, n.After,
			err)
		return &agent.Attached{Name: n.Name}
	}
	j.Nodes = append(j.Nodes, at)
	return &at
}

// containerOf is the number of a node's container; "": there is none.
func (j *Joined) containerOf(node string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range j.told.Nodes {
		if n.Name == node {
			return n.ID
		}
	}
	return ""
}

// attach finds a container's processes, and the host that they are.
func (j *Joined) attach(n handedNode) (agent.Attached, error) {
	if n.On != j.told.On {
		return agent.Attached{Name: n.Name, On: n.On, Addr: n.Addr}, nil
	}
	pid, err := firstOf(n)
	if err != nil {
		return agent.Attached{}, err
	}
	host, process, err := hosts.Attach(n.Name, pid, n.Addr, filepath.Join(scenarioDir, logName(n.Name)))
	return agent.Attached{Name: n.Name, Host: host, Process: process, Own: n.Own}, err
}

func (j *Joined) join() error {
	for _, n := range j.told.Nodes {
		at, err := j.attach(n)
		if err != nil {
			return err
		}
		j.Nodes = append(j.Nodes, at)
	}
	var seats []hosts.Seat
	for _, n := range j.told.Seats {
		pid, err := firstOf(n)
		if err != nil {
			return err
		}
		seats = append(seats, hosts.Seat{PID: pid, Addr: n.Addr})
	}
	var err error
	j.Network, err = hosts.NewSeats(seats)
	return err
}

// firstOf is the first process of a container.
func firstOf(n handedNode) (int, error) {
	pids, err := processesOf(n.ID)
	if err == nil && len(pids) == 0 {
		err = errors.New("no process of this node has it in the name of its control group; does the agent see the node's processes (hostPID)?")
	}
	if err != nil {
		return 0, fmt.Errorf("find container %.12s of pod %s: %w", n.ID, n.Pod, err)
	}
	return pids[0], nil
}

// Close lets our hosts go, kills the nodes that are ours to end, and hands the
// last of the files over.
func (j *Joined) Close() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	errs := []error{j.Joined.Close()}
	if j.over != nil {
		j.over()
		errs = append(errs, <-j.kept)
	}
	return errors.Join(errs...)
}
