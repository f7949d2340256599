package story

// Entry is a word and what it means.
type Entry struct{ Word, Means, Class string }

// ResultWords explains the results to those who see them for the first time.
var ResultWords = []Entry{
	{"pass", "No property was violated, enough happened for a violation to show, and every planned fault is proven to have met a holder. " +
		"It is evidence, not proof.", "p"},
	{"contained", "Two clients held the lock at once, and the fence refused what the earlier one wrote too late: the data is whole.", "c"},
	{"corrupted", "A stale write was accepted (its client no longer held the lock), or an update was lost.", "v"},
	{"violated", "Another property was violated: no stale write was accepted and no update lost, but it is not just a double-hold that a fence contained.", "v"},
	{"inconclusive", "The run does not show enough to judge: a fault that did not take effect, too few grants, a history that was cut. It is never a pass.", "i"},
	{"skipped", "Not run, for the reason given. It is never a pass.", "s"},
	{"failed", "The harness or a service failed. A violation that was certain by then is told on its page; otherwise there is nothing to judge.", "f"},
	{"defects", "In how many ways the lock certainly broke what it claims: it gave a key away while it was promised to another client, say.", ""},
	{"overruns", "How many grants were acted under past their lease, while a later grant of the key was held. No lease prevents that. An overrun counts once, however many later grants it overlaps.", ""},
	{"stale, refused", "How many writes the store took, or refused, of a client whose grant a later one had replaced.",
		""},
}
