package audit

import "github.com/lockchaos/lockchaos/history"

import "github.com/lockchaos/lockchaos/internal/audit/words"

// A number beside the events of a log may be a fencing token: that of the
// grant, on every line about it. Or it is the version of a record, such as
// etcd's revision or Kubernetes' resourceVersion, and rises with every write.
// The log shows which: within one hold the first stays and the second rises.

// versionLines is how many lines are looked at to find out.
const versionLines = 1 << 16

// versions reports whether the numbers of the log are those of writes, in more cases than not.
func (g *gatherer) versions() bool {
	type under struct {
		token history.Token
		open  bool
	}
	held, rising, steady := map[ownerKey]under{}, 0, 0
	in := g.inOrder()
	for range versionLines {
		e := in()
		if e == nil {
			break
		}
		at := ownerKey{e.Key, e.Owner}
		h := held[at]
		switch {
		case (e.Means == words.Grant || e.Means == words.Acquire && !g.granted) && e.Ending == words.EndedOK:
			held[at] = under{e.Token, e.Token != 0}
			continue
		case !h.open || e.Token == 0:
		case e.Token == h.token:
			steady++
		case e.Token > h.token && (e.Means == words.Renew || e.Means == words.Release || e.Means == words.Lost):
			rising++
		}
		if e.Means == words.Release && h.open {
			held[at] = under{}
		}
	}
	return rising > steady
}
