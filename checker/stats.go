package checker

import (
	"math/bits"
	"time"
)

// histogram counts durations in bounded memory: 16 buckets for each power of two, so a quantile is at most 1/16 off.
type histogram struct {
	buckets [64 * histogramSteps]int64
	n, max  int64
}

const (
	histogramBits  = 4
	histogramSteps = 1 << histogramBits
)

func (h *histogram) add(d int64) {
	h.buckets[histogramBucket(max(d, 0))]++
	h.n++
	h.max = max(h.max, d)
}

// histogramBucket is the bucket of a duration: exact below 16 ns, then the exponent and the next four bits.
func histogramBucket(d int64) int {
	if d < histogramSteps {
		return int(d)
	}
	exp := bits.Len64(uint64(d)) - 1 - histogramBits
	return exp*histogramSteps + int(d>>exp)
}

// histogramValue is the middle of a bucket.
func histogramValue(bucket int) int64 {
	if bucket < 2*histogramSteps {
		return int64(bucket)
	}
	exp := bucket/histogramSteps - 1
	return (int64(bucket%histogramSteps+histogramSteps) << exp) + (int64(1)<<exp)/2
}

// quantile returns the duration below which the given share, less than 1, lies; 0 without any.
func (h *histogram) quantile(q float64) time.Duration {
	rank := int64(q * float64(h.n))
	for i, n := range h.buckets {
		if rank < n {
			return time.Duration(min(histogramValue(i), h.max))
		}
		rank -= n
	}
	return 0
}
