package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// KindFailover is the fault that has a replica take over too early.
const KindFailover = "failover"

var failover = Kind{Name: KindFailover, Nodes: true, NodesOnly: true, Whole: true, Needs: NeedsLocalFilter,
	endsSessions: true, alone: true, mayMiss: true, Ours: true, check: checkFailover,
	Touch: history.Touch{Ends: history.EndsPrimary, Words: history.FaultWords{Did: "failed over", Bar: "failover",
		Nodes: "is killed before its replica has everything, and the replica takes over", Doc: "failover"}},
	About: "kills a primary that has granted a lock of which its replica has not heard, and waits for the promotion; for redis-failover; of a service of yours it runs --failover-cmd",
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		if s.FailOver != nil {
			return s.trigger(ctx)
		}
		return s.Net.Failover(ctx, s.Tag, s.Service, s.All, s.NextGrant)
	}}

// Replicated is a lock service with a primary and replicas, of which somebody
// promotes one when the primary is gone.
type Replicated interface {
	// Replicas are the names of all servers that replicate each other, whichever is the primary.
	Replicas() []string
	// Primary is the server that is the primary, by the word of those who
	// promote and by its own. It is an error if they don't agree.
	Primary(ctx context.Context) (string, error)
	// Role is what a server says that it is, in words.
	Role(ctx context.Context, node string) (string, error)
}

// The roles that a failover waits for.
const (
	rolePrimary = "primary"
	roleReplica = "replica in sync"
)

// The bounds of a failover's steps.
const (
	// until the replicas are in sync before it, and the old primary is a replica after it
	settleLimit  = 10 * time.Second
	gapLimit     = 20 * time.Second // until somebody is granted the lock by the primary alone
	promoteLimit = 30 * time.Second // until a replica is promoted
	roleStep     = 10 * time.Millisecond
)

// checkFailover reports whether there is such a failover.
func checkFailover(s Spec, at Setting) error {
	if s.Target != Service {
		return fmt.Errorf("a %s is of the service as a whole: target %s, not %q; which server is the primary shows when it strikes", s.Kind, Service, s.Target)
	}
	if s.When != Random {
		return fmt.Errorf("a %s waits by itself for a grant that no replica hears of: when %s, not %s", s.Kind, Random,
			s.When)
	}
	if !at.has(Promotes) && at.Service == "" {
		return errNoService
	}
	if !at.has(Promotes) {
		return fmt.Errorf("a %s needs a service with a replica that is promoted: redis-failover, or a redis of yours (--failover-cmd); %s has none", s.Kind,
			at.Service)
	}
	return nil
}

// ErrMissed: nobody was there to strike, so nothing was done that is worth
// telling, and all of it is undone.
var ErrMissed = errors.New("nobody was there to strike")

// Failover is a primary that is down since it has granted a lock of which no replica has heard.
type Failover struct {
	service Replicated
	ctx     context.Context // of the run
	from    int64
	old     crashed
	cut     *netfault.Partition
	grant   int64 // that no replica has heard of
	before  string
	// promoted is who is the primary now.
	promoted string
	within   time.Duration // from the kill to the promotion

	heal   sync.Once
	effect Effect
	err    error
}

// Failover cuts the primary of a service off from its replicas, waits until a
// lock is granted that was asked for since then, and kills the primary. granted
// returns the grant, or 0 if there will be none before its context ends: then the
// error is ErrMissed. The clients go on reaching the primary until it is gone.
func (n *Net) Failover(ctx context.Context, tag string, service Replicated, nodes []Place,
	granted func(context.Context) int64) (*Failover, error) {
	f := &Failover{service: service, ctx: ctx}
	fail := func(err error) (*Failover, error) { return nil, fmt.Errorf("%s: %w", KindFailover, err) }
	primary, err := f.settled(ctx)
	if err != nil {
		return fail(err)
	}
	at := slices.IndexFunc(nodes, func(p Place) bool { return p.Name == primary })
	if at < 0 || nodes[at].Server == nil {
		return fail(fmt.Errorf("node %s can't be started again", primary))
	}
	f.old = crashed{Place: nodes[at]}
	others := slices.DeleteFunc(service.Replicas(), func(name string) bool { return name == primary })
	if f.cut, err = n.cut(tag, netfault.Between([]string{primary}, others)); err != nil {
		return fail(err)
	}
	gap, over := context.WithTimeout(ctx, gapLimit)
	f.grant = granted(gap)
	over()
	if f.grant == 0 {
		_, healed := f.cut.Heal()
		return fail(errors.Join(ErrMissed, healed))
	}
	killing, cancel := context.WithTimeout(context.WithoutCancel(ctx), killLimit)
	defer cancel()
	f.from = monotime.Now()
	if err := f.old.kill(killing); err != nil {
		_, healed := f.cut.Heal()
		return fail(errors.Join(err, healed))
	}
	return f, nil
}

// settled waits until there is a primary with replicas that are all in sync.
func (f *Failover) settled(ctx context.Context) (primary string, err error) {
	return primary, retryUntil(ctx, settleLimit, func() (err error) {
		if primary, err = f.service.Primary(ctx); err != nil {
			return err
		}
		f.before, err = f.roles(ctx, primary)
		return err
	})
}

// roles says what each server is, and fails unless those beside the primary are its replicas.
func (f *Failover) roles(ctx context.Context, primary string) (string, error) {
	var said []string
	for _, name := range f.service.Replicas() {
		role, err := f.service.Role(ctx, name)
		if err != nil {
			return "", err
		}
		want := roleReplica
		if name == primary {
			want = rolePrimary
		}
		if role != want {
			return "", fmt.Errorf("%s is %s, not %s", name, role, want)
		}
		said = append(said, name+" "+role)
	}
	return strings.Join(said, ", "), nil
}

// retryUntil tries again and again until there is no error, for the time that there is.
func retryUntil(ctx context.Context, limit time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %v", limit))
	defer cancel()
	step := time.NewTicker(roleStep)
	defer step.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-step.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// From is an instant before the kill: the servers were cut from each other
// before, which no client could notice.
func (f *Failover) From() int64 { return f.from }

// Holding is the grant of which no replica has heard.
func (f *Failover) Holding() int64 { return f.grant }

// Heal waits until a replica is promoted, joins the servers again, starts the old primary, and
// waits until it is a replica of the new one. If the run has ended meanwhile, it stays down.
func (f *Failover) Heal() (Effect, error) {
	f.heal.Do(func() {
		f.err = f.rejoin()
		if f.err != nil {
			f.err = fmt.Errorf("%s: %w", KindFailover, f.err)
		}
	})
	return f.effect, f.err
}

func (f *Failover) rejoin() error {
	f.effect.From = f.from
	err := f.ctx.Err()
	if err == nil {
		err = f.awaitPromotion()
	}
	severed, healed := f.cut.Heal()
	if err = errors.Join(err, healed); err == nil {
		err = f.old.restart(f.ctx, true)
	}
	var after string
	if err == nil {
		err = retryUntil(f.ctx, settleLimit, func() (err error) { after, err = f.roles(f.ctx, f.promoted); return err })
	}
	f.effect.To = monotime.Now()
	f.effect.Bit = err == nil
	f.effect.Proof = f.proof(severed, after)
	return err
}

func (f *Failover) awaitPromotion() error {
	err := retryUntil(f.ctx, promoteLimit, func() error {
		now, err := f.service.Primary(f.ctx)
		if err == nil && now == f.old.Name {
			err = fmt.Errorf("%s is dead, and still taken for the primary", now)
		}
		f.promoted = now
		return err
	})
	if err != nil {
		return fmt.Errorf("nobody was promoted: %w", err)
	}
	f.within = monotime.Since(f.old.was.Gone())
	return nil
}

func (f *Failover) proof(severed netfault.Severed, after string) string {
	text := fmt.Sprintf("before: %s; cut from each other (%s), while grant %d was made; %s", f.before, severed, f.grant,
		f.old.proof(DataKept))
	if f.within != 0 {
		text += fmt.Sprintf("; %s was promoted %v after the kill", f.promoted, f.within.Round(time.Millisecond))
	}
	if after != "" {
		text += "; after: " + after
	}
	return text
}
