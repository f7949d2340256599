package checker

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

func TestEdgesOfPromises(t *testing.T) {
	soon := plainLock().with(func(h *history.Header) { h.TTL = 0 })
	run(t, []propertyCase{
		{"over for longer than the clock has run", DeadGrant, library(plainLock()),
			"A acquire [0,1] attempt=0 valid=-3000" + probeText, Violated, 1, "", ""},
		{"no TTL, in the first instants of the clock", MutualExclusion, soon, `
		A acquire [-999.5,-999]
		B acquire [2,3]
		B write   [4,5]
		A write   [6,7]
		B write   [8,9]` + probeText, Violated, 1, KindLeaseOverrun, ""},
		{"a renewal that ended with the promise", MutualExclusion, plainLock(), `
		A acquire [0,1]
		A renew   [497,498]
		B acquire [600,601]
		B release [610,611]` + probeText, Pass, 0, "", ""},
		{"a renewal that ended just before", MutualExclusion, plainLock(), `
		A acquire [0,1]
		A renew   [497,497.9]
		B acquire [600,601]
		B release [610,611]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
	})
}
