// Package inspector blocks the event loop of a Node program from outside, and has the loop itself
// measure for how long.
//
// SIGUSR1 has Node open its inspector (https://nodejs.org/api/process.html#signal-events), on port
// 9229 of its own machine. There it speaks the DevTools protocol, in which Runtime.evaluate runs an
// expression on the thread of the event loop, whatever that is doing. SIGUSR1 ends a process that
// does not handle it, so a process gets one only if it does.
package inspector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Dial connects to an address of the machine on which the program runs.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// address is where an inspector listens.
const address = "127.0.0.1:9229"

// answerLimit bounds the length of what an inspector answers (bytes).
const answerLimit = 1 << 20

// Session is a connection to the inspector of a program.
type Session struct {
	node *Node
	conn *websocket.Conn
	last int
}

// Open has the program open its inspector, and connects to it.
func (n *Node) Open(ctx context.Context, dial Dial) (*Session, error) {
	s, err := n.open(ctx, dial)
	if err != nil {
		return nil, fmt.Errorf("the inspector of Node (process %d): %w", n.PID, err)
	}
	return s, nil
}

func (n *Node) open(ctx context.Context, dial Dial) (*Session, error) {
	if err := n.wake(); err != nil {
		return nil, err
	}
	url, err := awaitURL(ctx, dial)
	if err != nil {
		return nil, err
	}
	d := websocket.Dialer{NetDialContext: dial}
	conn, response, err := d.DialContext(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close() // it is empty
	conn.SetReadLimit(answerLimit)
	s := &Session{node: n, conn: conn}
	pid, err := s.evaluate(ctx, "String(process.pid)")
	if err == nil && pid != fmt.Sprint(n.inner) {
		err = fmt.Errorf("it is that of process %s, and the program is process %d", pid, n.inner)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// awaitURL asks until the inspector listens where its targets are, and returns the first one's.
func awaitURL(ctx context.Context, dial Dial) (string, error) {
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	for {
		url, err := askURL(ctx, &client)
		if err == nil {
			return url, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("it does not listen at %s: %w", address, errors.Join(err, ctx.Err()))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func askURL(ctx context.Context, client *http.Client) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/json/list", nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var targets []struct {
		URL string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, answerLimit)).Decode(&targets); err != nil {
		return "", err
	}
	if len(targets) == 0 || !strings.HasPrefix(targets[0].URL, "ws://"+address+"/") {
		return "", fmt.Errorf("it offers no target: %+v", targets)
	}
	return targets[0].URL, nil
}

// evaluate runs an expression whose value is a string.
func (s *Session) evaluate(ctx context.Context, expression string) (string, error) {
	defer context.AfterFunc(ctx, func() { _ = s.conn.Close() })()
	s.last++
	if err := s.conn.WriteJSON(map[string]any{"id": s.last, "method": "Runtime.evaluate",
		"params": map[string]any{"expression": expression, "returnByValue": true}}); err != nil {
		return "", err
	}
	for {
		var answer struct {
			ID     int             `json:"id"`
			Error  json.RawMessage `json:"error"`
			Result struct {
				Exception json.RawMessage `json:"exceptionDetails"`
				Result    struct {
					Value any `json:"value"`
				} `json:"result"`
			} `json:"result"`
		}
		if err := s.conn.ReadJSON(&answer); err != nil {
			return "", errors.Join(err, ctx.Err())
		}
		if answer.ID != s.last {
			continue // an event
		}
		text, is := answer.Result.Result.Value.(string)
		if !is {
			return "", fmt.Errorf("the inspector answers Runtime.evaluate by %s%s", answer.Error, answer.Result.Exception)
		}
		return text, nil
	}
}

// loop keeps the event loop from turning for %d ns, and tells from when to when by the clock.
const loop = `(() => { const now = () => process.hrtime.bigint(); const from = now(), end = from + %dn;
let to = from; while (to < end) to = now(); return from + " " + to; })()`

// Block blocks the event loop for that long, and returns when it turns again. From and to are the
// loop's own readings of CLOCK_MONOTONIC (ns); between them it certainly did nothing else.
func (s *Session) Block(ctx context.Context, d time.Duration) (from, to int64, err error) {
	before := monotime.Now()
	text, err := s.evaluate(ctx, fmt.Sprintf(loop, d.Nanoseconds()))
	after := monotime.Now()
	if err != nil {
		return 0, 0, fmt.Errorf("block the event loop of process %d: %w", s.node.PID, err)
	}
	if _, err := fmt.Sscanf(text, "%d %d", &from, &to); err != nil || from < before || to > after || to < from {
		return 0, 0, fmt.Errorf("block the event loop of process %d: it says %q, and was asked at %d and had answered at %d: its clock is not this machine's",
			s.node.PID, text, before, after)
	}
	return from, to, nil
}

// Close ends the connection. The inspector goes on listening.
func (s *Session) Close() error { return s.conn.Close() }
