package scenarios

import (
	"time"

	"github.com/lockchaos/lockchaos/nemesis"
)

// Spec is a single fault as the nemesis knows it.
func (f Fault) Spec() nemesis.Spec {
	return nemesis.Spec{Kind: f.Kind, Aim: nemesis.Aim{Target: nemesis.Target(f.Target), When: nemesis.Moment(f.When)},
		Peers: nemesis.Peers(f.Peers), Way: nemesis.Way(f.Way), Shape: f.Shape,
		Clock: nemesis.Clock(f.Clock), By: f.By.Std(), Rate: f.Rate, Period: f.Period.Std(),
		Delay: f.Delay.Std(), Jitter: f.Jitter.Std(), Probability: f.Probability, BytesPerSecond: f.BytesPerSecond,
		MaxBytes: f.MaxBytes,
		Request:  nemesis.Request(f.Request), InTurn: f.InTurn, Point: nemesis.Point(f.Point), Silent: f.Silent,
		Data: nemesis.Data(f.Data), Share: f.Share}
}

// faultOf is a fault of the nemesis as a scenario has it.
func faultOf(p nemesis.Part) Fault {
	return Fault{Kind: p.Kind, Target: string(p.Target), When: string(p.When), For: Duration(p.For),
		Peers: string(p.Peers), Way: string(p.Way), Shape: p.Shape,
		Clock: string(p.Clock), By: Offset(p.By), Rate: p.Rate, Period: Duration(p.Period),
		Delay: Duration(p.Delay), Jitter: Duration(p.Jitter), Probability: p.Probability,
		BytesPerSecond: p.BytesPerSecond, MaxBytes: p.MaxBytes,
		Request: string(p.Request), InTurn: p.InTurn, Point: string(p.Point), Silent: p.Silent,
		Data: string(p.Data), Share: p.Share}
}

// dice are random numbers and the measure of time.
type dice = nemesis.Dice

func (d Duration) round() Duration { return Duration(d.Std().Round(time.Millisecond)) }
