package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"
	"github.com/lockchaos/lockchaos/internal/strictyaml"
)

//go:embed *.yaml
var builtin embed.FS

// Catalogue is what names in a scenario may refer to. The command fills it in:
// this package knows no concrete lock.
type Catalogue struct {
	Locks  []string
	Tokens map[string]bool // lock name → whether its grants carry a fencing token
	Guards map[string]bool // lock name → whether it is for a guarded store, and for no other
	// LockService is each lock's service; Services are all that there are.
	LockService map[string]string
	Services    []string
	Engines     []string // of the store
	// Transactions are the engines that have transactions, Isolations their isolation levels.
	Transactions, Isolations []string
	Faults                   []string
	Moments                  []string // at which a fault can strike
	Workloads                []string
	// CheckFault reports whether a fault of a known kind, at a known moment, can
	// strike its target under the scenario's lock; nil: any can.
	CheckFault func(s *Scenario, f Fault) error
	// CheckTogether reports whether faults can strike the same victims at the
	// same moment; nil: any can.
	CheckTogether func(parts []Fault) error
	// Examinee is a scenario's lock, which comes with lockchaos, as the table
	// of attacks sees it; nil: no scenario can name an attack.
	Examinee  func(base Scenario) (Examinee, error)
	Renews    map[string]bool // lock name → whether its grants are renewed by the application
	ReadWrite map[string]bool // lock name → whether it is a reader-writer lock
	Jobs      map[string]bool // lock name → whether it is a scheduler, which executes a job
}

// Builtin returns the suites that come with lockchaos, in the order of their names.
func Builtin(c Catalogue) ([]Suite, error) { return NewLibrary(c).All() }

// Library reads the suites that come with lockchaos, each once: some include
// others. Change nothing of what it returns. Safe for concurrent use.
type Library struct {
	catalogue Catalogue
	mu        sync.Mutex
	read      map[string]*Suite
}

// NewLibrary returns a library that has read nothing yet.
func NewLibrary(c Catalogue) *Library { return &Library{catalogue: c, read: map[string]*Suite{}} }

// All returns all suites, in the order of their names.
func (l *Library) All() ([]Suite, error) {
	names, err := fs.Glob(builtin, "*.yaml")
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var suites []Suite
	for _, name := range names {
		s, err := l.suite(strings.TrimSuffix(name, ".yaml"), nil)
		if err != nil {
			return nil, err
		}
		suites = append(suites, *s)
	}
	return suites, nil
}

// Suite returns one suite; nil: there is none of that name.
func (l *Library) Suite(name string) (*Suite, error) {
	if _, err := fs.Stat(builtin, name+".yaml"); err != nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.suite(name, nil)
}

// suite reads one of them, for those of the trail, each of which includes the
// next. The caller holds the lock.
func (l *Library) suite(name string, trail []string) (*Suite, error) {
	if slices.Contains(trail, name) {
		return nil, fmt.Errorf("suite %s includes itself: %s", name, strings.Join(append(trail, name), " → "))
	}
	if s := l.read[name]; s != nil {
		return s, nil
	}
	text, err := builtin.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no suite %q to include: only those that come with lockchaos can be", name)
	}
	s, err := l.parse(text, path.Join("scenarios", name+".yaml"), append(slices.Clone(trail), name))
	if err == nil {
		l.read[name] = s
	}
	return s, err
}

// Load reads a suite from a file.
func Load(file string, c Catalogue) (*Suite, error) {
	text, err := strictyaml.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read scenarios: %w", err)
	}
	return Parse(text, file, c)
}

// Parse reads a suite from YAML. Every mistake, be it of form or of content,
// comes with file, line and column.
func Parse(text []byte, file string, c Catalogue) (*Suite, error) {
	return NewLibrary(c).parse(text, file, nil)
}

func (l *Library) parse(text []byte, file string, trail []string) (*Suite, error) {
	var raw rawSuite
	raw.Defaults.Needs = usualNeeds
	mistakes, err := strictyaml.Read(text, file, &raw)
	if err != nil {
		return nil, err
	}
	included, where, err := l.included(raw.Include, trail)
	if err != nil {
		return nil, strictyaml.Located(file, err)
	}
	v := &validator{mistakes: mistakes, catalogue: l.catalogue}
	places, err := v.places(&raw, included)
	if err != nil {
		return nil, strictyaml.Located(file, err)
	}
	// what names an attack that can't be made is no scenario
	if err := v.mistakes.Err(); err != nil {
		return nil, err
	}
	for i, g := range raw.Matrix {
		v.group(i, g)
	}
	s := Suite{Name: raw.Name, About: raw.About, Scenarios: included, Places: where}
	for _, p := range places {
		s.Scenarios = append(s.Scenarios, p.scenario)
		s.Places[p.scenario.Name] = Place{File: file, Line: v.mistakes.Line(p.nameAt), Builtin: trail != nil}
	}
	return &s, v.suite(&s, places)
}

// rawSuite is a suite as it is written.
type rawSuite struct {
	Name      string     `yaml:"suite"`
	About     string     `yaml:"about"`
	Include   []string   `yaml:"include"`
	Defaults  Scenario   `yaml:"defaults"`
	Scenarios []ast.Node `yaml:"scenarios"`
	Matrix    []group    `yaml:"matrix"`
}

// included returns the scenarios of the suites that another one includes, each
// once, and where they are written.
func (l *Library) included(names, trail []string) (out []Scenario, places map[string]Place, err error) {
	places = map[string]Place{}
	for _, name := range names {
		suite, err := l.suite(name, trail)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range suite.Scenarios {
			if !named(out, s.Name) {
				out = append(out, s)
				places[s.Name] = suite.Places[s.Name]
			}
		}
	}
	return out, places, nil
}

func named(all []Scenario, name string) bool {
	return slices.ContainsFunc(all, func(s Scenario) bool { return s.Name == name })
}

// places lays every scenario over the defaults: those of the list, then those of the
// matrix. The matrix leaves out what is included: that has been written with more care.
func (v *validator) places(raw *rawSuite, included []Scenario) ([]place, error) {
	var out []place
	n := len(raw.Scenarios)
	for i, g := range raw.Matrix {
		if n += len(g.Locks) * len(g.Cases); n > mostScenarios {
			v.fail(fmt.Sprintf("$.matrix[%d]", i), "more than %d scenarios in one suite: split it", mostScenarios)
			return nil, nil
		}
	}
	if n > mostScenarios {
		v.fail(fmt.Sprintf("$.scenarios[%d]", mostScenarios), "more than %d scenarios in one suite: split it",
			mostScenarios)
		return nil, nil
	}
	for i, node := range raw.Scenarios {
		at := fmt.Sprintf("$.scenarios[%d]", i)
		p, err := v.read(place{at: at, lockAt: at + ".lock"}, raw.Defaults, node)
		if errors.Is(err, errNoMapping) {
			err = fmt.Errorf("scenario %d of the list %w", i+1, err)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	for i, g := range raw.Matrix {
		expanded, err := v.expand(i, g, raw.Defaults)
		if err != nil {
			return nil, err
		}
		out = append(out, slices.DeleteFunc(expanded,
			func(p place) bool { return named(included, p.scenario.Name) })...)
	}
	return out, nil
}

// mostScenarios bounds a suite: each scenario that is laid out takes time before anything runs.
const mostScenarios = 20_000

// validator checks the content of a suite and points at the place of a mistake.
type validator struct {
	mistakes  *strictyaml.Mistakes
	catalogue Catalogue
}

// fail notes a mistake at a YAML path such as $.scenarios[2].lock.
func (v *validator) fail(at, format string, args ...any) { v.mistakes.Add(at, format, args...) }
