package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// facts asks INFO, TIME and CONFIG GET; a managed Redis may refuse the last.
func (r *redisServer) facts(ctx context.Context) ([]Fact, error) {
	text, err := r.one.Info(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("INFO: %w", err)
	}
	info := fields(text)
	offset, trip, err := r.clock(ctx)
	if err != nil {
		return nil, err
	}
	facts := []Fact{
		{Name: "version", Text: version(info)},
		r.mode(info),
		{Name: "role", Text: info["role"], Warning: r.role(info)},
		clockFact(offset, trip),
		{Name: "round trip", Text: trip.Round(time.Microsecond).String()},
		r.persistence(ctx, info),
		redisEviction(info),
		redisReplication(info),
	}
	return append(facts, Fact{Name: "limits", Text: fmt.Sprintf("%s clients (%s connected), memory %s of %s", or(info["maxclients"], "?"),
		or(info["connected_clients"], "?"), info["used_memory_human"], unlimited(info["maxmemory_human"]))}), nil
}

// fields reads name:value lines.
func fields(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[name] = value
		}
	}
	return all
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func unlimited(memory string) string {
	if memory == "" || memory == "0B" {
		return "no limit"
	}
	return memory
}

func version(info map[string]string) string {
	if v := info["valkey_version"]; v != "" {
		return "Valkey " + v
	}
	return "Redis " + or(info["redis_version"], "of an unknown version")
}

func (r *redisServer) mode(info map[string]string) Fact {
	if len(r.all) > 0 {
		return clusterMode(r.all)
	}
	f := Fact{Name: "mode", Text: or(info["redis_mode"], "standalone")}
	if f.Text == "sentinel" {
		f.Warning = "a sentinel keeps no locks: give the address of its primary, which a failover changes"
	}
	return f
}

func (r *redisServer) role(info map[string]string) string {
	if info["role"] == "slave" && len(r.all) == 0 {
		return "a replica takes no locks: give the address of its primary"
	}
	return ""
}

// clock returns how far the server's clock is ahead of this machine's, by the quickest of some
// round trips, and how long that took.
func (r *redisServer) clock(ctx context.Context) (offset, trip time.Duration, err error) {
	for i := range clockTries {
		began := time.Now()
		at, err := r.one.Time(ctx).Result()
		if err != nil {
			return 0, 0, fmt.Errorf("TIME: %w", err)
		}
		if took := time.Since(began); i == 0 || took < trip {
			offset, trip = at.Sub(began.Add(took/2)), took
		}
	}
	return offset, trip, nil
}

// persistence says what a restart leaves of a lock.
func (r *redisServer) persistence(ctx context.Context, info map[string]string) Fact {
	f := Fact{Name: "persistence"}
	if info["aof_enabled"] != "1" {
		f.Text = "no append-only file"
		f.Warning = "a server that dies forgets locks that were granted: with appendonly yes and appendfsync always it keeps them"
		return f
	}
	fsync, err := r.config(ctx, "appendfsync")
	f.Text = "append-only file, fsync " + fsync
	switch {
	case err != nil:
		f.Text = "append-only file; it does not tell when it is written to the disk (CONFIG GET is refused)"
	case fsync != "always":
		f.Warning = "a machine that dies forgets the locks of its last moments: with appendfsync always it keeps them"
	}
	return f
}

func (r *redisServer) config(ctx context.Context, name string) (string, error) {
	values, err := r.one.ConfigGet(ctx, name).Result()
	if err != nil {
		return "", err
	}
	value, ok := values[name]
	if !ok {
		return "", errors.New("it does not tell " + name)
	}
	return value, nil
}

func redisEviction(info map[string]string) Fact {
	policy := info["maxmemory_policy"]
	f := Fact{Name: "eviction", Text: or(policy, "not told") + ", memory " + unlimited(info["maxmemory_human"])}
	if strings.HasPrefix(policy, "allkeys-") || strings.HasPrefix(policy, "volatile-") {
		f.Warning = "EVICTION: " + policy + " may delete a lock that is held when memory runs out: use noeviction where locks are kept"
	}
	return f
}

func redisReplication(info map[string]string) Fact {
	f := Fact{Name: "replication", Text: or(info["connected_slaves"], "0") + " replicas"}
	if f.Text != "0 replicas" {
		f.Warning = "replicas are behind: a failover may forget a lock that was granted"
	}
	return f
}
