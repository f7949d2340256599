package audit

type tokenOn struct {
	key   int32
	token int64
}

// tokens finds the hold that has a token. It remembers those that came last. Tokens mostly rise, so for one that is greater than all
// that were forgotten nothing needs to be remembered; for the first one that is not, all holds are looked through, and from then on
// each token is remembered.
type tokens struct {
	recent, older map[tokenOn]int32
	most          int               // in each of them
	all           map[tokenOn]int32 // those that are in neither; nil: nobody has asked for one
	highest       []int64           // that was granted, by key
	forgotten     []int64           // the highest of those that are in neither
}

func newTokens(l *log) tokens {
	return tokens{recent: map[tokenOn]int32{}, older: map[tokenOn]int32{}, most: l.room.tokens, highest: make([]int64, len(l.keys.list)), forgotten: make([]int64, len(l.keys.list))}
}

// known tells whether any grant has a token.
func (t *tokens) known() bool { return len(t.recent) > 0 }

func (t *tokens) add(at tokenOn, n int32) {
	if len(t.recent) >= t.most {
		for old, hold := range t.older {
			t.forgotten[old.key] = max(t.forgotten[old.key], old.token)
			if t.all != nil {
				t.all[old] = hold
			}
		}
		clear(t.older)
		t.recent, t.older = t.older, t.recent
	}
	t.recent[at] = n
	t.highest[at.key] = max(t.highest[at.key], at.token)
}

// hold is the newest hold that has a token.
func (t *tokens) hold(holds *paged[hold], at tokenOn) (n int32, ok bool) {
	if at.token > t.highest[at.key] {
		return 0, false
	}
	if n, ok = t.recent[at]; ok {
		return n, true
	}
	if n, ok = t.older[at]; ok || at.token > t.forgotten[at.key] {
		return n, ok
	}
	if t.all == nil {
		t.all = map[tokenOn]int32{}
		holds.scan(func(n int32, h *hold) {
			if h.token != 0 && !h.twice {
				t.all[tokenOn{h.key, h.token}] = n
			}
		})
	}
	n, ok = t.all[at]
	return n, ok
}
