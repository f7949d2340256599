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
)

// ownRedis starts a redis-server in the tests' own network, as a user's would run there, and returns its address.
func ownRedis(t *testing.T, password string) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("LOCKCHAOS_REQUIRE") == "all" {
			t.Fatal(err)
		}
		t.Skip("it needs redis-server: apt-get install redis-server")
	}
	for range 5 { // a port that was free may be taken by now
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().String()
		_, port, _ := net.SplitHostPort(addr)
		l.Close()
		var log bytes.Buffer
		cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(), "--requirepass", password)
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
		t.Logf("redis-server at %s: %s", addr, log.String())
	}
	t.Fatal("redis-server does not start")
	return ""
}

// answers waits until somebody listens at the address, or the process has ended.
func answers(addr string, ended <-chan struct{}) bool {
	limit := time.After(30 * time.Second)
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

// A redis-server of the user's own, with a password: clients reach it through a relay, faults of clients and of their links bite as elsewhere, and the password is
// written nowhere.
func TestExternalRedis(t *testing.T) {
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	const password = "s3cret/pass w0rd"
	addr := ownRedis(t, password)
	lockchaos, out := program(t), t.TempDir()
	where := []string{"--runtime", "external", "--nodes", "redis=redis://:s3cret%2Fpass%20w0rd@" + addr, "--out", out}
	code, text := said(t, nil, lockchaos, append([]string{"run", "redis-setnx/pause-holder/unfenced", "redis-setnx/partition-service/unfenced", "redlock/none/unfenced",
		"--seed", "7"}, where...)...)
	if code != exitOK {
		t.Errorf("exit status %d", code)
	}
	for _, want := range []string{"external: redis-1 at " + addr, "redis-setnx/pause-holder/unfenced +✗ corrupted", "redis-setnx/partition-service/unfenced +✓ pass .*faults",
		"skipped: redlock/none/unfenced: It needs redis-five, and --nodes gives no address of redis-2"} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("it does not say %s", want)
		}
	}
	for _, secret := range []string{"s3cret", "w0rd"} {
		if strings.Contains(text, secret) {
			t.Error("the password is on the screen")
		}
		if files := leaks(t, out, secret); len(files) > 0 {
			t.Errorf("the password is in %v", files)
		}
	}
	if code, text := said(t, nil, lockchaos, "run", "redis-setnx/none/unfenced", "--runtime", "external", "--nodes", "redis=redis://:wrongpassword@"+addr, "--out", t.TempDir()); code != exitFailed ||
		!strings.Contains(text, "connect to redis-1 at "+addr+": log in: WRONGPASS") || strings.Contains(text, "wrongpassword") {
		t.Errorf("with a wrong password: exit status %d\n%s", code, text)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// What can't be done to servers that are not ours is said before anything runs.
func TestExternalLimits(t *testing.T) {
	for _, c := range []struct {
		words, nodes, want string
	}{
		{"redlock/crash-one/unfenced redlock/clock-jump-majority/unfenced redlock/pause-acquiring/unfenced",
			"redis-1=h:1,redis-2=h:2,redis-3=h:3,redis-4=h:4,redis-5=h:5",
			`(?s)not lockchaos's own.*redlock/crash-one/unfenced: crash-restart of .*process.*redlock/clock-jump-majority/unfenced: clock-jump of majority: the clock of a server is its machine's$`},
		{"etcd-lease/expire-session/fenced", "etcd-1=h:1,etcd-2=h:2,etcd-3=h:3", `expire-session of holder: it would have your service end sessions`},
		{"redis-setnx/none/unfenced", "", `needs the addresses of the servers: --nodes redis=127.0.0.1:6379`},
		{"redis-setnx/none/unfenced", "rediss=h:1", `no node named "rediss"; did you mean redis`},
		{"redis-setnx/none/unfenced", "redis=nowhere", `--nodes: redis: "nowhere" is no address: want HOST:PORT`},
		{"redis-setnx/none/unfenced", "redis=h:1,redis-1=h:2", `two addresses of redis-1`},
		{"redis-setnx/none/unfenced", "redis=rediss://:pw@h:1", `rediss://:\*\*\*@h:1: want HOST:PORT; only a Redis may have a URL.*without TLS`},
		{"etcd-lease/none/fenced", "redis=h:1", `no scenario can be run on these nodes: it needs etcd, and --nodes gives no address of etcd-1, etcd-2, etcd-3`},
		{"redis-failover/failover-control/unfenced", "redis=h:1", `ask it for the address of its primary`},
	} {
		args := append([]string{"run", "--runtime", "external", "--out", t.TempDir()}, strings.Fields(c.words)...)
		if c.nodes != "" {
			args = append(args, "--nodes", c.nodes)
		}
		var out, errs bytes.Buffer
		if code := execute(t.Context(), args, &out, &errs); code != exitUsage || !regexp.MustCompile(c.want).MatchString(strings.TrimSpace(errs.String())) {
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

// The password of an adapter's command line is in no file of the run and not on the screen, whatever the adapter tells; and the adapter gets it.
func TestSecretsOfAdapters(t *testing.T) {
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
		code, text := said(t, c.env, lockchaos, "run", "redis-setnx/none/unfenced", "--lock-cmd", c.command, "--service", "none", "--duration", "500ms", "--out", out)
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
	plans, err := filepath.Glob(filepath.Join(out, "*", "*", planFile))
	if err != nil || len(plans) == 0 {
		t.Fatal(plans, err)
	}
	if code, text := said(t, nil, lockchaos, "run", "--plan", plans[0], "--out", t.TempDir()); code != exitUsage || !strings.Contains(text, "set LOCKCHAOS_SECRET_1 in the environment") {
		t.Errorf("a plan without its password: exit status %d\n%s", code, text)
	}
}
