// Package consulurl makes the configuration of Consul's client of addresses: host:port, or
// https://:TOKEN@host:port.
package consulurl

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"os"

	"github.com/hashicorp/consul/api"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// tokenVar is the variable that Consul's own tools take their token from.
const tokenVar = "CONSUL_HTTP_TOKEN"

// Config is that of a client that asks the first server that it can connect to, in the order of the
// addresses. A URL without a token takes the environment's. dial connects; nil: as usual. The
// transport is the client's, for the caller to close.
func Config(addresses []string, dial endpoint.Dial) (*api.Config, *http.Transport, error) {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	c := &api.Config{Scheme: "http"}
	var ways []endpoint.Dial
	for _, address := range addresses {
		at, err := endpoint.Parse(address)
		if err != nil {
			return nil, nil, err
		}
		secure, err := at.Dialer(dial)
		if err != nil {
			return nil, nil, err
		}
		ways = append(ways, func(ctx context.Context, network, _ string) (net.Conn, error) {
			return secure(ctx, network, at.HostPort())
		})
		if c.Address != "" {
			continue
		}
		c.Address = at.HostPort()
		if at.Sealed() {
			c.Scheme = "https"
		}
		if at.Scheme() != "" {
			_, token := at.Account()
			c.Token = cmp.Or(token, os.Getenv(tokenVar))
		}
	}
	first := func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		err = errors.New("no server of Consul is known")
		for _, way := range ways {
			if conn, err = way(ctx, network, addr); err == nil || ctx.Err() != nil {
				break
			}
		}
		return conn, err
	}
	transport := &http.Transport{DialContext: first, DialTLSContext: first}
	c.HttpClient = &http.Client{Transport: transport}
	return c, transport, nil
}
