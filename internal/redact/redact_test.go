package redact

import (
	"os/exec"
	"strings"
	"testing"
)

// reset forgets what other tests have made known.
func reset(t *testing.T) {
	t.Helper()
	forget := func() {
		secrets.Lock()
		secrets.known, secrets.values = false, nil
		secrets.Unlock()
		made.Lock()
		made.names = nil
		made.Unlock()
	}
	forget()
	t.Cleanup(forget)
}

func TestText(t *testing.T) {
	reset(t)
	t.Setenv("MY_PASSWORD", "correct horse")
	t.Setenv("DATABASE_URL", "postgres://app:p%40ssw0rd@db/x")
	t.Setenv("SHORT_TOKEN", "redis") // shorter than would be safe: it is a word of every report
	t.Setenv("HARMLESS", "nothing to hide")
	for text, want := range map[string]string{
		"":                                            "",
		"nothing to hide in redis":                    "nothing to hide in redis",
		"dial redis://:pw@10.0.0.1:6379/0":            "dial redis://:***@10.0.0.1:6379/0",
		"redis://user:x@h and pg://a:b@c":             "redis://user:***@h and pg://a:***@c",
		"http://host:80/path@home":                    "http://host:80/path@home",
		"host=h password=pw sslmode=disable":          "host=h password=*** sslmode=disable",
		"host=h password='p w' user=u":                "host=h password=*** user=u",
		`password="$MY_PASSWORD"`:                     `password="$MY_PASSWORD"`,
		"it said correct horse, twice: correct horse": "it said ***, twice: ***",
		"p@ssw0rd or p%40ssw0rd":                      "*** or ***",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestWriter: a secret that comes in pieces is taken out all the same.
func TestWriter(t *testing.T) {
	reset(t)
	Add("hunter22")
	var out strings.Builder
	w := NewWriter(&out)
	for _, part := range []string{"a hun", "ter", "22 b\nhunter", "22"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if out.String() != "a *** b\n" {
		t.Errorf("%q", out.String())
	}
	if err := w.Flush(); err != nil || out.String() != "a *** b\n***" {
		t.Errorf("%q %v", out.String(), err)
	}
}

// TestCommand: a command without its secrets does the same as before.
func TestCommand(t *testing.T) {
	t.Setenv("MY_PASSWORD", "correct horse")
	for _, c := range []struct{ command, secret string }{
		{`echo redis://:s3cret@host`, "s3cret"},
		{`echo 'redis://:s3cret@host' "redis://:s3cret@host"`, "s3cret"},
		{`echo --password s3cret --other x`, "s3cret"},
		{`echo --redis-password=s3cret`, "s3cret"},
		{`echo --password 's3 $cret'`, "s3 $cret"},
		{`REDIS_PASSWORD=s3cret sh -c 'echo $REDIS_PASSWORD'`, "s3cret"},
		{`echo "host=h password=s3cret user=u"`, "s3cret"},
		{`echo 'correct horse' "correct horse"`, "correct horse"},
		{`echo it\'s redis://:s3cret@host`, "s3cret"},
	} {
		t.Run(c.command, func(t *testing.T) { takenOut(t, c.command, c.secret) })
	}
}

// TestHostileOptions: a secret is known by the name of its option, by its
// header, and by what it looks like. The command does the same without it.
func TestHostileOptions(t *testing.T) {
	const secret = "hunter2x"
	for _, command := range []string{
		"echo --token hunter2x", "echo --token=hunter2x", "echo --auth-token 'hunter2x'", "API_TOKEN=hunter2x sh -c 'echo $API_TOKEN'",
		"echo --pass hunter2x", "echo --redis-pass=hunter2x", "echo --pwd hunter2x", "echo --auth hunter2x",
		"echo -a hunter2x", "echo redis-cli -a hunter2x",
		"echo --private-key hunter2x", "echo --credential hunter2x", "echo --credentials='hunter2x'", "echo --client-secret hunter2x",
		`echo -H "Authorization: Bearer hunter2x"`, `echo -H 'Authorization: Basic hunter2x'`,
		"echo 'X-Auth-Token: hunter2x'", "echo 'X-Api-Key: hunter2x'",
		`sh -c 'echo --token hunter2x'`,
	} {
		t.Run(command, func(t *testing.T) { takenOut(t, command, secret) })
	}
	for _, issued := range []string{"ghp_0123456789abcdefghijABCDEFGHIJ012345", "AKIAIOSFODNN7EXAMPLE",
		"glpat-abcdefghij0123456789", "xoxb-1234567890-abcdefghij",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "sk-abcdefghijklmnopqrstuvwx"} {
		t.Run(issued, func(t *testing.T) { takenOut(t, "echo --with "+issued, issued) })
	}
	// plain words, where nothing but a password can be
	for word, command := range map[string]string{"opensesame": "redis-cli -a opensesame", "letmein": "lock --pass letmein"} {
		reset(t)
		if safe, err := Command(command); err != nil || strings.Contains(safe, word) {
			t.Errorf("left as %s, %v", safe, err)
		}
	}
}

// takenOut holds Command to take a secret out of a command, which does the same before and after.
func takenOut(t *testing.T, command, secret string) {
	t.Helper()
	reset(t)
	t.Setenv("LOCKCHAOS_SECRET_1", "")
	want := run(t, command)
	safe, err := Command(command)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(safe, secret) || !strings.Contains(safe, "${LOCKCHAOS_SECRET_1}") || strings.Contains(safe, "_2") {
		t.Errorf("left as %s", safe)
	}
	if got := run(t, safe); got != want || !strings.Contains(got, secret) {
		t.Errorf("%s says %q, and did say %q", safe, got, want)
	}
	if text := Text("failed: " + secret); text != "failed: ***" {
		t.Errorf("%q", text)
	}
	if again, err := Command(safe); err != nil || again != safe {
		t.Errorf("once more: %s, %v", again, err)
	}
	if missing := Lacking(safe); missing != "" {
		t.Errorf("%s is lacking", missing)
	}
	t.Setenv("LOCKCHAOS_SECRET_1", "")
	if missing := Lacking(safe); missing != "LOCKCHAOS_SECRET_1" {
		t.Errorf("%q is lacking", missing)
	}
}

func TestCommandsAsTheyAre(t *testing.T) {
	reset(t)
	for _, command := range []string{"", "python3 lock.py", `sh -c 'exec python3 lock.py --token fencing'`,
		`lock --password "$MY_PASSWORD"`, "lock --password-file /etc/pw", "lock --ask-password --host h",
		"lock --token from_invocation --auth none", "lock --token 34 --auth redis-1:6379 -a redis-1",
		"lock --private-key ~/.ssh/id_rsa --credential ./key-1.json", "lock --token-file /run/secrets/t0ken",
		"curl -H \"Authorization: Bearer $TOKEN\" --pass \"$PW1\"", "lock --bypass node42x --author me1234"} {
		if got, err := Command(command); err != nil || got != command {
			t.Errorf("%q: %q, %v", command, got, err)
		}
	}
	if got, err := Command(`lock --password a\ b$c`); err == nil {
		t.Errorf("a shell would change it, and it was taken: %q", got)
	}
}

func run(t *testing.T, command string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", command).Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return string(out)
}

// What somebody else's process has for a secret is one, unless it is a word that stands everywhere.
func TestEnvironment(t *testing.T) {
	reset(t)
	Environment([]string{"PATH=/bin", "POSTGRES_PASSWORD=postgres", "DB=postgres://app:app@db/x", "API_KEY=k3y-of-all",
		"URL=amqp://u:Tr0ub4dor@mq"})
	const text, want = "postgres at /bin: app with k3y-of-all and Tr0ub4dor", "postgres at /bin: app with *** and ***"
	if got := Text(text); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
