package backends

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// speech is how a server is recognised: what is said to it on a fresh connection, and
// what its first bytes mean; nil: it is one. The zero value: it is taken at its word.
type speech struct {
	ask   string
	means func(answer []byte) error
}

// errForeign: the answer is that of another kind of server.
var errForeign = errors.New("it answers in another protocol")

// answerBytes is how much of an answer is looked at.
const answerBytes = 512

// Speaks reports whether a fresh connection leads to a server of that program, so
// that a wrong address, or TLS where none is spoken, is said before anything runs.
func Speaks(ctx context.Context, conn net.Conn, p *Program) error {
	s, image := p.speech, p.Name
	if s.means == nil {
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
		return fmt.Errorf("it does not answer as %s does, and hangs up (%w): is it another server, or does it want TLS? docs/external.md says how it is given then", image, err)
	case secured(answer):
		return errors.New("it wants TLS: give its address as a URL, if docs/external.md has one for such a server")
	}
	err = s.means(answer)
	if errors.Is(err, errForeign) {
		err = fmt.Errorf("it does not answer as %s does, but with %.40q", image, answer)
	}
	return err
}

// secured reports whether a server wants TLS: it sends an alert (RFC 8446, 6), or
// says so as Go's HTTP server does.
func secured(answer []byte) bool {
	return len(answer) > 1 && answer[0] == 21 && answer[1] == 3 ||
		bytes.Contains(answer, []byte("HTTP request to an HTTPS server"))
}

// firstLine is what an error shows of an answer.
func firstLine(answer []byte) string {
	line, _, _ := strings.Cut(string(answer), "\n")
	return strings.TrimSpace(line)
}
