package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/hosts/docker"
	"github.com/lockchaos/lockchaos/runs/runtimes"
)

// engineChecks say whether containers can be run, and with which images. Nothing of it is an obstacle: the local runtime does without.
func engineChecks(ctx context.Context) []hosts.Check {
	c := hosts.Check{Name: "docker engine"}
	engine, err := docker.Connect(ctx)
	if err != nil {
		c.Detail, c.Fix = err.Error(), "only --runtime docker and compose need one"
		return []hosts.Check{c}
	}
	c.OK, c.Detail = true, "answers, version "+engine.Version
	checks := []hosts.Check{c}
	settings, err := runtimes.ImageSettings(nil)
	if err != nil {
		return append(checks, hosts.Check{Name: "images", Detail: err.Error()})
	}
	var have, lack []string
	for _, kind := range runtimes.ImageKinds() {
		image, err := runtimes.Present(ctx, engine, settings, kind)
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
		images.Detail = strings.TrimPrefix(fmt.Sprintf("%s; none of %s", images.Detail, strings.Join(lack, ", ")), "; ")
		images.Fix = "--runtime docker pulls them; without a registry: scripts/images " + strings.Join(lack, " ")
	}
	checks = append(checks, images)
	if err := docker.Able(); err != nil {
		checks = append(checks, hosts.Check{Name: "agent", Detail: err.Error()})
	}
	return checks
}
