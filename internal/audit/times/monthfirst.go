package times

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// A date such as 03/01/2026 is the third of January to one half of the world, and the first
// of March to the other: it is never guessed, but both layouts are written out.

// slashed matches a date of day and month, in either order, and the time of day behind it.
var slashed = lazyregexp.New(`^\d{1,2}([/.-])\d{1,2}[/.-]\d{4}(,? )\d{1,2}:\d\d(:\d\d)?([.,]\d+)?( ?[AaPp][Mm])?$`)

// notKnown is the error of a time that no layout fits.
func notKnown(text string) error {
	part := slashed().FindStringSubmatch(text)
	if part == nil {
		return errTime
	}
	clock := "15:04"
	if part[5] != "" {
		clock = "3:04"
	}
	if part[3] != "" {
		clock += ":05"
	}
	if part[4] != "" {
		clock += ".999999999"
	}
	if half := part[5]; half != "" {
		clock += strings.Repeat(" ", len(half)-2) + "PM"
	}
	var fits []string
	for _, first := range [...]string{"1%[1]s2", "2%[1]s1"} {
		layout := fmt.Sprintf(first+"%[1]s2006%[2]s%[3]s", part[1], part[2], clock)
		if _, err := time.Parse(layout, strings.ToUpper(text)); err == nil {
			fits = append(fits, fmt.Sprintf("--time-format '%s'", layout))
		}
	}
	if len(fits) == 0 {
		return errTime
	}
	return fmt.Errorf("no time that is known for certain: is it %s?", strings.Join(fits, " or "))
}
