package adapter

import (
	"fmt"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// TLS names the files that connections to the service need.
type TLS struct {
	// CACert holds the certificates to trust; "": those of the machine. Cert and Key are the
	// client's own; "": it needs none.
	CACert string `json:"cacert"`
	Cert   string `json:"cert"`
	Key    string `json:"key"`
}

// Locate says where the service is. Each address is host:port, or a URL that may name user,
// password and database.
func (g *Greeting) Locate(addresses []string) error {
	g.Nodes = []string{}
	for _, address := range addresses {
		at, err := endpoint.Parse(address)
		if err != nil {
			return fmt.Errorf("address of a node: %w", err)
		}
		g.Nodes = append(g.Nodes, at.HostPort())
		if at.URL() == "" {
			continue
		}
		g.URLs = append(g.URLs, at.URL())
		if user, password := at.Account(); user != "" || password != "" {
			g.Account = &Account{User: user, Password: password, Database: at.Database()}
		}
		if f := at.Files(); at.Sealed() {
			g.TLS = &TLS{CACert: f.CACert, Cert: f.Cert, Key: f.Key}
		}
	}
	return nil
}

// Addresses are the service's, as Locate takes them.
func (g *Greeting) Addresses() (addresses []string, err error) {
	if len(g.URLs) == 0 {
		return g.Nodes, nil
	}
	for _, url := range g.URLs {
		at, err := endpoint.Parse(url)
		if err != nil {
			return nil, fmt.Errorf("address of a node: %w", err)
		}
		if g.TLS != nil {
			at = at.With(endpoint.Files{CACert: g.TLS.CACert, Cert: g.TLS.Cert, Key: g.TLS.Key})
		}
		addresses = append(addresses, at.Address())
	}
	return addresses, nil
}
