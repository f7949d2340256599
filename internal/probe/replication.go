package probe

import (
	"context"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/redisurl"
)

// Replication is what servers that replicate each other say of themselves, by their addresses.
// Those that do not answer are left out.
type Replication map[string]Replica

// Replica is what one of them says.
type Replica struct {
	// Run is the number of its process's run.
	Run string
	// Named: who knows the servers takes it for a primary. Primary: it does so itself. InSync: it
	// is a replica whose link to its primary is up.
	Named, Primary, InSync bool
	// Stream is the number of the changes that a primary sends, and its replicas follow.
	Stream string
	// Whole is how often it has sent a replica all its data, since that had changes of its own, or
	// lacked more than were still there.
	Whole int
}

// replicator is a server that knows those that replicate each other.
type replicator interface {
	servers(ctx context.Context) ([]Member, error)
}

// Replication asks a server for those that replicate each other, and each of these. It has none of
// a server that does not know others.
func (s Service) Replication(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (Replication, error) {
	one, err := s.open(ctx, at, dial)
	if err != nil {
		return nil, s.Explain(at, err)
	}
	defer one.close()
	r, is := one.(replicator)
	if !is {
		return nil, nil
	}
	members, err := r.servers(ctx)
	if err != nil {
		return nil, err
	}
	all := Replication{}
	for _, m := range members {
		if said, err := askReplica(ctx, s.At(at, m), dial); err == nil {
			said.Named = !m.Replica
			all[m.At] = said
		}
	}
	return all, nil
}

func (r *redisServer) servers(context.Context) ([]Member, error) { return r.all, nil }

// askReplica asks one server.
func askReplica(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (r Replica, err error) {
	options, err := redisurl.Options(at.Address(), dial)
	if err != nil {
		return r, err
	}
	c := goredis.NewClient(options)
	defer c.Close()
	text, err := c.Info(ctx, "everything").Result()
	if err != nil {
		return r, err
	}
	said := fields(text)
	r = Replica{Run: said["run_id"], Primary: said["role"] == "master", InSync: said["master_link_status"] == "up", Stream: said["master_replid"]}
	r.Whole, err = strconv.Atoi(said["sync_full"])
	return r, err
}

// Aftermath is what servers show of a failover. The zero value: nothing yet.
type Aftermath uint8

const (
	// Vanished: an old primary does not answer, or is not named any more.
	Vanished Aftermath = iota + 1
	// MayHaveLost: an old primary had changes of which the new one had not heard, or it was started
	// again, and says nothing of what it had granted.
	MayHaveLost
	// NothingLost: all old primaries follow new ones that have heard of all.
	NothingLost
)

// After says what a failover lost, by what the servers said before it and say now. It lost
// nothing if each that was named a primary, and is no more, has become a replica of one that was
// none, and that has sent nobody all its data since. So the old primary had no change of which
// the new one has not heard: Redis would not let it follow without all data.
func (before Replication) After(now Replication) (a Aftermath) {
	deposed := false
	for at, was := range before {
		is, answers := now[at]
		switch {
		case !was.Named || answers && is.Named:
			continue
		case !answers:
			return Vanished
		case is.Run != was.Run:
			return MayHaveLost
		case is.Primary || !is.InSync:
			return 0
		case !before.spared(is, now):
			return MayHaveLost
		}
		deposed = true
	}
	if deposed {
		return NothingLost
	}
	return 0
}

// spared reports whether a replica follows one that was none, and that has sent nobody all its
// data.
func (before Replication) spared(r Replica, now Replication) bool {
	for at, is := range now {
		was, known := before[at]
		if is.Primary && is.Stream == r.Stream {
			return known && !was.Named && is.Run == was.Run && is.Whole == was.Whole
		}
	}
	return false
}
