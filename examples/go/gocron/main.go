// A job of github.com/go-co-op/gocron/v2 with a distributed locker, on Redis, as an adapter of kind
// job for lockchaos. It is one instance of the scheduler.
//
//	(cd examples/go && go build -o ../../bin/golocks/ ./...)
//	lockchaos exam --job-cmd bin/golocks/gocron --service redis
//
// The locker is a mutex of redsync with one try, as in the project's own gocron-redis-lock.
// docs/jobs.md tells what was found.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"example.com/golocks/protocol"
)

// instance is one of the scheduler. Its job is a singleton, so one execution goes on at a time.
type instance struct {
	name  string
	every time.Duration
	ttl   time.Duration
	mutex *redsync.Redsync

	claimed int64     // when the lock was asked for (protocol.Now)
	due     time.Time // the tick that is executed
	now     *protocol.Execution
}

func open(h protocol.Hello) (protocol.Claims, func(), error) {
	client := redis.NewClient(&redis.Options{Addr: h.Nodes[0], ContextTimeoutEnabled: true})
	i := &instance{name: h.Client, every: h.Every, ttl: h.TTL, mutex: redsync.New(goredis.NewPool(client))}
	claims := protocol.Claims{"name": "gocron " + protocol.Version("github.com/go-co-op/gocron/v2"),
		// "A locker can be used to lock each run of a job to a single instance of gocron."
		"job":         "at-most-once",
		"misfire":     "skip",
		"handover_ms": (h.TTL + time.Second).Milliseconds(),
	}
	return claims, i.start, nil
}

func (i *instance) start() {
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(i), gocron.WithSchedulerMonitor(monitor{i}))
	if err == nil {
		_, err = s.NewJob(gocron.DurationJob(i.every), gocron.NewTask(i.execute), gocron.WithName("cron"),
			gocron.WithSingletonMode(gocron.LimitModeReschedule),
			// gocron's advice for locked jobs: all instances start at a rounded time
			gocron.WithStartAt(gocron.WithStartDateTime(i.next())))
	}
	if err != nil {
		log.Fatal(err)
	}
	s.Start()
}

// next is the tick after this one: the next whole multiple of the period since 1970.
func (i *instance) next() time.Time {
	every := i.every.Milliseconds()
	return time.UnixMilli((time.Now().UnixMilli()/every + 1) * every)
}

// execute is the job. Its work is lockchaos's.
func (i *instance) execute() {
	i.now = protocol.Begin(fmt.Sprintf("%s-%d", i.name, protocol.Now()), i.due.UnixMilli(), i.claimed)
	<-i.now.Over()
}

// Lock is what gocron asks for before it executes a job.
func (i *instance) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	i.claimed = protocol.Now()
	m := i.mutex.NewMutex(key, redsync.WithExpiry(i.ttl), redsync.WithTries(1))
	if err := m.LockContext(ctx); err != nil {
		return nil, err
	}
	return held{m, i}, nil
}

// held is a lock that an execution holds.
type held struct {
	mutex *redsync.Mutex
	by    *instance
}

// Unlock gives the lock back. That is how gocron marks an execution as done.
func (h held) Unlock(ctx context.Context) error {
	_, err := h.mutex.UnlockContext(ctx)
	if err == nil {
		h.by.now.Done()
	} else {
		log.Printf("unlock: %v", err) // nothing is known
	}
	return err
}

// monitor is told which tick an execution is for.
type monitor struct{ *instance }

func (m monitor) JobSchedulingDelay(_ gocron.Job, due, _ time.Time) { m.due = due }

func (monitor) SchedulerStarted()                          {}
func (monitor) SchedulerStopped()                          {}
func (monitor) SchedulerShutdown()                         {}
func (monitor) JobRegistered(gocron.Job)                   {}
func (monitor) JobUnregistered(gocron.Job)                 {}
func (monitor) JobStarted(gocron.Job)                      {}
func (monitor) JobRunning(gocron.Job)                      {}
func (monitor) JobFailed(gocron.Job, error)                {}
func (monitor) JobCompleted(gocron.Job)                    {}
func (monitor) JobExecutionTime(gocron.Job, time.Duration) {}
func (monitor) ConcurrencyLimitReached(string, gocron.Job) {}

func main() { protocol.Serve(open) }
