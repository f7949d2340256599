package audit

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
)

type tokenOn struct {
	key   int32
	token history.Token
}

// tokens finds the hold that has a token. It remembers the greatest tokens of
// each key. Tokens mostly rise, so others are seldom asked for. The first time,
// it looks through all holds, and remembers each token from then on.
type tokens struct {
	greatest  [][]tokenOf       // by key, the least first
	most      int               // of each key
	forgotten []history.Token   // by key, the greatest of those that are not in greatest
	all       map[tokenOn]int32 // the holds of those; nil: none was asked for yet
	known     bool              // some grant has a token
}

// tokenOf is a token, and the newest hold that has it.
type tokenOf struct {
	token history.Token
	hold  int32
}

func newTokens(l *log) tokens {
	return tokens{greatest: make([][]tokenOf, len(l.Keys.List)), most: l.room.Tokens,
		forgotten: make([]history.Token, len(l.Keys.List))}
}

// highest returns the highest token that was granted of a key.
func (t *tokens) highest(key int32) history.Token {
	if list := t.greatest[key]; len(list) > 0 {
		return list[len(list)-1].token
	}
	return 0
}

// place returns where among the greatest ones of its key a token is or would be.
func (t *tokens) place(at tokenOn) (i int, found bool) {
	list := t.greatest[at.key]
	for i = len(list); i > 0 && list[i-1].token >= at.token; i-- {
	}
	return i, i < len(list) && list[i].token == at.token
}

func (t *tokens) add(at tokenOn, hold int32) {
	t.known = true
	list := &t.greatest[at.key]
	i, found := t.place(at)
	if found {
		(*list)[i].hold = hold
		return
	}
	*list = slices.Insert(*list, i, tokenOf{at.token, hold})
	if least := (*list)[0]; len(*list) > t.most {
		*list = slices.Delete(*list, 0, 1)
		t.forgotten[at.key] = max(t.forgotten[at.key], least.token)
		if t.all != nil {
			t.all[tokenOn{at.key, least.token}] = least.hold
		}
	}
}

// hold returns the newest hold that has a token.
func (t *tokens) hold(holds *spill.List[hold], at tokenOn) (n int32, ok bool) {
	if i, found := t.place(at); found {
		return t.greatest[at.key][i].hold, true
	}
	if at.token > t.forgotten[at.key] {
		return 0, false
	}
	if t.all == nil {
		t.all = map[tokenOn]int32{}
		holds.Scan(func(n int32, h *hold) {
			if h.token != 0 && !h.twice {
				t.all[tokenOn{h.key, h.token}] = n
			}
		})
	}
	n, ok = t.all[at]
	return n, ok
}
