package main

import (
	"context"
	"errors"

	"github.com/lockchaos/lockchaos/scenarios"
)

func newComposed(ctx context.Context, f runFlags, plans []scenarios.Plan) (runtime, error) {
	return nil, errors.New("not yet")
}
