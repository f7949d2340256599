package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/docker/dockertest"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/reports"
)

// hookScript is one op of a lock in Redis with a lease of 500 ms: a question on
// standard input, an answer on standard output.
const hookScript = `#!/bin/sh
read -r ask
echo "$1: $ask for $API_KEY" >&2
[ "$1" != fail ] || { echo "cannot reach redis://app:sesame@redis" >&2; exit 3; }
exec redis-cli -h redis --raw EVAL "
local op, ask = ARGV[1], cjson.decode(ARGV[2])
if op == 'acquire' then
  local token = redis.call('INCR', ask.key .. ':token')
  if not redis.call('SET', ask.key, token, 'NX', 'PX', 500) then return cjson.encode({ok = false, error = 'busy'}) end
  return cjson.encode({ok = true, token = token})
elseif op == 'write' then
  redis.call('RPUSH', ask.key .. ':writes', ask.token)
elseif redis.call('GET', ask.key) ~= tostring(ask.token) then
  return cjson.encode({ok = false, error = 'not_held'})
else
  redis.call('DEL', ask.key)
end
return cjson.encode({ok = true})" 0 "$1" "$ask"
`

// hookSuite asks the application by commands, of which one is to be filled in.
const hookSuite = `suite: hooks
about: an application that is asked by commands
scenarios:
  - name: hooks/pause-holder
    about: a holder freezes for longer than its lease
    lock: my-lock
    app:
      clients: [app-1, app-2]
      service: [redis]
      hooks: {acquire: [/hook, acquire], write: %s, release: [/hook, release]}
    keys: 1
    ttl: 500ms
    duration: 3s
    workload: {think: 1ms..5ms, rest: 5ms..20ms, acquire_timeout: 2s, op_timeout: 2s}
    faults: [{kind: pause, target: holder, when: before-write, for: 1500ms, after: 10ms, every: 100ms}]
    needs: {grants: 2, handovers: 0, bites: 1}
    expect: {properties: {mutual-exclusion: any, unfenced-write: any, token-order: any}, why: it is asked}
`

// An application is asked by commands in its containers, which the engine runs;
// one that fails is named, with what it said, and without the password in it.
func testComposeHooksThatAreCommands(t *testing.T) {
	dockertest.Need(t, "redis")
	dir := filepath.Join(t.TempDir(), "hooks")
	image := "\n    image: " + runtimes.LocalImage("redis")
	app := image + "\n    command: [sh, -c, 'while :; do echo \"I am $$API_KEY, at redis://app:sesame@redis\"; sleep 0.1; done']\n    environment: {API_KEY: k3y-of-all}\n    stop_grace_period: 0s\n    volumes: [\"./hook:/hook:ro\"]\n"
	writeFile(t, filepath.Join(dir, "docker-compose.yml"),
		"services:\n  redis:"+image+"\n    command: redis-server --protected-mode no\n  app-1:"+app+"  app-2:"+app)
	writeFile(t, filepath.Join(dir, "hook"), hookScript)
	if err := os.Chmod(filepath.Join(dir, "hook"), 0o755); err != nil {
		t.Fatal(err)
	}
	up(t, dir)
	suite, out := filepath.Join(dir, "suite.yaml"), t.TempDir()
	run := func(write string) (code int, text string) {
		t.Helper()
		writeFile(t, suite, fmt.Sprintf(hookSuite, write))
		return finish(t, lockchaos(t, "run", suite, "--runtime", "compose", "--project", dir, "--out", out))
	}
	code, text := run("[/hook, write]")
	if code != exit.OK || !strings.Contains(text, "1 scenario, as expected") {
		t.Errorf("exit status %d\n%s", code, text)
	}
	folder := filepath.Join(out, runs.LatestLink, runs.FolderOf("hooks/pause-holder"))
	audit, _ := os.ReadFile(filepath.Join(folder, "audit.jsonl"))
	for _, event := range []string{"grant", "write", "release|not-held"} {
		if !regexp.MustCompile(`"client":"app-[12]","event":"(` + event + `)","key":"k0"`).Match(audit) {
			t.Errorf("no %s among\n%s", event, audit)
		}
	}
	log, _ := os.ReadFile(filepath.Join(folder, reports.LogFolder, "app-1-hooks.log"))
	if want := `write: {"key":"k0","token":`; !strings.Contains(string(log), want) {
		t.Errorf("the log of its hooks lacks %s:\n%s", want, log)
	}
	for _, c := range []struct{ write, want string }{
		{"[/hook, fail]", `hook /hook fail: exit status 3; it printed cannot reach redis://app:\*\*\*@redis`},
		{"[/nowhere, write]", `hook /nowhere write: exit status 12[67]; it printed .*/nowhere.*no such file`},
	} {
		code, text := run(c.write)
		if code != exit.Failed || !regexp.MustCompile(c.want).MatchString(text) {
			t.Errorf("write: %s: exit status %d, want %s\n%s", c.write, code, c.want, text)
		}
	}
	// what containers print is redacted, too
	for _, secret := range []string{"sesame", "k3y-of-all"} {
		if files := leaks(t, out, secret); len(files) > 0 {
			t.Errorf("%s is in %v", secret, files)
		}
	}
	if files := leaks(t, out, "I am ***, at redis://app:***@redis"); len(files) == 0 {
		t.Error("what the containers print is in no log")
	}
	for _, name := range []string{"app-1", "app-2"} {
		left, err := exec.Command("docker", "top", strings.TrimSpace(compose(t, dir, "ps", "-q", name)), "-o", "pid,comm").Output()
		if err != nil || strings.Contains(string(left), "hook") || strings.Contains(string(left), "redis-cli") {
			t.Errorf("in %s there run\n%s, %v", name, left, err)
		}
	}
}
