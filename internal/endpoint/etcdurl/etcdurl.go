// Package etcdurl makes etcd's client of addresses: host:port, or https://user:password@host:port.
package etcdurl

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// loginLimit bounds the login, which a new client waits for. A password takes the server some time,
// and many clients may log in at once.
const loginLimit = 20 * time.Second

// Config is that of a client that connects in the background, never through a proxy of the
// environment. It logs in and speaks TLS as the addresses say.
func Config(addresses []string) (clientv3.Config, error) {
	c := clientv3.Config{Logger: zap.NewNop(), // what goes wrong is in the errors
		DialOptions: []grpc.DialOption{grpc.WithNoProxy()}}
	for _, address := range addresses {
		at, err := endpoint.Parse(address)
		if err != nil {
			return c, err
		}
		c.Endpoints = append(c.Endpoints, Of(at))
		if c.Username, c.Password = at.Account(); c.Username != "" {
			c.DialTimeout = loginLimit
		}
		if c.TLS, err = at.TLS(); err != nil {
			return c, err
		}
		if c.TLS != nil {
			c.TLS.ServerName = "" // of each member its own
		}
	}
	return c, nil
}

// Of is the address as etcd's client takes it.
func Of(at endpoint.Endpoint) string {
	if at.Scheme() == "" {
		return at.HostPort()
	}
	return at.Scheme() + "://" + at.HostPort()
}
