package possible

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Role is what a container is to an application's scenario.
type Role uint8

// The roles.
const (
	RoleClient Role = iota
	RoleService
	RoleStore
)

// AppPlace is a container of a compose project that an application's scenario needs.
type AppPlace struct {
	// Name is what faults and files call it, Member what compose does.
	Name, Member string
	Role         Role
}

// AppPlaces lists the containers that a scenario needs: the clients first, in
// the order of their numbers.
func AppPlaces(a *scenarios.App) (all []AppPlace) {
	add := func(role Role, members ...string) {
		for _, m := range members {
			all = append(all, AppPlace{Name: placeName(m), Member: m, Role: role})
		}
	}
	add(RoleClient, a.Clients...)
	add(RoleService, a.Service...)
	if a.Store != "" {
		add(RoleStore, a.Store)
	}
	return all
}

// placeName is what a member is called, in names of files, too: "deployment/web:2" is web-2.
func placeName(member string) string {
	_, name, ok := strings.Cut(member, "/")
	if !ok {
		name = member
	}
	return strings.NewReplacer(":", "-", "=", "-", "/", "-").Replace(name)
}

// hookMoments are the moments of a client that has hooks; one that is only
// watched passes those that its log tells.
var (
	hookMoments = []nemesis.Moment{nemesis.Acquiring, nemesis.AfterGrant, nemesis.BeforeWrite, nemesis.BeforeRelease,
		nemesis.Random}
	logMoments = []nemesis.Moment{nemesis.AfterGrant, nemesis.Random}
)

// CheckAppFault reports whether the fault can strike its target in an application's scenario.
func CheckAppFault(s *scenarios.Scenario, f scenarios.Fault) error {
	var nodes []string
	for _, p := range AppPlaces(s.App) {
		if p.Role == RoleService {
			nodes = append(nodes, p.Name)
		}
	}
	spec := f.Spec()
	if err := fromOutside(f.Kind); err != nil {
		return err
	}
	if err := nemesis.Check(spec, nemesis.Setting{Nodes: nodes, Has: []nemesis.Trait{nemesis.InCluster}}); err != nil {
		return err
	}
	if n := spec.Target.Number(); int(n) > len(s.App.Clients) {
		return fmt.Errorf("target %s: the app has %d clients", f.Target, len(s.App.Clients))
	}
	if s.App.Store == "" && spec.OnLinks() && spec.Peers == nemesis.PeersStore {
		return fmt.Errorf("peers %s: the app names no store", nemesis.PeersStore)
	}
	return checkAim(s.App, spec)
}

// fromOutside returns an error for a kind of fault that is done to lockchaos's own clients
// and servers: an application is struck by what is done to a container from outside.
func fromOutside(kind string) error {
	var can []string
	ours := false
	for _, k := range nemesis.Kinds() {
		if !k.Ours {
			can = append(can, k.Name)
		}
		ours = ours || k.Ours && k.Name == kind
	}
	if ours {
		return fmt.Errorf("a %s can't strike an application of your own; %s can", kind, strings.Join(can, ", "))
	}
	return nil
}

// checkAim reports whether the aim can be found out from a log, or from hooks.
func checkAim(a *scenarios.App, spec nemesis.Spec) error {
	moments, how := hookMoments, "with hooks"
	if !a.Hooks.Given() {
		moments, how = logMoments, "from its log"
	}
	if !slices.Contains(moments, spec.When) {
		return fmt.Errorf("nobody knows when the application is at %s; known are, %s, %v", spec.When, how, moments)
	}
	if a.Hooks.Commands() && spec.OnClocks() && spec.Target.Client() {
		return fmt.Errorf("a %s of a client reaches the processes that run in it, and the command of a hook is a new one each time, with the machine's clock: strike the service, or have hooks of HTTP", spec.Kind)
	}
	if a.Hooks.Given() {
		return nil
	}
	if spec.Target == nemesis.NextWaiter {
		return fmt.Errorf("nobody knows who is the %s of an application without hooks: target holder, random-client, all-clients, or one by its number", spec.Target)
	}
	if spec.OnClocks() && spec.Target.Client() {
		return fmt.Errorf("a %s of a client would make the stamps of its log wrong, by which it is judged: strike the service, or let it be asked by hooks", spec.Kind)
	}
	return nil
}

// CheckApp reports whether a scenario's faults can strike its application.
func CheckApp(s *scenarios.Scenario) error {
	for i, f := range s.Faults {
		for _, single := range f.Singles() {
			if err := CheckAppFault(s, single); err != nil {
				return fmt.Errorf("fault %d of %s: %w", i, s.Name, err)
			}
		}
	}
	return nil
}
