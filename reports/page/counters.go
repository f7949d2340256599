package page

import (
	"fmt"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// counterTiles shows the counter beside the writes that should have made it.
func counterTiles(all []reports.Counter) []tile {
	c := reports.Total(all)
	if c.Accepted == 0 {
		return nil
	}
	class, lost := "p", c.Accepted-c.Value
	if lost != 0 {
		class = "v"
	}
	word := "counter at the end"
	if len(all) > 1 {
		word = fmt.Sprintf("%s at the end, together", phrase.Plural(len(all), "counter"))
	}
	out := []tile{{Count: phrase.Grouped(c.Accepted), Word: "increments accepted"},
		{Count: phrase.Grouped(c.Value), Word: word, Class: class}}
	if lost > 0 {
		out = append(out, tile{Count: phrase.Grouped(lost), Word: "increments lost", Class: class})
	}
	return out
}
