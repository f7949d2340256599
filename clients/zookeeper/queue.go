package zookeeper

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/lockchaos/lockchaos/clients"
)

// digits are what ZooKeeper appends to the name of a sequential znode.
const digits = 10

// number is the part of a name that orders the queue.
func number(name string) string { return name[max(0, len(name)-digits):] }

// predecessor returns the name that stands before ours in the queue, "" if ours
// is the first. found is false when ours is not there.
func predecessor(queue []string, own string) (before string, found bool) {
	for _, name := range queue {
		switch {
		case name == own:
			found = true
		case number(name) < number(own) && (before == "" || number(name) > number(before)):
			before = name
		}
	}
	return before, found
}

// enter puts a znode of ours into the queue and returns its name. With
// clients.ErrOpen it may be there, or come.
//
// The name begins with a GUID. When the connection is lost before there was a reply,
// the queue is searched for it, after a sync, which the leader answers: it carries
// out nothing any more that comes from this session by way of the old connection.
func (s *session) enter(ctx context.Context, dir string) (name string, err error) {
	guid := make([]byte, 16)
	rand.Read(guid) // never fails
	prefix := "_c_" + hex.EncodeToString(guid) + "-lock-"
	for {
		created, err := ask(ctx, s, func(c *zk.Conn) (string, error) {
			return c.Create(dir+"/"+prefix, nil, zk.FlagEphemeral|zk.FlagSequence, everyone)
		})
		switch {
		case err == nil:
			return path.Base(created), nil
		case errors.Is(err, zk.ErrNoNode):
			err = s.makeDirectory(ctx, dir)
		case unsent(err):
			err = s.pause(ctx)
		case cutOff(err):
			if name, err = s.search(ctx, dir, prefix); name != "" {
				return name, nil
			}
			if err != nil {
				err = fmt.Errorf("%w: %w", clients.ErrOpen, err)
			}
		default:
			err = fmt.Errorf("%w: %w", clients.ErrOpen, err)
		}
		if err != nil {
			return "", err
		}
	}
}

// search looks for a znode of ours.
func (s *session) search(ctx context.Context, dir, prefix string) (name string, err error) {
	if _, err := s.sync(ctx); err != nil {
		return "", err
	}
	queue, err := again(ctx, s, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(dir)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return "", nil
	}
	for _, name := range queue {
		if strings.HasPrefix(name, prefix) {
			return name, nil
		}
	}
	return "", err
}
