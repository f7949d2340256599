package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"pgregory.net/rapid"
)

// The hand-written codec says what encoding/json would say of the same structs, and reads it back.
func TestCodecAgreesWithEncodingJSON(t *testing.T) {
	ops := rapid.SampledFrom([]string{"acquire", "read", "close", ""})
	results := rapid.SampledFrom([]string{ResultOK, ResultFail, ResultInfo, ""})
	events := rapid.SampledFrom([]string{EventLost, EventStall, EventSession, ""})
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int64 { return rapid.Int64().Draw(t, name) }
		b := func(name string) bool { return rapid.Bool().Draw(t, name) }
		c := Command{ID: n("id"), Op: ops.Draw(t, "op"), Key: rapid.String().Draw(t, "key"), Read: b("read"),
			Keys: rapid.SampledFrom([][]string{nil, {"k0", "a \"key\" <b>"}}).Draw(t, "keys"), Grant: n("grant"),
			Timeout: n("timeout"), Value: n("value")}
		if b("open") {
			c.Open = &Opening{Lock: rapid.String().Draw(t, "lock"), Nodes: []string{"10.88.0.2:6379"}, TTL: time.Duration(n("ttl")),
				Seed: rapid.Uint64().Draw(t, "seed")}
			if b("adapter") {
				c.Open.Adapter = &clients.Adapter{Command: rapid.String().Draw(t, "command"), Service: "redis",
					ClockFaults: b("clock faults")}
			}
		}
		line, err := c.AppendLine(nil)
		if err != nil {
			t.Fatal(err)
		}
		var back Command
		compare(t, line, c, back.Parse(line), &back)

		r := Reply{ID: n("id"), Result: results.Draw(t, "result"), Error: rapid.String().Draw(t, "error"), Start: n("start"), End: n("end"),
			Token: n("token"), Attempt: n("attempt"), First: n("first"), Enqueued: n("enqueued"), Version: n("version"),
			Replaced: n("replaced"),
			Value:    n("value"), Seq: n("seq"), Declined: b("declined"), Refused: b("refused"), NotHeld: b("not held"), Busy: b("busy"),
			Event: events.Draw(t, "event"), Key: rapid.String().Draw(t, "key"), Grant: n("grant"), From: n("from"), To: n("to"),
			Session: n("session"), Password: rapid.StringMatching("[0-9a-f]*").Draw(t, "password")}
		if b("valid") {
			v := n("valid for")
			r.ValidFor = &v
		}
		if b("declares") {
			r.Declares = &clients.Declaration{Name: rapid.String().Draw(t, "name"),
				Claims: clients.Claims{Token: "fencing", LostGrace: n("grace"),
					Notices: rapid.String().Draw(t, "notices"), Tolerates: rapid.String().Draw(t, "tolerates"),
					Abandons: n("abandons"), Fair: b("fair")}, Lease: time.Duration(n("lease"))}
		}
		r.Broken = b("broken")
		line = r.AppendLine(nil)
		var again Reply
		compare(t, line, r, again.Parse(line), &again)
	})
}

// compare checks one line against encoding/json and against what was read back from it.
func compare[T any](t *rapid.T, line []byte, want T, err error, got *T) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if !reflect.DeepEqual(*got, want) {
		t.Fatalf("%s\n got %+v\nwant %+v", line, *got, want)
	}
	std, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(std) != strings.TrimSuffix(string(line), "\n") {
		t.Fatalf("\n got %s\nwant %s", line, std)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{"", "{", "[]", `{"id":1`, `{"id":"x"}`, `{"id":1,"nonsense":2}`, `{"id":1} {`,
		"\x00\xff", `{"id":99999999999999999999}`} {
		var r Reply
		if r.Parse([]byte(line)) == nil {
			t.Errorf("%q was understood as %+v", line, r)
		}
		var c Command
		if c.Parse([]byte(line)) == nil {
			t.Errorf("%q was understood as %+v", line, c)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":"ok","start":5}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var r Reply
		if r.Parse(line) != nil {
			return
		}
		var again Reply
		if err := again.Parse(r.AppendLine(nil)); err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("%+v\n%+v, %v", r, again, err)
		}
	})
}
