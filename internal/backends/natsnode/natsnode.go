// Package natsnode runs one server of a NATS cluster with JetStream: the real
// server, github.com/nats-io/nats-server/v2, inside this program.
//
// It is a package of its own because the server is large: only the program and
// the tests that run it should be linked with it.
package natsnode

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// closeLimit bounds a server's farewell.
const closeLimit = 2 * time.Second

// Run runs a server until ctx is done or it fails. It is called as the program
// nats-server is. Its log goes to standard error.
func Run(ctx context.Context, args []string) error {
	none := func() {}
	options, err := server.ConfigureOptions(flag.NewFlagSet("node nats", flag.ContinueOnError), args, none, none, none)
	if err != nil {
		return err
	}
	options.NoSigs = true
	s, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("make NATS server %s: %w", options.ServerName, err)
	}
	s.ConfigureLogger()
	s.Start()
	ended := make(chan struct{})
	go func() {
		s.WaitForShutdown()
		close(ended)
	}()
	select {
	case <-ctx.Done():
		go s.Shutdown()
		select {
		case <-ended:
		case <-time.After(closeLimit): // the process ends now
		}
		return nil
	case <-ended:
		return errors.New("the NATS server stopped by itself: its log says why")
	}
}
