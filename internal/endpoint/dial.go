package endpoint

import (
	"context"
	"crypto/tls"
	"net"
)

// Dial connects to an address of the network.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// Dialer returns a function that connects as dial does, and then speaks TLS if the server wants it.
// Of a cluster, it connects to any of the servers.
// A handshake that fails is an error of connecting: nothing was sent to the server.
func (e Endpoint) Dialer(dial Dial) (Dial, error) {
	config, err := e.TLS()
	if config == nil || err != nil {
		return dial, err
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		config := config
		if e.Clusters() {
			config = config.Clone()
			config.ServerName = e.At(addr).certified()
		}
		conn := tls.Client(raw, config)
		if err := conn.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, &net.OpError{Op: "dial", Net: network, Addr: raw.RemoteAddr(), Err: err}
		}
		return conn, nil
	}, nil
}
