package backends

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/lockchaos/lockchaos/internal/hosts/cache"
)

// built is a program that no distribution has: scripts/servers builds it from
// its source, into the user's cache.
type built string

// variable names the variable with the path of a program that is to be used
// instead: LOCKCHAOS_CONSUL.
func (b built) variable() string {
	return "LOCKCHAOS_" + strings.ToUpper(strings.ReplaceAll(string(b), "-", "_"))
}

// install says how the program comes onto a machine.
func (b built) install() string {
	return fmt.Sprintf("scripts/servers %s builds it (from lockchaos's source), or set %s to a program of that name", b,
		b.variable())
}

// find finds the program that the user names, that scripts/servers has built, or one on PATH.
func (b built) find() (string, error) {
	if path := os.Getenv(b.variable()); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w", b.variable(), err)
		}
		return path, nil
	}
	if path, err := cache.Find("servers", string(b)); path != "" || err != nil {
		return path, err
	}
	return onPath(string(b), b.install())
}

// says returns the first line that the program prints.
func (b built) says(ctx context.Context, args ...string) (string, error) {
	program, err := b.find()
	if err != nil {
		return "", err
	}
	return says(ctx, program, args...)
}
