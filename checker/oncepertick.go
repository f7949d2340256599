package checker

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// OncePerTick names the property once-per-tick: no tick of a job is executed twice. A tick is
// known by its number, which the scheduler tells. Two executions that tell none are not compared.
// Of a scheduler that claims exactly-once the effects are judged instead, by the store's ledger: an
// execution may begin again, whenever and for whatever reason, as long as its effect comes, once.
const OncePerTick = "once-per-tick"

// oncePerTick reads, beside rules and findings: book, faults.
var oncePerTick = Property{
	Name:   OncePerTick,
	About:  "No tick of a job is executed twice; by a scheduler that claims exactly once, none has its effect twice or never.",
	Kinds:  []string{KindTwiceWhileOwned, KindReplayed, KindTwiceThoughOnce, KindTwiceAfterLoss, KindEffectTwice, KindEffectLost},
	needs:  []string{history.FactHolds, history.FactAnswers},
	ofJobs: true,
	blame:  Defect,
	kindBlame: map[string]Blame{KindTwiceWhileOwned: Defect, KindReplayed: Defect, KindTwiceThoughOnce: Defect,
		KindTwiceAfterLoss: Inherent, KindEffectTwice: Defect, KindEffectLost: Defect},
	unmet: func(s *Sweep) string {
		if why := noStore(s); why != "" && s.jobs.exactly() {
			return why
		}
		told := func(x *execution) bool { return x.token.Given() }
		switch why := noExecutions(s); {
		case why != "":
			return why
		case !slices.ContainsFunc(s.jobs.executions, told):
			return "This scheduler does not tell which tick an execution is due for."
		case s.jobs.exactly() && s.ledgerShort() == "" && !slices.ContainsFunc(s.jobs.executions, (*execution).effective):
			return "The store took no effect of an execution."
		}
		return ""
	},
	short: func(s *Sweep) string {
		for _, x := range s.jobs.executions {
			if !x.token.Given() {
				return "An execution does not tell which tick it is due for."
			}
		}
		if s.jobs.exactly() {
			return s.ledgerShort()
		}
		return ""
	},
	shown: func(s *Sweep) string {
		if !s.jobs.exactly() {
			return ""
		}
		took := fmt.Sprintf("The store took the effect of %s.", count(s.jobs.distinct, "tick", "ticks"))
		if n := s.jobs.ineffective; n > 0 {
			took += fmt.Sprintf(" %s and had none, which shows no loss.", count(n, "other began", "others began"))
		}
		return took
	},
	stalled: func(n int) string {
		return fmt.Sprintf("%s executed again after a loss, which a stall of this machine alone explains, not an injected fault.",
			count(n, "tick was", "ticks were"))
	},
	finish: (*Sweep).judgeTicks,
	Words: Words{
		Violation: "repeated tick",
		Demands:   "Each tick of the job is executed by one instance, once.",
		Once:      "A tick was executed twice",
		More:      "Ticks were executed twice",
		Lead:      "Make the effect of a tick repeatable.",
		Advice: "Exactly once is a property of an effect, not of a schedule. Give each tick a key of its own that its " +
			"effect is refused by the second time: an idempotency key, a row for the tick in the transaction " +
			"of its effect, or a store that refuses the token of an older tick.",
		Weight: 9,
	},
}

// judgeTicks compares each execution with the one of the same tick before it.
func (s *Sweep) judgeTicks(p *Property) {
	judge, executions := s.judgeRepeated, s.jobs.begunOn
	if s.jobs.exactly() {
		judge, executions = s.judgeEffects, s.jobs.effectsOn
		s.judgeLost(p)
	}
	for _, key := range s.jobs.keys {
		before := map[history.Token]*execution{}
		for _, x := range executions(key) {
			if !x.token.Given() {
				continue
			}
			if first := before[x.token]; first != nil {
				judge(p, first, x)
			}
			before[x.token] = x
		}
		s.jobs.distinct += len(before)
	}
}

// judgeEffects judges two executions of one tick whose effects the store took.
func (s *Sweep) judgeEffects(p *Property, a, b *execution) {
	j := judgement{violated: true, kind: KindEffectTwice, severity: Corrupting}
	s.findings.record(p, s.book.keyOf(b.grant), j, j, func(j judgement) *Violation {
		v := s.tellExecutions(p, j, a, b, b.effect)
		v.From, v.Text = a.effect, fmt.Sprintf("the effect of tick %d of %s came twice: by client %d at %s and by client %d at %s.",
			b.token, v.Key, a.client, seconds(a.effect), b.client, seconds(b.effect))
		return v
	})
}

// judgeRepeated judges two executions of one tick.
func (s *Sweep) judgeRepeated(p *Property, a, b *execution) {
	j := judgement{violated: true, kind: s.jobs.repetition(a, b)}
	if a.lastWrite != 0 && b.lastWrite != 0 {
		j.severity = Corrupting
	}
	j.stallOnly = j.kind == KindTwiceAfterLoss && s.jobs.lostByStall(a, b)
	s.findings.record(p, s.book.keyOf(b.grant), j, j, func(j judgement) *Violation {
		v := s.tellExecutions(p, j, a, b, b.begun)
		v.Text = fmt.Sprintf("tick %d of %s was executed twice: by client %d from %s and by client %d from %s%s.", b.token, v.Key,
			a.client, seconds(a.begun), b.client, seconds(b.begun), s.jobs.since(j.kind, a, b))
		return v
	})
}

// repetition is the kind of two executions, of which b was told of later. The claim of b may have
// been made at any time from b.from to b.begun. So a mark that was made within a's lease convicts
// in either order, unless b may have been claimed first and lost before a was claimed.
func (js *jobs) repetition(a, b *execution) string {
	marked, late := a.done != 0 && a.doneFrom <= b.begun, js.late(a, b)
	switch {
	case marked && a.done <= b.from, marked && !late && a.done <= js.owned(a):
		return KindReplayed
	case !late && b.begun < js.owned(a):
		return KindTwiceWhileOwned
	case js.rules.Claims.Job == history.AtMostOnce:
		return KindTwiceThoughOnce
	}
	return KindTwiceAfterLoss
}

// since tells how things stood with the first execution when the second one began.
func (js *jobs) since(kind string, a, b *execution) string {
	switch {
	case kind == KindReplayed:
		return fmt.Sprintf(", which was after client %d had marked it as done at %s", a.client, seconds(a.done))
	case kind == KindTwiceWhileOwned:
		return fmt.Sprintf(", which was while client %d owned it until %s at the least", a.client, seconds(js.owned(a)))
	case js.late(a, b):
		return fmt.Sprintf(", who may have claimed it first, with a lease that might have been over since %s", seconds(js.owned(b)))
	}
	return fmt.Sprintf(", when the lease of client %d might have been over since %s", a.client, seconds(js.owned(a)))
}

// tellExecutions is a violation by two executions, or by one (a and b are the same).
func (s *Sweep) tellExecutions(p *Property, j judgement, a, b *execution, at int64) *Violation {
	v := &Violation{Property: p.Name, Kind: j.kind, Severity: j.severity, Key: s.book.nameOf(b.grant), At: at,
		From: a.begun, To: at, A: a.ref(), Faults: s.faults.faultsOf(at, a.grant, b.grant)}
	var proof evidence
	proof.add(a.id, a.begun)
	proof.add(a.lastOp, a.last)
	if a != b {
		v.B = b.ref()
		proof.add(b.id, b.begun)
	}
	if j.kind == KindEffectTwice {
		proof.add(a.effectOp, a.effect)
		proof.add(b.effectOp, b.effect)
	}
	v.Ops = proof.ops()
	return v
}
