package backends

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// RedisVar names the environment variable that decides what runs as redis: "miniredis" the stand-in, a path that program, nothing
// the redis-server on PATH.
const RedisVar = "LOCKCHAOS_REDIS"

const redisPort = 6379

// startRedis starts servers that know nothing of each other: one, or the several that Redlock asks for a majority.
func startRedis(ctx context.Context, l launcher, s *Service, names ...string) (err error) {
	program, why, err := FindRedis()
	if err != nil {
		return err
	}
	if s.Nodes, err = l.addHosts(ctx, names...); err != nil {
		return err
	}
	launch := func(ctx context.Context, n *Node) error { return l.launchRedis(ctx, n, program) }
	if program == "" {
		launch = func(ctx context.Context, n *Node) error { return startMiniredis(ctx, l, n) }
		are := "is"
		if len(names) > 1 {
			are = "are"
		}
		s.standIns = []string{fmt.Sprintf("%s %s miniredis, a stand-in for Redis written in Go, because %s; what it shows of a lock's "+
			"logic holds, what it shows of Redis itself does not.", strings.Join(names, ", "), are, why)}
	} else {
		s.Notes = []string{"redis-server keeps nothing on disk: when it dies, its locks and token counters are gone."}
	}
	up, ctx := errgroup.WithContext(ctx)
	for _, n := range s.Nodes {
		up.Go(func() error { return launch(ctx, n) })
	}
	return up.Wait() // the first error is the one that counts: it cuts the others short
}

// launchRedis starts one redis-server and waits until it answers.
func (l launcher) launchRedis(ctx context.Context, n *Node, program string) error {
	err := l.launch(n, redisPort, func(data string) *exec.Cmd {
		return exec.Command(program, "--bind", n.Host.Addr.String(), "--port", strconv.Itoa(redisPort), "--protected-mode", "no",
			"--save", "", "--appendonly", "no", "--dir", data, "--daemonize", "no", "--logfile", "")
	})
	if err != nil {
		return err
	}
	return n.await(ctx, func(ctx context.Context) error {
		info, err := askRedis(ctx, n.Addr, "PING", "INFO server")
		if err != nil {
			return err
		}
		n.Version = field(info, "redis_version:")
		if n.Version == "" {
			return errors.New("INFO server tells no redis_version")
		}
		return nil
	})
}

// FindRedis returns the path of the redis-server that would run, or "" and the reason why a stand-in must do.
func FindRedis() (program, why string, err error) {
	switch want := os.Getenv(RedisVar); want {
	case "":
		program, err := exec.LookPath("redis-server")
		if err != nil {
			return "", "no redis-server was found on PATH", nil
		}
		return program, "", nil
	case "miniredis":
		return "", RedisVar + "=miniredis asks for it", nil
	default:
		program, err := exec.LookPath(want)
		if err != nil {
			return "", "", fmt.Errorf("%s=%s: %w; give the path of a redis-server, or miniredis for the stand-in", RedisVar, want, err)
		}
		return program, "", nil
	}
}

// askRedis sends commands on a connection of their own and returns the answer to the last. It needs no client library, whose
// pool would wait a second after a refused connection.
func askRedis(ctx context.Context, addr string, commands ...string) (answer string, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	in := bufio.NewReader(conn)
	for _, command := range commands {
		words := strings.Fields(command)
		message := fmt.Sprintf("*%d\r\n", len(words))
		for _, w := range words {
			message += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
		}
		if _, err := io.WriteString(conn, message); err != nil {
			return "", err
		}
		if answer, err = readRedis(in); err != nil {
			return "", fmt.Errorf("%s: %w", command, err)
		}
	}
	return answer, nil
}

// maxBulk bounds a bulk string of an answer; INFO's are a few kilobytes.
const maxBulk = 1 << 20

// readRedis reads a simple string, an error or a bulk string.
func readRedis(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch {
	case strings.HasPrefix(line, "+"):
		return line[1:], nil
	case strings.HasPrefix(line, "-"):
		return "", errors.New(line[1:])
	case strings.HasPrefix(line, "$"):
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 || n > maxBulk {
			return "", fmt.Errorf("a bulk string of length %q", line[1:])
		}
		bulk := make([]byte, n+len("\r\n"))
		_, err = io.ReadFull(in, bulk)
		return string(bulk[:n]), err
	}
	return "", fmt.Errorf("%q is no answer of a redis server", line)
}

// field returns what follows the name on its line.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
