package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockchaos/lockchaos/internal/redact"
)

// follow carries what a container prints into its log, here and at the agent, until
// it ends or ctx does. Of one that ran before us it is what comes from now on.
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
	for again := true; again && err == nil; options.SinceSeconds = nil {
		if err = s.carry(ctx, n, options, log); ctx.Err() != nil {
			err = nil
			break
		}
		again, err = s.next(ctx, &n, err)
	}
	return errors.Join(err, log.Flush())
}

// carry carries what a container prints into its log until it ends, or the stream does.
func (s *scenario) carry(ctx context.Context, n handedNode, options *corev1.PodLogOptions, log io.Writer) error {
	stream, err := s.client.Get().Namespace(n.Namespace).Resource("pods").Name(n.Pod).SubResource("log").VersionedParams(options, s.codec).Stream(ctx)
	if err != nil {
		return fmt.Errorf("follow it: %w", err)
	}
	defer stream.Close()
	_, err = io.Copy(log, stream)
	return err
}

// endKnown is after how long a cluster knows that a container has ended.
const endKnown = 15 * time.Second

// next waits until a container of an application that has ended is started
// again, and reports whether it is: then n is the new one. One whose log has
// ended while it goes on, or of which one was missed, is an error: what it has
// printed would be missing. broken is what was wrong with the stream.
func (s *scenario) next(ctx context.Context, n *handedNode, broken error) (bool, error) {
	for known := time.Now().Add(endKnown); ; {
		var p corev1.Pod
		err := s.client.Get().Namespace(n.Namespace).Resource("pods").Name(n.Pod).Do(ctx).Into(&p)
		if err != nil || n.Own || p.DeletionTimestamp != nil {
			return false, nil // the pod has ended, or so has the run
		}
		id, starts := startsOf(p, n.Container)
		switch {
		case id == n.ID && time.Now().After(known):
			return false, errors.Join(fmt.Errorf("node %s: the log of pod %s was cut off, and the pod goes on: run it again", n.Name, n.Pod), broken)
		case starts > n.starts+1:
			return false, fmt.Errorf("node %s: a container of pod %s ended before its log was read: run it again",
				n.Name, n.Pod)
		case id != "" && id != n.ID:
			n.ID, n.starts = id, starts
			return true, nil
		}
		if !wait(ctx, step) {
			return false, nil
		}
	}
}

// copied is a log that has a copy at the agent.
type copied struct {
	file  *os.File
	name  string
	agent *agentPod
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
