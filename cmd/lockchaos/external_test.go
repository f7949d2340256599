package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// ownHost is an address of the loopback that no other process listens on: what
// another package's tests start there can't be taken for a server of this one.
var ownHost = fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()>>16&127, os.Getpid()>>8&255, os.Getpid()&255)

// ownRedis starts a redis-server in the tests' own network, as a user's would
// run there, and returns its address.
func ownRedis(t *testing.T, password string) string {
	t.Helper()
	return ownServer(t, func(port string) *exec.Cmd {
		return exec.Command(needed.Program(t, "redis-server"), "--port", port, "--bind", ownHost, "--save", "", "--dir",
			t.TempDir(), "--requirepass", password)
	})
}

// ownServer starts a server on the loopback, and returns its address when somebody listens there.
func ownServer(t *testing.T, at func(port string) *exec.Cmd) string {
	t.Helper()
	for range 5 { // a port that was free may be taken by now
		port := probetest.FreePort(t)
		addr := net.JoinHostPort(ownHost, port)
		var log bytes.Buffer
		cmd := at(port)
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		if answers(addr, ended) {
			t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
			return addr
		}
		_ = cmd.Process.Kill()
		<-ended
		t.Logf("%s at %s: %s", cmd.Path, addr, log.String())
	}
	t.Fatal("the server does not start")
	return ""
}

// answers waits until somebody listens at the address, or the process has ended.
func answers(addr string, ended <-chan struct{}) bool {
	limit := time.After(decided.Limit)
	for {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return true
		}
		select {
		case <-ended:
			return false
		case <-limit:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// program is a link to this test program under the name by which testscript knows it.
func program(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "lockchaos")
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// said runs the command and returns its exit status and what it said.
func said(t *testing.T, env []string, lockchaos string, args ...string) (code int, text string) {
	t.Helper()
	cmd := exec.Command(lockchaos, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// leaks lists the files of a folder that hold a secret.
func leaks(t *testing.T, dir, secret string) (files []string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if seen++; bytes.Contains(text, []byte(secret)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil || seen < 5 {
		t.Fatalf("%d files in %s: %v", seen, dir, err)
	}
	return files
}

// A redis-server of the user's own, with a password: clients reach it through a relay, faults
// of clients and of their links bite as elsewhere, and the password is written nowhere.
func TestExternalRedis(t *testing.T) {
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	const password = "s3cret/pass w0rd"
	addr := ownRedis(t, password)
	lockchaos := program(t)
	decided.Run(t, func() { externalRedis(t, lockchaos, addr) })
	if code, text := said(t, nil, lockchaos, "run", "redis-setnx/none/unfenced", "--runtime", "external", "--nodes",
		"redis=redis://:wrongpassword@"+addr, "--out", t.TempDir()); code != exit.Failed ||
		!strings.Contains(text, "redis-1 at redis://"+addr+": log in: WRONGPASS") || strings.Contains(text, "wrongpassword") {
		t.Errorf("with a wrong password: exit status %d\n%s", code, text)
	}
}

// externalRedis runs scenarios on the server. One that does not come out as
// expected decides nothing: what it shows is for the tests of the harness.
func externalRedis(t *testing.T, lockchaos, addr string) {
	out := t.TempDir()
	where := []string{"--runtime", "external", "--nodes", "redis=redis://:s3cret%2Fpass%20w0rd@" + addr, "--out", out}
	code, text := said(t, nil, lockchaos,
		append([]string{"run", "redis-setnx/pause-holder/unfenced", "redis-setnx/cut-off-release/unfenced", "redlock/none/unfenced",
			"redis-setnx/pause-node/unfenced",
			"--seed", "7"}, where...)...)
	for _, want := range []string{"external: redis-1 at redis://" + addr,
		"(?m)^left out, since the server's process is not lockchaos's own: redis-setnx/pause-node/unfenced$",
		"skipped: redis-setnx/pause-node/unfenced: Pause of .*: the server's process is not lockchaos's own",
		"skipped: redlock/none/unfenced: It needs redis-five, and --nodes gives no address of redis-2"} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("it does not say %s", want)
		}
	}
	if t.Failed() {
		t.Fatalf("exit status %d\n%s", code, redact.Text(text))
	}
	for _, secret := range []string{"s3cret", "w0rd"} {
		if strings.Contains(text, secret) {
			t.Error("the password is on the screen")
		}
		if files := leaks(t, out, secret); len(files) > 0 {
			t.Errorf("the password is in %v", files)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	for _, want := range []string{"redis-setnx/pause-holder/unfenced +✗ corrupted",
		"redis-setnx/cut-off-release/unfenced +✓ pass .*faults"} {
		if !regexp.MustCompile(want).MatchString(text) {
			decided.Lacks("%s", want)
		}
	}
	if code != exit.OK {
		t.Errorf("exit status %d\n%s", code, text)
	}
}

// An etcd of the user's own, which is all there is of it: one node, and a fault of its links lies
// where all clients pass. The same address for what it is not, or for several nodes, is refused.
func TestExternalEtcd(t *testing.T) {
	needed.WithoutRace(t) // TestExternalRedis is run with it
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	lockchaos := program(t)
	addr := ownServer(t, func(port string) *exec.Cmd {
		peer := "http://" + net.JoinHostPort(ownHost, probetest.FreePort(t))
		return exec.Command(lockchaos, "node", "etcd", "--name", "mine", "--data-dir", t.TempDir(), "--client-url",
			"http://"+net.JoinHostPort(ownHost, port), "--peer-url", peer,
			"--initial-cluster", "mine="+peer)
	})
	decided.Run(t, func() {
		code, text := said(t, nil, lockchaos, "run", "etcd-lease/none/unfenced", "--runtime", "external", "--nodes",
			"etcd="+addr, "--duration", "1s", "--no-expect", "--out", t.TempDir())
		if code == exit.Failed || code == exit.Usage || !strings.Contains(text, "external: etcd-1 at "+addr+"; clients") {
			t.Errorf("exit status %d\n%s", code, text)
		}
		if !regexp.MustCompile(`[1-9][0-9]* grants`).MatchString(text) {
			decided.Lacks("a grant: %s", text)
		}
	})
	checkMembers(t, "etcd-lease", "etcd-1", nil, "--nodes", "etcd="+addr)
	for _, c := range []struct{ lock, nodes, want string }{
		{ofNode(t, "etcd-lease", "etcd-2"), "etcd=" + addr, `unknown target "etcd-2"`},
		{"etcd-lease/none/unfenced", "etcd-1=" + addr + ",etcd-2=" + addr, "etcd-1 and etcd-2 are one server"},
		{"redis-setnx/none/unfenced", "redis=" + addr, "redis-1 at " + addr + ": it does not answer as redis does"},
		{"redlock/none/unfenced", "redis-five=" + addr, `no node named "redis-five"`},
	} {
		if code, text := said(t, nil, lockchaos, "run", c.lock, "--runtime", "external", "--nodes", c.nodes, "--out",
			t.TempDir()); code == exit.OK || !strings.Contains(text, c.want) {
			t.Errorf("--nodes %s: exit status %d, want %s\n%s", c.nodes, code, c.want, text)
		}
	}
}

// A ZooKeeper and a PostgreSQL of the user's own, set up as they come: what is
// granted is not what was asked for, and a password is needed.
func TestExternalServersAsTheyCome(t *testing.T) {
	if !soaking() {
		t.Skip("LOCKCHAOS_SOAK=1 starts servers of Java and of PostgreSQL")
	}
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	lockchaos, dir := program(t), t.TempDir()
	t.Run("zookeeper", func(t *testing.T) {
		classes, err := backends.FindZooKeeper()
		if err != nil {
			t.Skip(err)
		}
		java, err := backends.FindJava()
		if err != nil {
			t.Skip(err)
		}
		start := func(name, least string) string {
			return ownServer(t, func(port string) *exec.Cmd {
				config := filepath.Join(dir, name+".cfg")
				writeFile(t, config, "tickTime=2000\n"+least+"dataDir="+filepath.Join(dir, name)+"\nclientPort="+port+
					"\nclientPortAddress="+ownHost+"\nadmin.enableServer=false\n")
				return exec.Command(java, "-cp", classes, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
			})
		}
		usual, eager := start("usual", ""), start("eager", "minSessionTimeout=1000\n")
		run := func(addr string) (code int, text string) {
			decided.Run(t, func() {
				code, text = said(t, nil, lockchaos, "run", "zookeeper/none/unfenced", "--runtime", "external",
					"--nodes", "zookeeper="+addr, "--out", t.TempDir())
				if strings.Contains(text, "not currently serving") { // it listens before it serves
					decided.Lacks("a server that serves: %s", text)
				}
			})
			return code, text
		}
		if code, text := run(usual); code != exit.Failed ||
			!strings.Contains(text, "the service grants sessions of 4s where the TTL is 2s") {
			t.Errorf("as it comes: exit status %d\n%s", code, text)
		}
		if code, text := run(eager); code != exit.OK {
			t.Errorf("with shorter sessions: exit status %d\n%s", code, text)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		bin, err := backends.FindPostgres()
		if err != nil {
			t.Skip(err)
		}
		if os.Geteuid() == 0 {
			t.Skip("PostgreSQL does not run as root")
		}
		const password = "correct-horse"
		data, secret := filepath.Join(dir, "postgres"), filepath.Join(dir, "secret")
		writeFile(t, secret, password)
		if out, err := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "lockchaos", "--auth",
			"scram-sha-256", "--pwfile", secret, "--no-sync").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		addr := ownServer(t, func(port string) *exec.Cmd {
			return exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", port, "-c",
				"listen_addresses="+ownHost, "-c", "unix_socket_directories=")
		})
		for _, c := range []struct {
			env  []string
			code int
			want string
		}{{nil, exit.Failed, "a password is taken from PGPASSWORD"}, {[]string{"PGPASSWORD=" + password}, exit.OK, "pass"}} {
			code, text := said(t, c.env, lockchaos, "run", "pg-lease/none/fenced", "--runtime", "external", "--nodes",
				"postgres="+addr, "--out", t.TempDir())
			if code != c.code || !strings.Contains(text, c.want) {
				t.Errorf("%v: exit status %d\n%s", c.env, code, text)
			}
		}
	})
}

// What can't be done to servers that are not ours is said before anything runs.
func TestExternalLimits(t *testing.T) {
	for _, c := range []struct {
		words, nodes, want string
	}{
		{"redlock/crash-one/unfenced redlock/node-wall-forward/unfenced",
			"redis-1=h:1,redis-2=h:2,redis-3=h:3,redis-4=h:4,redis-5=h:5",
			`(?s)not lockchaos's own.*redlock/crash-one/unfenced: crash-restart of .*process.*redlock/node-wall-forward/unfenced: clock-jump of majority: the clock of a server is its machine's$`},
		{"pg-advisory/end-session-work/unfenced", "postgres=h:1",
			`expire-session of holder: it would have your service end sessions`},
		{"redis-setnx/none/unfenced", "", `needs the addresses of the servers: --nodes redis=127.0.0.1:6379`},
		{"redis-setnx/none/unfenced", "rediss=h:1", `no node named "rediss"; did you mean redis`},
		{"redis-setnx/none/unfenced", "redis=nowhere", `--nodes: redis: "nowhere" is no address: want HOST:PORT`},
		{"redis-setnx/none/unfenced", "redis=h:1,redis-1=h:2", `two addresses of redis-1`},
		{"memcached-add/none/unfenced", "memcached=https://:pw@h:1", `https://h:1: want HOST:PORT; a URL is understood of redis`},
		{"zookeeper/none/unfenced", "zookeeper=https://:pw@h:1", `https://h:1: that is no address of zookeeper: want HOST:PORT or zk://`},
		{"etcd-lease/none/fenced", "redis=h:1",
			`no scenario can be run on these nodes: it needs etcd, and --nodes gives no address of etcd-1, etcd-2, etcd-3`},
		{"redis-failover/failover-control/unfenced", "redis=h:1", `it needs redis-failover, and --nodes gives no address of redis-failover$`},
	} {
		args := append([]string{"run", "--runtime", "external", "--out", t.TempDir()}, strings.Fields(c.words)...)
		if c.nodes != "" {
			args = append(args, "--nodes", c.nodes)
		}
		var out, errs bytes.Buffer
		if code := execute(t.Context(), args, &out, &errs); code != exit.Usage ||
			!regexp.MustCompile(c.want).MatchString(strings.TrimSpace(errs.String())) {
			t.Errorf("%s: exit status %d\n%s%s", args, code, out.String(), errs.String())
		}
	}
}

// leaky is a lock on files that tells its password wherever it can.
const leaky = `#!/bin/sh
secret=$2
echo "connecting with $secret" >&2
while read -r request; do
	id=${request#*\"id\":}; id=${id%%,*}; id=${id%\}}
	case $request in
	*'"op":"hello"'*)
		dir=${request##*\"dir\":\"}; exec 9>"${dir%%\"*}/lock"
		echo "{\"id\":$id,\"ok\":true,\"name\":\"leaky ($secret) 1.0\",\"no_expiry\":true}" ;;
	*'"op":"acquire"'*)
		if flock -w 8 9; then echo "{\"id\":$id,\"ok\":true}"; else echo "{\"id\":$id,\"ok\":false,\"error\":\"busy\"}"; fi
		echo "{\"event\":\"lost\",\"key\":\"k0\",\"why\":\"so says redis://me:$secret@host\"}" ;;
	*'"op":"release"'*) flock -u 9; echo "{\"id\":$id,\"ok\":false,\"error\":\"unknown\",\"text\":\"lost redis://me:$secret@host\"}" ;;
	*'"op":"close"'*) echo "{\"id\":$id,\"ok\":true}"; [ -z "$LEAKY_BREAKS" ] || echo "garbage $secret" ;;
	*) echo "{\"id\":$id,\"ok\":false,\"error\":\"unsupported\"}" ;;
	esac
done
`

// The password of an adapter's command line is in no file of the run and not on
// the screen, whatever the adapter tells; and the adapter gets it.
func TestSecretsOfAdapters(t *testing.T) {
	needed.WithoutRace(t) // gate.txtar is run with it
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	const secret = "hunter2-hunter2"
	lockchaos, out, dir := program(t), t.TempDir(), t.TempDir()
	script := filepath.Join(dir, "leaky.sh")
	if err := os.WriteFile(script, []byte(leaky), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, command string
		env           []string
	}{
		{"on the command line", fmt.Sprintf("sh %s --password '%s'", script, secret), nil},
		{"from the environment", "sh " + script + ` --password "$MY_PASSWORD"`, []string{"MY_PASSWORD=" + secret}},
		{"broken", fmt.Sprintf("sh %s --password=x %s", script, secret), []string{"MY_PASSWORD=" + secret, "LEAKY_BREAKS=1"}},
	} {
		code, text := said(t, c.env, lockchaos, "run", "redis-setnx/none/unfenced", "--lock-cmd", c.command,
			"--service", "none", "--duration", "500ms", "--out", out)
		if strings.Contains(text, secret) || !strings.Contains(text, "leaky (***)") && c.name != "broken" {
			t.Errorf("%s: exit status %d\n%s", c.name, code, text)
		}
	}
	if files := leaks(t, out, secret); len(files) > 0 {
		t.Errorf("the password is in %v", files)
	}
	if files := leaks(t, out, "so says redis://me:***@host"); len(files) == 0 {
		t.Error("what the adapter told is not in the history at all")
	}
	if files := leaks(t, out, "connecting with ***"); len(files) == 0 {
		t.Error("what the adapter printed is in no log")
	}
	plans, err := filepath.Glob(filepath.Join(out, "*", "*", runs.PlanFile))
	if err != nil || len(plans) == 0 {
		t.Fatal(plans, err)
	}
	if code, text := said(t, nil, lockchaos, "run", "--plan", plans[0], "--out", t.TempDir()); code != exit.Usage ||
		!strings.Contains(text, "set LOCKCHAOS_SECRET_1 in the environment") {
		t.Errorf("a plan without its password: exit status %d\n%s", code, text)
	}
}
