package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockchaos/lockchaos/redact"
)

// follow carries what a container prints into its log, here and at the agent, until it ends or ctx does. Of one that ran before us it is what comes from now on.
func (s *scenario) follow(ctx context.Context, n handedNode) error {
	file := filepath.Join(s.Logs, n.Name+".log")
	name, err := filepath.Rel(s.Dir, file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Logs, 0o755); err != nil {
		return fmt.Errorf("node %s: make the folder of its log: %w", n.Name, err)
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("node %s: create its log: %w", n.Name, err)
	}
	defer f.Close()
	log := redact.NewWriter(&copied{file: f, name: name, agent: s.agent})
	options := &corev1.PodLogOptions{Container: n.Container, Follow: true}
	if !n.Own {
		since := int64(2) // on the node's clock; what is older is cut off by its stamps
		options.SinceSeconds = &since
	}
	stream, err := s.client.Get().Namespace(n.Namespace).Resource("pods").Name(n.Pod).SubResource("log").VersionedParams(options, s.codec).Stream(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("node %s: follow the log of pod %s: %w", n.Name, n.Pod, err)
	}
	defer stream.Close()
	_, err = io.Copy(log, stream)
	if ctx.Err() == nil {
		err = s.cutOff(ctx, n, err)
	} else {
		err = nil
	}
	return errors.Join(err, log.Flush())
}

// cutOff is an error if a log has ended and its container goes on: what it prints from then on would be missed. broken is what was wrong with the stream.
func (s *scenario) cutOff(ctx context.Context, n handedNode, broken error) error {
	var p corev1.Pod
	if err := s.client.Get().Namespace(n.Namespace).Resource("pods").Name(n.Pod).Do(ctx).Into(&p); err != nil {
		return nil // it has ended, or so has the run
	}
	if id, err := idOf(p, n.Container); err != nil || id != n.ID {
		return nil
	}
	return errors.Join(fmt.Errorf("node %s: the log of pod %s was cut off, and the pod goes on: run it again", n.Name, n.Pod), broken)
}

// copied is a log that has a copy at the agent.
type copied struct {
	file  *os.File
	name  string
	agent *agent
	size  int64
}

// Write appends to both.
func (c *copied) Write(p []byte) (int, error) {
	n, err := c.file.Write(p)
	if err != nil {
		return n, err
	}
	for rest := p; len(rest) > 0; {
		part := rest[:min(len(rest), chunkSize)]
		if c.agent.say(order{File: &chunk{c.name, c.size, part}}) != nil {
			return len(p), nil // it has ended: nobody reads it there any more
		}
		c.size += int64(len(part))
		rest = rest[len(part):]
	}
	return len(p), nil
}
