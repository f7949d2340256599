// The unique tasks of github.com/hibiken/asynq on one Redis server, as an adapter
// for lockchaos: the client that has enqueued the task of a key does the work, until the
// task is deleted or its uniqueness is over. Nobody processes the queue.
package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/hibiken/asynq"

	"example.com/golocks/protocol"
)

// queue is the only one.
const queue = "default"

type lock struct {
	client    *asynq.Client
	inspector *asynq.Inspector
	ttl       time.Duration
	tasks     map[string]string // the task's ID, of each key that is held
}

func open(h protocol.Hello) (protocol.Lock, error) {
	redis := asynq.RedisClientOpt{Addr: h.Nodes[0]}
	return &lock{
		client: asynq.NewClient(redis), inspector: asynq.NewInspector(redis), ttl: h.TTL, tasks: map[string]string{},
	}, nil
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "asynq unique tasks " + protocol.Version("github.com/hibiken/asynq"),
		Validity: "from_invocation",
		// DeleteTask finds the task, which is there when its uniqueness is
		// over: an ok confirms nothing.
	}
}

// Acquire enqueues the key's task as soon as there is no other.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	var id string
	pause := func() time.Duration { return 10*time.Millisecond + rand.N(40*time.Millisecond) }
	g, err := protocol.Poll(ctx, pause, time.Second, func(ctx context.Context) error {
		task, err := l.client.EnqueueContext(ctx, asynq.NewTask("work", []byte(key)), asynq.Queue(queue),
			asynq.Unique(l.ttl))
		switch {
		case errors.Is(err, asynq.ErrDuplicateTask): // "a duplicate of another task"
			return protocol.Busy
		case err != nil:
			return err
		}
		id = task.ID
		return nil
	})
	if err != nil {
		return g, err
	}
	l.tasks[key] = id
	return g, nil
}

func (l *lock) Release(ctx context.Context, key string) error {
	id, ok := l.tasks[key]
	if !ok {
		return protocol.NotHeld
	}
	delete(l.tasks, key)
	// it takes no context
	return protocol.Within(ctx, 0, func() error { return l.inspector.DeleteTask(queue, id) })
}

func (l *lock) Close(context.Context) error {
	return errors.Join(l.client.Close(), l.inspector.Close())
}

func main() { protocol.Main(open) }
