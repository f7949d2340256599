package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/netfault"
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
			machine := hosts.Probe(cmd.Context())
			for _, c := range machine {
				ok = ok && c.OK
			}
			programs, obstacle := servers(cmd.Context())
			faults := netfault.ProbeOutside(cmd.Context(), probeVerb) // what is missing costs faults, not scenarios
			for _, c := range slices.Concat(machine, faults, programs, engineChecks(cmd.Context())) {
				mark := "ok  "
				if !c.OK {
					mark = "MISS"
				}
				harmless.Fprintf(out, "%s  %-28s %s\n", mark, c.Name, c.Detail)
				if !c.OK && c.Fix != "" {
					harmless.Fprintf(out, "      %-28s → %s\n", "", c.Fix)
				}
			}
			ok = ok && !obstacle
			if !ok {
				return &status{exitFailed, fmt.Errorf("no scenario can run here before that is mended")}
			}
			harmless.Fprintf(out, "\nScenarios can run here: lockchaos run\n")
			return nil
		},
	}
}

// redisServer is the name of the check, and of the program.
const redisServer = "redis-server"

// versionLimit bounds how long a server may take to tell its version.
const versionLimit = 5 * time.Second

// servers checks the programs that lockchaos finds on the machine; etcd and the store are part of it. A missing redis-server is no
// obstacle, for a stand-in takes its place; a broken one is, for it would be started.
func servers(ctx context.Context) (checks []hosts.Check, obstacle bool) {
	c := hosts.Check{Name: redisServer, Fix: "apt-get install redis-server, or your system's package of that name"}
	path, standIn, err := backends.FindRedis()
	switch {
	case err != nil:
		c.Detail, obstacle = err.Error(), true
	case path == "":
		c.Detail = fmt.Sprintf("%s: miniredis, an imitation, stands in, and every output says so", standIn)
	default:
		ctx, cancel := context.WithTimeout(ctx, versionLimit)
		defer cancel()
		text, err := exec.CommandContext(ctx, path, "--version").Output()
		c.OK, obstacle = err == nil, err != nil
		c.Detail, _, _ = strings.Cut(strings.TrimSpace(string(text)), " sha=")
		if err != nil {
			c.Detail = fmt.Sprintf("%s does not start: %v", path, err)
			c.Fix = fmt.Sprintf("mend it, or set %s to the path of another one, or to miniredis for the stand-in", backends.RedisVar)
		}
	}
	return []hosts.Check{c, {Name: "etcd", OK: true, Detail: "part of lockchaos"}, zookeeperCheck(ctx), postgresCheck(ctx), pgbouncerCheck(ctx)}, obstacle
}

// zookeeperCheck runs Java, which takes long to be of use, and looks for ZooKeeper's classes. Without them the scenarios of its locks cannot run, the
// others can.
func zookeeperCheck(ctx context.Context) hosts.Check {
	c := hosts.Check{Name: "zookeeper", Fix: "apt-get install zookeeper openjdk-17-jre-headless, or set ZOOKEEPER_HOME and JAVA_HOME to the folders of releases"}
	java, err := backends.FindJava()
	if err == nil {
		c.Detail, err = backends.FindZooKeeper()
	}
	if err == nil {
		var version string
		version, err = says(ctx, java, "-version")
		c.Detail += " with " + version
	}
	if c.OK = err == nil; err != nil {
		c.Detail = err.Error()
	}
	return c
}

func postgresCheck(ctx context.Context) hosts.Check {
	c := hosts.Check{Name: "postgres", Fix: "apt-get install postgresql, or set " + backends.PostgresVar + " to the folder of postgres and initdb"}
	bin, err := backends.FindPostgres()
	if err == nil {
		c.Detail, err = says(ctx, filepath.Join(bin, "postgres"), "--version")
	}
	if c.OK = err == nil; err != nil {
		c.Detail = err.Error()
	}
	return c
}

func pgbouncerCheck(ctx context.Context) hosts.Check {
	c := hosts.Check{Name: "pgbouncer", Fix: "apt-get install pgbouncer"}
	program, err := backends.FindPgBouncer()
	if err == nil {
		c.Detail, err = says(ctx, program, "--version")
	}
	if c.OK = err == nil; err != nil {
		c.Detail = err.Error()
	}
	return c
}

// says returns the first line that a program prints.
func says(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	text, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if err != nil {
		return "", fmt.Errorf("%s does not start: %w: %s", program, err, line)
	}
	return line, nil
}
