package checker

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The interval against values from Wilson's formula worked by hand, and against
// what it promises: of 95 % of all samples it contains the true share.
func TestWilson(t *testing.T) {
	for _, x := range []struct {
		count, of int64
		low, high float64
	}{{0, 100, 0, 0.0370}, {10, 100, 0.0552, 0.1744}, {100, 100, 0.9630, 1}, {1, 1, 0.2065, 1}, {0, 0, 0, 1}} {
		r := rateOf(x.count, x.of)
		if math.Abs(r.Low-x.low) > 5e-5 || math.Abs(r.High-x.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", x.count, x.of, r.Low, r.High, x.low, x.high)
		}
	}
	rng := rand.New(rand.NewPCG(7, 7))
	const samples, size, share = 4000, 200, 0.03
	inside := 0
	for range samples {
		n := int64(0)
		for range size {
			if rng.Float64() < share {
				n++
			}
		}
		if r := rateOf(n, size); r.Low <= share && share <= r.High {
			inside++
		}
	}
	if got := float64(inside) / samples; got < 0.93 || got > 0.98 {
		t.Errorf("%.3f of the intervals contain the true share", got)
	}
}

// Quantiles of a histogram against those of the sorted values.
func TestQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 50 {
		var h histogram
		var all []int64
		for range 1 + rng.IntN(2000) {
			d := int64(math.Exp(rng.Float64() * 30))
			h.add(d)
			all = append(all, d)
		}
		slices.Sort(all)
		for _, q := range []float64{0.5, 0.95, 0.99} {
			want := all[min(int(q*float64(len(all))), len(all)-1)]
			if got := int64(h.quantile(q)); math.Abs(float64(got-want)) > float64(want)/16+1 {
				t.Errorf("quantile %.2f of %d values: %d, want %d", q, len(all), got, want)
			}
		}
		if h.max != all[len(all)-1] {
			t.Errorf("max %d, want %d", h.max, all[len(all)-1])
		}
	}
}

// The ends of the interval are exact where nothing, or everything, was counted,
// and it is one whatever is asked.
func TestEdgesOfWilson(t *testing.T) {
	if low, high := Wilson(0, 0); low != 0 || high != 1 {
		t.Errorf("of nothing: %v to %v", low, high)
	}
	if low, high := Wilson(3, 2); high != 1 || !(low > 0 && low < 1) {
		t.Errorf("of more than all: %v to %v", low, high)
	}
	for n := int64(1); n <= 2000; n++ {
		low, high := Wilson(0, n)
		all, most := Wilson(n, n)
		one, _ := Wilson(1, n)
		if low != 0 || most != 1 || !(high > 0 && high < 1 && all > 0 && all < 1 && one > 0) {
			t.Fatalf("of %d: none %v to %v, one from %v, all %v to %v", n, low, high, one, all, most)
		}
	}
}

func TestFigures(t *testing.T) {
	about := func(name string, got, want time.Duration) {
		t.Helper()
		if math.Abs(float64(got-want)) > float64(want)/16 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	v := plainLock().judge(t, `
		A acquire [0,1]
		B acquire [2,101]
		C acquire [3,211]
		A read    [10,14]
		A write   [90,92]
		A release [95,96]
		B write   [150,160]
		kill B    [200,202]
		B exit    [203]
		C write   [300,310]
		C release [320,321]
		kill C    [330,331]
		C exit    [332]`+probeText)
	st := v.Stats
	if st.Grants != 3 || st.WaitersMax != 2 || st.Overlapped.Count != 0 || st.Overlapped.Of != 3 {
		t.Errorf("%+v", st)
	}
	if w := st.Timing(TimeWait); w.Count != 5 { // the probe's too
		t.Errorf("waits %+v", w)
	} else {
		about("the longest wait", w.Max, 208*time.Millisecond)
	}
	if r := st.Timing(TimeRecovery); r.Count != 1 {
		t.Errorf("C had given its key back: recoveries %+v", r)
	} else {
		about("the recovery", r.Max, 8*time.Millisecond)
	}
	about("the longest hold", st.Timing(TimeHold).Max, 109*time.Millisecond)
	about("the read", st.Timing(TimeRead).P50, 4*time.Millisecond)
	if n := st.Timing(TimeRenew).Count; n != 0 {
		t.Errorf("%d renewals", n)
	}
}

// A recovery begins when somebody asks, not while nobody wants the key.
func TestRecoveryBeginsWhenSomebodyAsks(t *testing.T) {
	v := plainLock().judge(t, `
		A acquire [0,1]
		A write   [2,3]
		kill A    [10,12]
		A exit    [13]
		B acquire [400,700]
		B write   [701,702]
		B release [710,711]`+probeText)
	if r := v.Stats.Timing(TimeRecovery); r.Count != 1 || r.Max != 300*time.Millisecond {
		t.Errorf("%+v", r)
	}
}

// TestEdgesOfRecoveries: whose death leaves a key without its holder, and which grant ends that.
func TestEdgesOfRecoveries(t *testing.T) {
	lock, twice := noClaims(plainLock()), reentrant(noClaims(plainLock()))
	for name, x := range map[string]struct {
		lock  script
		text  string
		count int64
		max   time.Duration
	}{
		"its holder died while somebody waited": {lock, "A acquire [0,1] proc=1\nA exit [10] proc=1\nB acquire [5,20]", 1, 10},
		"whichever process it was":              {lock, "A acquire [0,1] proc=33\nA exit [10]\nB acquire [5,20]", 1, 10},
		"its predecessor died":                  {lock, "A acquire [0,1] proc=33\nA exit [10] proc=1\nB acquire [5,20]", 0, 0},
		"somebody else died":                    {lock, "A acquire [0,1]\nC acquire [1,2] key=k1\nC exit [10]\nB acquire [5,20]", 0, 0},
		"it had given the key back": {lock,
			"A acquire [0,1]\nA write [2,]\nA release [3,4]\nA exit [10]\nB acquire [5,20]", 0, 0},
		"it waited for itself":          {twice, "A acquire [0,1]\nA acquire [5,]\nA exit [10]\nB acquire [50,60]", 1, 10},
		"granted before it was gone":    {lock, "A acquire [0,1]\nB acquire [5,20] run=5,8\nA exit [10]\nC acquire [30,40]", 1, 30},
		"granted at the very instant":   {lock, "A acquire [0,1]\nB acquire [5,20] run=5,10\nA exit [10]\nC acquire [30,40]", 0, 0},
		"nobody asked but its own heir": {twice, "A acquire [0,1] proc=1\nA acquire [5,20] proc=33\nA exit [10] proc=1", 0, 0},
	} {
		v := x.lock.judge(t, x.text)
		if r := v.Stats.Timing(TimeRecovery); r.Count != x.count || r.Max != x.max*time.Millisecond {
			t.Errorf("%s: %d recoveries, %v; want %d, %v", name, r.Count, r.Max, x.count, x.max*time.Millisecond)
		}
	}
	v := plainLock().judge(t, "mark probe [5000]\nP acquire [5001,5003]\nQ acquire [5100,5101]")
	if o := v.Stats.Overlapped; v.Property(MutualExclusion).Count != 1 || o.Count != 0 || o.Of != 0 {
		t.Errorf("%d double-holds of the probe, %+v", v.Property(MutualExclusion).Count, o)
	}
}

// One holder that several others meet is one grant that was not exclusive.
func TestOverlappedGrants(t *testing.T) {
	v := plainLock().judge(t, `
		A acquire [0,1]
		A read    [2,3]
		pause A   [4,990]
		B acquire [600,601]
		B write   [610,611]
		B release [620,621]
		C acquire [630,631]
		C write   [640,641]
		C release [650,651]
		A write   [1000,1001]`+probeText)
	if o := v.Stats.Overlapped; v.Property(MutualExclusion).Count != 2 || o.Count != 1 || o.Of != 3 {
		t.Errorf("%d double-holds, %+v", v.Property(MutualExclusion).Count, o)
	}
}
