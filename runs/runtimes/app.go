package runtimes

import (
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/hosts/docker"
	"github.com/lockchaos/lockchaos/scenarios"
)

// appMember marks the names of an application's containers, so that none is taken for a node of a lock service that is mapped to another one.
const appMember = "app:"

// withApp names a plan whose clients are an application of the user's own; "" if there is none.
func withApp(plans []scenarios.Plan) string {
	for _, p := range plans {
		if p.Scenario.Own() {
			return p.Scenario.Name
		}
	}
	return ""
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
	for _, p := range harness.AppPlaces(a) {
		nodes = append(nodes, docker.Node{Name: p.Name, Member: appMember + p.Member})
	}
	return nodes
}

// skipApp says which of an application's containers the project lacks; "": none.
func (c *composed) skipApp(a *scenarios.App) string {
	var names []string
	for _, n := range appNodes(a) {
		names = append(names, n.Member)
	}
	missing := c.project.Lacks(names)
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("project %s runs no container for %s: docker-compose up -d", c.project.Name, strings.ReplaceAll(strings.Join(missing, ", "), appMember, ""))
}
