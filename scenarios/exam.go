package scenarios

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/internal/strictyaml"
)

//go:embed exam/attacks.yaml
var attackTable []byte

// Attack aims one fault at one step of one kind of application.
type Attack struct {
	Name string `yaml:"name"`
	// About says in a sentence what is done to whom.
	About string `yaml:"about"`
	// Application names what the clients do meanwhile.
	Application string `yaml:"application"`
	// Asks lists what the lock must be able to do, beside what the application asks for.
	Asks []Ability `yaml:"asks"`
	// Fault is what is done, again and again; its zero value is nothing.
	Fault Fault `yaml:"fault"`
	// Outside are the peers of its fault where the servers are not lockchaos's own, and nothing can
	// be done to the links between them; "": the attack can't be made there.
	Outside string `yaml:"outside"`
	// Lease is the shortest for which it makes sense, where the service itself takes some time.
	Lease Duration `yaml:"lease"`
	// Lasts is how long there are faults at the least, where the usual is too short.
	Lasts Duration `yaml:"lasts"`
	// Family is the kind of fault, and Steps are those of a client at which it
	// strikes: together cells of the matrix.
	Family string   `yaml:"family"`
	Steps  []string `yaml:"steps"`
	// Short: it is one of the most telling.
	Short bool `yaml:"short"`
	// Survey is how many of the libraries of the survey it was made on, and how many of these fell
	// by it for certain. It is zero where none fell.
	Survey Measured `yaml:"survey"`
	// Falls is a lock that is broken on purpose and falls by the attack, with
	// what it breaks: a property, or a kind of double-holds. Inherent is one
	// that falls without a defect of its own, and Stands one that stands.
	Falls    map[string]string `yaml:"falls"`
	Inherent string            `yaml:"inherent"`
	Stands   string            `yaml:"stands"`
}

// Measured is to how many locks an attack was made, and how many of them showed a defect.
type Measured struct {
	Fell int `yaml:"fell"`
	Of   int `yaml:"of"`
}

// share is how likely a lock is to fall, 0 where none was seen to.
func (m Measured) share() float64 { return float64(m.Fell) / float64(max(m.Of, 1)) }

// Application is what clients do while they are attacked.
type Application struct {
	About string `yaml:"about"`
	// Asks lists what the lock must be able to do.
	Asks    []Ability `yaml:"asks"`
	Clients int       `yaml:"clients"`
	// Twins is how many of the clients have one identity; 0: none.
	Twins    int      `yaml:"twins"`
	Keys     int      `yaml:"keys"`
	Workload Workload `yaml:"workload"`
	// Quiet is how long nothing is disturbed at the end, where the usual is too short.
	Quiet Duration `yaml:"quiet"`
	// Grace: work and fault last longer by the time within which the lock claims to tell of a loss.
	Grace bool `yaml:"grace"`
	// Needs is what a run must have done, where work takes so long that the usual is too much.
	Needs Needs `yaml:"needs"`
}

// Ability is something that not every lock can do.
type Ability string

// The abilities.
const (
	// CanRenew: the application can renew a grant.
	CanRenew Ability = "renew"
	// CanBeAsked: the lock says whether a grant still stands.
	CanBeAsked Ability = "held"
	// KeepsAlive: a grant lasts for as long as its holder lives, without the application's doing.
	KeepsAlive Ability = "keeps-alive"
	// RenewsItself: the lock sends requests for that.
	RenewsItself Ability = "renews-itself"
	// TellsLoss: the lock tells by itself that a grant is lost.
	TellsLoss Ability = "tells-loss"
	// ReadsAndWrites: readers do not exclude each other.
	ReadsAndWrites Ability = "read-write"
	// TakesSets: one acquire may ask for several keys.
	TakesSets Ability = "multi-key"
	// IsAsked: the application asks for a key when it wants one, gives its wait up, and stays away.
	IsAsked Ability = "asked"
	// GivesUp: it claims that another one goes on soon after an orderly stop.
	GivesUp Ability = "gives-up"
	// NamesItself: it makes the names by which it knows its clients.
	NamesItself Ability = "names-itself"
	// InDatabase: its service is a database with transactions, so that a store can be one as well.
	InDatabase Ability = "in-database"
	// IsExact: it claims that the effect of each tick comes, once.
	IsExact Ability = "exact"
	// MakesUp: it claims that each tick which no instance could execute is made up for.
	MakesUp Ability = "makes-up"
	// WakesOne: a release wakes one waiter, and its service tells how many requests it has handled.
	WakesOne Ability = "wakes-one"
)

// lacking says of an ability what it means that a lock has it not.
var lacking = map[Ability]string{
	CanRenew:       "its grants are not renewed by the application",
	CanBeAsked:     "it can't be asked whether a grant still stands",
	KeepsAlive:     "it does not keep its grants alive by itself",
	RenewsItself:   "its grants never expire, and nothing renews them",
	TellsLoss:      "it does not tell by itself that a grant is lost",
	ReadsAndWrites: "it knows no readers",
	TakesSets:      "it is asked for one key at a time",
	IsAsked:        "it is not asked for keys: its terms come by themselves",
	GivesUp:        "it does not claim that another one goes on soon after an orderly stop",
	NamesItself:    "it does not claim to make its clients' names itself",
	InDatabase:     "it relies on no database whose transactions an application could use",
	IsExact:        "it does not claim that the effect of each tick comes once",
	MakesUp:        "it does not claim to make up for each tick that no instance could execute",
	WakesOne:       "it does not claim to wake one waiter at a release",
}

// examTTL is the lease for which the attacks are written.
const examTTL = Duration(time.Second)

// JobTTL is the usual lease of a scheduler, whose period is half of that.
const (
	JobTTL      = examTTL
	usualPeriod = JobTTL / 2
)

// Exam is the table of attacks.
type Exam struct {
	Applications map[string]Application `yaml:"applications"`
	// Steps and Families span the matrix; Senseless are its cells that no attack can fill.
	Steps     []Named     `yaml:"steps"`
	Families  []Named     `yaml:"families"`
	Senseless []Senseless `yaml:"senseless"`
	Attacks   []Attack    `yaml:"attacks"`
}

// Named is a step of a client, or of an instance of a scheduler, or a family of faults.
type Named struct {
	Name  string `yaml:"name"`
	About string `yaml:"about"`
	// Job: it is a step of an instance of a scheduler.
	Job bool `yaml:"job"`
}

// Senseless are pairs of a step and a family of faults for which there is no
// attack, and why. Without families it means all of them.
type Senseless struct {
	Steps    []string `yaml:"steps"`
	Families []string `yaml:"families"`
	Why      string   `yaml:"why"`
}

// attacks is the table, read once. A sync.OnceValues here would have the linker keep
// the reader of YAML in programs that never ask, such as the clients of a simulation.
var attacks struct {
	once sync.Once
	exam Exam
	err  error
}

// Attacks returns the table that comes with lockchaos. It is shared: nobody changes what is in it.
func Attacks() (Exam, error) {
	attacks.once.Do(func() { attacks.exam, attacks.err = readAttacks() })
	return attacks.exam, attacks.err
}

func readAttacks() (Exam, error) {
	const file = "scenarios/exam/attacks.yaml"
	var e Exam
	if err := strictyaml.Decode(attackTable, &e); err != nil {
		return Exam{}, strictyaml.Located(file, err)
	}
	for _, a := range e.Attacks {
		app, known := e.Applications[a.Application]
		if !known {
			return Exam{}, fmt.Errorf("%s: attack %s: unknown application %q", file, a.Name, a.Application)
		}
		for _, ability := range slices.Concat(app.Asks, a.Asks) {
			if lacking[ability] == "" {
				return Exam{}, fmt.Errorf("%s: attack %s or its application asks for %q, which is no ability", file,
					a.Name, ability)
			}
		}
	}
	return e, nil
}

// Only leaves of the table the most telling attacks, if short is set, and those
// that are named, if any are.
func (e Exam) Only(short bool, names []string) (Exam, error) {
	var known []string
	for _, a := range e.Attacks {
		known = append(known, a.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return Exam{}, fmt.Errorf("there is no attack named %q%s", name, spelling.Suggest(name, known))
		}
	}
	e.Attacks = slices.DeleteFunc(slices.Clone(e.Attacks), func(a Attack) bool {
		return short && !a.Short || len(names) > 0 && !slices.Contains(names, a.Name)
	})
	return e, nil
}

// Examinee is the lock that is examined.
type Examinee struct {
	// Base names the lock, its adapter, its TTL and its store; the rest of it is the attack's.
	Base      Scenario
	Nature    Nature
	Abilities []Ability
	// Engine is that of a store with transactions, of the same kind as the lock's service; "": the
	// service is no such database.
	Engine string
	// Every is the period of the job that a scheduler is examined with; 0: as the attacks say.
	Every Duration
	// Fixed: its lease is Base.TTL, and can't be set.
	Fixed bool
	// Grace is within which time it claims to tell of a loss; 0: no such claim.
	Grace Duration
	// Fits tells why a fault can't be aimed at the lock or its service; nil: it can.
	Fits func(Fault) error
	// Runs tells why a scenario can't be run where the exam is to be; nil: every scenario can.
	Runs func(Scenario) error
}

// Inapplicable is an attack that can't be made on a lock, and why. Fix says what to do where the
// machine lacks something; "": it makes no sense against the lock.
type Inapplicable struct{ Attack, Why, Fix string }

// For leaves of the table the attacks on what the examinee is, a lock or a scheduler.
func (e Exam) For(l Examinee) Exam {
	e.Attacks = slices.DeleteFunc(slices.Clone(e.Attacks), func(a Attack) bool {
		return (e.Applications[a.Application].Workload.Kind == job) != l.Nature.Job
	})
	return e
}

// Of returns a scenario for each attack that can be made on the lock, and the others with the
// reason. Attacks on a scheduler are not among either if it is a lock, nor the other way round.
func (e Exam) Of(l Examinee) (all []Scenario, not []Inapplicable) {
	for _, a := range e.For(l).Attacks {
		s, err := e.made(a, l)
		if err != nil {
			not = append(not, inapplicable(a, err))
			continue
		}
		all = append(all, s)
	}
	return all, not
}

// made is the attack on the lock. Its error says why the attack can't be made.
func (e Exam) made(a Attack, l Examinee) (Scenario, error) {
	err := e.applies(a, l)
	if err != nil && a.Outside != "" {
		a.Fault.Peers = a.Outside
		a.About += ": here from the " + a.Outside + " alone"
		if e.applies(a, l) == nil {
			err = nil
		}
	}
	if err != nil {
		return Scenario{}, err
	}
	s := e.scenario(a, l)
	if l.Runs == nil {
		return s, nil
	}
	return s, l.Runs(s)
}

// inapplicable is an attack that can't be made because of an error.
func inapplicable(a Attack, err error) Inapplicable {
	var lacks interface {
		error
		Lack() (why, fix string)
	}
	if errors.As(err, &lacks) {
		why, fix := lacks.Lack()
		return Inapplicable{a.Name, why, fix}
	}
	return Inapplicable{Attack: a.Name, Why: err.Error()}
}

// applies tells why an attack makes no sense against the lock; nil: it does.
func (e Exam) applies(a Attack, l Examinee) error {
	app := e.Applications[a.Application]
	switch ofJob := app.Workload.Kind == job; {
	case ofJob && !l.Nature.Job:
		return errors.New("it is an attack on a scheduler, and this is a lock")
	case !ofJob && l.Nature.Job:
		return errors.New("it is an attack on a lock, and this is a scheduler")
	case !ofJob && l.Nature.Permits == 0:
		return errors.New("it is no lock")
	}
	for _, ability := range slices.Concat(app.Asks, a.Asks) {
		if !slices.Contains(l.Abilities, ability) {
			return errors.New(lacking[ability])
		}
	}
	if l.Nature.Permits > 1 && app.Workload.Kind != "" {
		return errors.New("it admits several at once, who do not wait for one")
	}
	if l.Fixed && l.Base.TTL < a.Lease {
		return fmt.Errorf("it takes a lease of %v or longer, and that of the lock can't be set", a.Lease)
	}
	if !a.disturbs() {
		return nil
	}
	for _, single := range a.Fault.Singles() {
		if err := l.Fits(single); err != nil {
			return err
		}
	}
	return nil
}

// Contended reports whether in the scenario of an attack several clients always
// want one key, and nothing disturbs them.
func (s Scenario) Contended() bool {
	return len(s.Faults) == 0 && s.Keys == 1 && s.Workload.Kind == "counter" && s.Workload.Readers == 0 &&
		s.Workload.Rest.Max < s.Workload.Think.Max && s.Workload.AcquireTimeout >= s.TTL
}

// HoldsNobodyUp reports whether no fault of the scenario keeps a holder from working, or from its
// service: they kill clients of a lock, or make clocks of nodes wrong. Who is late is late for
// another reason. The death of a scheduler's instance makes its tick another's.
func (s Scenario) HoldsNobodyUp() bool {
	return !slices.ContainsFunc(s.Faults, func(f Fault) bool {
		return slices.ContainsFunc(f.Singles(), func(one Fault) bool {
			spec := one.Spec()
			return !(spec.Kills() && s.Workload.Kind != job) && (!spec.OnClocks() || one.strikesClients())
		})
	})
}

// disturbs reports whether the attack has a fault.
func (a Attack) disturbs() bool { return a.Fault.Kind != "" || len(a.Fault.Parts()) > 0 }

// What every attack has in common, in terms of the lease for which they are written.
var (
	examWork  = Range{20 * milli, 50 * milli}
	examRest  = Range{5 * milli, 30 * milli}
	examEvery = Range{200 * milli, 400 * milli}
	examNeeds = Needs{Grants: 6, Handovers: 2}
)

const (
	milli = Duration(time.Millisecond)
	// examClients contend where the application does not say how many, and
	// examBites is how often a fault must bite.
	examClients = 4
	examBites   = 2
	// examQuiet is the end of an attack, when nothing is disturbed any more;
	// nothing is how long one lasts that disturbs nothing.
	examQuiet = 2 * examTTL
	nothing   = 6 * examTTL
	// leastFaults is the shortest time for faults: some take longer than a
	// short lease, such as the start of a server.
	leastFaults = Duration(4 * time.Second)
	// callLimit bounds calls, where leases are not longer.
	callLimit = Duration(10 * time.Second)
)

// scenario is the attack on the lock.
func (e Exam) scenario(a Attack, l Examinee) Scenario {
	l.Base.TTL = max(l.Base.TTL, a.Lease)
	app, share := e.Applications[a.Application], float64(l.Base.TTL)/float64(examTTL)
	s := l.Base
	s.Name, s.Attack = s.Lock+"/"+a.Name+"/"+s.Store.Kind, a.Name
	s.About = a.About + " (" + app.About + ")"
	s.Clients, s.Twins, s.Keys = examClients, app.Twins, max(app.Keys, 1)
	if app.Clients > 0 {
		s.Clients = app.Clients
	}
	s.TTL, s.Quiet, s.Faults, s.Needs = examTTL, 0, nil, examNeeds
	if app.Needs != (Needs{}) {
		s.Needs = app.Needs
	}
	if a.disturbs() {
		f := a.Fault
		f.After = examEvery.Min
		if f.Every == (Range{}) {
			f.Every = examEvery
		}
		s.Faults, s.Needs.Bites = []Fault{f}, examBites
	}
	s = s.Stretched(l.Base.TTL)
	s.Workload = app.workload(l, share)
	if app.Grace {
		s.Workload.Think = Range{s.Workload.Think.Min + l.Grace, s.Workload.Think.Max + l.Grace}
		for i := range s.Faults {
			s.Faults[i].For += l.Grace
		}
	}
	s.Duration = nothing.times(share)
	longest := Duration(0)
	for _, f := range s.Faults {
		longest = f.Longest()
		s.Quiet = max(examQuiet, app.Quiet).times(share)
		s.Duration = max(f.ends(examBites), leastFaults, a.Lasts.times(share)) + s.Quiet
	}
	// A wait is seen to its end, and there is time for the grants that must be.
	s.Duration = max(s.Duration, s.Workload.AcquireTimeout+examQuiet.times(share),
		Duration(s.Needs.Grants)*s.Workload.Think.Max+examQuiet.times(share))
	s.Workload.OpTimeout = max(callLimit, 2*longest)
	if s.Workload.AcquireTimeout == 0 {
		s.Workload.AcquireTimeout = s.patience()
	}
	if s.Expect = l.Nature.Examined(s.Store, s.Faults); s.Workload.Kind == transaction {
		s.Store.Engine = l.Engine
		if s.Expect.Properties[checker.LostUpdate] != "" { // who outlives a lease commits what others did not see
			s.Expect.set(checker.StaleRead, anyOutcome)
		}
	}
	return s
}

// Undisturbed is a scenario of the lock in which its clients take it, write and
// release it, and nothing is done to them.
func (l Examinee) Undisturbed() Scenario {
	e := Exam{Applications: map[string]Application{}}
	if l.Nature.Job {
		e.Applications[""] = Application{Workload: Workload{Kind: job, Every: usualPeriod}}
	}
	s := e.scenario(Attack{}, l)
	s.Name, s.About = l.Base.Lock+"/undisturbed/"+s.Store.Kind, "nothing is disturbed"
	return s
}

// workload is what the clients do under a lease that is so many times as long
// as that for which the attacks are written.
func (app Application) workload(l Examinee, share float64) Workload {
	w := app.Workload
	if w.Kind == job {
		w.Every = max(ShortestPeriod, l.period(w.Every, share)/milli*milli)
		w.Guard, w.AcquireTimeout = guardTold, 2*examTTL
	}
	if w.Kind == "" {
		w.Kind = "counter"
	}
	if l.Nature.Permits > 1 {
		w.Kind = "semaphore"
	}
	if w.Guard == "" { // an application that goes on when it knows of its loss tells nothing of the lock
		w.Guard = guardTold
	}
	if w.Think == (Range{}) {
		w.Think = examWork
	}
	if w.Rest == (Range{}) && w.Kind != job { // an instance waits for the next tick at once
		w.Rest = examRest
	}
	w.Think, w.Rest, w.AcquireTimeout, w.NextAfter = w.Think.times(share), w.Rest.times(share),
		w.AcquireTimeout.times(share), w.NextAfter.times(share)
	return w
}

// period is that of an application which is written for the usual one.
func (l Examinee) period(written Duration, share float64) Duration {
	if l.Every > 0 {
		return written.times(float64(l.Every) / float64(usualPeriod))
	}
	return written.times(share)
}

// times is the range stretched by a factor.
func (r Range) times(factor float64) Range {
	return Range{r.Min.times(factor), r.Max.times(factor)}
}

func (d Duration) times(factor float64) Duration { return Duration(float64(d) * factor) }
