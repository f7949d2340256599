package policy

import (
	_ "embed"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/strictyaml"
)

//go:embed starter.yaml
var starter string

// tolerance is how long the violation of the written policy is known.
const tolerance = 180 * 24 * time.Hour

// Starter is the policy that `lockchaos init` writes: one that works as it is,
// with each key explained.
func Starter(now time.Time) string {
	return strictyaml.SchemaLine("policy") + strings.ReplaceAll(starter, "EXPIRES", day(now.Add(tolerance)))
}
