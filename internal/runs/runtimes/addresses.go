package runtimes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/probe"
)

// variable is how an address refers to a variable of the environment.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// mostAddress bounds a file that holds an address.
const mostAddress = 4096

// filled is an address with what it refers to: ${NAME} is a variable of the environment, and @FILE
// a file that holds the address. So no password need stand on a command line.
func filled(address string) (string, error) {
	if file, ok := strings.CutPrefix(address, "@"); ok {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if len(text) > mostAddress {
			return "", fmt.Errorf("%s holds more than an address", file)
		}
		address = strings.TrimSpace(string(text))
	}
	var missing []string
	address = variable.ReplaceAllStringFunc(address, func(found string) string {
		name := variable.FindStringSubmatch(found)[1]
		value, ok := os.LookupEnv(name)
		if !ok {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the environment has no %s: set it", strings.Join(missing, ", "))
	}
	return address, nil
}

// dialer connects in the user's own network, and goes another way for the names of --connect-to.
func (f Where) dialer() (endpoint.Dial, error) {
	ways := map[string]string{}
	for _, flag := range f.ConnectTo {
		name, at, _ := strings.Cut(flag, "=")
		for _, side := range []string{name, at} {
			if e, err := endpoint.Parse(side); err != nil || e.Scheme() != "" {
				return nil, fmt.Errorf("--connect-to %s: want NAME:PORT=ADDRESS:PORT", flag)
			}
		}
		ways[name] = at
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if other, ok := ways[addr]; ok {
			addr = other
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}, nil
}

// absolute makes the names of files good for processes that start elsewhere.
func absolute(f endpoint.Files) (endpoint.Files, error) {
	var errs []error
	for _, file := range []*string{&f.CACert, &f.Cert, &f.Key} {
		if *file != "" {
			var err error
			*file, err = filepath.Abs(*file)
			errs = append(errs, err)
		}
	}
	return f, errors.Join(errs...)
}

// Target is a server that can be probed.
type Target struct {
	Name    string
	At      endpoint.Endpoint
	Dial    endpoint.Dial
	Service probe.Service
}

// Targets are the servers that were given, each once, in the order of their names.
func (g *Servers) Targets() (all []Target, err error) {
	for _, n := range g.list() {
		at, err := endpoint.Parse(cmp.Or(n.Address, n.Shown))
		if err != nil {
			return nil, err
		}
		program := g.programs[n.Name].Name
		service, ok := probe.Lookup(program)
		if !ok {
			return nil, fmt.Errorf("%s is a server of %s: what can be probed are %s", n.Name, program, strings.Join(probe.Programs(), ", "))
		}
		if !slices.ContainsFunc(all, func(t Target) bool { return t.At.Address() == at.Address() }) {
			all = append(all, Target{n.Name, at, g.dial, service})
		}
	}
	return all, nil
}
