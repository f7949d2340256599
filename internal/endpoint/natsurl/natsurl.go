// Package natsurl makes NATS' client of addresses: host:port, nats://user:password@host:port, or
// tls://host:port?creds=FILE. It has what locks, service and probe share of the bucket of locks.
package natsurl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// connectLimit is how long a connection may take that has no other limit, its handshake included.
// The two seconds of NATS' client are little between busy machines.
const connectLimit = 10 * time.Second

// Connect connects to one of the servers at the addresses, and to no other: addresses that a server
// tells of its cluster may lead nowhere from where clients are. dial connects; nil: as usual.
func Connect(ctx context.Context, addresses []string, dial endpoint.Dial, more ...natsgo.Option) (*natsgo.Conn, error) {
	options := []natsgo.Option{natsgo.IgnoreDiscoveredServers(), natsgo.Timeout(connectLimit)}
	var servers []string
	for _, address := range addresses {
		at, err := endpoint.Parse(address)
		if err != nil {
			return nil, err
		}
		servers = append(servers, server(at))
		config, err := at.TLS()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		if config != nil {
			config.ServerName = "" // of each server its own
			options = append(options, natsgo.Secure(config))
		}
		if file := at.Param(endpoint.Creds); file != "" {
			options = append(options, natsgo.UserCredentials(file))
		}
	}
	options = append(options, func(o *natsgo.Options) error { o.Servers = servers; return nil })
	if dial != nil {
		options = append(options, natsgo.SkipHostLookup(), natsgo.SetCustomDialer(dialer{ctx, dial}))
	}
	return natsgo.Connect("", append(options, more...)...)
}

// server is an address as NATS' client takes it: its user is part of it.
func server(at endpoint.Endpoint) string {
	if at.Scheme() == "" {
		return "nats://" + at.HostPort()
	}
	return at.Without(endpoint.Creds).URL()
}

// dialer is a dial that ends with a context.
type dialer struct {
	ctx  context.Context
	dial endpoint.Dial
}

// Dial connects.
func (d dialer) Dial(network, addr string) (net.Conn, error) { return d.dial(d.ctx, network, addr) }

// mostReplicas is on how many servers of a cluster the bucket of locks lies.
const mostReplicas = 3

// Bucket returns the bucket of locks, and makes it if there is none: a key may have a time to live,
// and a marker says for a second that it has ended.
func Bucket(ctx context.Context, conn *natsgo.Conn) (jetstream.KeyValue, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	bucket, err := js.KeyValue(ctx, logins.NATSBucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return bucket, err
	}
	replicas := 1
	if conn.ConnectedClusterName() != "" {
		replicas = mostReplicas
	}
	return js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: logins.NATSBucket, Replicas: replicas,
		LimitMarkerTTL: time.Second})
}

// Subject is where the bucket keeps a key.
func Subject(key string) string { return "$KV." + logins.NATSBucket + "." + key }

// Stream is what the bucket is kept in.
const Stream = "KV_" + logins.NATSBucket

// Message is the newest message of a key. Its revision is 0 where there is none. Ended: it says
// that the key is gone, or there is none.
type Message struct {
	Value    string
	Revision uint64
	Ended    bool
}

// Newest is what the newest message of a key says.
func Newest(value []byte, revision uint64, header natsgo.Header) Message {
	return Message{string(value), revision, header.Get("KV-Operation") != "" || header.Get("Nats-Marker-Reason") != ""}
}

// Leading asks the stream's leader for a key. It has every write that was answered; one that has
// been deposed, and does not know it, answers too. The library has no call for it
// (https://docs.nats.io/reference/reference-protocols/nats_api_reference, STREAM.MSG.GET).
func Leading(ctx context.Context, conn *natsgo.Conn, key string) (Message, error) {
	question, err := json.Marshal(map[string]string{"last_by_subj": Subject(key)})
	if err != nil {
		return Message{}, err
	}
	reply, err := conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+Stream, question)
	if err != nil {
		return Message{}, err
	}
	var answer struct {
		Error   *jetstream.APIError
		Message struct {
			Seq        uint64
			Hdrs, Data []byte
		}
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return Message{}, err
	}
	if e := answer.Error; e != nil {
		if e.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return Message{Ended: true}, nil
		}
		return Message{}, e
	}
	m := answer.Message
	var header natsgo.Header
	if len(m.Hdrs) > 0 {
		if header, err = natsgo.DecodeHeadersMsg(m.Hdrs); err != nil {
			return Message{}, err
		}
	}
	return Newest(m.Data, m.Seq, header), nil
}
