package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/etcdnode"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/logins"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
	"github.com/lockchaos/lockchaos/internal/store"
)

// TestMain lets the test program be an etcd server, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "etcd" {
		if err := etcdnode.Run(context.Background(), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	status := m.Run()
	for _, e := range remoteEngines {
		e.stop()
	}
	os.Exit(status)
}

// server is a real server of an engine, on loopback. It is started by the first test that needs it.
type server struct {
	engine string
	// command makes what runs, with the data in the folder; before, if set, is run once.
	command       func(s *server) (*exec.Cmd, error)
	before        func(s *server) error
	dir, port     string
	asked         bool
	unable        error
	process       *exec.Cmd
	ended         chan struct{}
	log           bytes.Buffer
	peer          string
	releases      []func() // of the ports
	unprivileged  *syscall.Credential
	opened        *atomic.Int64
	survivesDeath bool
}

var (
	redisEngine, etcdEngine, postgresEngine = redisServer(), etcdServer(), postgresServer()
	mariadbEngine, s3Engine                 = service("mariadb"), service("s3")
	remoteEngines                           = []*server{redisEngine, etcdEngine, postgresEngine, mariadbEngine, s3Engine}
)

func redisServer() *server {
	return &server{engine: "redis", command: func(s *server) (*exec.Cmd, error) {
		program, err := exec.LookPath("redis-server")
		return exec.Command(program, "--bind", "127.0.0.1", "--port", s.port, "--save", "", "--appendonly", "no", "--dir", s.dir), err
	}}
}

func etcdServer() *server {
	return &server{engine: "etcd", survivesDeath: true, command: func(s *server) (*exec.Cmd, error) {
		peer := "http://127.0.0.1:" + s.peer
		return exec.Command("/proc/self/exe", "etcd", "--name", "one", "--data-dir", s.dir, "--client-url", "http://127.0.0.1:"+s.port,
			"--peer-url", peer, "--initial-cluster", "one="+peer, "--heartbeat-interval", "50ms", "--election-timeout", "500ms"), nil
	}}
}

func postgresServer() *server {
	return &server{engine: "postgres", survivesDeath: true,
		before: func(s *server) error {
			out, err := s.privateCommand(postgresProgram("initdb"), "-D", s.dir, "-U", logins.PostgresUser, "-A",
				"trust", "--no-sync", "--no-locale", "-E", "UTF8").CombinedOutput()
			if err != nil {
				return fmt.Errorf("initdb: %w: %s", err, out)
			}
			return nil
		},
		command: func(s *server) (*exec.Cmd, error) {
			return s.privateCommand(postgresProgram("postgres"), "-D", s.dir, "-p", s.port, "-h", "127.0.0.1",
				"-c", "fsync=off", "-c", "unix_socket_directories=", "-c", "dynamic_shared_memory_type=mmap"), nil
		}}
}

// service is the server that a run would start.
func service(engine string) *server {
	var task backends.Task
	return &server{engine: engine, survivesDeath: true,
		before: func(s *server) (err error) {
			kind, _ := backends.Lookup(engine)
			kind.Nodes = slices.Clone(kind.Nodes)
			node := &kind.Nodes[0]
			if node.Port, err = strconv.Atoi(s.port); err != nil {
				return err
			}
			task, err = kind.Task(node.Name, backends.Place{Listen: "127.0.0.1", Data: s.dir,
				Peers: map[string]string{node.Name: "127.0.0.1"}})
			if err != nil {
				return fmt.Errorf("%w: %w", exec.ErrNotFound, err)
			}
			for name, text := range task.Files {
				if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
					return err
				}
			}
			for _, args := range task.Before {
				if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
					return fmt.Errorf("%s: %w: %s", args[0], err, out)
				}
			}
			return nil
		},
		command: func(s *server) (*exec.Cmd, error) {
			c := exec.Command(task.Args[0], task.Args[1:]...)
			c.Env = append(os.Environ(), task.Env...)
			return c, nil
		}}
}

func postgresProgram(name string) string {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); len(found) > 0 {
		return found[len(found)-1]
	}
	return name
}

// privateCommand runs as nobody when the tests run as root, since PostgreSQL refuses root.
func (s *server) privateCommand(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.unprivileged}
	return c
}

// start makes the folder and starts the server, once.
func (s *server) start() error {
	if s.asked {
		return s.unable
	}
	s.asked = true
	s.opened = new(atomic.Int64)
	s.unable = s.setUp()
	return s.unable
}

func (s *server) setUp() (err error) {
	if s.dir, err = os.MkdirTemp("", "store-"+s.engine); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			return err
		}
		uid, _ := strconv.Atoi(nobody.Uid)
		gid, _ := strconv.Atoi(nobody.Gid)
		s.unprivileged = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(s.dir, uid, gid); err != nil {
			return err
		}
	}
	for _, port := range []*string{&s.port, &s.peer} {
		var release func()
		if *port, release, err = probetest.Port(); err != nil {
			return err
		}
		s.releases = append(s.releases, release)
	}
	if s.before != nil {
		if err := s.before(s); err != nil {
			return err
		}
	}
	return s.run()
}

// run starts the process and waits until a ledger can be opened.
func (s *server) run() error {
	c, err := s.command(s)
	if err != nil {
		return err
	}
	c.Stdout, c.Stderr = &s.log, &s.log
	if err := c.Start(); err != nil {
		return err
	}
	s.process, s.ended = c, make(chan struct{})
	go func(ended chan struct{}) { _ = c.Wait(); close(ended) }(s.ended)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		l, err := store.Open(ctx, store.Spec{Engine: s.engine, Addrs: []string{s.addr()}, Name: "ready"})
		cancel()
		if err == nil {
			return l.Close()
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the %s server ended: %w:\n%s", s.engine, err, s.log.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *server) addr() string { return "127.0.0.1:" + s.port }

// kill kills the server and its children, as a crash does.
func (s *server) kill() {
	s.signal(syscall.SIGKILL)
	<-s.ended
}

func (s *server) stop() {
	if s.process != nil {
		s.kill()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
	for _, release := range s.releases {
		release()
	}
}

// need starts the server, or skips the test where it is not installed.
func (s *server) need(t testing.TB) {
	t.Helper()
	if s == s3Engine {
		needed.Later(t, "the object store is built from source")
	}
	err := s.start()
	switch {
	case err == nil:
	case errors.Is(err, exec.ErrNotFound):
		needed.Be(t, fmt.Errorf("no %s here: %w", s.engine, err))
	default:
		t.Fatal(err)
	}
}

// name is one that no ledger has yet.
func (s *server) name() string { return fmt.Sprintf("ledger_%d", s.opened.Add(1)) }

func (s *server) spec(name string, f store.Fencing) store.Spec {
	return store.Spec{Engine: s.engine, Fencing: f, Addrs: []string{s.addr()}, Name: name}
}

// open opens an empty ledger.
func (s *server) open(t testing.TB, f store.Fencing) store.Engine {
	t.Helper()
	s.need(t)
	return s.openNamed(t, s.name(), f)
}

func (s *server) openNamed(t testing.TB, name string, f store.Fencing) store.Engine {
	t.Helper()
	l, err := store.Open(limit(t), s.spec(name, f))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(l.Version(), s.engine+" ") || len(l.Version()) < len(s.engine)+4 {
		t.Errorf("version %q", l.Version())
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// freeze stops every process of the server until thaw, at the latest at the test's end.
func (s *server) freeze(t *testing.T) {
	t.Helper()
	t.Cleanup(s.thaw)
	s.signal(syscall.SIGSTOP)
	for ctx := limit(t); !s.stopped(); {
		if ctx.Err() != nil {
			t.Fatalf("the %s server does not stop", s.engine)
		}
	}
}

// stopped reports whether every thread of the server is stopped: a signal sent is
// not yet one received.
func (s *server) stopped() bool {
	for _, pid := range s.processes() {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, thread := range threads {
			stat, err := os.ReadFile(thread)
			_, rest, _ := strings.Cut(string(stat), ") ") // the state follows the name
			if err == nil && !strings.HasPrefix(rest, "T") {
				return false
			}
		}
	}
	return true
}

func (s *server) thaw() { s.signal(syscall.SIGCONT) }

// processes are the server's children, which may have left its process group, and the server.
func (s *server) processes() (pids []int) {
	server := s.process.Process.Pid
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", server))
	for _, thread := range threads {
		children, _ := os.ReadFile(thread) // a thread may have ended
		for _, child := range strings.Fields(string(children)) {
			if pid, err := strconv.Atoi(child); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return append(pids, server)
}

func (s *server) signal(sig syscall.Signal) {
	for _, pid := range s.processes() {
		_ = syscall.Kill(pid, sig) // a child may have ended
	}
}
