package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

func TestEdgesOfStolenReleases(t *testing.T) {
	lease, held := plainLock(), session(plainLock())
	change := func(lines string) string { return stolen + "\n" + lines + probeText }
	byToken := `
		A acquire [0,20] tok=1
		B acquire [10,1030] attempt=1029 tok=2
		A release [1040,1041]
		C acquire [1050,1051] first=1050 tok=3
		C release [1060,1061]
		B release [1070,1071] notheld`
	quiet := confirms(fencedLock())
	run(t, []propertyCase{
		{"a renewal of unknown fate may take effect at any time", StolenRelease, lease,
			strings.Replace(change(""), "pause A   [2,600]", "A renew [2,3] info\nA renew [4,5]\npause A [6,600]", 1), Pass, 0, "", ""},
		{"a session that was told of just before", StolenRelease, held, change("A lost [600.9]"), Violated, 1, "", ""},
		{"a session that was told of as it released", StolenRelease, held, change("A lost [601]"), Pass, 0, "", ""},
		{"a session that was told of while it released", StolenRelease, held, change("A lost [601.5]"), Pass, 0, "", ""},
		{"a release as the next grant was made", StolenRelease, lease,
			strings.Replace(change(""), "A release [601,602]", "A release [511,512]", 1), Pass, 0, "", ""},
		{"a release just after the next grant was made", StolenRelease, lease,
			strings.Replace(change(""), "A release [601,602]", "A release [511.1,512]", 1), Violated, 1, "", ""},
		{"its own older grant", StolenRelease, lease.with(func(h *history.Header) { h.Translated = true }), `
		G=A acquire [0,1]
		H=A acquire [510,511]
		A release [601,602] g=G
		C acquire [603,604] first=603
		C release [700,701]
		A release [702,703] notheld g=H` + probeText, Pass, 0, "", ""},
		{"only the tokens tell whose grant was older", StolenRelease, quiet, byToken, Violated, 1, "", ""},
		{"only the tokens tell, and they broke their order", StolenRelease, quiet,
			byToken + "\nD acquire [3000,3001] tok=1\nD release [3002,3003]", Pass, 0, "", ""},
	})
	run(t, []propertyCase{{"time alone tells of another release", StolenRelease, quiet,
		strings.Replace(byToken, "A acquire", "D acquire [-9,-8] tok=99\nA acquire", 1) + "\nD release [1042,1043]",
		Violated, 1, "", "client 4 released its grant of k0 at 2.042 s"}})
	hasPattern(t, "answered last, ended first", confirms(lease), MutualExclusion, `
		D acquire [0,1]
		A acquire [502,503] first=502
		A release [1104,1150]
		D release [1104,1200] run=1104,1120
		B acquire [1140,1141] first=1140
		C acquire [1210,1211] first=1210
		C release [1220,1221]
		B release [1230,1231] notheld`, PatternStolen)
}

// Where each release answers ok to anything and none frees what is not its own,
// a release that was late once makes the next ones no thieves.
func TestStolenNeedsATheft(t *testing.T) {
	hasPattern(t, "each release was its own", confirms(plainLock()), MutualExclusion, `
		D acquire [0,1]
		pause D   [2,600]
		A acquire [510,511] first=510
		D release [601,602]
		A release [620,621]
		B acquire [610,626] first=615
		C acquire [630,631] first=630
		C release [700,701]
		B release [710,711]`, PatternGrantedTwice)
}

// TestLateReleasesAreForgotten: a key remembers the newest of them.
func TestLateReleasesAreForgotten(t *testing.T) {
	text := ""
	for i := range 2*keptLate + 10 {
		text += fmt.Sprintf("A acquire [%d,%d]\nA release [%d,%d]\n", 1000*i, 1000*i+1, 1000*i+600, 1000*i+601)
	}
	h := plainLock().history(text)
	s := New(h.Header, h.Keys, Options{})
	most := 0
	for i := range h.Events {
		s.Add(&h.Events[i])
		if late := s.book.keys[0].late; h.Events[i].Kind == history.Release && h.Events[i].Type == history.OK {
			most = max(most, len(late))
			if n := len(late); n == 0 || late[n-1].op != h.Events[i].Op || n > 1 && late[n-2].op != h.Events[i].Op-2 {
				t.Fatalf("after release %d, %d are remembered", h.Events[i].Op, n)
			}
		}
	}
	if most != keptLate {
		t.Errorf("up to %d are remembered, want %d", most, keptLate)
	}
}
