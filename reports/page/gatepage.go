package page

import (
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// gatePage is what stands on top of a gate's page: the ruling, and what it rests on.
type gatePage struct {
	Word, Class, Policy, Why string
	StandIns                 []string
	Rules                    []gateRule
	NotJudged                []string // properties that no run judged
	Known                    []knownRow
	Open                     []openRow
	OpenSays                 []string
	Budget                   string
}

// gateRule is what a policy demands of a property, over all scenarios that
// decide it. Rules that the same runs decide alike stand in one row.
type gateRule struct {
	Property, Want string
	Others         []string // properties of which the same is to be said
	State, Class   string
	Says           string
	Note           string
	By             []ruleScenario
	Fold           bool // there are too many scenarios to name them all at once

	demanded []reports.Expectation
	runs     []reports.Scenario
}

// ruleScenario is a scenario that decides a rule, with the way to each of its runs that do.
type ruleScenario struct {
	Name string
	Runs []ruleRun
}

type ruleRun struct{ Label, Href string }

type knownRow struct {
	reports.KnownViolation
	Left, Seen, Class string
}

type openRow struct {
	Name, Href, What, Class, Why, Again string
}

// The states of a rule. A rule that holds but for known violations is met, and said to be known.
const (
	ruleUnmet = "not met"
	ruleOpen  = "open"
	ruleKnown = "known"
	ruleMet   = "met"
)

var ruleClass = map[string]string{ruleUnmet: "v", ruleOpen: "i", ruleKnown: "c", ruleMet: "p"}

// shownScenarios is how many scenarios of a rule are named without being asked for.
const shownScenarios = 4

// WriteGateIndex writes the index.html of a gate: the ruling first, then what any
// run's index shows. Where scenarios were repeated, table has their verdicts by seed.
func WriteGateIndex(w io.Writer, g reports.Gate, s reports.Suite, table reports.Repetition) error {
	top := page(g, s)
	if table.Wanted > 1 {
		top.StandIns = s.StandIns
		p := repetitionPage(table)
		p.Gate = top
		return render(w, "repeat.html.tmpl", p)
	}
	p := suitePage(s)
	p.Gate = top
	p.Troubles = nil // the rules and what is left open tell them
	return render(w, "index.html.tmpl", p)
}

func page(g reports.Gate, s reports.Suite) *gatePage {
	p := &gatePage{Word: g.Word(), Class: "v", Policy: phrase.Clip(g.Policy, phrase.MostName), Why: g.Why(s),
		Open: openRows(s), OpenSays: openSays(g)}
	if g.Exit == 0 {
		p.Class = "p"
	}
	p.Rules, p.NotJudged = rulesOf(g, s)
	for _, k := range g.Known {
		p.Known = append(p.Known, tellKnown(k))
	}
	if g.Budget > 0 {
		p.Budget = fmt.Sprintf("Time: %s of the %s that the policy allows.", phrase.Span(int64(g.Elapsed)),
			phrase.Span(int64(g.Budget)))
	}
	return p
}

// rulesOf are the demanded properties, the worst first. A run without a verdict
// leaves open all that was demanded of it.
func rulesOf(g reports.Gate, s reports.Suite) (rules []gateRule, notJudged []string) {
	for _, x := range s.Scenarios {
		for _, e := range x.Expect {
			rules = addRule(rules, x, e)
		}
	}
	for _, x := range s.Scenarios {
		if len(x.Expect) > 0 {
			continue
		}
		for _, e := range unanswered(g, x, rules) {
			rules = addRule(rules, x, e)
		}
	}
	var judged []gateRule
	for _, r := range rules {
		if !slices.ContainsFunc(r.demanded,
			func(e reports.Expectation) bool { return e.Got != checker.NotJudged.String() }) {
			notJudged = append(notJudged, r.Property)
			continue
		}
		judged = append(judged, r.ruled())
	}
	slices.SortStableFunc(judged, func(a, b gateRule) int { return ruleRank(a.State) - ruleRank(b.State) })
	return mergeRules(judged), notJudged
}

// mergeRules puts rules into one row that are met, or open, in the same runs.
func mergeRules(all []gateRule) (rows []gateRule) {
	for _, r := range all {
		i := slices.IndexFunc(rows, r.sameRuns)
		if i < 0 || r.State != ruleMet && r.State != ruleOpen {
			rows = append(rows, r)
			continue
		}
		rows[i].Others = append(rows[i].Others, r.Property)
	}
	return rows
}

func (r gateRule) sameRuns(other gateRule) bool {
	return r.State == other.State && r.Want == other.Want && r.Note == other.Note && reflect.DeepEqual(r.By, other.By)
}

func ruleRank(state string) int {
	return slices.Index([]string{ruleUnmet, ruleOpen, ruleKnown, ruleMet}, state)
}

// addRule puts what a run shows of a property to the others of its rule.
func addRule(rules []gateRule, x reports.Scenario, e reports.Expectation) []gateRule {
	property, want := phrase.Clip(e.Property, phrase.MostName), wantWords(e)
	i := slices.IndexFunc(rules, func(r gateRule) bool { return r.Property == property && r.Want == want })
	if i < 0 {
		i = len(rules)
		rules = append(rules, gateRule{Property: property, Want: want})
	}
	rules[i].demanded, rules[i].runs = append(rules[i].demanded, e), append(rules[i].runs, x)
	return rules
}

// mustHold is what most demands say.
const mustHold = "must hold"

// wantWords says what is demanded, in the words of a rule.
func wantWords(e reports.Expectation) string {
	switch e.Want {
	case "pass", "hold", "pass or not judged", "known violation", "":
		return mustHold
	case "any":
		return "may come out either way, as theory has it"
	case checker.KindLeaseOverrun:
		return "may be broken by holders that outlive their lease, and in no other way"
	case checker.Violated.String():
		return "must be seen to break, as theory has it"
	case checker.NotJudged.String():
		return "is not judged, as theory has it"
	}
	return "is " + phrase.Clip(e.Want, phrase.MostName)
}

// everyProperty stands for the properties of a scenario that demands all of
// them and has no verdict, where no other scenario names them.
const everyProperty = "every property"

// unanswered are the demands on a run that has no verdict.
func unanswered(g reports.Gate, x reports.Scenario, rules []gateRule) (all []reports.Expectation) {
	i := slices.IndexFunc(g.Demands, func(d reports.Demand) bool { return d.Scenario == x.Name })
	if i < 0 {
		return nil
	}
	names := g.Demands[i].Names
	if len(names) == 0 {
		for _, r := range rules {
			if r.Want == mustHold {
				names = append(names, r.Property)
			}
		}
	}
	if len(names) == 0 {
		names = []string{everyProperty}
	}
	for _, name := range names {
		all = append(all, reports.Expectation{Property: name, Want: "hold", Got: checker.Inconclusive.String()})
	}
	return all
}

// ruled decides a rule, and keeps the runs that decide it.
func (r gateRule) ruled() gateRule {
	count := map[string]int{}
	states := make([]string, len(r.demanded))
	for i, e := range r.demanded {
		if states[i] = stateOf(e, r.runs[i]); e.Got != checker.NotJudged.String() {
			count[states[i]]++
		}
	}
	// the last that occurs is the worst
	for _, state := range []string{ruleMet, ruleKnown, ruleOpen, ruleUnmet} {
		if count[state] > 0 {
			r.State, r.Class = state, ruleClass[state]
		}
	}
	for i, e := range r.demanded {
		if states[i] == r.State && e.Got != checker.NotJudged.String() {
			r.decides(r.runs[i])
			if r.Note == "" && !e.Met {
				r.Note = phrase.Sentence(phrase.Clip(e.Note, phrase.MostText))
			}
		}
	}
	r.Says, r.Fold = r.tally(count), len(r.By) > shownScenarios
	return r
}

func stateOf(e reports.Expectation, x reports.Scenario) string {
	switch {
	case e.Known != "":
		return ruleKnown
	case e.Met:
		return ruleMet
	case e.Undecided(x):
		return ruleOpen
	}
	return ruleUnmet
}

// tally says in how many runs the rule came out so.
func (r gateRule) tally(count map[string]int) string {
	runs := phrase.Plural(count[r.State], "run")
	if all := count[ruleUnmet] + count[ruleOpen] + count[ruleKnown] + count[ruleMet]; r.State == ruleUnmet ||
		r.State == ruleKnown {
		runs = fmt.Sprintf("%d of %s", count[r.State], phrase.Plural(all, "run"))
	}
	return map[string]string{ruleUnmet: "broken in ", ruleOpen: "left open in ",
		ruleKnown: "violated, as is known, in ", ruleMet: "in "}[r.State] + runs
}

func (r *gateRule) decides(x reports.Scenario) {
	name := phrase.Clip(x.Name, phrase.MostName)
	i := slices.IndexFunc(r.By, func(s ruleScenario) bool { return s.Name == name })
	if i < 0 {
		i = len(r.By)
		r.By = append(r.By, ruleScenario{Name: name})
	}
	r.By[i].Runs = append(r.By[i].Runs, ruleRun{fmt.Sprintf("seed %d", x.Seed), link(x)})
}

// tellKnown says how a known violation stands.
func tellKnown(k reports.KnownViolation) knownRow {
	k.Scenario, k.Property, k.Kind, k.Reason = phrase.Clip(k.Scenario, phrase.MostName),
		phrase.Clip(k.Property, phrase.MostName), phrase.Clip(k.Kind, phrase.MostName),
		phrase.Clip(k.Reason, phrase.MostText)
	row := knownRow{KnownViolation: k, Class: "c"}
	switch {
	case k.DaysLeft == 0:
		row.Left, row.Class = "over", "v"
	case k.DaysLeft == 1:
		row.Left = "the last day"
	default:
		row.Left = phrase.Plural(k.DaysLeft, "day") + " left"
	}
	all := k.Shown + k.Clear + k.Open
	switch {
	case k.Shown > 0:
		row.Seen = fmt.Sprintf("seen in %d of %s", k.Shown, phrase.Plural(all, "run"))
	case k.Clear > 0 && k.Open == 0:
		row.Seen = fmt.Sprintf("not seen in %s: take it off the list, if its cause is gone", phrase.Plural(all, "run"))
	case all == 0:
		row.Seen = "no run of it"
	default:
		row.Seen = fmt.Sprintf("not seen, but %d of %s leave it open", k.Open, phrase.Plural(all, "run"))
	}
	return row
}

// openRows are the runs that leave something open, and why.
func openRows(s reports.Suite) (rows []openRow) {
	for _, x := range s.Scenarios {
		if !x.LeavesDemandsOpen() {
			continue
		}
		row := openRow{Name: phrase.Clip(x.Name, phrase.MostName), Href: link(x), What: reports.RuleInconclusive,
			Class: "i", Why: x.OpenReason(), Again: phrase.Clip(x.Rerun, phrase.MostText)}
		switch {
		case x.Failed != "":
			row.What, row.Class, row.Why = reports.RuleFailed, "f",
				phrase.Sentence(phrase.Clip(phrase.FirstLine(x.Failed), phrase.MostText))
		case x.Skipped != "":
			row.What, row.Class, row.Why, row.Again = reports.RuleSkipped, "s",
				phrase.Sentence(phrase.Clip(x.Skipped, phrase.MostText)), ""
		}
		rows = append(rows, row)
	}
	return rows
}

// openSays is what the policy does about what is left open.
func openSays(g reports.Gate) []string {
	return []string{reaction(reports.RuleInconclusive, g.Inconclusive,
		"a run that shows too little, was cut, or did not fit into the time"),
		reaction(reports.RuleSkipped, g.Skipped, "a scenario that this machine can't run"),
		"A run that failed always fails the gate, and so does a gate through which nothing has gone."}
}

func reaction(key, says, what string) string {
	verb := "fails the gate"
	if says == "warn" {
		verb = "is warned of, and does not fail the gate"
	}
	return fmt.Sprintf("%s: %s – %s %s.", key, phrase.Clip(says, phrase.MostName), what, verb)
}
