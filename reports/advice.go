package reports

import (
	"fmt"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// advice says what to do about a verdict, or how far it reaches. It follows from the verdict, the lock's claims and the store.
func advice(s Scenario, h *history.Header, t *story) []prose {
	if h == nil {
		return nil
	}
	switch s.Result() {
	case Corrupted:
		return corruptedAdvice(s, h, t)
	case Contained:
		return containedAdvice(s, h)
	case Pass:
		return passAdvice(s, h)
	case Violated:
		return violatedAdvice(s, h, t)
	case Inconclusive:
		return []prose{
			prose{}.b("Inconclusive is never a pass.").t(" The reasons above say what was missing. Most often a longer run helps (--duration), " +
				"or a machine with less else to do."),
			prose{}.t("The history is kept: it can be judged again, and read by eye, without another run."),
		}
	}
	return nil
}

func corruptedAdvice(s Scenario, h *history.Header, t *story) []prose {
	out := violationAdvice(s)
	if unlocked(h) {
		return append(out, prose{}.b("Let the store decide in one step.").t(" A write on condition of the version that was read, or one that the store computes itself, loses no update, with or without a lock.").doc("Ways without a lock.", "remedies.md#no-lock"))
	}
	if t != nil && t.v.Kind == "granted-while-valid" {
		out = append(out, prose{}.b("Report it to those who make the lock.").t(" It gave a key away that it had promised to another client: "+
			"that is a defect, whatever the faults. The history is the proof.").doc("How to report it.", "remedies.md#a-defect-of-the-lock"))
	}
	switch {
	case h.Store.Fenced && !h.Store.FenceReads:
		out = append(out, prose{}.b("Let reads raise the fence too.").t(" This store checks tokens on writes only: a stale read-modify-write "+
			"that arrives before the newer holder's first write is still taken.").doc("Why reads must raise the fence.", "remedies.md#reads-and-the-fence"))
	case h.Store.Fenced:
		out = append(out, prose{}.b("Look at the tokens.").t(" The store checks them, and still took a stale write: either a later grant carried "+
			"a smaller token, or the fence has a hole.").doc("What a fence needs.", "remedies.md#fencing-tokens"))
	case h.Claims.Token == "fencing":
		p := prose{}.b("Let the store check the fencing token.").t(" This lock gives every grant a number that only rises, and the writes carry " +
			"it; this store does not look at it. It should remember the greatest it has seen and refuse smaller ones")
		out = append(out, sameRun(p, s).doc("What a fence needs.", "remedies.md#fencing-tokens"))
	default:
		out = append(out, prose{}.b("Use a lock that issues a fencing token, and a store that checks it.").t(" This lock's grants cannot be told apart by "+
			"age, so no store could know that a write is stale.").doc("Where tokens come from.", "remedies.md#fencing-tokens"))
	}
	if h.Guard == "check" {
		out = append(out, prose{}.b("Checking first does not close the gap.").t(" This application asked the lock before each write. The freeze came "+
			"between the answer and the write.").doc("What a check is worth.", "remedies.md#check-before-the-write"))
	} else {
		out = append(out, prose{}.b("Checking the lease before the write narrows the gap but cannot close it:").t(" a freeze fits between the check and the "+
			"write. A longer lease makes this rarer, and every recovery slower.").doc("What a check is worth.", "remedies.md#check-before-the-write"))
	}
	if t != nil && t.v.Property == checker.MutualExclusion && !expiresOnly(s) {
		out = append(out, prose{}.b("Look at other locks.").t(" Under this fault another one may keep its promise: consensus services stand crashes, partitions and clocks that "+
			"jump. None stops a frozen client.").doc("What differs between locks.", "remedies.md#another-lock"))
	}
	return append(out, prose{}.b("Perhaps no lock is needed.").t(" If the work can be repeated without harm, or the store can update on condition that the version is "+
		"the one that was read, the lock only saves work, and two holders do no damage.").doc("Ways without a lock.", "remedies.md#no-lock"))
}

// sameRun points at the same scenario on the other kind of store.
func sameRun(p prose, s Scenario) prose {
	if s.Twin == nil {
		return p.t(".")
	}
	return p.t(fmt.Sprintf(". The same scenario on the %s store: ", s.Twin.Store)).b(s.Twin.Result.String()).t(".")
}

func containedAdvice(s Scenario, h *history.Header) []prose {
	p := prose{}.b("The fence saved the data, not the lock.").t(" Two clients did act as holders. The store compared the token of every request with " +
		"the greatest it had seen, and refused " + plural(s.Verdict.Stats.Refused, "late write"))
	out := []prose{sameRun(p, s)}
	if h.Store.FenceReads {
		out = append(out, prose{}.b("Keep reads fenced.").t(" Here a read raises the fence as a write does. A store that fences only writes still loses updates, when "+
			"a stale write overtakes the newer holder's first one.").doc("Why.", "remedies.md#reads-and-the-fence"))
	}
	return append(out, prose{}.b("Expect refusals.").t(" A client whose write is refused has lost the lock: it must drop what it computed, acquire again and "+
		"start over from a fresh read. Effects outside the store (a mail, a payment) are not undone by a fence.").doc("What to do when a write is refused.", "remedies.md#refused-writes"))
}

func passAdvice(s Scenario, h *history.Header) []prose {
	st := s.Verdict.Stats
	p := prose{}.b("What this pass shows.").t(fmt.Sprintf(" %s by %s were recorded, %s of them handed over under contention, and in no instant did two clients act "+
		"as holders of one key; every accepted write was based on the version before it.", plural(st.Grants, "grant"), plural(h.Clients, "client"), grouped(st.Handovers)))
	if lost := s.property(checker.LostUpdate); !s.excluded() || lost == nil || lost.Outcome != checker.Pass {
		p = prose{}.b("What this pass shows.").t(fmt.Sprintf(" In %s no judged property was violated.", plural(st.Grants, "grant")))
	}
	out := []prose{p}
	if bites(st.Faults) == 0 {
		return append(out, prose{}.b("What it does not.").t(" No fault was injected. Distributed locks break when something else breaks: when a holder is "+
			"frozen, a clock jumps, a network splits, a node dies. A lock that passes undisturbed can fall at the first of them; this run is the control "+
			"that shows that the harness, the lock and the store work.").doc("How to look further.", "remedies.md#evidence-not-proof"))
	}
	return append(out, prose{}.b("What it does not.").t(" A test finds violations, it cannot prove that there are none. Other faults, other moments and longer "+
		"runs may still find one, and the lock's defences against them were not touched here.").doc("How to look further.", "remedies.md#evidence-not-proof"))
}

func violatedAdvice(s Scenario, h *history.Header, t *story) []prose {
	out := violationAdvice(s)
	if s.violated(checker.MutualExclusion) {
		p := prose{}.b("Luck, not safety.").t(" Two clients acted as holders, and no stale write happened to reach the store in this run.")
		if !h.Store.Fenced {
			p = p.t(" Nothing would have refused it.")
		}
		p = p.doc("What a fence needs.", "remedies.md#fencing-tokens")
		out = append(out, p)
	}
	return out
}

// expiresOnly tells whether all double-holds came about by a client that was stopped past its lease, which no other lock would have prevented.
func expiresOnly(s Scenario) bool {
	p := s.property(checker.MutualExclusion)
	if p == nil {
		return true
	}
	for i := range p.Violations {
		if p.Violations[i].Kind != "lease-overrun" {
			return false
		}
	}
	return true
}
