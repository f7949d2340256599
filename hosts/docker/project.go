package docker

import "context"

type Project struct{ net *bridge }

func (e *Engine) findNodes(ctx context.Context, s *scenario) ([]*runningNode, error) { return nil, nil }
