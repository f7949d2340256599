//go:build linux

package external

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/decided"
	"golang.org/x/sys/unix"
)

// shell writes an adapter as a shell script, and returns its command line.
func shell(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock.sh")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return "exec sh " + path
}

func open(t *testing.T, command string) (clients.Lock, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), decided.Limit)
	t.Cleanup(cancel)
	l, err := Open(ctx, clients.Config{TTL: time.Second, Client: 3, Seed: 1 << 63, Nodes: []string{"10.0.0.1:1"},
		Account: &clients.Account{User: "u", Password: "p", Database: "0"}, Adapter: &clients.Adapter{Command: command, Service: "redis"}})
	if err == nil {
		t.Cleanup(func() {
			inner(l).conn.Expect()
			now, cancel := context.WithTimeout(ctx, 0)
			defer cancel()
			_ = inner(l).process.end(now) // most of them can't close
		})
	}
	return l, err
}

// inner takes the lock out of the type that has its abilities.
func inner(l clients.Lock) *lock {
	switch l := l.(type) {
	case askable:
		return l.lock
	case renewable:
		return l.lock
	case both:
		return l.lock
	}
	return l.(*lock)
}

// hello answers the first request, with more members if there are any.
func hello(more string) string {
	return `read request; echo "$request" >&2; echo '{"id":1,"ok":true,"name":"sh 1"` + more + `}'` + "\n"
}

const closing = `read request; echo '{"id":3,"ok":true}'` + "\n"

// TestAbilities: a lock has the methods of what its adapter declares, and no others.
func TestAbilities(t *testing.T) {
	for _, c := range []struct {
		says        string
		held, renew bool
	}{{``, false, false}, {`,"confirms":["release"]`, false, false}, {`,"can":["held"]`, true, false},
		{`,"confirms":["renew"]`, false, true}, {`,"can":["renew","held"]`, true, true}} {
		l, err := open(t, shell(t, hello(c.says)+`read request; echo '{"id":2,"ok":true}'`))
		if err != nil {
			t.Fatal(err)
		}
		_, held := l.(clients.Holder)
		_, renew := l.(clients.Renewer)
		if held != c.held || renew != c.renew {
			t.Errorf("%s: held %t, renew %t", c.says, held, renew)
		}
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// TestAccountInHello: the hello tells whom an adapter may log in as.
func TestAccountInHello(t *testing.T) {
	_, err := open(t, shell(t, `read request; case "$request" in *'"account":{"user":"u","password":"p","database":"0"}'*) echo '{"id":1,"ok":true,"name":"sh 1"}' ;; esac; sleep 100`))
	if err != nil {
		t.Fatal(err)
	}
}

// TestReadersAndWriters: an acquire has a mode if the adapter declares read_write, and else none.
func TestReadersAndWriters(t *testing.T) {
	modes := `answer() { case "$request" in *'"mode":"'$2'"'*) echo '{"id":'$1',"ok":true}' ;; *) echo '{"id":'$1',"ok":false,"error":"busy"}' ;; esac; }
read request; answer 2 read
read request; answer 3 write
` + closing
	l, err := open(t, shell(t, hello(`,"read_write":true`)+modes))
	if err != nil {
		t.Fatal(err)
	}
	if !l.(clients.Declarer).Declares().Claims.ReadWrite {
		t.Error("it does not declare readers")
	}
	if _, err := l.(clients.ReadLocker).AcquireRead(t.Context(), "k0"); err != nil {
		t.Errorf("as a reader: %v", err)
	}
	if _, err := l.Acquire(t.Context(), "k1"); err != nil {
		t.Errorf("as a writer: %v", err)
	}
	without := `read request; case "$request" in *mode*) echo '{"id":2,"ok":false,"error":"busy"}' ;; *) echo '{"id":2,"ok":true}' ;; esac` + "\n" + closing
	if l, err = open(t, shell(t, hello("")+without)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.(clients.ReadLocker).AcquireRead(t.Context(), "k0"); !errors.Is(err, clients.ErrUnsupported) {
		t.Errorf("a reader of a lock without readers: %v", err)
	}
	if _, err := l.Acquire(t.Context(), "k0"); err != nil {
		t.Errorf("without a mode: %v", err)
	}
}

// TestSeveralPermits: an acquire says how many permits it asks for if the
// adapter declares permits_per_acquire, and else nothing.
func TestSeveralPermits(t *testing.T) {
	asks := `answer() { case "$request" in *'"permits":'$2*) echo '{"id":'$1',"ok":true}' ;; *) echo '{"id":'$1',"ok":false,"error":"busy"}' ;; esac; }
read request; answer 2 1
read request; answer 3 2
read request; echo '{"id":4,"ok":true}'
`
	l, err := open(t, shell(t, hello(`,"permits":3,"permits_per_acquire":2`)+asks))
	if err != nil {
		t.Fatal(err)
	}
	if c := l.(clients.Declarer).Declares().Claims; c.PerAcquire != 2 {
		t.Errorf("claims %+v", c)
	}
	several := l.(clients.PermitLocker)
	if _, err := l.Acquire(t.Context(), "k0"); err != nil {
		t.Errorf("one: %v", err)
	}
	if _, err := several.AcquirePermits(t.Context(), "k1", 2); err != nil {
		t.Errorf("two: %v", err)
	}
	if _, err := several.AcquirePermits(t.Context(), "k2", 3); !errors.Is(err, clients.ErrUnsupported) {
		t.Errorf("more than it declares: %v", err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSets: an acquire of several keys names them all, and what is asked about
// its grant names the first.
func TestSets(t *testing.T) {
	asks := `answer() { case "$request" in *"$2"*) echo '{"id":'$1',"ok":true}' ;; *) echo '{"id":'$1',"ok":false,"error":"'"$request"'"}' ;; esac; }
read request; answer 2 '"key":"k1","keys":["k1","k0"],"timeout_ms"'
echo '{"event":"lost","key":"k0","grant":2,"why":"gone"}'
read request; answer 3 '"op":"release","key":"k1","grant":2,"timeout_ms"'
read request; answer 4 '"op":"acquire","key":"k0","timeout_ms"'
read request; echo '{"id":5,"ok":true}'
`
	l, err := open(t, shell(t, hello(`,"multi_key":2`)+asks))
	if err != nil {
		t.Fatal(err)
	}
	sets := l.(clients.SetLocker)
	if _, err := sets.AcquireSet(t.Context(), []string{"k0", "k1", "k2"}); !errors.Is(err, clients.ErrUnsupported) {
		t.Errorf("more than it declares: %v", err)
	}
	g, err := sets.AcquireSet(t.Context(), []string{"k1", "k0"})
	if err != nil {
		t.Fatalf("two: %v", err)
	}
	if loss := <-l.(clients.Watcher).Lost(); loss.Key != "k0" {
		t.Errorf("lost %+v", loss)
	}
	if err := l.Release(t.Context(), g); err != nil {
		t.Errorf("release: %v", err)
	}
	if _, err := l.Acquire(t.Context(), "k0"); err != nil {
		t.Errorf("one: %v", err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDeclares(t *testing.T) {
	l, err := open(t, shell(t, hello(`,"validity":"session","token":"version","confirms":["held"],"lost_grace_ms":20,"notices":"alone","tolerates":"minority","abandons_ms":30,"fair":true,"permits":3,"no_expiry":true,"lease_ms":15000`)+"sleep 100"))
	if err != nil {
		t.Fatal(err)
	}
	d := l.(clients.Declarer).Declares()
	c := d.Claims
	if d.Name != "sh 1" || c.Validity != "session" || c.Token != "version" ||
		!slices.Equal(c.Confirms, []string{"held"}) || c.LostGrace != int64(20*time.Millisecond) || c.Notices != "alone" ||
		c.Tolerates != "minority" || c.Abandons != int64(30*time.Millisecond) || !c.Fair || c.Permits != 3 ||
		!c.NoExpiry || d.Lease != 15*time.Second {
		t.Errorf("%+v", d)
	}
}

// TestSessions: what the adapter tells of its sessions is passed on, each once.
func TestSessions(t *testing.T) {
	var told []clients.Session
	command := shell(t, hello(`,"sessions":true,"session":"0x7:0aff"`)+`read request; echo '{"id":2,"ok":true,"session":"7:0aff"}'
read request; echo '{"id":3,"ok":false,"error":"busy","session":"8"}'
read request; echo '{"id":4,"ok":true}'; sleep 100`)
	l, err := Open(t.Context(), clients.Config{Adapter: &clients.Adapter{Command: command},
		Opened: func(s clients.Session) { told = append(told, s) }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(context.Background())
	if _, err := l.Acquire(t.Context(), "k0"); err != nil {
		t.Error(err)
	}
	if _, err := l.Acquire(t.Context(), "k1"); !errors.Is(err, clients.ErrBusy) {
		t.Error(err)
	}
	if len(told) != 2 || told[0].ID != 7 || string(told[0].Password) != "\n\xff" || told[1].ID != 8 ||
		!l.(clients.Declarer).Declares().Sessions {
		t.Errorf("%+v", told)
	}
	if _, err := l.Acquire(t.Context(), "k2"); !errors.Is(err, adapter.ErrBroken) ||
		!strings.Contains(err.Error(), "granted without a session") {
		t.Error(err)
	}
}

// TestGivingUp: an adapter that can is told when the application gives its wait
// up; another is not, and goes on to its time limit.
func TestGivingUp(t *testing.T) {
	script := `read request; read -t 1 next
case "$next" in '{"id":2,"op":"cancel"}') echo '{"id":2,"ok":false,"error":"busy","text":"told"}' ;; *) echo '{"id":2,"ok":false,"error":"busy","text":"not told"}' ;; esac
` + closing
	for says, want := range map[string]string{`,"can":["cancel"]`: "busy: told", "": "busy: not told"} {
		l, err := open(t, "exec bash "+strings.TrimPrefix(shell(t, hello(says)+script), "exec sh "))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := l.Acquire(ctx, "k0"); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", says, err, want)
		}
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// TestErrors: the words that are definite are so as answers to what they
// answer, and to nothing else.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		acquire  string
		want     error
		definite bool
	}{{"busy", clients.ErrBusy, true}, {"unsupported", clients.ErrUnsupported, true}, {"not_held", nil, false}, {"unknown", nil, false}} {
		l, err := open(t, shell(t, hello("")+`read request; echo '{"id":2,"ok":false,"error":"`+c.acquire+
			`","text":"so it is"}'; `+closing))
		if err != nil {
			t.Fatal(err)
		}
		g, err := l.Acquire(context.Background(), "k0")
		if err == nil || clients.Definite(err) != c.definite || c.want != nil && !errors.Is(err, c.want) ||
			!strings.Contains(err.Error(), "so it is") || g.First == 0 {
			t.Errorf("%s: %v, %+v", c.acquire, err, g)
		}
	}
}

// TestLost: an event reaches the application when it is of the present grant;
// one of an older grant does not.
func TestLost(t *testing.T) {
	l, err := open(t, shell(t, hello(`,"validity":"session"`)+`
read request; echo '{"id":2,"ok":true}'
read request; echo '{"id":3,"ok":true}'
read request; echo '{"id":4,"ok":true}'; echo '{"event":"lost","key":"k0","grant":2}'; echo '{"event":"lost","key":"k9"}'; echo '{"event":"lost","key":"k0","grant":4,"why":"now"}'
read request; echo '{"id":5,"ok":true}'`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), decided.Limit)
	defer cancel()
	g, err := l.Acquire(ctx, "k0")
	if err != nil || g.Attempt != 0 || g.First == 0 {
		t.Fatalf("%+v, %v", g, err)
	}
	if err := l.Release(ctx, g); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(ctx, "k0"); err != nil {
		t.Fatal(err)
	}
	select {
	case loss := <-l.(clients.Watcher).Lost():
		if loss.Why != "now" || loss.Key != "k0" {
			t.Errorf("%+v", loss)
		}
	case <-ctx.Done():
		t.Error("nobody told")
	}
}

// TestBlind: where the adapter's clock may be wrong, what it read there is not
// used; elsewhere a stamp outside the call is refused.
func TestBlind(t *testing.T) {
	command := shell(t, hello("")+`read request; echo '{"id":2,"ok":true,"attempt_ns":5}'; `+closing)
	l, err := Open(context.Background(), clients.Config{Adapter: &clients.Adapter{Command: command, ClockFaults: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(context.Background())
	if g, err := l.Acquire(context.Background(), "k0"); err != nil || g.Attempt != 0 || g.First == 0 {
		t.Errorf("%+v, %v", g, err)
	}
	if l, err = open(t, command); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(context.Background(), "k0"); !errors.Is(err, adapter.ErrBroken) ||
		!strings.Contains(err.Error(), "attempt_ns 5, which is not between the request") {
		t.Error(err)
	}
}

// TestMisbehaviour: what an adapter does is told by name, and nothing of it is left running.
func TestMisbehaviour(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"exits at once", "echo no such module >&2; exit 7",
			"ended (exit status 7) before it had answered hello (request 1); the end of its standard error:\n\tno such module"},
		{"is no program", "exec /no/such/program", "ended (exit status 127)"},
		{"dies", hello("") + "read request; kill -9 $$", "ended (signal: killed) before it had answered acquire (request 2)"},
		{"prints megabytes", hello("") + "read request; head -c 5000000 /dev/zero | tr '\\0' x; sleep 100",
			"printed a line longer than 1024 KiB"},
		{"prints what is no message", hello("") + "read request; yes connecting", `printed "connecting", which is no JSON object`},
		{"prints invalid UTF-8", hello("") + "read request; printf '\\377\\n'; sleep 100", "is not valid UTF-8"},
		{"answers twice", hello("") + `echo '{"id":1,"ok":true}'; sleep 100`, "answers request 1 twice"},
		{"answers with a wrong id", hello("") + `read request; echo '{"id":99,"ok":true}'; sleep 100`,
			"answers request 99, which was never made"},
		{"refuses the hello", `read request; echo '{"id":1,"ok":false,"error":"sorry"}'; sleep 100`,
			`answered hello with the error "sorry"`},
		{"forks into another session", "f=$(mktemp -u); setsid sh -c \"touch $f; sleep 100\" & until [ -e $f ]; do sleep 0.01; done; rm $f\n" + hello("") + "sleep 100", ") has left the client's process group"},
		{"forks and goes", "sleep 100 & exit 0", "what it started holds its output open"},
		{"closes its output", hello("") + "read request; exec >&-; sleep 100", "closed its standard output"},
		{"a token from nowhere", hello("") + `read request; echo '{"id":2,"ok":true,"token":4}'; sleep 100`,
			"granted with token 4, and declared in its hello to have none"},
		{"no token", hello(`,"token":"fencing"`) + `read request; echo '{"id":2,"ok":true}'; sleep 100`,
			"granted without a token, and declared in its hello that it has one (fencing)"},
		{"no validity", hello(`,"validity":"library"`) + `read request; echo '{"id":2,"ok":true}'; sleep 100`,
			`without valid_for_ms, and declared validity "library"`},
		{"a validity from nowhere", hello("") + `read request; echo '{"id":2,"ok":true,"valid_for_ms":4}'; sleep 100`,
			`with valid_for_ms, and did not declare validity "library"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), decided.Limit)
			defer cancel()
			l, err := open(t, shell(t, c.script))
			for err == nil { // what comes unasked is told at the next op
				_, err = l.Acquire(ctx, "k0")
			}
			if !errors.Is(err, adapter.ErrBroken) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if l != nil {
				if closed := l.Close(ctx); closed == nil || closed.Error() != err.Error() {
					t.Errorf("close: %v", closed)
				}
			}
			decided.Await(t, "all of it is gone", func() bool {
				left, err := descendants(os.Getpid())
				return err == nil && len(left) == 0
			})
		})
	}
}

// TestCloseKills: an adapter that does not end with its input is killed, with what it started.
func TestCloseKills(t *testing.T) {
	l, err := open(t, shell(t, hello("")+`read request; echo '{"id":2,"ok":true}'; sleep 100 & sleep 100`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		t.Error(err)
	}
	decided.Await(t, "all of it is gone", func() bool {
		left, err := descendants(os.Getpid())
		return err == nil && len(left) == 0
	})
}

// TestSameGroup: the adapter, and what it starts, are in the group of the
// process that opened it, where faults strike.
func TestSameGroup(t *testing.T) {
	if _, err := open(t, shell(t, "sleep 100 & "+hello("")+"sleep 100")); err != nil {
		t.Fatal(err)
	}
	var family []proc
	decided.Await(t, "the shell has started both", func() (all bool) {
		var err error
		family, err = descendants(os.Getpid())
		return err == nil && len(family) >= 3
	})
	for _, p := range family {
		if p.group != unix.Getpgrp() {
			t.Errorf("%+v is not in group %d", p, unix.Getpgrp())
		}
	}
}

func TestParseStat(t *testing.T) {
	if p, alive := parseStat(7, "7 (a) b) (c) S 3 4 4 0"); !alive || p != (proc{7, 3, 4, "a) b) (c"}) {
		t.Errorf("%+v", p)
	}
	for _, text := range []string{"", "7 (x", ") (", "7 (x) Z 3 4", "7 (x) S", "7 (x) S three 4"} {
		if p, alive := parseStat(7, text); alive {
			t.Errorf("%q: %+v", text, p)
		}
	}
}

func TestLogIsBounded(t *testing.T) {
	var sent strings.Builder
	l := NewTail(&sent)
	part := strings.Repeat("x", 1<<20)
	for range 40 {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := l.Write([]byte("the\xff end")); err != nil {
		t.Fatal(err)
	}
	if sent.Len() > logLimit+200 || !strings.Contains(sent.String(), "the rest is left out") ||
		!strings.HasSuffix(l.String(), "the? end") || len(l.String()) > logTail {
		t.Errorf("%d bytes, and kept %d", sent.Len(), len(l.String()))
	}
}

// TestNothingBeforeContext: with a context that is over nothing is sent.
func TestNothingBeforeContext(t *testing.T) {
	l, err := open(t, shell(t, hello("")+`read request; echo '{"id":2,"ok":true}'; read request; echo '{"id":3,"ok":true}'; read request`))
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Acquire(over, "k0"); err == nil || clients.Definite(err) || errors.Is(err, adapter.ErrBroken) {
		t.Error(err)
	}
	g, err := l.Acquire(context.Background(), "k0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(over, g); err == nil || clients.Definite(err) {
		t.Error(err)
	}
	if err := l.Release(context.Background(), clients.Grant{Key: "k0", Secret: "nobody's"}); !errors.Is(err, clients.ErrNotHeld) {
		t.Error(err)
	}
	if err := l.Release(context.Background(), g); err != nil {
		t.Error(err)
	}
}

func TestMain(m *testing.M) {
	if _, err := exec.LookPath("setsid"); err != nil {
		panic(err) // util-linux is everywhere
	}
	os.Exit(m.Run())
}
