package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/adapter/skeleton"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/internal/decided"
)

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

// TestBusyTooSoon: an adapter that does not wait is told to, and not that its TTL may be wrong.
func TestBusyTooSoon(t *testing.T) {
	needPrograms(t, "python3")
	path := changedSkeleton(t, "            if time.monotonic() + 0.01 >= end:\n                break\n", "            break\n")
	for _, name := range []string{"hands the key over", "dies with its holder", "loses what expired while it was frozen"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clienttest.Calmly(t, stall, func(t testing.TB) {
				b := bench(t, "redis", "python3 "+path, time.Second)
				b.Slack = 3 * time.Second
				var got Result
				err := run(t.Context(), b, some(t, hello, name), func(r Result) { got = r })
				if err == nil && got.Outcome == Passed {
					decided.Lacks("a client that asked while another one held the key")
				}
				if err != nil || got.Outcome != Failed || !strings.Contains(got.Advice, "wait until that is over") ||
					strings.Contains(got.Advice, "TTL") {
					t.Errorf("%+v, %v", got, err)
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
