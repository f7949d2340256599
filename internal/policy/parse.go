package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/internal/strictyaml"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Catalogue is what a policy can refer to. The command fills it in.
type Catalogue struct {
	// Meet is told, once and first, of a lock of the user's own, and tries it.
	// Its error says what is wrong with it.
	Meet func(Lock) error
	// Find returns what a word names: a suite, a scenario, the beginning of names, a file; with the
	// lock that Meet was told of in the place of theirs. Its error says what may have been meant.
	Find func(word string) ([]scenarios.Scenario, error)
	// Examine returns the attacks of an exam. Its error says what may have been meant.
	Examine func(Exam) ([]scenarios.Scenario, error)
	// Services are those of Lock.Service.
	Services []string
}

// form is a policy as it is written.
type form struct {
	Version      int                `yaml:"version"`
	Run          []ast.Node         `yaml:"run"`
	Properties   ast.Node           `yaml:"properties"`
	Repetitions  int                `yaml:"repetitions"`
	TimeBudget   scenarios.Duration `yaml:"time_budget"`
	Inconclusive Reaction           `yaml:"inconclusive"`
	Skipped      Reaction           `yaml:"skipped"`
	Seed         *uint64            `yaml:"seed"`
	Retries      *int               `yaml:"retries"`
	Lock         Lock               `yaml:"lock"`
	Known        []knownForm        `yaml:"known"`
}

// runForm is an entry of the list of what is run, where it is more than a name.
type runForm struct {
	Scenarios   []string `yaml:"scenarios"`
	Properties  ast.Node `yaml:"properties"`
	Repetitions int      `yaml:"repetitions"`
	Exam        string   `yaml:"exam"`
	Short       bool     `yaml:"short"`
	Attacks     []string `yaml:"attacks"`
}

type knownForm struct {
	Scenario string `yaml:"scenario"`
	Property string `yaml:"property"`
	Kind     string `yaml:"kind"`
	Reason   string `yaml:"reason"`
	Expires  string `yaml:"expires"`
}

// mostRepetitions keeps a slip of the finger from running for weeks.
const mostRepetitions = 1000

// Load reads a policy from a file.
func Load(file string, c Catalogue) (*Policy, error) {
	text, err := strictyaml.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w (lockchaos init writes one)", err)
	}
	return Parse(text, file, c)
}

// Parse reads a policy. Every mistake, of form or of content, is told with file,
// line and column, and where a word is mistyped with the one that was meant.
func Parse(text []byte, file string, c Catalogue) (*Policy, error) {
	f := form{Repetitions: 1, Inconclusive: Fail, Skipped: Fail}
	mistakes, err := strictyaml.Read(text, file, &f)
	if err != nil {
		return nil, err
	}
	r := &reader{Mistakes: mistakes, file: file, catalogue: c, form: f}
	p := r.policy()
	if r.fatal != nil {
		return nil, r.fatal
	}
	return p, r.Err()
}

// reader turns a form into a policy and notes what is wrong with it.
type reader struct {
	*strictyaml.Mistakes
	file      string
	catalogue Catalogue
	form      form
	fatal     error // a mistake of form in an entry, with its place
	unmet     bool  // there is something wrong with the lock
}

func (r *reader) policy() *Policy {
	f := r.form
	p := &Policy{File: r.file, Inconclusive: f.Inconclusive, Skipped: f.Skipped, Budget: f.TimeBudget.Std(),
		Seed: f.Seed, Retries: f.Retries, Lock: f.Lock}
	if f.Version != 1 {
		r.Add("$.version", "version %d: this lockchaos reads policies of version 1 (\"version: 1\")", f.Version)
	}
	r.oneOf("$.inconclusive", "reaction", string(f.Inconclusive), []string{string(Fail), string(Warn)})
	r.oneOf("$.skipped", "reaction", string(f.Skipped), []string{string(Fail), string(Warn)})
	if n := f.Retries; n != nil && (*n < 0 || *n > MostRetries) {
		r.Add("$.retries", "%d: what came to nothing is run again 0 to %d times", *n, MostRetries)
	}
	r.lock(p)
	usual := Demand{All: true}
	if f.Properties != nil {
		usual = r.demand("$.properties", f.Properties)
	}
	r.repetitions("$.repetitions", f.Repetitions)
	if len(f.Run) == 0 {
		r.Add("$.run", "nothing is run: name suites, scenarios or files (\"run: [quick]\")")
	}
	for i, node := range f.Run {
		r.entry(p, fmt.Sprintf("$.run[%d]", i), node, usual)
	}
	if r.Len() > 0 || r.fatal != nil {
		return p // what is known can't be held against half a list
	}
	for i, k := range f.Known {
		r.readKnown(p, fmt.Sprintf("$.known[%d]", i), k)
	}
	return p
}

// entry adds the scenarios that one entry names. What a later entry says of a
// scenario holds: a suite can be named first, and then what is special.
func (r *reader) entry(p *Policy, at string, node ast.Node, usual Demand) {
	switch n := node.(type) {
	case *ast.StringNode:
		r.expectable(p, at, usual)
		r.find(p, at, n.Value, Run{Demand: usual, Repetitions: r.form.Repetitions})
	case ast.MapNode:
		r.mapping(p, at, node, usual)
	default:
		r.Add(at, "an entry is a name, or a mapping of scenarios or an exam, properties and repetitions")
		r.expectable(p, at, usual)
	}
}

// mapping adds those of an entry that says more than a name.
func (r *reader) mapping(p *Policy, at string, node ast.Node, demand Demand) {
	e := runForm{Repetitions: r.form.Repetitions}
	if err := strictyaml.Node(node, &e); err != nil {
		if r.fatal == nil {
			r.fatal = strictyaml.Located(r.file, err)
		}
		return
	}
	if e.Properties != nil {
		demand = r.demand(at+".properties", e.Properties)
	}
	r.repetitions(at+".repetitions", e.Repetitions)
	if e.Exam != "" || e.Short || e.Attacks != nil {
		r.exam(p, at, e)
		return
	}
	if len(e.Scenarios) == 0 {
		r.Add(at, "an entry names scenarios: a list of suites, scenarios or files")
	}
	r.expectable(p, at, demand)
	for i, word := range e.Scenarios {
		r.find(p, fmt.Sprintf("%s.scenarios[%d]", at, i), word, Run{Demand: demand, Repetitions: e.Repetitions})
	}
}

// expectable refuses to demand what theory says of a lock that it does not know.
func (r *reader) expectable(p *Policy, at string, demand Demand) {
	if demand.Expected && p.Lock.Command != "" {
		r.Add(at, "properties: expected is what theory says of a scenario's own lock, and nothing of the one of \"lock\": name the properties, or say all")
	}
}

// find adds the scenarios of a name, each to be run like the given one.
func (r *reader) find(p *Policy, at, name string, like Run) {
	if r.unmet {
		return // what it would be run with is not known
	}
	found, err := r.catalogue.Find(name)
	if err != nil {
		r.Add(at, "%v", err)
	}
	for _, s := range found {
		like.Name, like.Scenario, like.Line = s.Name, s, r.Line(at)
		r.add(p, at, like)
	}
}

// exam adds the attacks of an exam. What must hold is what theory demands of the lock under each.
func (r *reader) exam(p *Policy, at string, e runForm) {
	switch {
	case e.Exam == "":
		r.Add(at, "short and attacks are of an exam: name its lock (\"exam: redis-setnx\", or \"exam: lock\" for the one of \"lock\")")
	case e.Properties != nil || e.Scenarios != nil:
		r.Add(at, "an exam makes its own scenarios, and expects what theory does: give no scenarios and no properties beside it")
	case e.Exam == ExamOwn && p.Lock == Lock{}:
		r.Add(at+".exam", "\"exam: lock\" is of a lock of your own, and the policy has no key \"lock\"")
	case r.unmet: // what would be examined is not known
	default:
		found, err := r.catalogue.Examine(Exam{Lock: e.Exam, Short: e.Short, Attacks: e.Attacks})
		if err != nil {
			r.Add(at+".exam", "%v", err)
		}
		for _, s := range found {
			r.add(p, at, Run{Name: s.Name, Scenario: s, Demand: Demand{Expected: true}, Repetitions: e.Repetitions,
				Exam: true, Line: r.Line(at + ".exam")})
		}
	}
}

func (r *reader) add(p *Policy, at string, run Run) {
	i := slices.IndexFunc(p.Runs, func(other Run) bool { return other.Name == run.Name })
	if i < 0 {
		p.Runs = append(p.Runs, run)
		return
	}
	if !sameScenario(p.Runs[i].Scenario, run.Scenario) {
		r.Add(at, "two different scenarios are named %s: rename one", run.Name)
		return
	}
	p.Runs[i] = run
}

// demand reads "all", "expected", or a list of properties.
func (r *reader) demand(at string, node ast.Node) (d Demand) {
	if word, ok := node.(*ast.StringNode); ok {
		switch word.Value {
		case "all":
			return Demand{All: true}
		case "expected":
			return Demand{Expected: true}
		}
		r.Add(at, "%q: properties are all, expected, or a list of names (lockchaos list properties)%s", word.Value,
			spelling.Suggest(word.Value, []string{"all", "expected"}))
		return d
	}
	if err := strictyaml.Node(node, &d.Names); err != nil {
		r.Add(at, "properties are all, expected, or a list of names")
		return d
	}
	if len(d.Names) == 0 {
		r.Add(at, "an empty list demands nothing: say all, expected, or name properties")
	}
	for i, name := range d.Names {
		r.oneOf(fmt.Sprintf("%s[%d]", at, i), "property", name, checker.Names())
	}
	return d
}

func (r *reader) readKnown(p *Policy, at string, k knownForm) {
	for _, part := range []struct{ name, value string }{{"scenario", k.Scenario}, {"property", k.Property},
		{"reason", k.Reason}, {"expires", k.Expires}} {
		if strings.TrimSpace(part.value) == "" {
			r.Add(at+"."+part.name, "a known violation needs a scenario, a property, a reason and the day on which it expires: %s is missing", part.name)
			return
		}
	}
	out := Known{Scenario: k.Scenario, Property: k.Property, Kind: k.Kind,
		Reason: strings.Join(strings.Fields(k.Reason), " "), Line: r.Line(at + ".scenario")}
	r.oneOf(at+".property", "property", k.Property, checker.Names())
	if k.Kind != "" {
		if kinds := checker.Named(k.Property).Kinds; kinds != nil {
			r.oneOf(at+".kind", "kind", k.Kind, kinds)
		} else {
			r.Add(at+".kind", "no kinds are told of %s", k.Property)
		}
	}
	var err error
	if out.Expires, err = time.Parse(time.DateOnly, k.Expires); err != nil {
		r.Add(at+".expires", "%q is no date such as 2027-03-31", k.Expires)
	}
	r.concerns(p, at, out)
	for _, other := range p.Known {
		if other.Scenario == out.Scenario && other.Property == out.Property && other.Kind == out.Kind {
			r.Add(at+".scenario", "%s of %s is known already, in line %d", out.Property, out.Scenario, other.Line)
		}
	}
	p.Known = append(p.Known, out)
}

// concerns notes an entry that would never be looked at.
func (r *reader) concerns(p *Policy, at string, k Known) {
	var names []string
	demanded := false
	for _, run := range p.Runs {
		names = append(names, run.Name)
		d := run.Demand
		demanded = demanded || k.names(run.Name) && (d.All || d.Expected || slices.Contains(d.Names, k.Property))
	}
	switch {
	case !slices.ContainsFunc(names, k.names):
		r.Add(at+".scenario", "the policy runs no scenario named %q%s", k.Scenario,
			cmp.Or(spelling.Suggest(k.Scenario, names), some(names)))
	case !demanded && slices.Contains(checker.Names(), k.Property):
		r.Add(at+".property", "the policy does not demand %s of %s: this entry has no effect", k.Property, k.Scenario)
	}
}

// some names a few, as the end of a message.
func some(names []string) string {
	const few = 3
	if len(names) > few {
		return fmt.Sprintf("; there are %s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return "; there are " + strings.Join(names, ", ")
}

func (r *reader) lock(p *Policy) {
	l, before := p.Lock, r.Len()
	switch {
	case l == Lock{}:
		return
	case strings.TrimSpace(l.Command) == "":
		r.Add("$.lock", "lock needs a command, such as \"python3 lock.py\"")
	case l.Service == "":
		r.Add("$.lock", "lock needs the service that it uses (lockchaos list services), or none")
	default:
		r.oneOf("$.lock.service", "service", l.Service, r.catalogue.Services)
	}
	if l.TTL != 0 && l.TTL.Std() < time.Millisecond {
		r.Add("$.lock.ttl", "a lease must last a millisecond or longer")
	}
	if r.Len() == before {
		if err := r.catalogue.Meet(l); err != nil {
			r.Add("$.lock.command", "%v", err)
		}
	}
	r.unmet = r.Len() > before
}

func (r *reader) repetitions(at string, n int) {
	if n < 1 || n > mostRepetitions {
		r.Add(at, "%d repetitions: there may be 1 to %d", n, mostRepetitions)
	}
}

func (r *reader) oneOf(at, what, got string, known []string) {
	if !slices.Contains(known, got) {
		r.Add(at, "unknown %s %q: one of %s%s", what, got, strings.Join(known, ", "), spelling.Suggest(got, known))
	}
}
