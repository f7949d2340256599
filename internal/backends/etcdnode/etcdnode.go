// Package etcdnode runs one member of an etcd cluster: the real server,
// go.etcd.io/etcd/server/v3, inside this program.
//
// It is a package of its own because the server is large: only the program and
// the tests that run it should be linked with it.
package etcdnode

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// walSegment is the size of a segment of the write-ahead log. etcd preallocates 64 MB,
// which on a tmpfs is memory, for every member of every scenario that runs at the time.
const walSegment = 4 << 20

// closeLimit bounds a member's farewell. A leader hands its office over first,
// and would wait seven seconds for an heir if there is none.
const closeLimit = 2 * time.Second

// Run runs a member until ctx is done or it fails. Its log goes to standard error.
func Run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("node etcd", flag.ContinueOnError)
	name := flags.String("name", "", "name of the member")
	data := flags.String("data-dir", "", "folder for its data")
	client := flags.String("client-url", "", "`URL` for clients, to listen on and to advertise")
	peer := flags.String("peer-url", "", "`URL` for the other members, to listen on and to advertise")
	cluster := flags.String("initial-cluster", "", "all members, as `name=URL,…`")
	heartbeat := flags.Duration("heartbeat-interval", 100*time.Millisecond, "time between heartbeats")
	election := flags.Duration("election-timeout", time.Second, "time without heartbeat until an election")
	advance := flags.Bool("initial-election-tick-advance", true, "stand for the first election soon after the start")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wal.SegmentSizeBytes = walSegment

	c := embed.NewConfig()
	c.Name, c.Dir, c.InitialCluster = *name, *data, *cluster
	c.TickMs, c.ElectionMs = uint(heartbeat.Milliseconds()), uint(election.Milliseconds())
	c.InitialElectionTickAdvance = *advance
	c.UnsafeNoFsync = true
	c.EnableGRPCGateway = true // clients of many languages speak JSON over HTTP to it
	c.LogOutputs = []string{"stderr"}
	for _, u := range []struct {
		flag, text        string
		listen, advertise *[]url.URL
	}{
		{"client-url", *client, &c.ListenClientUrls, &c.AdvertiseClientUrls},
		{"peer-url", *peer, &c.ListenPeerUrls, &c.AdvertisePeerUrls},
	} {
		parsed, err := url.Parse(u.text)
		if err != nil {
			return fmt.Errorf("--%s: %w", u.flag, err)
		}
		if parsed.Host == "" {
			return fmt.Errorf("--%s %q has no host; give http://ADDRESS:PORT", u.flag, u.text)
		}
		*u.listen, *u.advertise = []url.URL{*parsed}, []url.URL{*parsed}
	}
	server, err := embed.StartEtcd(c)
	if err != nil {
		return fmt.Errorf("start etcd member %s: %w", *name, err)
	}
	defer closeWithin(server, closeLimit)
	select {
	case <-ctx.Done():
		return nil
	case <-server.Server.StopNotify():
		return fmt.Errorf("etcd member %s stopped by itself", *name)
	case err := <-server.Err():
		return fmt.Errorf("etcd member %s: %w", *name, err)
	}
}

func closeWithin(server *embed.Etcd, limit time.Duration) {
	closed := make(chan struct{})
	go func() {
		server.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(limit): // the process ends now
	}
}
