package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// App is an application of the user's own in a compose project: its containers
// are the clients. It takes the place of a scenario's lock, store and workload.
// What it did is told by its audit log or, where it has hooks, by their answers.
type App struct {
	// Clients are the compose services whose containers are the clients, with ":2"
	// behind one for the second container of a service. The first is client 1.
	Clients []string `yaml:"clients"`
	// Of pods on Kubernetes, Clients, Service and Store name deployment/NAME, statefulset/NAME,
	// daemonset/NAME, pod/NAME, or KEY=VALUE, labels of theirs, and Namespace is where they are.
	Namespace string `yaml:"namespace,omitempty"`
	// Service are the compose services that the lock is kept by, Store the one that keeps what
	// the lock protects. Faults can be aimed at them, and at the links that lead to them.
	Service []string `yaml:"service,omitempty"`
	Store   string   `yaml:"store,omitempty"`
	// Lease is what a grant promises: "ttl" (also if not given: good for the TTL from when it
	// was asked for or last renewed), "released" (good until it is released) or "unknown".
	Lease string   `yaml:"lease,omitempty"`
	Log   AppLog   `yaml:"log,omitempty"`
	Hooks AppHooks `yaml:"hooks,omitempty"`
}

// AppLog is where the clients' audit log is, and how to read it: as `lockchaos
// check` reads one, with the same words.
type AppLog struct {
	// File is the path inside the containers; not given: what they print.
	File string `yaml:"file,omitempty"`
	// Map names the members by field, Events the words by meaning.
	Map        map[string]string   `yaml:"map,omitempty"`
	Events     map[string][]string `yaml:"events,omitempty"`
	TimeFormat string              `yaml:"time_format,omitempty"`
	// Tokens is what a token means: "fencing" (also if not given), "version" or "none".
	Tokens string `yaml:"tokens,omitempty"`
}

// Own reports whether the scenario's clients are an application of the user's own.
func (s *Scenario) Own() bool { return s.App != nil }

// Members are the compose services that the application's scenario needs.
func (a *App) Members() []string {
	all := append(slices.Clone(a.Clients), a.Service...)
	if a.Store != "" && !slices.Contains(all, a.Store) {
		all = append(all, a.Store)
	}
	return all
}

// clone is a copy that shares nothing.
func (a *App) clone() *App {
	if a == nil {
		return nil
	}
	c := *a
	c.Clients, c.Service, c.Hooks = slices.Clone(a.Clients), slices.Clone(a.Service), a.Hooks.clone()
	c.Log.Map, c.Log.Events = maps.Clone(a.Log.Map), maps.Clone(a.Log.Events)
	return &c
}

// memberForm is what a compose service may be called, or what names pods on
// Kubernetes, with the number of a container or pod behind it.
var memberForm = lazyregexp.New(`^((deployment|statefulset|daemonset|pod)/|[A-Za-z0-9][A-Za-z0-9_./-]*=)?[A-Za-z0-9][A-Za-z0-9_.-]*(:[1-9][0-9]*)?$`)

// inPod reports whether a member is a pod on Kubernetes.
func inPod(member string) bool { return strings.ContainsAny(member, "/=") }

// InPods reports whether the application is in pods on Kubernetes, and not in a compose project.
func (a *App) InPods() bool { return slices.ContainsFunc(a.Members(), inPod) }

// app checks a scenario whose clients are an application of the user's own.
func (v *validator) app(at string, s *Scenario) {
	a := s.App
	if len(a.Clients) < 1 || len(a.Clients) > 64 {
		v.fail(at+".app", "an app needs clients: the compose services whose containers they are, 64 at most")
	}
	seen := map[string]bool{}
	for _, list := range []struct {
		name  string
		names []string
	}{{"clients", a.Clients}, {"service", a.Service}, {"store", storeOf(a)}} {
		for i, name := range list.names {
			where := fmt.Sprintf("%s.app.%s[%d]", at, list.name, i)
			if !memberForm().MatchString(name) {
				v.fail(where, "%q: want the name of a compose service, or NAME:2 for its second container; of pods deployment/NAME, statefulset/NAME, daemonset/NAME, pod/NAME or KEY=VALUE", name)
			} else if inPod(name) != a.InPods() {
				v.fail(where, "%q is a compose service, and others are pods: an app is in one place", name)
			}
			if seen[name] {
				v.fail(where, "%s is named twice: a container is a client, of the lock's service or the store", name)
			}
			seen[name] = true
		}
	}
	if a.Namespace != "" && !a.InPods() {
		v.fail(at+".app.namespace", "a namespace is one of Kubernetes, and the app names compose services: of pods it would name deployment/NAME, or KEY=VALUE")
	}
	if a.Lease != "" {
		v.oneOf(at+".app.lease", "lease", a.Lease, []string{"ttl", "released", "unknown"})
	}
	if a.Log.Tokens != "" {
		v.oneOf(at+".app.log.tokens", "meaning of tokens", a.Log.Tokens, []string{"fencing", "version", "none"})
	}
	if a.Log.File != "" && !strings.HasPrefix(a.Log.File, "/") {
		v.fail(at+".app.log.file", "%q: want the path of a file in the containers, from the root", a.Log.File)
	}
	v.notOfApps(at, s)
	if a.Hooks.Given() {
		v.hooks(at, s)
	}
}

func storeOf(a *App) []string {
	if a.Store == "" {
		return nil
	}
	return []string{a.Store}
}

// notOfApps refuses what lockchaos does not decide where the application is the user's own.
func (v *validator) notOfApps(at string, s *Scenario) {
	w := s.Workload
	if s.App.Hooks.Given() {
		w.Think, w.Rest, w.AcquireTimeout, w.OpTimeout = Range{}, Range{}, 0, 0
	}
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"adapter", s.External()}, {"store", s.Store != Store{}}, {"workload", w != Workload{}},
		{"clients", s.Clients != 0},
		{"keys", s.Keys != 0 && !s.App.Hooks.Given()},
	} {
		if f.given {
			v.fail(at+"."+f.name, "%s is not for a scenario with an app, which is as it is (its hooks take keys, and of the workload think, rest, acquire_timeout and op_timeout)", f.name)
		}
	}
	if !nameForm().MatchString(s.Lock) || strings.Contains(s.Lock, "/") || slices.Contains(v.catalogue.Locks, s.Lock) {
		v.fail(at+".lock", "%q: what the application's lock is called is a word of letters, digits, - and _, and none of the locks that come with lockchaos", s.Lock)
	}
}

func isEmpty(l AppLog) bool {
	return l.File == "" && len(l.Map) == 0 && len(l.Events) == 0 && l.TimeFormat == "" && l.Tokens == ""
}
