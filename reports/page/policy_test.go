package page

import (
	"strings"
	"testing"
)

// The script says who held the key in the words of the data, and has none of its own.
func TestTheScriptNamesNoHolders(t *testing.T) {
	if strings.Contains(string(timelineScript()), "two holders") {
		t.Error("the script says by itself that there were two holders")
	}
}
