package kubernetes

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/cron"
	"github.com/lockchaos/lockchaos/clients/internal/lease"
)

// Cron is the scheduler kubernetes-cron. A Lease says who executes the job, and annotations which
// tick that is and which was done last. As with the lock, a client that has seen it unchanged
// for the TTL, by its own clock, may take it over.
var Cron = cronKind("kubernetes-cron",
	"a scheduler whose instances claim a tick by writing a Lease of Kubernetes on condition of its resourceVersion", false)

// CronPatches is the control broken-kubernetes-cron-patches: it reads the Lease on condition of
// nothing. Two instances that find it free at the same time both write that they execute the tick.
var CronPatches = cron.Control(checker.OncePerTick, cronKind("broken-kubernetes-cron-patches",
	"kubernetes-cron that writes its claim by a merge patch without the resourceVersion that it has read", true))

// cronStops is for how long an application may still write when the time of its execution is over:
// for one that was told, an answer on its way.
const cronStops = 100 * time.Millisecond

func cronKind(called, about string, patches bool) clients.Kind {
	return clients.Kind{Name: called, About: about, Service: "kubernetes", OnWire: onWire,
		Claims:    clients.Claims{Token: "tick", Job: "at-least-once", Misfire: "once", Stops: int64(cronStops)},
		LostGrace: func(ttl time.Duration) time.Duration { return ttl },
		// the last claim of the dead must have been seen for a TTL
		Handover:     func(ttl time.Duration) time.Duration { return ttl + time.Second },
		StopHandover: cron.StopHandover,
		Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
			o, err := open(c)
			if err != nil {
				return nil, err
			}
			return cron.New(c, &jobs{objects: o, patches: patches}, cron.Rules{Retries: true, Tells: true})
		},
	}
}

// The annotations of a job's Lease: the tick that its holder executes, and the one that was done
// last. (leaseTransitions is a number of 32 bits, too short for a tick.)
const (
	tickNote = "lockchaos/tick"
	doneNote = "lockchaos/done"
)

// jobs are Leases, one for each job.
type jobs struct {
	*objects
	seen    lease.Sightings
	patches bool
}

// read reads a job's Lease. There is none where its Metadata has no resourceVersion.
func (j *jobs) read(ctx context.Context, key string) (object, error) {
	ctx, cancel := clients.WithGrace(ctx, lease.Grace(j.ttl))
	defer cancel()
	l, err := j.ask(ctx, http.MethodGet, collection+"/"+name(key), nil)
	if answered, _ := errors.AsType[status](err); answered == http.StatusNotFound {
		return object{Metadata: metadata{Name: name(key)}}, nil
	}
	return l, err
}

// write writes a job's Lease as it was read, with another holder.
func (j *jobs) write(ctx context.Context, l object, owner string, tick, done int64) error {
	ctx, cancel := clients.WithGrace(ctx, lease.Grace(j.ttl))
	defer cancel()
	l.Metadata.Annotations = map[string]string{tickNote: strconv.FormatInt(tick, 10), doneNote: strconv.FormatInt(done, 10)}
	l.Spec = spec{HolderIdentity: owner, LeaseDurationSeconds: seconds(j.ttl), RenewTime: now()}
	if !j.patches || l.Metadata.ResourceVersion == "" {
		return j.put(ctx, l)
	}
	l.Metadata.ResourceVersion = "" // a merge patch leaves it as it is, and compares nothing
	_, err := j.ask(ctx, http.MethodPatch, collection+"/"+l.Metadata.Name, l)
	return outcome(err)
}

// note is the number in an annotation; 0: there is none.
func (l object) note(called string) int64 {
	n, _ := strconv.ParseInt(l.Metadata.Annotations[called], 10, 64)
	return n
}

// Claim takes the job's Lease for the tick, if that is not done and nobody's lease stands.
func (j *jobs) Claim(ctx context.Context, key, owner string, due int64) (tick int64, err error) {
	l, err := j.read(ctx, key)
	if err != nil {
		return 0, err
	}
	held := time.Duration(l.Spec.LeaseDurationSeconds) * time.Second
	if j.seen.Lasts(key, l.Metadata.ResourceVersion, l.Spec.HolderIdentity, held) || l.note(doneNote) >= due {
		return 0, nil
	}
	switch err = j.write(ctx, l, owner, due, l.note(doneNote)); {
	case errors.Is(err, clients.ErrNotHeld):
		return 0, nil // another one has written it
	case err != nil:
		return 0, err
	}
	return due, nil
}

// Done notes that the tick is done, and that nobody executes the job.
func (j *jobs) Done(ctx context.Context, key, owner string, tick int64) error {
	return j.end(ctx, key, owner, tick, tick)
}

// GiveUp notes that nobody executes the job.
func (j *jobs) GiveUp(ctx context.Context, key, owner string, tick int64) error {
	return j.end(ctx, key, owner, tick, 0)
}

// end ends the owner's execution of a tick, on condition of the Lease that says that it goes on.
func (j *jobs) end(ctx context.Context, key, owner string, tick, done int64) error {
	l, err := j.read(ctx, key)
	if err != nil {
		return err
	}
	if l.Spec.HolderIdentity != owner || l.note(tickNote) != tick {
		return clients.ErrNotHeld
	}
	return j.write(ctx, l, "", tick, max(done, l.note(doneNote)))
}
