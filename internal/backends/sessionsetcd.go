package backends

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// expireEtcd revokes the client's leases, with which etcd deletes what is
// attached to them, as when they expire.
func expireEtcd(ctx context.Context, s *Service, c Client) (ended []string, err error) {
	client, err := newEtcdClient(s.Addrs()...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for _, session := range c.Sessions {
		text, err := revoke(ctx, client, clientv3.LeaseID(session.ID))
		if err != nil {
			return nil, fmt.Errorf("lease %x: %w", session.ID, err)
		}
		if text != "" {
			ended = append(ended, text)
		}
	}
	return ended, nil
}

// revoke revokes a lease and tells what etcd answered; "" if the lease had ended before.
func revoke(ctx context.Context, client *clientv3.Client, id clientv3.LeaseID) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	lease, err := client.TimeToLive(ctx, id, clientv3.WithAttachedKeys())
	if err != nil {
		return "", err
	}
	if lease.TTL < 0 {
		return "", nil
	}
	answer, err := client.Revoke(ctx, id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	// Asked once more: what counts is that nobody has it any longer.
	after, err := client.TimeToLive(ctx, id)
	if err != nil {
		return "", err
	}
	if after.TTL >= 0 {
		return "", fmt.Errorf("it was revoked at revision %d, and has still %v", answer.Header.Revision,
			time.Duration(after.TTL)*time.Second)
	}
	return fmt.Sprintf("etcd revoked lease %x, which had %v left and %s, at revision %d; it knows of no such lease any more",
		int64(id), time.Duration(lease.TTL)*time.Second, counted(len(lease.Keys), "key"), answer.Header.Revision), nil
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
