package runtimes

import (
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/hosts/docker"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// appMember marks the names of an application's containers, so that none is
// taken for a node of a lock service that is mapped to another one.
const appMember = "app:"

// suitsApps refuses plans about an application that is elsewhere.
func (f Where) suitsApps(plans []scenarios.Plan) error {
	for _, p := range plans {
		switch {
		case !p.Scenario.Own():
		case p.Scenario.App.InPods() && f.Runtime != Kubernetes:
			return exit.Misuse(fmt.Errorf("%s is about an application in pods: give --runtime %s", p.Scenario.Name,
				Kubernetes))
		case !p.Scenario.App.InPods() && f.Runtime == Kubernetes:
			return exit.Misuse(fmt.Errorf("%s names services of a compose project; of pods it would name deployment/NAME, or KEY=VALUE, labels of theirs", p.Scenario.Name))
		case !p.Scenario.App.InPods() && f.Runtime != Compose:
			return exit.Misuse(fmt.Errorf("%s is about an application in a compose project: give --runtime %s --project FOLDER", p.Scenario.Name, Compose))
		}
	}
	return nil
}

// addAppServices adds the compose services that applications are made of, each under its own name.
func addAppServices(services map[string]string, plans []scenarios.Plan) {
	for _, p := range plans {
		if p.Scenario.Own() {
			for _, name := range p.Scenario.App.Members() {
				services[appMember+name] = name
			}
		}
	}
}

// appNodes are an application's containers, as nodes of a project.
func appNodes(a *scenarios.App) (nodes []docker.Node) {
	for _, p := range possible.AppPlaces(a) {
		nodes = append(nodes, docker.Node{Name: p.Name, Member: appMember + p.Member})
	}
	return nodes
}

// skipApp says which of an application's containers the project lacks; "": none.
func (c *composeRuntime) skipApp(plan scenarios.Plan) string {
	if err := possible.NoCluster(plan); err != nil {
		return err.Error()
	}
	a := plan.Scenario.App
	var names []string
	for _, n := range appNodes(a) {
		names = append(names, n.Member)
	}
	missing := c.project.Lacks(names)
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("project %s runs no container for %s: docker-compose up -d", c.project.Name,
		strings.ReplaceAll(strings.Join(missing, ", "), appMember, ""))
}
