package backends

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// speech is how a server is recognised: what is said to it on a fresh connection, and what its first bytes mean; nil: it is one.
type speech struct {
	ask   string
	means func(answer []byte) error
}

// speeches are those of the servers, by image.
var speeches = map[string]speech{
	"redis": {"PING\r\n", func(answer []byte) error {
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
	// SSLRequest, which needs no user: https://www.postgresql.org/docs/current/protocol-message-formats.html
	"postgres": {string(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, 80877103)), func(answer []byte) error {
		if answer[0] == 'S' || answer[0] == 'N' || answer[0] == 'E' {
			return nil
		}
		return errForeign
	}},
	// A member may serve gRPC alone, which answers with a frame of HTTP/2: https://www.rfc-editor.org/rfc/rfc9113#section-4.1
	"etcd": {"GET /version HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n", func(answer []byte) error {
		if bytes.HasPrefix(answer, []byte("HTTP/1.1 200")) || bytes.HasPrefix(answer, []byte{0, 0}) {
			return nil
		}
		return errForeign
	}},
	"zookeeper": {"srvr", func(answer []byte) error {
		switch {
		case bytes.HasPrefix(answer, []byte("Zookeeper version")):
			return nil
		case bytes.Contains(answer, []byte("whitelist")):
			return errors.New("it does not answer srvr, which tells whether it serves: let 4lw.commands.whitelist in its zoo.cfg have that word")
		case bytes.Contains(answer, []byte("not currently serving")):
			return errors.New(firstLine(answer))
		}
		return errForeign
	}},
}

// errForeign: the answer is that of another kind of server.
var errForeign = errors.New("it answers in another protocol")

// answerBytes is how much of an answer is looked at.
const answerBytes = 512

// Speaks tells whether a fresh connection leads to a server of that image, so that a wrong address, or TLS where none is spoken, is said before anything runs.
func Speaks(ctx context.Context, conn net.Conn, image string) error {
	s, known := speeches[image]
	if !known {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, s.ask); err != nil {
		return fmt.Errorf("it hangs up on %s: %w", image, err)
	}
	answer := make([]byte, answerBytes)
	n, err := conn.Read(answer)
	answer = answer[:n]
	switch {
	case n == 0 && ctx.Err() != nil:
		return fmt.Errorf("it does not answer as %s does: %w", image, context.Cause(ctx))
	case n == 0:
		return fmt.Errorf("it does not answer as %s does, and hangs up (%w): is it another server, or does it want TLS, which can't be used here?", image, err)
	case secured(answer):
		return errors.New("it wants TLS, which can't be used here: docs/external.md")
	}
	err = s.means(answer)
	if errors.Is(err, errForeign) {
		err = fmt.Errorf("it does not answer as %s does, but with %.40q", image, answer)
	}
	return err
}

// secured tells whether a server wants TLS: it sends an alert (RFC 8446, 6), or says so as Go's HTTP server does.
func secured(answer []byte) bool {
	return len(answer) > 1 && answer[0] == 21 && answer[1] == 3 || bytes.Contains(answer, []byte("HTTP request to an HTTPS server"))
}

// firstLine is what an error shows of an answer.
func firstLine(answer []byte) string {
	line, _, _ := strings.Cut(string(answer), "\n")
	return strings.TrimSpace(line)
}
