package hosts

import (
	"runtime/debug"
	"strings"
)

// Program is the version of the module that this program was built from, which
// names its commit; "": it is not known, or there were changes.
func Program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Version, "v") || strings.HasSuffix(info.Main.Version, "+dirty") {
		return ""
	}
	return info.Main.Version
}
