package runs

import (
	"fmt"

	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// WithoutSecrets takes the secrets out of the adapters' command lines, which
// are saved with the plans.
func WithoutSecrets(plans []scenarios.Plan) (err error) {
	for i := range plans {
		a := &plans[i].Scenario.Adapter
		if missing := redact.Lacking(a.Command); missing != "" {
			return exit.Misuse(fmt.Errorf("%s: the adapter's command line had a password in it, which was not saved: set %s in the environment", plans[i].Scenario.Name, missing))
		}
		if a.Command, err = redact.Command(a.Command); err != nil {
			return exit.Misuse(fmt.Errorf("%s: %w", plans[i].Scenario.Name, err))
		}
	}
	return nil
}
