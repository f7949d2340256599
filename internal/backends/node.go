package backends

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/hosts"
)

// Node is one server process.
type Node struct {
	// Name is also that of its host: "redis-1", "etcd-2", "store".
	Name string
	Host *hosts.Host
	// Addr is where clients connect: host:port, or the URL that lockchaos was given. That may hold
	// a password.
	Addr string
	// Process is the one that runs now; after a Kill, the one that ran. Start replaces it.
	Process *hosts.Process
	// Version is what the server says of itself.
	Version string
	// Log is the path of its log file.
	Log string

	spec     NodeSpec
	kind     Kind
	standIn  *standIn // what runs in place of the real server
	guest    bool     // it ran already, and is not ours to end
	lent     bool     // it is somebody else's, set up as they like
	ownLogin bool     // the lock logs in as it likes
	task     Task     // what it runs, in the folder data
	data     string

	mu      sync.Mutex                      // guards what follows, and Process
	killed  *hosts.Process                  // by Kill
	watched func(n *Node, p *hosts.Process) // is told of each process that Start makes
}

// launcher starts nodes of one service.
type launcher struct {
	network *hosts.Network
	logs    string
	durable bool
}

// start makes a host for each node of the service and launches it there. With
// an error it returns what has a host by then.
func (l launcher) start(ctx context.Context, k Kind) ([]*Node, error) {
	var nodes []*Node
	for _, spec := range k.Nodes {
		nodes = append(nodes, &Node{Name: spec.Name, spec: spec, kind: k})
	}
	if err := l.addHosts(ctx, nodes); err != nil {
		return slices.DeleteFunc(nodes, func(n *Node) bool { return n.Host == nil }), err
	}
	peers := map[string]string{}
	for _, n := range nodes {
		peers[n.Name] = n.Host.Addr.String()
	}
	for i, n := range nodes {
		if i > 0 && k.next != nil {
			if err := k.next(ctx, nodes[:i]); err != nil {
				return nodes, err
			}
		}
		if err := l.launch(ctx, k, n, peers); err != nil {
			return nodes, err
		}
	}
	return nodes, nil
}

// addHosts makes hosts for the nodes and waits for their links.
func (l launcher) addHosts(ctx context.Context, nodes []*Node) error {
	if err := os.MkdirAll(l.logs, 0o755); err != nil {
		return fmt.Errorf("make the folder for logs: %w", err)
	}
	var made []*hosts.Host
	for _, n := range nodes {
		h, err := l.network.AddHost(n.Name)
		if err != nil {
			return err
		}
		made = append(made, h)
		n.settle(h, l.logs)
	}
	return l.network.Await(ctx, made...)
}

// settle gives the node its host, its address there and its log.
func (n *Node) settle(h *hosts.Host, logs string) {
	n.Host, n.Log = h, filepath.Join(logs, n.Name+".log")
	n.Addr = net.JoinHostPort(h.Addr.String(), strconv.Itoa(n.spec.Port))
}

// launch starts the node's process, and what must come before it.
func (l launcher) launch(ctx context.Context, k Kind, n *Node, peers map[string]string) error {
	data, err := hosts.DataDir(n.Name)
	if err != nil {
		return err
	}
	task, err := k.Task(n.Name, Place{Listen: n.Host.Addr.String(), Data: data, Peers: peers, Durable: l.durable})
	if err != nil {
		return err
	}
	n.task, n.data, n.standIn, n.Version = task, data, task.standIn, task.standIn.version()
	if err := n.prepare(ctx); err != nil {
		return err
	}
	n.Process, err = n.begin(task.Args)
	return err
}

// prepare does what must come before the node's first start.
func (n *Node) prepare(ctx context.Context) error {
	for name, text := range n.task.Files {
		if err := os.WriteFile(filepath.Join(n.data, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("configure %s: %w", n.Name, err)
		}
	}
	for _, args := range n.task.Before {
		p, err := n.begin(args)
		if err == nil {
			err = p.Wait(ctx)
		}
		if err != nil {
			return n.failed(err)
		}
	}
	return nil
}

// begin starts a process of the node.
func (n *Node) begin(args []string) (*hosts.Process, error) {
	log, err := os.OpenFile(n.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", n.Name, err)
	}
	defer log.Close() // the process has its own descriptor
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = n.data
	cmd.Env = append(slices.DeleteFunc(os.Environ(), namesProxy), n.task.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	return n.Host.Start(cmd)
}

// namesProxy reports whether a variable would send the traffic between nodes to a
// proxy, which the private network cannot reach.
func namesProxy(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return strings.HasSuffix(strings.ToUpper(name), "_PROXY")
}

// self is the command that runs this program again, as a node.
func self(args ...string) []string { return append([]string{"/proc/self/exe", "node"}, args...) }

// each returns when every node is ready. The first error is the one that
// counts: it cuts the others short.
func each(ready func(*Node, context.Context) error) func(context.Context, []*Node) error {
	return func(ctx context.Context, nodes []*Node) error {
		up, ctx := errgroup.WithContext(ctx)
		for _, n := range nodes {
			up.Go(func() error { return ready(n, ctx) })
		}
		return up.Wait()
	}
}

// The pauses between two questions to a node that is coming up grow from the
// first to the longest, by half each time: what is there at once is found at
// once, and what takes seconds does not fill its log with our questions.
const (
	firstStep   = 2 * time.Millisecond
	longestStep = 100 * time.Millisecond
)

// longer is the pause after a pause.
func longer(step time.Duration) time.Duration { return min(step*3/2, longestStep) }

// askLimit bounds one question.
const askLimit = time.Second

// refusal is an answer that will not change: to wait for another one is in vain.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// await asks the node until it answers, it dies or ctx is done; or until it answers with a refusal.
func (n *Node) await(ctx context.Context, ask func(context.Context) error) error {
	var last error
	process := n.process()
	for step := firstStep; ; step = longer(step) {
		question, cancel := context.WithTimeout(ctx, askLimit)
		err := ask(question)
		cancel()
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[refusal](err); ok {
			return n.failed(err)
		}
		if last == nil || !over(ctx) {
			last = err // what was cut off by the end of ctx says less than the answer before
		}
		select {
		case <-process.Done():
			return n.failed(process.Err())
		case <-ctx.Done():
			return n.failed(errors.Join(context.Cause(ctx), last, logEnd(process.Log())))
		case <-time.After(step):
		}
	}
}

// over reports whether the context has ended. A connection notices its deadline a
// moment before the context does.
func over(ctx context.Context) bool {
	end, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(end)
}

func logEnd(text string) error {
	if text == "" {
		return errors.New("it logged nothing")
	}
	return fmt.Errorf("the end of its log:\n%s", text)
}

// failed says which node an error is about and where to read on.
func (n *Node) failed(err error) error {
	at, _ := endpoint.Parse(n.Addr) // without the password
	return fmt.Errorf("node %s at %s (log: %s): %w", n.Name, at, n.Log, err)
}
