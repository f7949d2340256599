package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/adapter/skeleton"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

func TestMain(m *testing.M) {
	os.Unsetenv(backends.RedisVar) // the user's
	// these tests mostly wait for leases to end
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	hoststest.Main(m, map[string]func([]string) int{"node": backends.NodeMain})
}

func needPrograms(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		needed.Program(t, name)
	}
}

// bench brings a service up on a network of its own.
func bench(t testing.TB, service, command string, ttl time.Duration) *Bench {
	t.Helper()
	switch service {
	case "redis", "redis-five":
		needPrograms(t, "redis-server")
	case "kubernetes":
		k, _ := backends.Lookup(service)
		needed.Be(t, k.Startable(false))
	case "zookeeper":
		_, java := backends.FindJava()
		needed.Be(t, java)
		_, zookeeper := backends.FindZooKeeper()
		needed.Be(t, zookeeper)
	}
	network, _ := hoststest.Network(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	b := &Bench{Network: network, Service: service, Command: command, Shared: t.TempDir(), TTL: ttl}
	if service == "none" {
		return b
	}
	s, err := backends.Start(ctx, network, backends.Spec{Service: service, Logs: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b.Nodes = s.Addrs()
	for _, n := range s.Nodes {
		b.Hosts = append(b.Hosts, n.Host)
	}
	if k, _ := backends.Lookup(service); k.HasSessions() {
		b.Expire = func(ctx context.Context, at netip.Addr, told adapter.Session) ([]string, error) {
			return s.Expire(ctx, backends.Client{Addr: at, Sessions: []backends.Session{backends.Session(told)}})
		}
	}
	return b
}

// conforms demands that an adapter passes the checks, and that every line of it
// is as the schemas say. It may leave open what met an attempt of its own that was under way: such
// a check is made again.
func conforms(t testing.TB, b *Bench, checks []check) {
	t.Helper()
	lines := newSchemas(t)
	b.Trace = lines.check
	decided.Run(t, func() {
		passed := 0
		var open []string
		err := run(t.Context(), b, checks, func(r Result) {
			switch text := fmt.Sprintf("%s: %s: %s\n%s", r.Check, r.Outcome, r.Text, strings.Join(r.Exchange, "\n")); r.Outcome {
			case Passed:
				passed++
			case NotApplicable:
			case NotShown:
				open = append(open, text)
			default:
				t.Error(text)
			}
		})
		if len(open) > 0 {
			decided.Lacks("an answer: %s", strings.Join(open, "\n"))
		}
		if err != nil || passed < 3 {
			t.Errorf("%d checks passed, %v", passed, err)
		}
	})
}

// stall is how late the machine may be for a complaint to count.
const stall = 50 * time.Millisecond

// schemas hold what is said to docs/schema.
type schemas struct {
	t                     testing.TB
	request, reply, event *jsonschema.Schema
	mu                    sync.Mutex
	seen                  int
}

func newSchemas(t testing.TB) *schemas {
	s := &schemas{t: t}
	for name, to := range map[string]**jsonschema.Schema{"request": &s.request, "reply": &s.reply, "event": &s.event} {
		schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		*to = schema
	}
	t.Cleanup(func() {
		if s.seen == 0 && !t.Skipped() {
			t.Error("no line was looked at")
		}
	})
	return s
}

func (s *schemas) check(_ string, sent bool, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	schema := s.reply
	switch {
	case sent:
		schema = s.request
	case strings.Contains(text, `"event"`):
		schema = s.event
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		s.t.Errorf("%s: %v", text, err)
	}
}

// TestSchemasRefuse: a schema that takes everything would prove nothing.
func TestSchemasRefuse(t *testing.T) {
	s := newSchemas(t)
	s.seen++ // this test looks by itself
	for text, schema := range map[string]*jsonschema.Schema{
		`{"id":1,"ok":true,"tokn":3}`:                      s.reply,
		`{"id":1,"ok":true,"error":"busy"}`:                s.reply,
		`{"id":1,"ok":false}`:                              s.reply,
		`{"ok":true}`:                                      s.reply,
		`{"id":1,"ok":true,"name":"a","validity":"ages"}`:  s.reply,
		`{"id":1,"ok":true,"token":0}`:                     s.reply,
		`{"event":"won","key":"k"}`:                        s.event,
		`{"event":"lost"}`:                                 s.event,
		`{"id":1,"op":"acquire","timeout_ms":1}`:           s.request,
		`{"id":1,"op":"hello","timeout_ms":1,"nodes":[]}`:  s.request,
		`{"id":1,"op":"release","key":"","timeout_ms":10}`: s.request,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if schema.Validate(value) == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// TestSkeletons: what `adapter new` writes passes as it is, in each language
// whose runtime is there.
func TestSkeletons(t *testing.T) {
	for _, l := range skeleton.Languages() {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			needPrograms(t, l.Needs...)
			b := bench(t, "redis", l.Command, 600*time.Millisecond)
			b.Dir = built(t, l)
			conforms(t, b, checks)
		})
	}
}

// built writes a skeleton, and builds it where its language asks for that.
func built(t *testing.T, l skeleton.Language) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := skeleton.Write(l, dir); err != nil {
		t.Fatal(err)
	}
	if l.Build == "" {
		return dir
	}
	build := exec.Command("sh", "-c", l.Build)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", l.Build, err, out)
	}
	return dir
}

// examples is the folder of the real locks.
func examples(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// needModule skips a test where Python lacks a module, wherever the examples look for it.
func needModule(t testing.TB, name string) {
	t.Helper()
	needPrograms(t, "python3")
	look := exec.Command("python3", "-c", "import protocol; protocol.also_from_debian(); import "+name)
	look.Dir = filepath.Join(examples(t), "python")
	needed.Be(t, look.Run())
}

// needCurator skips a test where Curator's jars or a Java compiler are missing.
func needCurator(t testing.TB) {
	t.Helper()
	needPrograms(t, "java", "javac", "flock")
	_, err := os.Stat("/usr/share/java/curator-recipes.jar")
	needed.Be(t, err)
}

// needRedlock skips a test where Node's modules are missing.
func needRedlock(t testing.TB) { needNodeModule(t, "redlock") }

// needNodeModule skips a test where a module of the examples in Node is missing. scripts/setup
// installs them where there is npm, so there they are required.
func needNodeModule(t testing.TB, name string) {
	t.Helper()
	needPrograms(t, "node")
	_, err := os.Stat(filepath.Join(examples(t), "node", "node_modules", name))
	if err == nil {
		return
	}
	if _, npm := exec.LookPath("npm"); npm != nil {
		t.Skipf("%v; and to install it: %v", err, npm)
	}
	needed.Be(t, fmt.Errorf("%w: npm ci --prefix examples/node", err))
}

// fixture is the path of an adapter that is kept for tests.
func fixture(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func needNode(t testing.TB) { t.Helper(); needPrograms(t, "node") }

// needEtcdctl skips a test where etcd's own client is missing: apt-get install etcd-client.
func needEtcdctl(t testing.TB) {
	t.Helper()
	needPrograms(t, "bash", "etcdctl")
}

// goLocks builds the examples in Go into a folder, as `make build` builds lockchaos,
// so that what they have in common is compiled once. What it returns builds the first
// time that it is called, and fails every test that calls it if that can't be done.
func goLocks(t testing.TB, into string) func(testing.TB) {
	source := filepath.Join(examples(t), "go")
	build := sync.OnceValue(func() error {
		for _, args := range [][]string{{"vet", "-trimpath", "./..."}, {"build", "-trimpath", "-o", into + "/", "./..."}} {
			c := exec.Command("go", args...)
			c.Dir, c.Env = source, append(os.Environ(), "CGO_ENABLED=0")
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("%s in %s: %w\n%s", c, c.Dir, err, out)
			}
		}
		return nil
	})
	return func(t testing.TB) {
		t.Helper()
		if err := build(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExamples: real locks, on their real services.
func TestExamples(t *testing.T) {
	built := t.TempDir()
	needGo := goLocks(t, built)
	for _, e := range []struct {
		name, service, command string
		ttl                    time.Duration
		need                   func(testing.TB)
		checks                 []check
	}{
		{"redis-py", "redis", "python3 python/redispy_lock.py", 600 * time.Millisecond,
			func(t testing.TB) { needModule(t, "redis") }, checks},
		// Sessions take long to end: the rest is for LOCKCHAOS_SOAK.
		{"kazoo", "zookeeper", "python3 python/kazoo_lock.py", 4 * time.Second, func(t testing.TB) { needModule(t, "kazoo") },
			some(t, hello, "grants a free key, and takes it back", "excludes a second client", "has tokens that rise",
				"dies with its holder",
				"gives up a wait when it is told to", "tells the session that the service knows")},
		{"curator", "zookeeper", "sh java/curator.sh", 4 * time.Second, needCurator,
			some(t, hello, "excludes a second client", "has tokens that rise", "dies with its holder")},
		{"redlock (Node)", "redis-five", "node node/redlock_lock.js", 600 * time.Millisecond, needRedlock,
			some(t, hello, "grants a free key, and takes it back", "excludes a second client",
				"refuses a second release", "leaves nothing behind when it gives up", "dies with its holder")},
		{"etcd's gateway (Node)", "etcd", "node " + fixture(t, "etcd_lock.js"), 2 * time.Second, needNode,
			some(t, hello, "grants a free key, and takes it back",
				"excludes a second client", "has tokens that rise", "gives up a wait when it is told to",
				"dies with its holder", "tells the session that the service knows")},
		{"etcdctl", "etcd", "bash shell/etcdctl_lock.sh", 2 * time.Second, needEtcdctl,
			some(t, hello, "grants a free key, and takes it back", "excludes a second client", "has tokens that rise",
				"dies with its holder", "tells the session that the service knows")},
		{"bsm/redislock (Go)", "redis", built + "/redislock", 600 * time.Millisecond, needGo, checks},
		{"redsync (Go)", "redis-five", built + "/redsync", 600 * time.Millisecond, needGo, checks},
		{"etcd (Go)", "etcd", built + "/etcd", 2 * time.Second, needGo,
			some(t, hello, "grants a free key, and takes it back", "answers held", "excludes a second client", "has tokens that rise",
				"leaves nothing behind when it gives up", "loses what expired while it was frozen",
				"tells the session that the service knows")},
		{"flock", "none", "bash shell/flock_lock.sh", time.Second, func(t testing.TB) { needPrograms(t, "bash", "flock") }, checks},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			e.need(t)
			if os.Getenv("LOCKCHAOS_SOAK") != "" {
				e.checks = checks
			}
			clienttest.Calmly(t, stall, func(t testing.TB) {
				b := bench(t, e.service, e.command, e.ttl)
				b.Dir = examples(t)
				conforms(t, b, e.checks)
			})
		})
	}
}

// some are the checks of these names.
func some(t testing.TB, names ...string) []check {
	t.Helper()
	return someOf(t, checks, names...)
}

// someOf are those of the checks that are named.
func someOf(t testing.TB, all []check, names ...string) (out []check) {
	t.Helper()
	for _, name := range names {
		i := slices.IndexFunc(all, func(c check) bool { return c.name == name })
		if i < 0 {
			t.Fatalf("there is no check %q", name)
		}
		out = append(out, all[i])
	}
	return out
}

// TestMutants: each mistake in an adapter is told by the check that is about
// it, with the exchange that shows it, and with what to do.
func TestMutants(t *testing.T) {
	needPrograms(t, "python3")
	for _, m := range []struct {
		name, from, to string
		check          string
		outcome        Outcome
		want           string
	}{
		{"no name", `"name": "my-lock 0.1",`, ``, hello, Broke, `"name" is ""`},
		{"a misspelt claim", `"confirms": [`, `"confirmes": [`, hello, Broke, `unknown member "confirmes"`},
		{"daemon", `def main():`, "def main():\n    __import__('subprocess').Popen(['sleep', '100'], start_new_session=True)", hello, Broke, "has left the adapter's process group"},
		{"daemon of a grant", `def acquire(self`,
			"def acquire(self, *args):\n        __import__('subprocess').Popen(['sleep', '100'], start_new_session=True)\n        return self.take(*args)\n\n    def take(self", granting, Broke, "has left the adapter's process group"},
		{"forks and goes", `def main():`, `def main():
    if os.fork():
        sys.exit()
    try:
        while True:
            os.kill(os.getpgrp(), 0)
    except ProcessLookupError:
        pass`, hello, Broke, "ended, and what it started goes on in its place"},
		{"prints", `lock = Lock(request)`, `lock = Lock(request); print("connected")`, hello, Broke,
			`printed "connected", which is no JSON object`},
		{"crashes", `lock = Lock(request)`, `import redislite_that_nobody_has`, hello, Broke,
			`answered hello with the error "unknown": ModuleNotFoundError`},
		{"ok to what it does not know", `raise Failure("unsupported")`, `return {}`,
			"declares that an op is unsupported", Failed, "asked for frobnicate, which it does not declare, it said ok"},
		{"no token", `return {"token": token, `, `return {`, "grants a free key, and takes it back", Broke, "granted without a token"},
		{"stamps of another clock", `now_ns = time.monotonic_ns`, `now_ns = time.time_ns`,
			"grants a free key, and takes it back", Broke, "must be a reading of CLOCK_MONOTONIC"},
		{"held without asking", `!= 1:
            raise Failure("not_held")
        return {}

    def renew`, `== 2:
            raise Failure("not_held")
        return {}

    def renew`, "answers held", Failed, "after its release"},
		{"no held", `def held(`, `def no_held(`, "answers held", Failed, `says "unsupported" to held`},
		{"release of nothing", `self.values.get(key, "")], time.monotonic() + timeout) != 1:
            raise Failure("not_held")
        self.values.pop`, `self.values.get(key, "")], time.monotonic() + timeout) == 2:
            raise Failure("not_held")
        self.values.pop`, "refuses a second release", Failed, "for the second time"},
		{"no exclusion", `'NX', `, ``, "excludes a second client", Failed, "while another client held it"},
		{"busy is unknown", `raise Failure("busy")`, `raise TimeoutError()`, "excludes a second client", NotShown,
			`which another client held, and said "unknown"`},
		{"can't wait", "            if token and now_ns()",
			"            if not token:\n                raise TypeError()\n            if token and now_ns()",
			"excludes a second client", Failed, "long before its time was over"},
		{"not_held is unknown", `raise Failure("not_held")`, `raise TimeoutError()`, "answers held", NotShown,
			`says "unknown" (TimeoutError()) to held of`},
		{"knows nothing of a release", "self.values.pop(key, None)\n        return {}", "raise TimeoutError()",
			"has tokens that rise", NotShown, `released k`},
		{"grants nothing for certain", "            if token and now_ns()",
			"            raise TimeoutError()\n            if token and now_ns()", granting, NotShown, "three times, which nobody holds"},
		{"tokens that fall", `return {"token": token,`, `return {"token": 1000 - token,`, "has tokens that rise", Failed, ", after c"},
		{"no TTL", `'NX', 'PX', ARGV[2])`, `'NX')`, "dies with its holder", Failed, " was killed, and "},
		{"delete without comparing", `FREE = """if redis.call('GET', KEYS[1]) == ARGV[1] then`,
			`FREE = """if true then`, "loses what expired while it was frozen", Failed, " had been granted it"},
		{"notices nothing alone", `"name": "my-lock 0.1",`,
			`"name": "my-lock 0.1", "lost_grace_ms": 500, "notices": "alone",`,
			"notices by its own clock that it is cut off", Failed, "its lock told of no loss"},
		{"timeout is busy", `raise TimeoutError("an attempt`, `raise Failure("busy") #`,
			"leaves open what a frozen service did not answer", Failed, `was answered "busy" while the service was frozen`},
		{"does not end", `        send(reply)

`, `        send(reply)
    time.sleep(100)

`, "closes and ends", Failed, "it did not end within"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := changedSkeleton(t, m.from, m.to)
			clienttest.Calmly(t, stall, func(t testing.TB) {
				b := bench(t, "redis", "python3 "+path, time.Second)
				b.Slack = 3 * time.Second // what never comes need not be waited for
				var got *Result
				err := run(t.Context(), b, some(t, hello, m.check), func(r Result) {
					if r.Check == m.check {
						got = &r
					} else if r.Outcome != Passed {
						t.Errorf("%+v", r)
					}
				})
				if err != nil || got == nil {
					t.Fatalf("%+v, %v", got, err)
				}
				if got.Outcome != m.outcome || !strings.Contains(got.Text, m.want) || len(got.Exchange) == 0 {
					t.Errorf("%s: %s\n%s\nwant %s: %s", got.Outcome, got.Text, strings.Join(got.Exchange, "\n"), m.outcome, m.want)
				}
			})
		})
	}
}

// TestLateAnswers: an adapter that is late once may have stood still with its machine. One that is
// late again and again is slow.
func TestLateAnswers(t *testing.T) {
	needPrograms(t, "python3")
	for _, c := range []struct {
		name, late string
		outcome    Outcome
	}{
		{"once", "if not os.path.exists('late'): open('late', 'w').close(); time.sleep(3)", Passed},
		{"each time", "time.sleep(3)", Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const head = "    def acquire(self, key, timeout):\n"
			path := changedSkeleton(t, head, head+"        "+c.late+"\n")
			clienttest.Calmly(t, stall, func(t testing.TB) {
				b := bench(t, "redis", "python3 "+path, 4*time.Second)
				b.Dir, b.Slack = t.TempDir(), time.Second
				var got Result
				err := run(t.Context(), b, some(t, hello, granting), func(r Result) { got = r })
				if err != nil || got.Check != granting || got.Outcome != c.outcome ||
					c.outcome == Failed && !strings.Contains(got.Text, "only: nobody held it") {
					t.Errorf("%+v, %v", got, err)
				}
			})
		})
	}
}

// TestFixedLease: a lock whose lease can't be set is tried with that, if no TTL
// was given. It is not tried with another one.
func TestFixedLease(t *testing.T) {
	needPrograms(t, "python3")
	const lease = 4 * time.Second
	path := changedSkeleton(t, `"name": "my-lock 0.1",`, `"name": "my-lock 0.1", "lease_ms": 4000,`, `hello["ttl_ms"]`, `4000`)
	clienttest.Calmly(t, stall, func(t testing.TB) {
		b := bench(t, "redis", "python3 "+path, 0)
		// a lease of a second is over long before that of the lock
		b.Usual, b.Slack = time.Second, 2*time.Second
		var said string
		err := run(t.Context(), b, some(t, hello, "dies with its holder", "loses what expired while it was frozen"), func(r Result) {
			said += r.Text
			if r.Outcome != Passed {
				t.Errorf("%+v", r)
			}
		})
		if err != nil || b.TTL != lease || said != "its lease can't be set, so the TTL is 4s from now on" {
			t.Errorf("%v, TTL %v, said %q", err, b.TTL, said)
		}
	})
	b := bench(t, "redis", "python3 "+path, 2*time.Second)
	err := run(t.Context(), b, some(t, hello), func(r Result) { t.Errorf("%+v", r) })
	if other, ok := errors.AsType[*adapter.LeaseError](err); !ok || *other != (adapter.LeaseError{Lease: lease, Given: 2 * time.Second}) {
		t.Error(err)
	}
}

// TestWrongSession: a lock that tells another session than that of its grant is found out.
func TestWrongSession(t *testing.T) {
	needEtcdctl(t)
	const check = "tells the session that the service knows"
	text, err := os.ReadFile(filepath.Join(examples(t), "shell", "etcdctl_lock.sh"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "lock.sh")
	mutant := strings.Replace(string(text), `session=${line#*: }`, `session=77`, 1)
	if err := os.WriteFile(path, []byte(mutant), 0o644); err != nil || mutant == string(text) {
		t.Fatalf("the adapter does not read its session (%v)", err)
	}
	clienttest.Calmly(t, stall, func(t testing.TB) {
		var got Result
		err = run(t.Context(), bench(t, "etcd", "bash "+path, 2*time.Second), some(t, hello, check), func(r Result) { got = r })
		if err != nil || got.Check != check || got.Outcome != Failed ||
			!strings.Contains(got.Text, "with session 0x4d, and the service knows of no such session") {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestUnclaimedOps: an op that an adapter can, and whose ok it does not call a
// proof, is not held against it.
func TestUnclaimedOps(t *testing.T) {
	needPrograms(t, "python3")
	const from, to = `"confirms": ["release", "held", "renew"],`, `"can": ["renew"],`
	path := changedSkeleton(t, from, to, `EXTEND = """if redis.call('GET', KEYS[1]) == ARGV[1] then return`,
		`EXTEND = """if true then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1`,
		"def held(", "def no_held(", " redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0", " end return 0")
	checks := some(t, hello, "answers renew", "loses what expired while it was frozen")
	clienttest.Calmly(t, stall, func(t testing.TB) {
		var got []Result
		if err := run(t.Context(), bench(t, "redis", "python3 "+path, time.Second), checks,
			func(r Result) { got = append(got, r) }); err != nil {
			t.Fatal(err)
		}
		for _, r := range got[1:] {
			if r.Outcome != NotShown || !strings.Contains(r.Text, "says ok to renew of") ||
				!strings.Contains(r.Advice, "that is a defect of the library") || len(r.Exchange) == 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}

// changedSkeleton writes the skeleton of a lock in Python with texts replaced by others,
// and returns its path.
func changedSkeleton(t testing.TB, fromTo ...string) string {
	t.Helper()
	return changed(t, "", fromTo...)
}

// changed is changedSkeleton for an adapter of the kind.
func changed(t testing.TB, kind string, fromTo ...string) string {
	t.Helper()
	python, _ := skeleton.Lookup("python")
	python = python.Of(kind)
	dir := t.TempDir()
	if err := skeleton.Write(python, dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, python.File)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := string(text)
	for i := 0; i < len(fromTo); i += 2 {
		if !strings.Contains(changed, fromTo[i]) {
			t.Fatalf("the skeleton has no %q", fromTo[i])
		}
		changed = strings.Replace(changed, fromTo[i], fromTo[i+1], 1)
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMutantsWithReaders: flock(1), with one mistake in what it does for readers and writers.
func TestMutantsWithReaders(t *testing.T) {
	needPrograms(t, "bash", "flock")
	const check = "lets readers in together, and a writer alone"
	text, err := os.ReadFile(filepath.Join(examples(t), "shell", "flock_lock.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct{ name, from, to, want string }{
		{"readers exclude each other", "mode=-s", "mode=-x", "as a reader beside another reader"},
		{"writers share", "mode=-x", "mode=-s", "while another client held it"},
		{"a reader beside a writer", `if flock`, `if [ "$mode" = -s ] || flock`, "while another client held it"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			mutant := strings.Replace(string(text), m.from, m.to, 1)
			path := filepath.Join(t.TempDir(), "lock.sh")
			if err := os.WriteFile(path, []byte(mutant), 0o644); err != nil || mutant == string(text) {
				t.Fatalf("the adapter has no %q (%v)", m.from, err)
			}
			clienttest.Calmly(t, stall, func(t testing.TB) {
				b := bench(t, "none", "bash "+path, time.Second)
				b.Slack = 3 * time.Second // what never comes need not be waited for
				var got Result
				err := run(t.Context(), b, some(t, hello, check), func(r Result) { got = r })
				if err != nil || got.Check != check || got.Outcome != Failed || !strings.Contains(got.Text, m.want) {
					t.Errorf("%+v, %v; want %q", got, err, m.want)
				}
			})
		})
	}
}

// TestMutantsWithSets: a lock that takes several keys at once, and is then made
// to have one mistake in that.
func TestMutantsWithSets(t *testing.T) {
	needPrograms(t, "python3")
	const check = "takes several keys together or none"
	text, err := os.ReadFile(filepath.Join("testdata", "sets.py"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct{ name, from, to, want string }{
		{"none", "", "", ""},
		{"takes the first", `r.get("keys", [r["key"]])`, `[r["key"]]`, "while another client held it"},
		{"does not look at all", "if any(os.path.exists(path(key)) for key in keys)",
			"if os.path.exists(path(keys[0]))", "together, while another client held"},
		{"keeps what it has got", "if any(os.path.exists(path(key)) for key in keys):\n        return False\n    for key in keys:\n        open", "for key in keys:\n        if os.path.exists(path(key)):\n            return False\n        open", "was not granted it"},
		{"gives back the first", "for key in keys:\n        os.remove", "for key in keys[:1]:\n        os.remove", "was not granted it"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			mutant := strings.Replace(string(text), m.from, m.to, 1)
			if m.name == "does not look at all" {
				mutant = strings.Replace(mutant, `"x"`, `"w"`, 1)
			}
			path := filepath.Join(t.TempDir(), "sets.py")
			if err := os.WriteFile(path, []byte(mutant), 0o644); err != nil || m.from != m.to && mutant == string(text) {
				t.Fatalf("the adapter has no %q (%v)", m.from, err)
			}
			clienttest.Calmly(t, stall, func(t testing.TB) {
				b := bench(t, "none", "python3 "+path, time.Second)
				var got Result
				err := run(t.Context(), b, some(t, hello, check), func(r Result) { got = r })
				want := Passed
				if m.want != "" {
					want = Failed
				}
				if err != nil || got.Check != check || got.Outcome != want || !strings.Contains(got.Text, m.want) {
					t.Errorf("%+v, %v; want %q", got, err, m.want)
				}
			})
		})
	}
}

// TestMissingStampsAreTold: an adapter need not tell when its attempts began;
// what that costs is said.
func TestMissingStampsAreTold(t *testing.T) {
	needPrograms(t, "python3")
	path := changedSkeleton(t, `, "first_ns": first or began}`, `}`)
	clienttest.Calmly(t, stall, func(t testing.TB) {
		var got Result
		err := run(t.Context(), bench(t, "redis", "python3 "+path, time.Second),
			some(t, hello, granting, "tells when its attempts began"), func(r Result) { got = r })
		if err != nil || got.Outcome != NotApplicable || !strings.Contains(got.Text, "grants come without first_ns") {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
