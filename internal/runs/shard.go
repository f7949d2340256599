package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Shard is the part of a suite that one machine of several runs. The zero value is the whole suite.
type Shard struct {
	Number, Total int
	// numbers is the shard of each scenario, by the scenario's name. cut fills it in.
	numbers map[string]int
}

// ShardSeed is the seed of a sharded run for which none is given: each machine must draw the same.
const ShardSeed = 1

// Set reads a shard such as "3/8".
func (s *Shard) Set(text string) error {
	number, total, _ := strings.Cut(text, "/")
	var errs [2]error
	s.Number, errs[0] = strconv.Atoi(number)
	s.Total, errs[1] = strconv.Atoi(total)
	if errors.Join(errs[:]...) != nil || s.Number < 1 || s.Number > s.Total || s.String() != text {
		return errors.New("a shard is its number and how many there are, such as 3/8: the number is from 1 to 8")
	}
	return nil
}

// String is the shard as it is typed, "" for the whole suite.
func (s *Shard) String() string {
	if s.Total == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Number, s.Total)
}

// Type names the flag's value in the help.
func (s *Shard) Type() string { return "K/N" }

// Words are those of the command line that choose the shard again.
func (s *Shard) Words() []string {
	if s.Total == 0 {
		return nil
	}
	return []string{"--shard", s.String()}
}

// Titled is the name of a suite of which one shard is run; shard "": all of it.
func Titled(name, shard string) string {
	if shard == "" {
		return name
	}
	return name + ", shard " + shard
}

// Seed is that of a run for which none is given.
func (s *Shard) Seed() uint64 {
	if s.Total > 0 {
		return ShardSeed
	}
	return rand.Uint64N(1_000_000)
}

// Cut assigns every plan to one shard: the longest first, each to the shard
// that has the least so far. The same plans are cut in the same way on every
// machine. length is how long a plan takes with all its repetitions.
func (s *Shard) Cut(plans []scenarios.Plan, length func(i int) time.Duration) error {
	if s.Total > len(plans) {
		n := len(plans)
		return exit.Misuse(fmt.Errorf("--shard %s: there are %d scenarios, so %d shards at the most", s, n, n))
	}
	if s.Total == 0 {
		return nil
	}
	s.numbers = map[string]int{}
	loads := make([]time.Duration, s.Total)
	for _, i := range longestFirst(len(plans), length) {
		least := slices.Index(loads, slices.Min(loads))
		loads[least] += length(i)
		s.numbers[plans[i].Scenario.Name] = least + 1
	}
	return nil
}

// of is the shard of a scenario. A scenario that another seed draws and that was not cut is in the
// first shard.
func (s *Shard) of(name string) int { return max(1, s.numbers[name]) }

// takes reports whether the shard has the scenario.
func (s *Shard) takes(name string) bool { return s.Total == 0 || s.of(name) == s.Number }

// Part are the plans of the shard, in their order.
func (s *Shard) Part(plans []scenarios.Plan) []scenarios.Plan {
	others := func(p scenarios.Plan) bool { return !s.takes(p.Scenario.Name) }
	return slices.DeleteFunc(slices.Clone(plans), others)
}

// longestFirst returns the numbers from 0 to n-1, the longest first, equally
// long ones in their order.
func longestFirst(n int, length func(i int) time.Duration) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(i, j int) int { return int(length(j) - length(i)) })
	return all
}

// share is a scenario of the whole suite. The record of every shard has the shares of all, so that
// a merge sees whether they were cut from the same suite, and what a missing shard would have run.
type share struct {
	Name  string `json:"name"`
	Lock  string `json:"lock"`
	Store string `json:"store"`
	Fault string `json:"fault"`
	// Shard is the number of the shard that runs it.
	Shard int `json:"shard"`
	// Plan is a digest of all that the plan says, but for the folder in which an adapter starts.
	Plan string `json:"plan"`
}

// shares are the scenarios of all shards, in the order of the suite; none where
// the whole suite is run.
func (s *Shard) shares(plans []scenarios.Plan) (all []share) {
	if s.Total == 0 {
		return nil
	}
	for _, p := range plans {
		c := p.Scenario
		all = append(all, share{Name: c.Name, Lock: c.Lock, Store: c.Store.Kind, Fault: FaultColumn(c),
			Shard: s.of(c.Name), Plan: digest(p)})
	}
	return all
}

// digest is a short fingerprint of a plan.
func digest(p scenarios.Plan) string {
	p.Scenario.Adapter.Dir = "" // each machine has its own
	text, _ := json.Marshal(p)  // a plan has no value that JSON lacks
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// shard is the shard that a run was.
func (r *Record) shard() (s Shard, err error) {
	if r.Shard == "" {
		return s, nil
	}
	if err := s.Set(r.Shard); err != nil {
		return s, fmt.Errorf("%s: shard %q: %w", RecordFile, r.Shard, err)
	}
	s.numbers = map[string]int{}
	for _, one := range r.Shares {
		s.numbers[one.Name] = one.Shard
	}
	return s, nil
}
