package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionText(t *testing.T) {
	vcs := func(revision, time, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: revision}, {Key: "vcs.time", Value: time}, {Key: "vcs.modified", Value: modified}}}
	}
	for name, c := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"clean":     {vcs("0123456789abcdef0123", "2026-11-22T09:45:31Z", "false"), " (commit 0123456789ab, 2026-11-22, go"},
		"changed":   {vcs("0123456789abcdef0123", "2026-11-22T09:45:31Z", "true"), " (commit 0123456789ab with changes, 2026-11-22, go"},
		"installed": {&debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "v0.3.1"}}, " (module v0.3.1, go"},
		"no record": {&debug.BuildInfo{GoVersion: "go1.26"}, " (commit unknown: built outside of its repository, go"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := versionOf(c.info); !strings.HasPrefix(got, version+c.want) {
				t.Errorf("%q does not begin with %q", got, version+c.want)
			}
		})
	}
}
