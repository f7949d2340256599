package nemesis

import "testing"

func TestAimStrikesAtItsMomentOnly(t *testing.T) {
	for _, when := range Moments() {
		for _, at := range Moments() {
			for _, grant := range []int64{0, 7} {
				want := when == at && when != Random && grant != 0
				if got := (Aim{Target: "holder", When: when}).Strikes(Step{Moment: at, Client: 1, Grant: grant}); got != want {
					t.Errorf("aim at %s, step %s under grant %d: %v, want %v", when, at, grant, got, want)
				}
			}
		}
	}
}

func TestParseMoment(t *testing.T) {
	for _, m := range Moments() {
		if got, err := ParseMoment(string(m)); err != nil || got != m {
			t.Errorf("%s: %v, %v", m, got, err)
		}
	}
	if _, err := ParseMoment("later"); err == nil {
		t.Error("an unknown moment must be an error")
	}
}
