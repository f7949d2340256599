package checker

import (
	"math/bits"
	"time"
)

// histogram counts durations in bounded memory: a row of 16 buckets for each
// power of two, so a quantile is at most 1/16 off. Most rows are never needed,
// and so not there: to begin a judgement of few events is most of what it costs.
type histogram struct {
	rows   [64 - histogramBits]*[histogramSteps]int64
	n, max int64
}

const (
	histogramBits  = 4
	histogramSteps = 1 << histogramBits
)

func (h *histogram) add(d int64) {
	i, column := histogramPlace(max(d, 0))
	row := h.rows[i]
	if row == nil {
		row = new([histogramSteps]int64)
		h.rows[i] = row
	}
	row[column]++
	h.n++
	h.max = max(h.max, d)
}

// histogramPlace is the row and the bucket in it of a duration: exact below 16 ns, then the
// exponent and the next four bits.
func histogramPlace(d int64) (row, column int) {
	if d < histogramSteps {
		return 0, int(d)
	}
	row = bits.Len64(uint64(d)) - histogramBits
	return row, int(d>>uint(row-1)) & (histogramSteps - 1)
}

// histogramBucket is the number of a duration's bucket.
func histogramBucket(d int64) int {
	row, column := histogramPlace(d)
	return row*histogramSteps + column
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
	for i, row := range h.rows {
		if row == nil {
			continue
		}
		for j, n := range row {
			if rank < n {
				return time.Duration(min(histogramValue(i*histogramSteps+j), h.max))
			}
			rank -= n
		}
	}
	return 0
}
