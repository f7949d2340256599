package harness

import "testing"

func TestUnexplained(t *testing.T) {
	pauses := []span{{client: 1, from: 100, to: 200}, {client: 2, from: 0, to: 1000}, {client: 1, from: 300, to: 400},
		{client: 1, from: 900}}
	for _, c := range []struct {
		name               string
		client             int32
		from, to           int64
		wantFrom, wantSpan int64
	}{
		{"no pause near", 1, 500, 600, 500, 100},
		{"another client's pause explains nothing", 3, 100, 200, 100, 100},
		{"wholly inside a pause", 1, 110, 190, 110, 0},
		{"a pause but for its edges", 1, 98, 203, 200, 3},
		{"more before the pause", 1, 50, 201, 50, 50},
		{"between two pauses", 1, 150, 350, 200, 100},
		{"a pause that still lasts", 1, 895, 5000, 895, 5},
		{"began inside a pause", 1, 390, 700, 400, 300},
	} {
		from, to := unexplained(c.from, c.to, pauses, c.client)
		if from != c.wantFrom || to-from != c.wantSpan {
			t.Errorf("%s: [%d, %d], want %d from %d", c.name, from, to, c.wantSpan, c.wantFrom)
		}
	}
}
