package runtimes

import (
	"context"
	"strings"

	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/hosts/docker"
)

// EngineChecks say whether containers can be run, and with which images. Nothing of it is an obstacle: the local runtime does without.
func EngineChecks(ctx context.Context) []hosts.Check {
	c := hosts.Check{Name: "docker engine"}
	engine, err := docker.Connect(ctx)
	if err != nil {
		c.Detail, c.Fix = err.Error(), "only --runtime docker and compose need one"
		return []hosts.Check{c}
	}
	c.OK, c.Detail = true, "answers, version "+engine.Version
	checks := []hosts.Check{c}
	settings, err := ImageSettings(nil)
	if err != nil {
		return append(checks, hosts.Check{Name: "images", Detail: err.Error()})
	}
	var have, lack []string
	for _, kind := range ImageKinds() {
		image, err := Present(ctx, engine, settings, kind)
		switch {
		case err != nil:
			return append(checks, hosts.Check{Name: "images", Detail: err.Error()})
		case image != "":
			have = append(have, image)
		default:
			lack = append(lack, kind)
		}
	}
	images := hosts.Check{Name: "images", OK: len(lack) == 0, Detail: strings.Join(have, ", ")}
	if !images.OK {
		if len(have) > 0 {
			images.Detail += "; "
		}
		images.Detail += "none of " + strings.Join(lack, ", ")
		images.Fix = "--runtime docker pulls them; without a registry: scripts/images " + strings.Join(lack, " ")
	}
	checks = append(checks, images)
	if err := docker.Able(); err != nil {
		checks = append(checks, hosts.Check{Name: "agent", Detail: err.Error()})
	}
	return checks
}
