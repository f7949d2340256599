package external

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/decided"
)

// openJob opens an instance that a script is.
func openJob(t *testing.T, script string) (clients.Lock, error) {
	t.Helper()
	l, err := Open(t.Context(), clients.Config{Client: 3, TTL: time.Second, Every: 200 * time.Millisecond,
		Adapter: &clients.Adapter{Command: shell(t, script)}})
	if err == nil {
		t.Cleanup(func() { _ = l.Close(context.Background()) })
	}
	return l, err
}

// executing opens an instance that a script is, and waits for its first execution. From then on
// the script's `granted` comes back.
func executing(t *testing.T, script string) (context.Context, clients.Lock, clients.Grant) {
	t.Helper()
	granted := filepath.Join(t.TempDir(), "granted")
	l, err := openJob(t, hello(jobHello)+`
granted() { until [ -e '`+granted+`' ]; do sleep 0.01; done; }
`+script)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	t.Cleanup(cancel)
	g, err := l.Acquire(ctx, "k0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(granted, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return ctx, l, g
}

const jobHello = `,"job":"at-least-once","misfire":"skip","stops_ms":100,"handover_ms":1500`

// TestJob: executions come by themselves, carry their ticks, and end when the instance says so.
func TestJob(t *testing.T) {
	l, err := openJob(t, hello(jobHello)+`
echo '{"event":"run","run":"a1","tick":1795816584000}'
echo '{"event":"run","run":"a2"}'
echo '{"event":"lost","run":"a2","why":"its lease is over"}'
echo '{"event":"run","run":"a3","attempt_ns":7}'
read request; case "$request" in *'"op":"go","run":"a1"'*) echo '{"id":2,"ok":true}'; echo '{"event":"done","run":"a1"}' ;; esac
echo '{"event":"lost","run":"a0"}'
read request; echo '{"id":3,"ok":false,"error":"not_held"}'
read request; echo '{"id":4,"ok":false,"error":"not_held"}'
read request; echo '{"id":5,"ok":true}'`)
	if err != nil {
		t.Fatal(err)
	}
	c := l.(clients.Declarer).Declares().Claims
	if c.Job != "at-least-once" || c.Token != "tick" || c.Permits != 0 || c.Misfire != "skip" || c.Overlap ||
		c.Stops != int64(100*time.Millisecond) || c.Handover != int64(1500*time.Millisecond) {
		t.Errorf("%+v", c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	first, err := l.Acquire(ctx, "k0")
	if err != nil || first.Token != 1795816584000 || first.Attempt == 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	if err := l.Release(ctx, first); err != nil {
		t.Error(err)
	}
	second, err := l.Acquire(ctx, "k0") // a2 is lost, and has no turn
	if err != nil || second.Token != 0 || second.Attempt != 7 {
		t.Fatalf("%+v, %v", second, err)
	}
	if err := l.Release(ctx, second); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("an execution that has ended by itself: %v", err)
	}
	over, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Acquire(over, "k0"); !errors.Is(err, clients.ErrBusy) {
		t.Errorf("no execution began: %v", err)
	}
	if err := l.Release(ctx, clients.Grant{Key: "k0"}); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("nobody's: %v", err)
	}
}

// TestJobIsTold: news of the loss of the execution that is driven reaches the application.
func TestJobIsTold(t *testing.T) {
	ctx, l, _ := executing(t, `
echo '{"event":"run","run":"a1","tick":7}'; granted; echo '{"event":"lost","run":"a1","why":"its lease is over"}'
read request; echo '{"id":2,"ok":true}'`)
	select {
	case loss := <-l.(clients.Watcher).Lost():
		if loss.Key != "k0" || loss.Token != 7 || loss.Why != "its lease is over" {
			t.Errorf("%+v", loss)
		}
	case <-ctx.Done():
		t.Error("nobody told")
	}
}

// TestJobIsLostAndGoesOn: an execution that is lost is not marked as done, though the adapter says
// ok to the end of its work.
func TestJobIsLostAndGoesOn(t *testing.T) {
	const lost = `echo '{"event":"lost","run":"a1","why":"its lease is over"}'`
	for name, script := range map[string]string{
		"before the end of its work": lost + `; read request; echo '{"id":2,"ok":true}'`,
		"after it":                   `read request; echo '{"id":2,"ok":true}'; ` + lost,
	} {
		ctx, l, g := executing(t, `echo '{"event":"run","run":"a1","tick":7}'; granted; `+script+`
read request; echo '{"id":3,"ok":true}'`)
		if name == "before the end of its work" {
			<-l.(clients.Watcher).Lost()
		}
		if err := l.Release(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
			t.Errorf("lost %s: %v", name, err)
		}
	}
}

// TestJobDoesNotEnd: an execution that does not end leaves open whether it is marked as done.
func TestJobDoesNotEnd(t *testing.T) {
	_, l, g := executing(t, `
echo '{"event":"run","run":"a1","tick":7}'
read request; echo '{"id":2,"ok":true}'
read request; echo '{"id":3,"ok":true}'`)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Release(short, g); err == nil || clients.Definite(err) {
		t.Error(err)
	}
}

// TestJobMisbehaviour: what an instance may tell, and a lock may not, and the other way round.
func TestJobMisbehaviour(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"a lock", hello("") + "sleep 100", `did not declare "job" in its hello`},
		{"claims of a lock", hello(jobHello+`,"token":"fencing"`) + "sleep 100", `has "job" and a claim that only a lock makes`},
		{"claims without a job", hello(`,"misfire":"skip"`) + "sleep 100", `without "job"`},
		{"an unknown rule", hello(`,"job":"at-least-once","misfire":"never"`) + "sleep 100", `"misfire" is "never"`},
		{"a run without a name", hello(jobHello) + `echo '{"event":"run"}'; sleep 100`, `must name the execution`},
		{"a key", hello(jobHello) + `echo '{"event":"lost","run":"a","key":"k0"}'; sleep 100`, `name the "run"`},
		{"an unknown event", hello(jobHello) + `echo '{"event":"tick","run":"a"}'; sleep 100`, `is an event "tick"`},
		{"dies", hello(jobHello) + "kill -9 $$", "ended (signal: killed)"},
	} {
		l, err := openJob(t, c.script)
		if err == nil {
			ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
			_, err = l.Acquire(ctx, "k0")
			cancel()
		}
		if !errors.Is(err, adapter.ErrBroken) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
	l, err := open(t, shell(t, hello("")+`echo '{"event":"run","run":"a"}'; sleep 100`))
	for err == nil {
		_, err = l.Acquire(t.Context(), "k0")
	}
	if !errors.Is(err, adapter.ErrBroken) || !strings.Contains(err.Error(), "asked for a lock, not for a job or a leader") {
		t.Error(err)
	}
}

// openLeader opens a candidate for leadership that a script is.
func openLeader(t *testing.T, ttl time.Duration, script string) (clients.Lock, error) {
	t.Helper()
	l, err := Open(t.Context(), clients.Config{Client: 3, TTL: ttl,
		Adapter: &clients.Adapter{Command: shell(t, script), Leader: true}})
	if err == nil {
		t.Cleanup(func() { _ = l.Close(context.Background()) })
	}
	return l, err
}

const leaderHello = `,"leader":true,"validity":"session","lost_grace_ms":700`

// TestLeader: terms come by themselves, are those of a lock, and end when the candidate says so.
func TestLeader(t *testing.T) {
	l, err := openLeader(t, time.Minute, hello(leaderHello)+`
echo '{"event":"run","run":"t1"}'
read request; case "$request" in *'"op":"go","run":"t1"'*) echo '{"id":2,"ok":true}'; echo '{"event":"done","run":"t1"}' ;; esac
read request; echo '{"id":3,"ok":true}'`)
	if err != nil {
		t.Fatal(err)
	}
	c := l.(clients.Declarer).Declares().Claims
	if c.Job != "" || c.Permits != 1 || c.Validity != "session" || c.LostGrace != int64(700*time.Millisecond) || c.Token != "none" {
		t.Errorf("%+v", c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	g, err := l.Acquire(ctx, "k0")
	if err != nil || g.Token != 0 || g.First == 0 || g.Attempt < g.First {
		t.Fatalf("%+v, %v", g, err)
	}
	if err := l.Release(ctx, g); err != nil {
		t.Error(err)
	}
}

// TestIdleLeader: a term that nobody drives ends, so that another candidate can lead.
func TestIdleLeader(t *testing.T) {
	l, err := openLeader(t, 20*time.Millisecond, hello(leaderHello)+`
echo '{"event":"run","run":"t1"}'
read request; case "$request" in *'"op":"go","run":"t1"'*) echo '{"id":2,"ok":true}'; echo '{"event":"done","run":"t1"}' ;; esac
echo '{"event":"run","run":"t2"}'
read request; case "$request" in *'"op":"go","run":"t2"'*) echo '{"id":3,"ok":true}'; echo '{"event":"done","run":"t2"}' ;; esac
echo '{"event":"run","run":"t3","attempt_ns":3}'
while read request; do id=${request#*:}; echo '{"id":'"${id%%,*}"',"ok":true}'; done`)
	if err != nil {
		t.Fatal(err)
	}
	j := l.(*job)
	decided.Await(t, "the third term", func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.open["t3"] != nil && len(j.open) == 1
	})
}

// TestLeaderMisbehaviour: what a candidate may say.
func TestLeaderMisbehaviour(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"a lock", hello("") + "sleep 100", `did not declare "leader" in its hello`},
		{"claims of a lock", hello(leaderHello+`,"token":"fencing"`) + "sleep 100", `has "leader" and a claim that only a lock`},
		{"a lease", hello(`,"leader":true,"validity":"from_invocation"`) + "sleep 100", `"validity" "from_invocation"`},
		{"a job", hello(`,"leader":true,"job":"at-least-once"`) + "sleep 100", `"leader" and a claim`},
		{"a tick", hello(leaderHello) + `echo '{"event":"run","run":"a","tick":7}'; sleep 100`, `a term of a leader has none`},
	} {
		l, err := openLeader(t, time.Minute, c.script)
		if err == nil {
			ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
			_, err = l.Acquire(ctx, "k0")
			cancel()
		}
		if !errors.Is(err, adapter.ErrBroken) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
	if l, err := open(t, shell(t, hello(leaderHello)+"sleep 100")); err == nil || !strings.Contains(err.Error(), "not greeted as a candidate") {
		t.Error(l, err)
	}
}
