package main

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/lockchaos/lockchaos/hosts"
	"github.com/spf13/cobra"
)

func doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can run, and what to install for the rest",
		Long: `Tries everything that a run needs, for real, and says how to get what is missing.

Exit status: 0 scenarios can run here (perhaps with a stand-in), 3 they cannot.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			ok := true
			for _, c := range append(hosts.Probe(cmd.Context()), servers()...) {
				mark := "ok  "
				if !c.OK {
					mark = "MISS"
				}
				fmt.Fprintf(out, "%s  %-28s %s\n", mark, c.Name, c.Detail)
				if !c.OK && c.Fix != "" {
					fmt.Fprintf(out, "      %-28s → %s\n", "", c.Fix)
				}
				ok = ok && (c.OK || optional(c.Name))
			}
			if !ok {
				return &status{exitFailed, fmt.Errorf("no scenario can run here before that is mended")}
			}
			fmt.Fprintln(out, "\nScenarios can run here: lockchaos run")
			return nil
		},
	}
}

// redisServer is the name of the check, and of the program.
const redisServer = "redis-server"

// optional tells whether runs are possible without it.
func optional(name string) bool { return name == redisServer }

// servers checks the programs that lockchaos finds on the machine; etcd and the store are part of it.
func servers() []hosts.Check {
	c := hosts.Check{Name: redisServer}
	path, err := exec.LookPath(redisServer)
	if err != nil {
		c.Detail = "not in PATH: miniredis, an imitation, stands in, and every output says so"
		c.Fix = "apt-get install redis-server, or your system's package of that name"
		return []hosts.Check{c, {Name: "etcd", OK: true, Detail: "part of lockchaos"}}
	}
	text, err := exec.Command(path, "--version").Output()
	c.OK, c.Detail = err == nil, fmt.Sprintf("%.40s", strings.TrimSpace(string(text)))
	if i := strings.Index(c.Detail, " sha="); i > 0 {
		c.Detail = c.Detail[:i]
	}
	if err != nil {
		c.Detail = fmt.Sprintf("%s does not start: %v", path, err)
	}
	return []hosts.Check{c, {Name: "etcd", OK: true, Detail: "part of lockchaos"}}
}
