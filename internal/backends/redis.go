package backends

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/store"
)

// RedisVar names the environment variable that decides what runs as redis: "miniredis" the
// stand-in, a path or a name on PATH that program. Without it redis-server on PATH does; where
// there is none, valkey-server.
const RedisVar = "LOCKCHAOS_REDIS"

// builtValkey is the other server of Redis' protocol that may run as redis.
const builtValkey = built("valkey-server")

const redisPort = 6379

const redisForgets = "The server keeps nothing on disk: when it dies, its locks and token counters are gone."

// redisProgram is redis-server: also what runs as a sentinel.
var redisProgram = &Program{
	Name: "redis", Image: "redis:8.10",
	Fix: "apt-get install redis-server (or valkey-server), or your system's package of that name; " + RedisVar +
		" names another one, or miniredis, the stand-in",
	found: foundRedis, requests: redisRequests,
	speech: speech{"PING\r\n", func(answer []byte) error {
		switch {
		case bytes.HasPrefix(answer, []byte("+PONG")):
			return nil
		case bytes.HasPrefix(answer, []byte("-NOAUTH")):
			return errors.New("it wants a password: redis://:PASSWORD@HOST:PORT")
		case bytes.HasPrefix(answer, []byte("-")):
			return errors.New(firstLine(answer[1:]))
		}
		return errForeign
	}},
}

var redisOne = redisKind("redis", 1, "one redis-server, or valkey-server where there is no other, nothing on disk; "+
	"where both are missing on this machine, miniredis stands in, and every output says so")

// redisFive are servers that know nothing of each other: the several that
// Redlock asks for a majority.
var redisFive = redisKind("redis-five", 5,
	"five redis-servers that know nothing of each other, for locks that ask for a majority")

func redisKind(name string, nodes int, about string) Kind {
	return Kind{
		Name: name, About: about, Clusters: nodes == 1, Shards: nodes == 1,
		Nodes: redisNodes(nodes),
		Notes: []string{redisForgets},

		WallClock: true,
		Slack:     500 * time.Millisecond, // a key is gone at its expiry
		Forgets:   true,
		refuser:   redisRefuser,
		task:      redisTask,
		ready:     each((*Node).awaitRedis),
		back:      (*Node).awaitRedis,
	}
}

func redisNodes(n int) (nodes []NodeSpec) {
	for i := range n {
		nodes = append(nodes, NodeSpec{Name: fmt.Sprintf("redis-%d", i+1), Program: redisProgram, Port: redisPort})
	}
	return nodes
}

func redisTask(_ Kind, n NodeSpec, p Place) (Task, error) {
	program := "redis-server"
	if !p.Contained {
		found, _, err := FindRedis()
		if err != nil {
			return Task{}, err
		}
		if found == "" && p.Durable {
			return Task{}, &Lack{"the stand-in has no restart that keeps data", redisFix()}
		}
		if found == "" {
			return miniredisTask(n, p), nil
		}
		program = found
	}
	return redisServer(program, n, p), nil
}

// redisServer runs a server, with more settings.
func redisServer(program string, n NodeSpec, p Place, more ...string) Task {
	kept := []string{"--appendonly", "no"}
	if p.Durable {
		// Each write is on disk before it is answered. No rewriting: it forks.
		kept = []string{"--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0"}
	}
	t := Task{Args: []string{program, "--bind", p.Listen, "--port", strconv.Itoa(n.Port), "--protected-mode", "no",
		"--save", "", "--dir", p.Data, "--daemonize", "no", "--logfile", ""}}
	t.Args = append(append(t.Args, kept...), more...)
	if user := redisUser(program, p); user != "" {
		t.Args, t.account = append(t.Args, "--"+strings.Fields(user)[0]), accountOf("0")
		t.Args = append(t.Args, strings.Fields(user)[1:]...)
	}
	return t
}

// awaitRedis returns when the server answers a PING, and learns its version.
func (n *Node) awaitRedis(ctx context.Context) error {
	return n.await(ctx, func(ctx context.Context) error {
		if n.standIn != nil { // it cannot be asked
			_, err := askRedis(ctx, n.Addr, "PING")
			return err
		}
		info, err := askRedis(ctx, n.Addr, "PING", "INFO server")
		if answer, ok := errors.AsType[redisError](err); ok && strings.HasPrefix(string(answer), "NOPERM") {
			n.Version = "(unknown: the user may not ask INFO)"
			return nil // it serves
		}
		if err != nil {
			return err
		}
		if n.Version = store.RedisVersion(info); n.Version == "" {
			return errors.New("INFO server tells no redis_version")
		}
		return nil
	})
}

// redisFix says how a real server comes to run in the place of the stand-in.
func redisFix() string {
	const install = "apt-get install redis-server (or valkey-server)"
	if os.Getenv(RedisVar) != "" {
		return "unset " + RedisVar + ", and " + install
	}
	return install
}

// FindRedis returns the path of the server that would run as redis, or "" and the reason why a
// stand-in must do.
func FindRedis() (program, why string, err error) {
	switch want := os.Getenv(RedisVar); want {
	case "":
		program, err := exec.LookPath("redis-server")
		if err != nil {
			program, err = builtValkey.find()
		}
		if err != nil {
			return "", "neither redis-server nor valkey-server was found on this machine", nil
		}
		return program, "", nil
	case "miniredis":
		return "", RedisVar + "=miniredis asks for it", nil
	case string(builtValkey):
		program, err := builtValkey.find()
		if err != nil { // the user named it: it is not merely missing
			err = fmt.Errorf("%s=%s: %v", RedisVar, want, err)
		}
		return program, "", err
	default:
		program, err := exec.LookPath(want)
		if err != nil {
			return "", "", fmt.Errorf("%s=%s: %w; give the path of a redis-server, or miniredis for the stand-in",
				RedisVar, want, err)
		}
		return program, "", nil
	}
}

// foundRedis says which server would run on this machine, or what stands in.
func foundRedis(ctx context.Context) (string, error) {
	program, why, err := FindRedis()
	if err != nil {
		return "", obstacle{err}
	}
	if program == "" {
		return "", standsIn{fmt.Errorf("%s: miniredis, an imitation, stands in, and every output says so", why)}
	}
	said, err := says(ctx, program, "--version")
	if err != nil {
		return "", obstacle{err}
	}
	said, _, _ = strings.Cut(said, " sha=")
	return said, nil
}
