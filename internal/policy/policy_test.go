package policy

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/scenarios"
)

// catalogue knows a suite "quick" of three scenarios.
func catalogue() Catalogue {
	names := []string{"a/none/fenced", "a/pause/fenced", "b/pause/unfenced"}
	expect := map[string]scenarios.Expect{"b/pause/unfenced": {Properties: map[string]string{"mutual-exclusion": "violated", "lost-update": "violated"}, Severity: "corrupting"}}
	return Catalogue{Services: []string{"redis", "none"},
		Meet: func(l Lock) error {
			if l.Command == "crash" {
				return errors.New("it ended before it had answered hello")
			}
			return nil
		},
		Examine: func(e Exam) ([]scenarios.Scenario, error) {
			if e.Lock == "nothing" {
				return nil, errors.New("there is no lock named \"nothing\"")
			}
			if e.Short {
				return []scenarios.Scenario{{Name: e.Lock + "/stop-work/unfenced"}}, nil
			}
			return []scenarios.Scenario{{Name: e.Lock + "/stop-work/unfenced"}, {Name: e.Lock + "/stop-wait/unfenced"}}, nil
		},
		Find: func(word string) (all []scenarios.Scenario, err error) {
			for _, n := range names {
				if word == "quick" || n == word || strings.HasPrefix(n, word+"/") {
					all = append(all, scenarios.Scenario{Name: n, Expect: expect[n]})
				}
			}
			if all == nil {
				return nil, fmt.Errorf("there is no suite and no scenario named %q%s", word, spelling.Suggest(word, append(names, "quick")))
			}
			return all, nil
		}}
}

func parse(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Parse([]byte(text), "p.yaml", catalogue())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMistakes(t *testing.T) {
	const head = "version: 1\nrun: [quick]\n"
	const known = head + "known:\n  - {scenario: a/pause/fenced, property: mutual-exclusion, reason: r, expires: 2027-03-31"
	for _, c := range []struct{ text, want string }{
		{"", "p.yaml: the file is empty"},
		{"run: [quick]\n", "p.yaml: version 0: this lockchaos reads"},
		{"version: 2\nrun: [quick]\n", "p.yaml:1:10: version 2"},
		{"version: 1\n", "p.yaml: nothing is run"},
		{"version: 1\nruns: [quick]\n", `p.yaml:2:1: unknown field "runs"; did you mean run?`},
		{"version: 1\nrun: [quikc]\n", `p.yaml:2:7: there is no suite and no scenario named "quikc"; did you mean quick?`},
		{"version: 1\nrun: [3]\n", "p.yaml:2:7: an entry is a name, or a mapping"},
		{"version: 1\nrun:\n  - {scenarios: [a], propertys: all}\n", `p.yaml:3:22: unknown field "propertys"; did you mean properties?`},
		{"version: 1\nrun:\n  - {scenarios: [a, nothing]}\n", `p.yaml:3:21: there is no suite`},
		{"version: 1\nrun:\n  - {properties: all}\n", "p.yaml:3:5: an entry names scenarios"},
		{"version: 1\nrun:\n  - {scenarios: [a], repetitions: 0}\n", "p.yaml:3:35: 0 repetitions"},
		{"version: 1\nrun:\n  - {exam: nothing}\n", `p.yaml:3:12: there is no lock named "nothing"`},
		{"version: 1\nrun:\n  - {exam: lock}\n", `p.yaml:3:12: "exam: lock" is of a lock of your own, and the policy has no key "lock"`},
		{"version: 1\nrun:\n  - {short: true}\n", "p.yaml:3:5: short and attacks are of an exam: name its lock"},
		{"version: 1\nrun:\n  - {exam: a, properties: all}\n", "p.yaml:3:5: an exam makes its own scenarios"},
		{"version: 1\nrun:\n  - {exam: a, scenarios: [a]}\n", "p.yaml:3:5: an exam makes its own scenarios"},
		{head + "properties: al\n", `p.yaml:3:13: "al": properties are all, expected, or a list of names (lockchaos list properties); did you mean all?`},
		{"version: 1\nlock: {command: crash, service: redis}\nrun: [a, nothing]\nknown: [{scenario: x}]\n",
			"p.yaml:2:17: it ended before it had answered hello"},
		{"version: 1\nlock: {command: good, service: redsi}\nrun: [nothing]\n", `p.yaml:2:32: unknown service "redsi"`},
		{head + "properties: []\n", "p.yaml:3:13: an empty list demands nothing"},
		{head + "properties: {a: b}\n", "p.yaml:3:13: properties are all"},
		{head + "properties: [stuck-lock, lost-updat]\n",
			`p.yaml:3:26: unknown property "lost-updat": one of ` + strings.Join(checker.Names(), ", ") + `; did you mean lost-update?`},
		{head + "repetitions: 5000\n", "p.yaml:3:14: 5000 repetitions: there may be 1 to 1000"},
		{head + "repetitions: many\n", "p.yaml:3:14: "},
		{head + "time_budget: soon\n", `p.yaml:3:14: "soon" is not a duration`},
		{head + "inconclusive: wran\n", `p.yaml:3:15: unknown reaction "wran": one of fail, warn; did you mean warn?`},
		{head + "skipped: no\n", `p.yaml:3:10: unknown reaction "no"`},
		{head + "lock: {service: redis}\n", "p.yaml:3:7: lock needs a command"},
		{head + "lock: {command: ./l}\n", "p.yaml:3:7: lock needs the service"},
		{head + "lock: {command: ./l, service: rediss}\n",
			`p.yaml:3:31: unknown service "rediss": one of redis, none; did you mean redis?`},
		{head + "lock: {command: ./l, service: redis}\nproperties: expected\n", "p.yaml:2:7: properties: expected is what theory says"},
		{known + "}\n  - {scenario: a/pause/fenced, property: mutual-exclusion, reason: r, expires: 2027-03-31}\n",
			"p.yaml:5:16: mutual-exclusion of a/pause/fenced is known already, in line 4"},
		{strings.Replace(known, "2027-03-31", "2027-02-30", 1) + "}\n", `p.yaml:4:80: "2027-02-30" is no date such as 2027-03-31`},
		{strings.Replace(known, "2027-03-31", "never", 1) + "}\n", `p.yaml:4:80: "never" is no date`},
		{strings.Replace(known, "reason: r, ", "", 1) + "}\n",
			"p.yaml:4:5: a known violation needs a scenario, a property, a reason and the day on which it expires: reason is missing"},
		{strings.Replace(known, "a/pause/fenced", "a/puase/fenced", 1) + "}\n",
			`p.yaml:4:16: the policy runs no scenario named "a/puase/fenced"; did you mean a/pause/fenced?`},
		{strings.Replace(known, "mutual-exclusion", "mutual-exclusoin", 1) + "}\n", `p.yaml:4:42: unknown property "mutual-exclusoin"`},
		{known + ", kind: lease-overrum}\n", `p.yaml:4:98: unknown kind "lease-overrum"`},
		{strings.Replace(known, "mutual-exclusion", "lost-update", 1) + ", kind: lease-overrun}\n",
			"p.yaml:4:93: no kinds are told of lost-update"},
		{strings.Replace(known, head, head+"properties: [stuck-lock]\n", 1) + "}\n",
			"p.yaml:5:42: the policy does not demand mutual-exclusion of a/pause/fenced: this entry has no effect"},
	} {
		_, err := Parse([]byte(c.text), "p.yaml", catalogue())
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := Load("nowhere.yaml", catalogue()); err == nil || !strings.Contains(err.Error(), "lockchaos init") {
		t.Errorf("%v", err)
	}
}

// TestExams: the attacks of an exam are scenarios of which theory says what
// must hold, whatever is demanded of the others, of an own lock, too.
func TestExams(t *testing.T) {
	p := parse(t, "version: 1\nproperties: [stuck-lock]\nlock: {command: ./l, service: redis}\nrun:\n  - a\n  - {exam: lock, repetitions: 2}\n  - {exam: b, short: true}\n")
	var names []string
	for _, r := range p.Runs {
		names = append(names, r.Name)
		if exam := !strings.HasPrefix(r.Name, "a/"); r.Demand.Expected != exam || p.Examines(r.Name) != exam || exam != (r.Line > 5) {
			t.Errorf("%+v", r)
		}
	}
	if got := strings.Join(names, " "); got != "a/none/fenced a/pause/fenced lock/stop-work/unfenced lock/stop-wait/unfenced b/stop-work/unfenced" {
		t.Error(got)
	}
	if p.Runs[2].Repetitions != 2 || p.Runs[4].Repetitions != 1 {
		t.Errorf("%+v", p.Runs)
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	_, err := Parse([]byte("version: 1\nrun: [quick]\ninconclusive: maybe\nrepetitions: 0\n"), "p.yaml", catalogue())
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("%v", err)
	}
}

func TestLaterEntriesHold(t *testing.T) {
	p := parse(t, "version: 1\nproperties: [stuck-lock]\nrepetitions: 2\nrun:\n  - quick\n  - {scenarios: [a/pause], properties: expected, repetitions: 5}\n")
	if len(p.Runs) != 3 || p.Repetitions() != 5 || p.Inconclusive != Fail || p.Skipped != Fail {
		t.Fatalf("%+v", p)
	}
	for i, want := range []Run{{Repetitions: 2, Line: 5}, {Repetitions: 5, Line: 6}, {Repetitions: 2, Line: 5}} {
		if got := p.Runs[i]; got.Repetitions != want.Repetitions || got.Line != want.Line || got.Demand.Expected != (i == 1) {
			t.Errorf("%+v", got)
		}
	}
}

// seen is a run in which the properties came out so; others passed.
func seen(name string, outcomes map[string]string, kinds ...string) Seen {
	s := Seen{Scenario: name, Ran: true, Severity: "none", Why: map[string]string{"token-order": "The lock makes no claim."}}
	for _, p := range []string{checker.MutualExclusion, checker.UnfencedWrite, checker.LostUpdate, checker.TokenOrder, checker.StuckLock} {
		o := scenarios.Observed{Property: p, Outcome: pass}
		if out, ok := outcomes[p]; ok {
			o.Outcome = out
		}
		if p == checker.MutualExclusion {
			o.Kinds = kinds
		}
		s.Properties = append(s.Properties, o)
	}
	return s
}

func expectOf(p *Policy, s Seen) scenarios.Expect {
	run, _ := p.run(s.Scenario)
	return run.Scenario.Expect
}

func date(text string) time.Time {
	d, err := time.Parse(time.DateTime, text)
	if err != nil {
		panic(err)
	}
	return d
}

func TestJudge(t *testing.T) {
	const overrun = "known: [{scenario: a/pause, property: mutual-exclusion, kind: lease-overrun, reason: inherent, expires: 2027-03-31}]\n"
	const any = "known: [{scenario: b, property: lost-update, reason: no fence yet, expires: 2027-03-31}]\n"
	double := map[string]string{checker.MutualExclusion: violated}
	for _, c := range []struct {
		name, policy string
		seen         Seen
		now          string
		want         string // "" : all met; else "property: got" of what is not
		says         string
	}{
		{"all hold", "", seen("a/none/fenced", nil), "2027-01-01 00:00:00", "", ""},
		{"all: not judged is no matter", "", seen("a/none/fenced", map[string]string{"token-order": notJudged}),
			"2027-01-01 00:00:00", "", ""},
		{"named: not judged is open", "properties: [token-order]\n",
			seen("a/none/fenced", map[string]string{"token-order": notJudged}), "2027-01-01 00:00:00",
			"token-order: inconclusive", "demanded by name and was not judged. The lock makes no claim."},
		{"named: others don't matter", "properties: [stuck-lock]\n", seen("a/none/fenced", double), "2027-01-01 00:00:00", "", ""},
		{"violated", "", seen("a/none/fenced", double), "2027-01-01 00:00:00", "mutual-exclusion: violated", ""},
		{"inconclusive", "", seen("a/none/fenced", map[string]string{"stuck-lock": inconclusive}),
			"2027-01-01 00:00:00", "stuck-lock: inconclusive", ""},
		{"known", overrun, seen("a/pause/fenced", double, "lease-overrun"), "2027-01-01 00:00:00", "", "inherent (until 2027-03-31)"},
		{"known, some unexplained", overrun, seen("a/pause/fenced", double, "lease-overrun", checker.KindUnexplained),
			"2027-01-01 00:00:00", "", "inherent"},
		{"known of another kind", overrun, seen("a/pause/fenced", double, "granted-while-valid", "lease-overrun"),
			"2027-01-01 00:00:00", "mutual-exclusion: violated",
			"not of the kind granted-while-valid (line 3 of p.yaml)"},
		{"known elsewhere", overrun, seen("b/pause/unfenced", double, "lease-overrun"), "2027-01-01 00:00:00",
			"mutual-exclusion: violated", ""},
		{"another property is known", overrun, seen("a/pause/fenced", map[string]string{"lost-update": violated}),
			"2027-01-01 00:00:00", "lost-update: violated", ""},
		{"the last day", overrun, seen("a/pause/fenced", double, "lease-overrun"), "2027-03-31 23:59:59", "", "inherent"},
		{"the day after", overrun, seen("a/pause/fenced", double, "lease-overrun"), "2027-04-01 00:00:00", "mutual-exclusion: violated",
			"known until 2027-03-31 (line 3 of p.yaml), and that day is over: inherent"},
		{"expected", "properties: expected\n", corrupting(violated), "2027-01-01 00:00:00", "", ""},
		{"expected, and it is not clear why", "properties: expected\n", leftUnclear(), "2027-01-01 00:00:00",
			"lost-update: violated", "Nobody knows."},
		{"known, and it is not clear why", "properties: expected\n" + any, leftUnclear(), "2027-01-01 00:00:00", "", "no fence yet"},
		{"expected and not caught", "properties: expected\n", corrupting(pass), "2027-01-01 00:00:00", "lost-update: pass", ""},
		{"known does not make up for what is missing", "properties: expected\n" + any, corrupting(pass),
			"2027-01-01 00:00:00", "lost-update: pass", ""},
		{"expected, and one more that is known, with its severity",
			"properties: expected\n" + strings.Replace(any, "lost-update", "stuck-lock", 1),
			func() Seen {
				s := corrupting(violated)
				s.Properties[4].Outcome = violated
				s.Severity = "contained"
				return s
			}(), "2027-01-01 00:00:00", "", "no fence yet"},
	} {
		p := parse(t, "version: 1\nrun: [quick]\n"+c.policy)
		var unmet, said []string
		for _, r := range p.Judge(c.seen, expectOf(p, c.seen), date(c.now)) {
			said = append(said, r.Known, r.Note)
			if !r.Met {
				unmet = append(unmet, r.Property+": "+r.Got)
			}
		}
		if got := strings.Join(unmet, ", "); got != c.want || !strings.Contains(strings.Join(said, " "), c.says) {
			t.Errorf("%s: %q, want %q; said %q", c.name, got, c.want, said)
		}
	}
	if got := parse(t, "version: 1\nrun: [quick]\n").Judge(Seen{Scenario: "a/none/fenced"}, scenarios.Expect{},
		date("2027-01-01 00:00:00")); got != nil {
		t.Errorf("what did not run is ruled on: %v", got)
	}
}

// corrupting is what b/pause/unfenced is expected to show, with lost-update as it came out.
func corrupting(lost string) Seen {
	s := seen("b/pause/unfenced", map[string]string{checker.MutualExclusion: violated, "lost-update": lost}, "lease-overrun")
	s.Severity = "corrupting"
	return s
}

// leftUnclear is what b/pause/unfenced is expected to show, as an attack to
// which an exam would not say yes.
func leftUnclear() Seen {
	s := corrupting(violated)
	s.Unclear = map[string]string{"lost-update": "Nobody knows.", "fifo": "It is not among the properties."}
	return s
}

func TestTwoKindsKnown(t *testing.T) {
	p := parse(t, `version: 1
run: [quick]
known:
  - {scenario: a, property: mutual-exclusion, kind: lease-overrun, reason: one, expires: 2027-03-31}
  - {scenario: a, property: mutual-exclusion, kind: late-notice, reason: two, expires: 2027-03-31}
`)
	r := p.Judge(seen("a/pause/fenced", map[string]string{checker.MutualExclusion: violated}, "late-notice",
		"lease-overrun"), scenarios.Expect{}, date("2027-01-01 00:00:00"))[0]
	if !r.Met || r.Known != "one (until 2027-03-31); two (until 2027-03-31)" {
		t.Errorf("%+v", r)
	}
}

func TestRemarks(t *testing.T) {
	p := parse(t, "version: 1\nrun: [quick]\nknown: [{scenario: a, property: lost-update, reason: r, expires: 2027-03-31}]\n")
	clear, shown := seen("a/none/fenced", nil), seen("a/pause/fenced", map[string]string{"lost-update": violated})
	open := seen("a/pause/fenced", map[string]string{"lost-update": inconclusive})
	for _, c := range []struct {
		name string
		all  []Seen
		now  string
		want string
	}{
		{"it shows", []Seen{clear, shown}, "2027-01-01 00:00:00", ""},
		{"gone", []Seen{clear, clear}, "2027-01-01 00:00:00",
			"known-gone: lost-update of a is known to be violated, and was not in 2 runs"},
		{"gone, and over", []Seen{clear}, "2028-01-01 00:00:00", "known-gone"},
		{"left open once", []Seen{clear, open}, "2027-01-01 00:00:00", ""},
		{"not judged once", []Seen{clear, seen("a/pause/fenced", map[string]string{"lost-update": notJudged})}, "2027-01-01 00:00:00", ""},
		{"one did not run", []Seen{clear, {Scenario: "a/pause/fenced"}}, "2027-01-01 00:00:00", ""},
		{"nothing ran", nil, "2027-01-01 00:00:00", ""},
		{"others don't matter", []Seen{seen("b/pause/unfenced", nil)}, "2027-01-01 00:00:00", ""},
		{"soon over", []Seen{shown}, "2027-03-20 00:00:00", "known-expires: lost-update of a is tolerated until 2027-03-31"},
		{"over", []Seen{shown}, "2027-04-02 00:00:00", ""},
	} {
		got := ""
		for _, r := range p.Remarks(c.all, date(c.now)) {
			got += r.Rule + ": " + r.Text
		}
		if !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLoad(t *testing.T) {
	file := t.TempDir() + "/lockchaos.yaml"
	if err := os.WriteFile(file, []byte("version: 1\nrun: [a]\nseed: 7\ntime_budget: 90s\ninconclusive: warn\nskipped: warn\nlock: {command: ./l, service: none, ttl: 1s}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := Load(file, catalogue())
	if err != nil || *p.Seed != 7 || p.Budget != 90*time.Second || p.Inconclusive != Warn || p.Skipped != Warn ||
		p.Lock.TTL.Std() != time.Second {
		t.Errorf("%+v %v", p, err)
	}
}
