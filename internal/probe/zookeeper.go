package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/zkurl"
)

var zookeeperService = Service{
	Program: "zookeeper",
	Forms:   "zk://USER:PASSWORD@HOST:PORT, or zks://… with TLS",
	schemes: []string{"zk", "zks"},
	shares:  true, // and a handshake takes Java long
	open:    openZooKeeper,
	denied: func(err error) string {
		if errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrInvalidACL) {
			return err.Error()
		}
		return ""
	},
	login: func(err error) bool { return errors.Is(err, zk.ErrAuthFailed) },
}

type zookeeperServer struct {
	at   endpoint.Endpoint
	dial endpoint.Dial
	conn *zk.Conn
}

// zkRoot is where locks live, each under a name of its own.
const zkRoot = "/lockchaos"

// zkSession is the session of a probe: long, so that no busy machine ends it.
const zkSession = 30 * time.Second

// mostWords bounds what a server answers to a command of four letters.
const mostWords = 64 << 10

// words is what a server answers to a command of four letters, which needs no session.
func words(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial, command string) (string, error) {
	text, err := zkurl.FourLetters(ctx, at.Address(), dial, command, mostWords)
	if text == "" && err == nil {
		err = io.EOF // as a server with TLS hangs up on one without
	}
	return text, err
}

// openZooKeeper asks without a session first: the library tries for ever, and tells nobody why.
func openZooKeeper(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (server, error) {
	if _, err := words(ctx, at, dial, "srvr"); err != nil {
		return nil, err
	}
	servers, err := zkurl.Open([]string{at.Address()}, dial)
	if err != nil {
		return nil, err
	}
	conn, events, err := servers.Connect(zkSession, servers.Dial, nil)
	if err != nil {
		return nil, err
	}
	z := &zookeeperServer{at, dial, conn}
	if err := z.await(ctx, events); err != nil {
		z.close()
		return nil, err
	}
	if servers.LogsIn() {
		if err := within(ctx, func() error { return servers.LogIn(conn) }); err != nil {
			z.close()
			return nil, err
		}
	}
	return z, nil
}

// await returns when there is a session.
func (z *zookeeperServer) await(ctx context.Context, events <-chan zk.Event) error {
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("open a session: %w", ctx.Err())
		}
	}
}

// within runs a call of the library, which knows no contexts, and leaves it behind when ctx ends.
func within(ctx context.Context, call func() error) error {
	result := make(chan error, 1)
	go func() { result <- call() }()
	select {
	case err := <-result:
		return saslWanted(err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errSASL: the server takes no other login.
var errSASL = errors.New("the server wants clients to log in by SASL, which the Go library for ZooKeeper cannot: let it take the scheme digest, or clients' certificates (zks:// with --cert and --key)")

// saslWanted names what the library has no name for: the code SESSIONCLOSEDREQUIRESASLAUTH.
func saslWanted(err error) error {
	if err != nil && strings.Contains(err.Error(), "unknown error: -124") {
		return errSASL
	}
	return err
}

// znode is where a key is.
func znode(key string) string { return zkRoot + "/" + key }

// prepare makes the znode of locks, if there is none. It stays, as after a run.
func (z *zookeeperServer) prepare(ctx context.Context, _ string) error {
	return within(ctx, func() error {
		there, _, err := z.conn.Exists(zkRoot)
		if there || err != nil {
			return err
		}
		_, err = z.conn.Create(zkRoot, nil, 0, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		return err
	})
}

// create makes a znode that ends with the session, at the latest.
func (z *zookeeperServer) create(ctx context.Context, key, value string, _ time.Duration) (bool, error) {
	err := within(ctx, func() error {
		_, err := z.conn.Create(znode(key), []byte(value), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		return err
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return false, nil
	}
	return err == nil, err
}

// swap writes over the version that has the old value.
func (z *zookeeperServer) swap(ctx context.Context, key, old, fresh string) (bool, error) {
	value, version, err := z.read(ctx, key)
	if err != nil || value != old {
		return false, err
	}
	err = within(ctx, func() error {
		_, err := z.conn.Set(znode(key), []byte(fresh), version)
		return err
	})
	if errors.Is(err, zk.ErrBadVersion) {
		return false, nil
	}
	return err == nil, err
}

// read has the server learn what the leader knows before it answers.
func (z *zookeeperServer) read(ctx context.Context, key string) (value string, version int32, err error) {
	type read struct {
		value   string
		version int32
	}
	found := make(chan read, 1) // a call that is left behind writes nothing that is read here
	err = within(ctx, func() error {
		if _, err := z.conn.Sync(znode(key)); err != nil {
			return err
		}
		text, stat, err := z.conn.Get(znode(key))
		if err == nil {
			found <- read{string(text), stat.Version}
		}
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	r := <-found
	return r.value, r.version, nil
}

func (z *zookeeperServer) get(ctx context.Context, key string) (string, error) {
	value, _, err := z.read(ctx, key)
	return value, err
}

func (z *zookeeperServer) clear(ctx context.Context, _ string, keys []string) error {
	return within(ctx, func() error {
		for _, key := range keys {
			if err := z.conn.Delete(znode(key), -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return err
			}
		}
		return nil
	})
}

func (z *zookeeperServer) close() { z.conn.Close() }

// facts asks by commands of four letters, of which a server may allow few. It writes nothing.
func (z *zookeeperServer) facts(ctx context.Context) ([]Fact, error) {
	began := time.Now()
	if err := within(ctx, func() error {
		_, _, err := z.conn.Exists(zkRoot)
		return err
	}); err != nil {
		return nil, err
	}
	trip := time.Since(began)
	text, err := words(ctx, z.at, z.dial, "srvr")
	if err != nil {
		return nil, err
	}
	said := fields(text)
	version, _, _ := strings.Cut(strings.TrimSpace(said["Zookeeper version"]), "-")
	mode := strings.TrimSpace(said["Mode"])
	role := Fact{Name: "role", Text: or(mode, "not told: "+firstWords(text))}
	many := Fact{Name: "replication", Text: "an ensemble"}
	if mode == "standalone" {
		many.Text = "none"
		many.Warning = "a server alone that is away stops all locks, and one that loses its disk forgets them"
	}
	return []Fact{{Name: "version", Text: "ZooKeeper " + or(version, "of a version that it does not tell")}, role, many,
		{Name: "clock", Text: "ZooKeeper tells no time; its sessions run by the leader's monotonic clock"},
		{Name: "round trip", Text: trip.Round(time.Microsecond).String()},
		{Name: "persistence", Text: "each write is on the disks of a majority before it is answered, unless forceSync=no"},
		{Name: "eviction", Text: "none"}, z.sessions(ctx)}, nil
}

// firstWords is the first line of an answer.
func firstWords(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// sessions says how short a session may be.
func (z *zookeeperServer) sessions(ctx context.Context) Fact {
	text, err := words(ctx, z.at, z.dial, "conf")
	for line := range strings.Lines(text) {
		if shortest, ok := strings.CutPrefix(strings.TrimSpace(line), "minSessionTimeout="); ok && err == nil {
			return Fact{Name: "limits", Text: "sessions of " + shortest + " ms or longer"}
		}
	}
	return Fact{Name: "limits", Text: "it does not tell how short a session may be (conf is not among its 4lw.commands.whitelist); by default 4 s"}
}
