package main

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// version is the version of lockchaos itself. A release sets it with -ldflags "-X main.version=…".
var version = "0.1.0-dev"

// versionText is what --version prints: the version, and the commit and date it was built from as
// far as the Go command recorded them.
func versionText() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versionOf(&debug.BuildInfo{})
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit, date := settings["vcs.revision"], settings["vcs.time"]
	switch {
	case commit == "" && info.Main.Version != "" && info.Main.Version != "(devel)":
		commit = "module " + info.Main.Version // `go install …@VERSION` names no commit
	case commit == "":
		commit = "commit unknown: built outside of its repository"
	default:
		commit = "commit " + commit[:min(12, len(commit))]
	}
	if settings["vcs.modified"] == "true" {
		commit += " with changes"
	}
	day, _, _ := strings.Cut(date, "T")
	if day != "" {
		commit += ", " + day
	}
	return fmt.Sprintf("%s (%s, %s %s/%s)", version, commit, info.GoVersion, settings["GOOS"], settings["GOARCH"])
}
