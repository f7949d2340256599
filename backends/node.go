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
	"time"

	"github.com/lockchaos/lockchaos/hosts"
)

// Node is one server process.
type Node struct {
	// Name is also that of its host: "redis-1", "etcd-2", "store".
	Name string
	Host *hosts.Host
	// Addr is where clients connect, host:port.
	Addr    string
	Process *hosts.Process
	// Version is what the server says of itself.
	Version string
	// Log is the path of its log file.
	Log string
}

// launcher starts nodes of one service.
type launcher struct {
	network *hosts.Network
	logs    string
}

// addHosts makes hosts for nodes of the given names and waits for their links.
func (l launcher) addHosts(ctx context.Context, names ...string) (nodes []*Node, err error) {
	if err := os.MkdirAll(l.logs, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for logs: %w", err)
	}
	var made []*hosts.Host
	for _, name := range names {
		h, err := l.network.AddHost(name)
		if err != nil {
			return nodes, err
		}
		made = append(made, h)
		nodes = append(nodes, &Node{Name: name, Host: h, Log: filepath.Join(l.logs, name+".log")})
	}
	return nodes, l.network.Await(ctx, made...)
}

// launch starts the node's process, which clients will find at the port. command gets the node's data folder.
func (l launcher) launch(n *Node, port int, command func(data string) *exec.Cmd) error {
	data, err := hosts.DataDir(n.Name)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(n.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("log of %s: %w", n.Name, err)
	}
	defer log.Close() // the process has its own descriptor
	n.Addr = net.JoinHostPort(n.Host.Addr.String(), strconv.Itoa(port))
	cmd := command(data)
	cmd.Dir = data
	cmd.Env = slices.DeleteFunc(os.Environ(), namesProxy)
	cmd.Stdout, cmd.Stderr = log, log
	n.Process, err = n.Host.Start(cmd)
	return err
}

// namesProxy tells whether a variable would send the traffic between nodes to a proxy, which the private network cannot reach.
func namesProxy(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return strings.HasSuffix(strings.ToUpper(name), "_PROXY")
}

// self is a command that runs this program again, as a node.
func self(args ...string) *exec.Cmd {
	return exec.Command("/proc/self/exe", append([]string{"node"}, args...)...)
}

// readyStep is the pause between two questions to a node that is coming up.
const readyStep = 2 * time.Millisecond

// askLimit bounds one question.
const askLimit = time.Second

// await asks the node until it answers, it dies or ctx is done.
func (n *Node) await(ctx context.Context, ask func(context.Context) error) error {
	var last error
	for {
		question, cancel := context.WithTimeout(ctx, askLimit)
		err := ask(question)
		cancel()
		if err == nil {
			return nil
		}
		if last == nil || !over(ctx) {
			last = err // what was cut off by the end of ctx says less than the answer before
		}
		select {
		case <-n.Process.Done():
			return n.failed(n.Process.Err())
		case <-ctx.Done():
			return n.failed(errors.Join(context.Cause(ctx), last, logEnd(n.Process.Log())))
		case <-time.After(readyStep):
		}
	}
}

// over tells whether the context has ended. A connection notices its deadline a moment before the context does.
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
	return fmt.Errorf("node %s at %s (log: %s): %w", n.Name, n.Addr, n.Log, err)
}
