package story

import "github.com/lockchaos/lockchaos/checker"

// kindsOfJobs are the kinds of violations by a scheduler.
var kindsOfJobs = []string{checker.KindTwiceWhileOwned, checker.KindReplayed, checker.KindTwiceThoughOnce,
	checker.KindTwiceAfterLoss, checker.KindEffectTwice, checker.KindEffectLost, checker.KindOverlapWhileOwned,
	checker.KindOverlapAfterLoss, checker.KindRanOn, checker.KindWokeLate}

// jobKindWords explain them, as KindWords does.
var jobKindWords = map[string]string{
	checker.KindTwiceWhileOwned: "a defect of the scheduler: a tick was executed by a second instance while the first one owned it",
	checker.KindReplayed:        "a defect of the scheduler: a tick was executed again after it had been marked as done",
	checker.KindTwiceThoughOnce: "a defect of the scheduler: a tick was executed again after its first instance had lost it, " +
		"and it claims to execute none twice",
	checker.KindTwiceAfterLoss: "inherent to a scheduler that executes at least once: the first instance had lost the tick, " +
		"and nobody can know how far it had come",
	checker.KindEffectTwice: "a defect of the scheduler: the store took the effect of a tick twice, and it claims that each comes once",
	checker.KindEffectLost: "a defect of the scheduler: a tick began, and its effect never came though another instance was there " +
		"to execute it again; it claims that each comes once",
	checker.KindOverlapWhileOwned: "a defect of the scheduler: an execution began while an earlier one owned the job",
	checker.KindOverlapAfterLoss: "inherent: an earlier execution had lost the job while it could not know it, and worked on. " +
		"A fence contains it",
	checker.KindRanOn:    "a defect of the application: it went on for longer after its loss than it claims, and nothing had disturbed it",
	checker.KindWokeLate: "inherent: the application stood still until its execution was lost, and went on. Only a fence helps",
}
