package conformance

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
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
	needed.Apart(t, "TestSkeletons stands for other programs")
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
