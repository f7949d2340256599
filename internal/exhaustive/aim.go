package exhaustive

import (
	"time"

	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// aimAt are the steps at which a real fault can be aimed, for those that a schedule meets.
var aimAt = map[string]nemesis.Moment{
	stepAsking: nemesis.Acquiring, stepWaiting: nemesis.Acquiring, stepGranted: nemesis.Acquiring,
	stepGivingUp: nemesis.Acquiring,
	stepHolding:  nemesis.AfterGrant, stepWorking: nemesis.BetweenReadAndWrite, stepHeld: nemesis.BetweenReadAndWrite,
	stepRenewing: nemesis.WhileRenewing, stepRenewed: nemesis.WhileRenewing,
	stepReleasing: nemesis.BeforeRelease, stepReleased: nemesis.BeforeRelease,
}

// requests are what a client sends at a step.
var requests = map[string]nemesis.Request{
	stepAsking: nemesis.RequestAcquire, stepWaiting: nemesis.RequestAcquire, stepGranted: nemesis.RequestAcquire,
	stepGivingUp: nemesis.RequestGiveUp, stepRenewing: nemesis.RequestRenew, stepRenewed: nemesis.RequestRenew,
	stepReleasing: nemesis.RequestRelease, stepReleased: nemesis.RequestRelease,
}

// Aimed is a plan that does what a schedule does, again and again, at a step and not at an instant:
// a real run repeats no instant. false: there is no such step.
func (x *Search) Aimed(s scenarios.Plan) (scenarios.Plan, bool) {
	at := -1
	if len(s.Scenario.Faults) == 0 {
		return scenarios.Plan{}, false
	}
	for i := range x.all {
		if x.all[i].Fault.Label() == s.Scenario.Faults[0].Label() && x.all[i].Fault.At[0] == s.Scenario.Faults[0].At[0] {
			at = i
		}
	}
	if at < 0 {
		return scenarios.Plan{}, false
	}
	step := x.all[at].Place.step(x.all[at].Host)
	f, ok := aimed(x.all[at].Fault, step, x.plan.Scenario)
	if !ok {
		return scenarios.Plan{}, false
	}
	calm := x.Examinee.Undisturbed()
	calm.Name, calm.Workload.Guard = x.plan.Scenario.Name+"/aimed", x.plan.Scenario.Workload.Guard
	calm.Workload.Ask, calm.Workload.Renew = x.plan.Scenario.Workload.Ask, x.plan.Scenario.Workload.Renew
	const strikes = 4
	calm.Quiet = 2 * calm.TTL
	calm.Duration = calm.Quiet + strikes*(f.For+f.Every.Max+2*calm.TTL)
	calm.Workload.AcquireTimeout += f.For
	calm.Workload.OpTimeout += 2 * f.For
	plan := scenarios.Plan{Seed: x.Seed, Scenario: x.Examinee.Struck(calm, f)}
	plan.Scenario.Needs.Bites = 1
	return plan, x.fits(f) == nil
}

// aimed is a fault of one instant as one that strikes again and again at a step.
func aimed(f scenarios.Fault, step string, s scenarios.Scenario) (scenarios.Fault, bool) {
	moment, known := aimAt[step]
	if !known || moment == nemesis.WhileRenewing && !s.Workload.Renew {
		return f, false
	}
	f.At, f.When = nil, string(moment)
	f.After, f.Every = s.TTL/5, scenarios.Range{Min: s.TTL / 5, Max: max(s.TTL*2/5, scenarios.Duration(time.Millisecond))}
	if nemesis.Target(f.Target).Client() {
		f.Target = string(nemesis.Holder)
	}
	if f.Request == string(nemesis.RequestAny) {
		f.Request = string(requests[step])
		switch {
		case f.Peers == storePeer && step != stepWorking, f.Peers != storePeer && f.Request == "":
			return f, false
		case f.Peers == storePeer:
			f.Request, f.When = string(nemesis.RequestWrite), string(nemesis.BeforeWrite)
		case f.Request == string(nemesis.RequestRenew):
			f.When = string(nemesis.BetweenReadAndWrite) // before it is sent
		default:
			f.Peers = ""
		}
	}
	return f, true
}
