package times

import (
	"fmt"
	"testing"
	"time"
)

// FuzzQuickTimes: a time that is read the quick way is what it is read as the careful way.
func FuzzQuickTimes(f *testing.F) {
	for _, text := range []string{"2026-11-25T15:00:00Z", "2024-02-29 23:59:59.123456789+14:00", "2023-02-29T00:00:00Z",
		"2026-11-25T24:00:00Z", "2026-11-25T15:00:00.1234567891Z",
		"2026-11-25 15:00:00", "2026-11-25T15:00:00-23:59", "1763107200.25", "1763107200250", "1763107200250000000",
		"99999999999", "-5", "5.", ".5", "1.5.5", "2026-11-25T15:00:00,5Z", "1699-01-01T00:00:00Z", "2200-12-31T00:00:00Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []string{"auto", "rfc3339", "unix", "unix-ms", "unix-ns", "2006-01-02 15:04:05"} {
			quick, err := NewReader(Options{Format: format})
			if err != nil {
				t.Fatal(err)
			}
			careful := quick
			for range 2 { // the second time with the day that is remembered
				got, ok := quick.Quick([]byte(text))
				if !ok {
					continue
				}
				want, err := careful.Parse(text)
				if err != nil || got != want || quick.Zoneless != careful.Zoneless || zoneOffset(quick.Zone) != zoneOffset(careful.Zone) {
					t.Fatalf("%q as %s: %d, want %d, %v", text, format, got, want, err)
				}
			}
		}
	})
}

func zoneOffset(z *time.Location) string {
	if z == nil {
		return "none"
	}
	_, offset := time.Unix(0, 0).In(z).Zone()
	return fmt.Sprint(offset)
}
