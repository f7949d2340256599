package backends

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

const memcachedPort = 11211

// memcachedInstall says how memcached comes onto a machine.
const memcachedInstall = "apt-get install memcached"

var memcachedProgram = &Program{
	Name: "memcached", Image: "memcached:1.6", Fix: memcachedInstall,
	found: func(ctx context.Context) (string, error) {
		program, err := onPath("memcached", memcachedInstall)
		if err != nil {
			return "", err
		}
		return says(ctx, program, "-V")
	},
	requests: memcachedRequests,
	speech: speech{"version\r\n", func(answer []byte) error {
		if bytes.HasPrefix(answer, []byte("VERSION ")) {
			return nil
		}
		return errForeign
	}},
}

var memcached = Kind{
	Name:  "memcached",
	About: "one memcached, which keeps everything in memory",
	Nodes: []NodeSpec{{Name: "memcached-1", Program: memcachedProgram, Port: memcachedPort}},
	Notes: []string{
		"memcached keeps nothing on disk: when it dies, its locks are gone.",
		"Its clock ticks once a second and may skip a tick, so a key may be gone two seconds early; and it may drop any key when its memory is full.",
	},
	TTL:      time.Second,
	Slack:    3 * time.Second, // a lock asks for two seconds more than its TTL, and for whole ones
	Forgets:  true,
	Volatile: true,
	task:     memcachedTask,
	ready:    each((*Node).awaitMemcached),
	back:     (*Node).awaitMemcached,
}

func memcachedTask(_ Kind, n NodeSpec, p Place) (Task, error) {
	if p.Durable {
		return Task{}, errors.New("memcached can't keep what it answers for on disk")
	}
	t := Task{Args: []string{"memcached", "-l", p.Listen, "-p", strconv.Itoa(n.Port), "-U", "0", "-t", "1", "-m", "64"}}
	if p.Contained {
		t.User = "memcache" // it refuses to run as root
		return t, nil
	}
	program, err := onPath("memcached", memcachedInstall)
	t.Args[0] = program
	return t, err
}

// awaitMemcached returns when the server answers, and learns its version.
func (n *Node) awaitMemcached(ctx context.Context) error {
	return n.await(ctx, func(ctx context.Context) error {
		lines, err := askMemcached(ctx, n.Addr, "version")
		if err != nil {
			return err
		}
		version, ok := strings.CutPrefix(lines[0], "VERSION ")
		if !ok {
			return fmt.Errorf("it answers %q to version", lines[0])
		}
		n.Version = version
		return nil
	})
}

// askMemcached asks for what is answered in one line, or in lines up to END.
func askMemcached(ctx context.Context, addr, command string) (lines []string, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		return nil, err
	}
	in := bufio.NewScanner(io.LimitReader(conn, maxBulk))
	for in.Scan() {
		line := in.Text()
		if line == "END" {
			return lines, nil
		}
		if lines = append(lines, line); !strings.HasPrefix(line, "STAT ") {
			return lines, nil
		}
	}
	return nil, errors.Join(in.Err(), fmt.Errorf("its answer to %s has no end", command))
}

// memcachedRequests adds up what stats tells of commands
// (https://github.com/memcached/memcached/blob/master/doc/protocol.txt,
// "General-purpose statistics").
func memcachedRequests(ctx context.Context, addr string) (sum int64, err error) {
	lines, err := askMemcached(ctx, addr, "stats")
	if err != nil {
		return 0, err
	}
	text := strings.Join(lines, "\n")
	for _, counter := range []string{"cmd_get", "cmd_set", "cmd_touch", "delete_hits", "delete_misses"} {
		n, err := figure("stats", counter, field(text, "STAT "+counter+" "))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
