package director

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
)

// A recorded crash says whether the servers came back with what they knew.
func TestACrashSaysWhetherDataWasKept(t *testing.T) {
	for _, c := range []struct {
		spec nemesis.Spec
		want bool
	}{
		{nemesis.Spec{Kind: nemesis.KindCrash, Aim: nemesis.Aim{Target: "redis-1"}}, true},
		{nemesis.Spec{Kind: nemesis.KindCrash, Aim: nemesis.Aim{Target: "redis-1"}, Data: nemesis.DataKept}, true},
		{nemesis.Spec{Kind: nemesis.KindCrash, Aim: nemesis.Aim{Target: "redis-1"}, Data: nemesis.DataLost}, false},
		{nemesis.Spec{Kind: nemesis.KindPause, Aim: nemesis.Aim{Target: "redis-1"}}, false},
	} {
		var info history.FaultInfo
		if touched(&info, c.spec, nil); info.Kept != c.want || !info.Service {
			t.Errorf("%s, data %q: %+v", c.spec.Kind, c.spec.Data, info)
		}
	}
}
