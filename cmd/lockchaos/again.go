package main

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/reports"
)

// commandLine is what the user would type to have the same again.
func (f *runFlags) commandLine() string {
	return f.again(append([]string{os.Args[0]}, f.words()...))
}

// words are those of the command line after the program's name that choose the same scenarios.
func (f *runFlags) words() []string {
	line := append(append([]string{"run"}, f.Names...), f.Only.Words()...)
	if f.Plan != "" {
		line = append(line, "--plan", f.Plan)
	} else {
		line = append(line, "--seed", strconv.FormatUint(f.Seed, 10))
	}
	if len(f.Locks) > 0 {
		line = append(line, "--locks", strings.Join(f.Locks, ","))
	}
	if f.since != "" {
		line = append(line, "--only-changed-since", f.since)
	}
	if f.Duration > 0 {
		line = append(line, "--duration", f.Duration.String())
	}
	line = append(line, f.lockWords()...)
	if f.NoExpect && !f.unexpected() {
		line = append(line, "--no-expect")
	}
	if f.Inherent {
		line = append(line, "--inherent")
	}
	return line
}

// again is a command line that chooses the same runtime and shard.
func (f *runFlags) again(line []string) string {
	return reports.Shell(slices.Concat(line, f.whereWords(), f.Shard.Words())...)
}

// lockWords are the words that choose the lock and its times again.
func (f *runFlags) lockWords() (line []string) {
	if f.Real {
		line = append(line, "--scale", scaleReal)
	}
	if f.Own.Command != "" {
		// without its secrets, by now
		line = append(line, f.commandFlag(), f.Own.Command, "--service", f.Own.Service)
	}
	if f.Own.Go != "" {
		line = append(line, "--lock-go", f.Own.Go, "--service", f.Own.Service)
	}
	if f.Own.Shell.Given() {
		line = append(append(line, f.Own.Shell.Words()...), "--service", f.Own.Service)
	}
	if f.Own.TTL > 0 {
		line = append(line, "--ttl", f.Own.TTL.String())
	}
	if f.Own.Every > 0 {
		line = append(line, "--every", f.Own.Every.String())
	}
	return line
}

// whereWords are the words that choose the runtime again.
func (f *runFlags) whereWords() (line []string) {
	if f.Runtime != runtimes.Auto {
		line = append(line, "--runtime", f.Runtime)
	}
	for _, image := range f.Images {
		line = append(line, "--image", image)
	}
	if f.Project != "" {
		line = append(line, "--project", f.Project)
	}
	if f.Context != "" {
		line = append(line, "--context", f.Context)
	}
	if f.Namespace != "" {
		line = append(line, "--namespace", f.Namespace)
	}
	if len(f.Nodes) > 0 {
		line = append(line, "--nodes", strings.Join(redact.All(f.Nodes), ","))
	}
	for _, file := range []struct{ flag, name string }{{"--cacert", f.Files.CACert}, {"--cert", f.Files.Cert},
		{"--key", f.Files.Key}} {
		if file.name != "" {
			line = append(line, file.flag, file.name)
		}
	}
	for _, way := range f.ConnectTo {
		line = append(line, "--connect-to", way)
	}
	if f.FailoverCmd != "" {
		line = append(line, "--failover-cmd", f.FailoverCmd) // without its secrets, by now
	}
	return line
}
