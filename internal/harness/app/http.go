package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/lockchaos/lockchaos/scenarios"
)

// httpHooks are the hooks of a client that listens.
type httpHooks struct {
	name   string
	client http.Client
	base   string
}

func newHTTPHooks(c *client, port int) *httpHooks {
	at := netip.AddrPortFrom(c.host.Addr, uint16(port))
	return &httpHooks{name: c.Name, base: "http://" + at.String(), client: http.Client{Transport: &http.Transport{
		// A retry that a library hides would make "asked once" untrue: a
		// connection for each request has none.
		DisableKeepAlives: true,
		// From the container's own network: no fault of its links comes between.
		DialContext: func(ctx context.Context, network, _ string) (net.Conn,
			error) {
			return c.host.Dial(ctx, network, at)
		},
	}}}
}

// call sends one request.
func (h *httpHooks) call(ctx context.Context, hook scenarios.AppHook, question []byte,
	limit time.Duration) (answer hookAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	wrong := func(format string, args ...any) error {
		return &hookError{fmt.Sprintf("%s: POST %s%s: ", h.name, h.base, hook.Path) + fmt.Sprintf(format, args...)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base+hook.Path, bytes.NewReader(question))
	if err != nil {
		return answer, wrong("%v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	got, err := h.client.Do(req)
	if err != nil {
		return answer, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, hookReply))
	if err != nil {
		return answer, err
	}
	if got.StatusCode >= 500 {
		return answer, nil // it failed somewhere: nobody knows
	}
	if got.StatusCode != http.StatusOK {
		return answer, wrong("status %s: a hook answers 200 with {\"ok\": …}, or 5xx where it does not know",
			got.Status)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, wrong("the answer is no JSON object: %v: %.80q", err, text)
	}
	return answer, nil
}
