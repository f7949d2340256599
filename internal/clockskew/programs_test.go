//go:build linux

package clockskew

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

// around checks that a time shown by a program, read between two true times, is
// ahead by d. tick is how coarse the program's clock is.
func around(t *testing.T, what string, before, shown, after int64, d, tick time.Duration) {
	t.Helper()
	if shown < before+int64(d-tick) || shown > after+int64(d) {
		t.Errorf("%s: shown is ahead by %v to %v, want %v", what, time.Duration(shown-after), time.Duration(shown-before), d)
	}
}

// trueWall is CLOCK_REALTIME by system call.
func trueWall(t testing.TB) int64 {
	t.Helper()
	var ts unix.Timespec
	ok(t, unix.ClockGettime(unix.CLOCK_REALTIME, &ts))
	return ts.Nano()
}

// The settings that each program is tried with: monotonic time goes on from one to the next.
var settings = []Skew{
	{},
	{Wall: Clock{Offset: time.Hour}, Mono: Clock{Offset: time.Minute}},
	{Wall: Clock{Offset: -time.Hour}, Mono: Clock{Offset: time.Minute}},
	{Mono: Clock{Offset: time.Hour}},
}

// TestPerl: a C program and its libc: time(2), gettimeofday and clock_gettime.
func TestPerl(t *testing.T) {
	needs(t, "perl")
	c := start(t, "perl", "-MTime::HiRes=clock_gettime,CLOCK_MONOTONIC", "-e",
		`$| = 1; while (<STDIN>) { printf "%d %.0f %.0f\n", time, 1e6*Time::HiRes::time, 1e6*clock_gettime(CLOCK_MONOTONIC) }`)
	var sec, wallMicros, monoMicros int64
	c.ask("before")
	target := install(t, c.cmd.Process.Pid)
	for _, s := range settings {
		ok(t, target.Set(t.Context(), s))
		wallBefore, monoBefore := trueWall(t), monotime.Now()
		c.ask("now", &sec, &wallMicros, &monoMicros)
		wallAfter, monoAfter := trueWall(t), monotime.Now()
		around(t, s.String()+": time", wallBefore, sec*1e9, wallAfter, s.Wall.Offset, time.Second+20*time.Millisecond)
		// perl computes in floating point.
		around(t, s.String()+": gettimeofday", wallBefore, wallMicros*1e3, wallAfter+1e3, s.Wall.Offset, time.Microsecond)
		around(t, s.String()+": clock_gettime", monoBefore, monoMicros*1e3, monoAfter+1e3, s.Mono.Offset, time.Microsecond)
	}
}

// TestForkKeepsAndExecLoses: a fork inherits the skew as a copy of its own; a
// program that is then executed has true clocks.
func TestForkKeepsAndExecLoses(t *testing.T) {
	needs(t, "perl")
	const program = `$| = 1;
		sub now { printf "%.0f %d\n", 1e6*Time::HiRes::time, $$ }
		while (<STDIN>) {
			if (/fork/) { my $child = fork; if ($child) { waitpid $child, 0; exit } now() }
			elsif (/exec/) { exec "perl", "-MTime::HiRes", "-e", '$| = 1; print "executed\n"; while (<STDIN>) { printf "%.0f %d\n", 1e6*Time::HiRes::time, $$ }' }
			else { now() }
		}`
	c := start(t, "perl", "-MTime::HiRes", "-e", program)
	look := func(question string, d time.Duration) (pid int) {
		t.Helper()
		before := trueWall(t)
		var micros int64
		c.ask(question, &micros, &pid)
		around(t, question, before, micros*1e3, trueWall(t)+1e3, d, time.Microsecond)
		return pid
	}
	look("now", 0)
	parent := install(t, c.cmd.Process.Pid)
	ok(t, parent.Set(t.Context(), Skew{Wall: Clock{Offset: time.Hour}}))
	look("now", time.Hour)
	pid := look("fork", time.Hour)
	if pid == c.cmd.Process.Pid {
		t.Fatal("nothing was forked")
	}
	fork := open(t, pid)
	if s, err := fork.Now(); err != nil || s.Wall.Offset != time.Hour {
		t.Errorf("the fork: %v, %v", s, err)
	}
	ok(t, parent.Heal(t.Context()))
	look("now", time.Hour) // the fork answers: its skew is its own
	ok(t, fork.Set(t.Context(), Skew{Wall: Clock{Offset: time.Minute}}))
	look("now", time.Minute)
	if _, err := c.in.Write([]byte("exec\n")); err != nil {
		t.Fatal(err)
	}
	// else the old program might read the next line, too
	if answer := c.answer(); answer != "executed" {
		t.Fatal(answer)
	}
	if again := look("now", 0); again != pid {
		t.Fatalf("process %d answers, want %d", again, pid)
	}
	if err := fork.Set(t.Context(), Skew{}); !isGone(err) {
		t.Errorf("Set after exec: %v", err)
	}
	again := install(t, pid)
	ok(t, again.Set(t.Context(), Skew{Wall: Clock{Offset: -time.Hour}}))
	look("now", -time.Hour)
}

// redisServer starts a redis-server on a Unix socket.
func redisServer(t *testing.T) (*redis.Client, int) {
	t.Helper()
	needs(t, "redis-server")
	socket := filepath.Join(t.TempDir(), "s")
	cmd := exec.CommandContext(t.Context(), "redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
		"--dir", filepath.Dir(socket))
	ok(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
	t.Cleanup(func() { client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for client.Ping(ctx).Err() != nil {
		if ctx.Err() != nil {
			t.Fatal("redis-server does not answer")
		}
		time.Sleep(5 * time.Millisecond)
	}
	return client, cmd.Process.Pid
}

// TestRedis: TIME shows the wall clock; a key with an expiry is gone after a
// jump of it, and not after one of the monotonic clock.
func TestRedis(t *testing.T) {
	client, pid := redisServer(t)
	ctx := t.Context()
	target := install(t, pid)
	const ttl, jump = time.Hour, 2 * time.Hour
	grant := func() {
		t.Helper()
		ok(t, client.Set(ctx, "lock", "me", ttl).Err())
	}
	there := func(what string, want bool) {
		t.Helper()
		if n, err := client.Exists(ctx, "lock").Result(); err != nil || n == 1 != want {
			t.Errorf("%s: the key is there: %v, %v; want %v", what, n == 1, err, want)
		}
	}
	look := func(what string, d time.Duration) {
		t.Helper()
		before := trueWall(t)
		shown, err := client.Time(ctx).Result()
		ok(t, err)
		around(t, what+": TIME", before, shown.UnixNano(), trueWall(t), d, time.Microsecond)
	}
	look("installed", 0)
	grant()
	ok(t, target.Set(ctx, Skew{Mono: Clock{Offset: jump}}))
	look("monotonic jump", 0)
	there("monotonic jump", true)
	ok(t, target.Adjust(ctx, func(s Skew) Skew { s.Wall.Offset = jump; return s }))
	look("wall jump", jump)
	there("wall jump", false)
	grant()
	ok(t, target.Heal(ctx))
	look("healed", 0)
	if left, err := client.PTTL(ctx, "lock").Result(); err != nil || left <= jump || left > jump+ttl {
		t.Errorf("after the wall clock went back a key with %v has %v left, %v", ttl, left, err)
	}
	// A fast clock: the key is gone when the clock has run through its expiry, and not before.
	ok(t, client.Set(ctx, "lock", "me", 40*time.Second).Err())
	ok(t, target.Adjust(ctx, func(s Skew) Skew { s.Wall.Rate = 200; return s }))
	began := monotime.Now()
	for there := int64(1); there == 1; {
		n, err := client.Exists(ctx, "lock").Result()
		ok(t, err)
		there = n
	}
	if took := monotime.Since(began); took > 39*time.Second {
		t.Errorf("at rate 200 a key of 40 s was gone after %v", took)
	} else if took < 190*time.Millisecond {
		t.Errorf("at rate 200 a key of 40 s was gone after %v already", took)
	}
}

// TestJVM: currentTimeMillis and nanoTime show the skew, and sleeps and timed
// waits, which wait for a time of the skewed clock, end as they should.
func TestJVM(t *testing.T) {
	needs(t, "java")
	c := start(t, "java", "-Xmx64m", "-XX:+UseSerialGC", "testdata/Clock.java")
	var wallMillis, monoNanos, took int64
	c.ask("now", &wallMillis, &monoNanos, &took)
	target := open(t, c.cmd.Process.Pid)
	change := must(t)(target.Install(t.Context()))
	if change.Waits == 0 {
		t.Errorf("nothing of the JVM was found that calls %s", condWait)
	}
	t.Logf("%+v", change)
	var offset time.Duration
	for i, s := range []Skew{{}, {Wall: Clock{Offset: time.Hour}, Mono: Clock{Offset: time.Hour}},
		{Wall: Clock{Offset: -time.Hour}, Mono: Clock{Offset: 3 * time.Hour}}} {
		ok(t, target.Set(t.Context(), s))
		wallBefore, monoBefore := trueWall(t), monotime.Now()
		c.ask("now", &wallMillis, &monoNanos, &took)
		around(t, s.String()+": currentTimeMillis", wallBefore, wallMillis*1e6, trueWall(t), s.Wall.Offset, time.Millisecond)
		around(t, s.String()+": nanoTime", monoBefore, monoNanos, monotime.Now(), s.Mono.Offset, 0)
		if i > 0 && s.Mono.Offset <= offset {
			t.Error("the test means to jump forward")
		}
		offset = s.Mono.Offset
		for _, wait := range []string{"sleep", "until", "wait"} {
			began := monotime.Now()
			// 50 ms; would last for hours if it waited for the clock that is shown
			c.ask(wait, &wallMillis, &monoNanos, &took)
			if real := monotime.Since(began); real < 45*time.Millisecond || took < int64(45*time.Millisecond) {
				t.Errorf("%v: %s of 50 ms took %v, %v by the JVM's clock", s, wait, real, time.Duration(took))
			}
		}
	}
	// At rate 10 what lasts 2 s on the JVM's clock takes 0.2 s.
	ok(t, target.Adjust(t.Context(), func(s Skew) Skew { s.Mono.Rate = 10; return s }))
	began := monotime.Now()
	c.ask("long", &wallMillis, &monoNanos, &took)
	if real := monotime.Since(began); took < int64(1950*time.Millisecond) || real < 190*time.Millisecond || real > time.Duration(took) {
		t.Errorf("at rate 10 a sleep of 2 s took %v, %v by the JVM's clock", real, time.Duration(took))
	}
	ok(t, target.Heal(t.Context()))
	c.ask("sleep", &wallMillis, &monoNanos, &took)
}

// TestTimeNamespace: the monotonic clocks of a target may be others than ours without any skew.
func TestTimeNamespace(t *testing.T) {
	needs(t, "perl")
	needs(t, "unshare")
	const ahead = 100_000 * time.Second
	args := []string{"--user", "--map-root-user", "--time", "--monotonic=100000", "--boottime=200000", "--fork", "--kill-child"}
	if out, err := exec.Command("unshare", append(args, "true")...).CombinedOutput(); err != nil {
		needed.Be(t, fmt.Errorf("time namespaces: %w: %s", err, out))
	}
	c := start(t, "unshare", append(args, "perl", "-MTime::HiRes=clock_gettime,CLOCK_MONOTONIC", "-e",
		`$| = 1; while (<STDIN>) { printf "%.0f %d\n", 1e6*clock_gettime(CLOCK_MONOTONIC), $$ }`)...)
	var micros int64
	var pid int
	look := func(what string, d time.Duration) {
		t.Helper()
		before := monotime.Now()
		c.ask("now", &micros, &pid)
		around(t, what, before, micros*1e3, monotime.Now()+1e3, ahead+d, time.Microsecond)
	}
	look("without skew", 0)
	target := install(t, pid)
	look("installed", 0)
	ok(t, target.Set(t.Context(), Skew{Mono: Clock{Offset: time.Minute}}))
	look("jump", time.Minute)
	if s, err := target.Now(); err != nil || s.Mono.Offset != time.Minute {
		t.Errorf("%v, %v", s, err)
	}
	// Without the right reference a rate would be off by 10 times the namespace's offset.
	ok(t, target.Adjust(t.Context(), func(s Skew) Skew { s.Mono.Rate = 10; return s }))
	c.ask("now", &micros, &pid)
	if d := time.Duration(micros*1e3 - monotime.Now()); d < ahead || d > ahead+time.Hour {
		t.Errorf("after a moment at rate 10 the clock is ahead by %v, %v of it by the namespace", d, ahead)
	}
	ok(t, target.Heal(t.Context()))
	s, err := target.Now()
	ok(t, err)
	if s.Mono.Offset < time.Minute || s.Mono.Offset > time.Hour {
		t.Errorf("after a moment at rate 10: %v", s)
	}
	look("healed", s.Mono.Offset)
}

// TestWhatCannotBeOpened: for what has exited, a thread of the kernel and
// ourselves there is an error that names the process.
func TestWhatCannotBeOpened(t *testing.T) {
	if _, err := Open(os.Getpid()); err == nil || !strings.Contains(err.Error(), "itself") {
		t.Errorf("itself: %v", err)
	}
	c := start(t, "perl", "-e", "<STDIN>")
	pid := c.cmd.Process.Pid
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // by our kill
	if _, err := Open(pid); !isGone(err) || !strings.Contains(err.Error(), fmt.Sprint(pid)) {
		t.Errorf("a process that is gone: %v", err)
	}
	if _, err := Open(2); os.Getuid() == 0 && err == nil {
		t.Errorf("a thread of the kernel: %v", err)
	}
}
