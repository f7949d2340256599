package probe_test

import (
	"context"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// A sentinel tells of its primary, of the replica and of the other sentinels, and the primary is
// raced on. Sentinels ask for no password here, and the servers do.
func TestSentinels(t *testing.T) {
	t.Parallel()
	ca := authority.New(t)
	servers, watching, _ := probetest.Sentinels(t, ca, redisName)
	service, _ := probe.Lookup("redis-sentinel")
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	at := parsed(t, "rediss+sentinel://:pass%2Fword@"+redisName+":"+watching[2]+"/"+probetest.Watched, endpoint.Files{CACert: ca.File})
	if err := service.Meet(ctx, at, here); err != nil {
		t.Fatal(err)
	}
	checkFacts(t, ctx, service, at, "version", "Redis ", "role", "master", "replication", "1 replicas", "sentinels",
		"they watch mymaster at 127.0.0.1:"+servers[0]+", epoch 0; others 2, quorum 2, replicas 1")
	checkRace(t, ctx, service, at, 3)
	all, err := service.Members(ctx, at, here)
	if err != nil {
		t.Fatal(err)
	}
	replicas, sentinels, also := 0, 0, ""
	for _, m := range all {
		if m.Replica {
			replicas++
		}
		if m.Sentinel {
			sentinels++
		}
		for _, other := range m.Also {
			also += m.At + "=" + other
		}
	}
	if want := redisName + ":" + watching[2] + "=127.0.0.1:" + watching[2]; len(all) != 5 || replicas != 1 || sentinels != 3 || also != want {
		t.Errorf("%+v, want %s", all, want)
	}
}
