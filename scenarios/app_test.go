package scenarios

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const ownApp = `suite: mine
scenarios:
  - name: a
    lock: order-lock
    app:
      clients: [billing-1, "billing:2"]
      service: [redis]
      store: postgres
      log: {map: {key: order}, events: {write: [charge]}}
    ttl: 1s
    duration: 5s
    faults:
      - {kind: pause, target: holder, when: random, for: 1s, every: 1s}
`

const hookedApp = `suite: mine
scenarios:
  - name: a
    lock: order-lock
    app:
      clients: [billing-1]
      hooks: {port: 8080, acquire: /acquire, write: /write, release: /release}
    keys: 2
    workload: {think: 1ms, rest: 1ms, acquire_timeout: 1s, op_timeout: 1s}
    ttl: 1s
    duration: 5s
`

const commandedApp = `suite: mine
scenarios:
  - name: a
    lock: order-lock
    app:
      clients: [billing-1]
      hooks:
        acquire: [./hook, acquire]
        write: [./hook, "write", 5]
        release: [./hook, release]
    keys: 2
    workload: {think: 1ms, rest: 1ms, acquire_timeout: 1s, op_timeout: 1s}
    ttl: 1s
    duration: 5s
`

func TestMistakesOfAppsAreLocated(t *testing.T) {
	for _, text := range []string{ownApp, hookedApp, commandedApp} {
		if _, err := Parse([]byte(text), "my.yaml", catalogue); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, text, from, to, want string }{
		{"unknown key", ownApp, "service:", "services:", `my.yaml:7:7: unknown field "services"`},
		{"no clients", ownApp, `[billing-1, "billing:2"]`, "[]", "an app needs clients"},
		{"a name that is none", ownApp, "redis", "'re dis'", `my.yaml:7:17: "re dis": want the name of a compose service`},
		{"named twice", ownApp, "postgres", "redis", "my.yaml:8:14: redis is named twice"},
		{"a lease that is none", ownApp, "store:", "lease: short\n      store:",
			`my.yaml:8:14: unknown lease "short": one of ttl, released, unknown`},
		{"tokens", ownApp, "log: {", "log: {tokens: big, ", `unknown meaning of tokens "big"`},
		{"a file", ownApp, "log: {", "log: {file: audit.jsonl, ", `my.yaml:9:19: "audit.jsonl": want the path of a file in the containers`},
		{"a workload", ownApp, "    ttl:", "    workload: {kind: counter}\n    ttl:",
			"my.yaml:10:15: workload is not for a scenario with an app"},
		{"a store", ownApp, "    ttl:", "    store: {kind: fenced}\n    ttl:", "my.yaml:10:12: store is not for a scenario with an app"},
		{"clients", ownApp, "    ttl:", "    clients: 2\n    ttl:", "my.yaml:10:14: clients is not for"},
		{"keys", ownApp, "    ttl:", "    keys: 2\n    ttl:", "my.yaml:10:11: keys is not for"},
		{"a lock of ours", ownApp, "order-lock", "redis-setnx", "my.yaml:4:11: \"redis-setnx\": what the application's lock is called"},
		{"no ttl", ownApp, "    ttl: 1s\n", "", "ttl must be given"},
		{"a fault that can't strike", ownApp, "target: holder", "target: somebody", "no target \"somebody\""},
		{"hooks without a port", hookedApp, "port: 8080, ", "", "my.yaml:7:14: hooks need a port"},
		{"a hook that is missing", hookedApp, "write: /write, ", "", "want a path such as /write"},
		{"hooks without keys", hookedApp, "    keys: 2\n", "", "hooks need keys"},
		{"hooks without a timeout", hookedApp, ", op_timeout: 1s", "", "hooks need workload.op_timeout"},
		{"a command in the place of a path", hookedApp, "acquire: /acquire", "acquire: ./hook acquire",
			`my.yaml:7:36: "./hook acquire": want a path such as /acquire: all three hooks must be given; a command is a list: [./hook, acquire]`},
		{"paths and a command", hookedApp, "write: /write", "write: [./hook]",
			`my.yaml:7:36: "/acquire": hook acquire is a path where another is a command`},
		{"commands and a path", commandedApp, "[./hook, release]", "/release",
			`my.yaml:10:18: "/release": hook release is a path where another is a command`},
		{"commands and a port", commandedApp, "      hooks:", "      hooks:\n        port: 80",
			"my.yaml:8:15: hooks that are commands have no port"},
		{"two commands", commandedApp, "        release: [./hook, release]\n", "", "hook release is missing: all three must be given"},
		{"a command without words", commandedApp, "[./hook, release]", "[]", "my.yaml:10:18: hook release is a command without a program"},
		{"a command of lists", commandedApp, "[./hook, release]", "[[./hook], release]",
			"my.yaml:10:19: a hook is a path such as /acquire, or a command as a list of words"},
		{"a command of members", commandedApp, "[./hook, release]", "{exec: ./hook}",
			"a hook is a path such as /acquire, or a command as a list of words"},
		{"commands without keys", commandedApp, "    keys: 2\n", "", "hooks need keys"},
		{"hooks and a log", hookedApp, "    keys:", "      log: {file: /x}\n    keys:", "an app with hooks needs no log"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(c.text, c.from) {
				t.Fatalf("%q is not there", c.from)
			}
			_, err := Parse([]byte(strings.Replace(c.text, c.from, c.to, 1)), "my.yaml", catalogue)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}

// sectionOf is the scenario of a suite of one, under another name.
func sectionOf(suite, name string) string {
	_, scenario, _ := strings.Cut(suite, "scenarios:\n")
	return strings.Replace(scenario, "name: a", "name: "+name, 1)
}

// A plan with an app is saved as it was, and a scenario changes nothing of the
// defaults that it shares.
func TestAppsAreSaved(t *testing.T) {
	text := strings.Replace(ownApp, "scenarios:", "defaults:\n  app: {clients: [x], service: [y]}\nscenarios:", 1) +
		"  - {name: b, lock: order-lock, ttl: 1s, duration: 5s}\n" + sectionOf(hookedApp, "c") + sectionOf(commandedApp, "d")
	s, err := Parse([]byte(text), "my.yaml", catalogue)
	if err != nil {
		t.Fatal(err)
	}
	if b := s.Scenarios[1].App; !reflect.DeepEqual(b, &App{Clients: []string{"x"}, Service: []string{"y"}}) {
		t.Errorf("the second scenario's app is %+v", b)
	}
	for _, sc := range s.Scenarios {
		file := filepath.Join(t.TempDir(), "plan.yaml")
		if err := (Plan{Seed: 7, Scenario: sc}).Save(file); err != nil {
			t.Fatal(err)
		}
		p, err := LoadPlan(file, catalogue)
		if err != nil {
			saved, _ := os.ReadFile(file)
			t.Fatalf("%v\n%s", err, saved)
		}
		if !reflect.DeepEqual(p.Scenario.App, sc.App) {
			t.Errorf("%+v was saved, %+v is read", sc.App, p.Scenario.App)
		}
	}
}
