package backends

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// askRedis sends commands on a connection of their own, logged in as the address says, and returns
// the answer to the last.
// It needs no client library, whose pool would wait a second after a refused connection.
func askRedis(ctx context.Context, addr string, commands ...string) (answer string, err error) {
	at, err := endpoint.Parse(addr)
	if err != nil {
		return "", err
	}
	at = at.Speaker()
	dial, err := at.Dialer(new(net.Dialer).DialContext)
	if err != nil {
		return "", err
	}
	conn, err := dial(ctx, "tcp", at.HostPort())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if user, password := at.Account(); password != "" {
		if err := LogInRedis(ctx, conn, user, password); err != nil {
			return "", fmt.Errorf("log in: %w", err)
		}
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	in := bufio.NewReader(conn)
	for _, command := range commands {
		if _, err := io.WriteString(conn, redisCommand(strings.Fields(command)...)); err != nil {
			return "", err
		}
		if answer, err = readRedis(in); err != nil {
			return "", fmt.Errorf("%s: %w", command, err)
		}
	}
	return answer, nil
}

// redisCommand is a command as a server reads it.
func redisCommand(words ...string) string {
	message := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		message += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	return message
}

// LogInRedis says AUTH on a fresh connection to a server, so that the code that is
// given the connection need not know the password. The user may be "".
func LogInRedis(ctx context.Context, conn net.Conn, user, password string) error {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	words := []string{"AUTH", user, password}
	if user == "" {
		words = []string{"AUTH", password}
	}
	if _, err := io.WriteString(conn, redisCommand(words...)); err != nil {
		return err
	}
	// The answer is all that comes: nothing of what follows is read ahead.
	_, err := readRedis(bufio.NewReader(conn))
	return err
}

// redisError is what a server answered in place of a result.
type redisError string

func (e redisError) Error() string { return string(e) }

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
		return "", redisError(line[1:])
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
