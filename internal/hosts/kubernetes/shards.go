package kubernetes

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"

	"github.com/lockchaos/lockchaos/internal/hosts/agent"
)

// Shards are copies of this program in pods of an Indexed Job, each of which
// runs a part of something.
type Shards struct {
	// Image is that of this program.
	Image string
	// Args are the arguments of each, after the program's name. Inputs are
	// files that they name, by their paths here and there.
	Args   [][]string
	Inputs map[string]string
	// Dirs are the folders here to which each copies what it writes below ShardOut.
	Dirs []string
	// Line is told each line that one prints. Stderr is where they complain.
	Line   func(shard int, line string)
	Stderr io.Writer
}

// ShardOut is the folder for what a shard writes, in its pod.
const ShardOut = shardDir + "/runs"

const (
	shardDir = "/work"
	// shardAccount is whose rights the pods have: deploy/kubernetes makes it.
	shardAccount = "lockchaos"
	roleShard    = "shard"
	// The labels of a Job's pods.
	jobLabel   = "batch.kubernetes.io/job-name"
	indexLabel = "batch.kubernetes.io/job-completion-index"
	// shardLimit bounds how long a shard may take.
	shardLimit = 12 * time.Hour
)

// shardTold is the first line of a shard's input.
type shardTold struct {
	Args  []string `json:"args"`
	Files []chunk  `json:"files,omitempty"`
}

// RunShards runs all shards side by side, and returns the exit status of each.
// When ctx ends, each is told to end, records what there is, and copies that.
func (c *Cluster) RunShards(ctx context.Context, s Shards) (statuses []int, err error) {
	job := "lockchaos-shards-" + strings.ToLower(rand.Text()[:10])
	if err := c.makeJob(ctx, job, s); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.removeJob(job)) }()
	pods, err := c.awaitShards(ctx, job, len(s.Args))
	if err != nil {
		return nil, err
	}
	files, err := s.files()
	if err != nil {
		return nil, err
	}
	statuses = make([]int, len(s.Args))
	var all errgroup.Group
	for i := range s.Args {
		all.Go(func() (err error) {
			statuses[i], err = c.runShard(ctx, s, i, pods[i], files)
			if err != nil {
				err = fmt.Errorf("shard %d of %d: %w", i+1, len(s.Args), err)
			}
			return err
		})
	}
	return statuses, all.Wait()
}

// files are the inputs.
func (s Shards) files() (all []chunk, err error) {
	for here, there := range s.Inputs {
		text, err := os.ReadFile(here)
		if err != nil {
			return nil, err
		}
		all = append(all, chunk{there, 0, text})
	}
	return all, nil
}

// makeJob makes the Job.
func (c *Cluster) makeJob(ctx context.Context, name string, s Shards) error {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{labelRole: roleShard}}}
	one := container(s.Image, program, podArg, podShard)
	one.Stdin, one.StdinOnce, one.WorkingDir = true, true, shardDir
	one.Env = []corev1.EnvVar{{Name: "HOME", Value: "/tmp"}}
	one.VolumeMounts = []corev1.VolumeMount{{Name: "work", MountPath: shardDir}, {Name: "tmp", MountPath: "/tmp"}}
	p.Spec = corev1.PodSpec{Containers: []corev1.Container{one},
		Volumes: []corev1.Volume{memory("work"), memory("tmp")}, RestartPolicy: corev1.RestartPolicyNever,
		ServiceAccountName: shardAccount}
	restricted(&p)
	count := len(s.Args)
	body, err := json.Marshal(map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": name,
			"labels": map[string]string{labelRole: roleShard}},
		"spec": map[string]any{"completionMode": "Indexed", "completions": count, "parallelism": count,
			"backoffLimit": 0, "ttlSecondsAfterFinished": 600,
			"activeDeadlineSeconds": int(shardLimit.Seconds()),
			"template":              map[string]any{"metadata": map[string]any{"labels": p.Labels}, "spec": p.Spec}},
	})
	if err != nil {
		return err
	}
	if err := c.client.Post().AbsPath("/apis/batch/v1").Namespace(c.Namespace).Resource("jobs").SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error(); err != nil {
		return fmt.Errorf("make a Job in namespace %s: %w; deploy/kubernetes has the permissions that lockchaos needs",
			c.Namespace, err)
	}
	return nil
}

// removeJob removes the Job and its pods.
func (c *Cluster) removeJob(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
	defer cancel()
	err := c.client.Delete().AbsPath("/apis/batch/v1").Namespace(c.Namespace).Resource("jobs").Name(name).Param("propagationPolicy", "Background").Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("remove Job %s: %w", name, err)
	}
	return nil
}

// awaitShards returns the names of the Job's pods by their index, when all run.
func (c *Cluster) awaitShards(ctx context.Context, job string, count int) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not all shards ran after %v", startLimit))
	defer cancel()
	last := "the Job has no pods: kubectl -n " + c.Namespace + " describe job " + job
	for {
		pods, err := c.list(ctx, c.Namespace, jobLabel+"="+job)
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		names, there := make([]string, count), 0
		for _, p := range pods {
			runs, why, err := running(p)
			if err != nil {
				return nil, err
			}
			var index int
			if _, err := fmt.Sscan(p.Labels[indexLabel], &index); err != nil || index < 0 || index >= count {
				continue
			}
			if runs {
				names[index] = p.Name
				there++
			} else {
				last = p.Name + ": " + why
			}
		}
		if there == count {
			return names, nil
		}
		if !wait(ctx, step) {
			return nil, fmt.Errorf("start the shards: %w; the last seen, %s", context.Cause(ctx), last)
		}
	}
}

// runShard runs one shard in its pod, and returns its exit status.
func (c *Cluster) runShard(ctx context.Context, s Shards, i int, pod string, files []chunk) (int, error) {
	in, w := io.Pipe()
	lines := &lineWriter{line: func(text string) { s.Line(i, text) }}
	streaming, over := context.WithCancel(context.WithoutCancel(ctx))
	defer over()
	ended := make(chan error, 1)
	go func() {
		ended <- c.attach(streaming, c.Namespace, pod, in, &inbox{dir: s.Dirs[i], out: lines}, s.Stderr)
	}()
	if err := json.NewEncoder(w).Encode(shardTold{s.Args[i], files}); err != nil {
		return 0, errors.Join(fmt.Errorf("speak to pod %s: %w", pod, err), <-ended)
	}
	go func() { <-ctx.Done(); w.Close() }()
	lost := <-ended
	return c.exitOf(context.WithoutCancel(ctx), pod, lost)
}

// exitOf is the exit status of a pod's container. lost is why its output ended.
func (c *Cluster) exitOf(ctx context.Context, pod string, lost error) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, restartGrace)
	defer cancel()
	for {
		var p corev1.Pod
		err := c.client.Get().Namespace(c.Namespace).Resource("pods").Name(pod).Do(ctx).Into(&p)
		if err == nil && len(p.Status.ContainerStatuses) > 0 {
			if t := p.Status.ContainerStatuses[0].State.Terminated; t != nil {
				return int(t.ExitCode), nil
			}
		}
		if !wait(ctx, step) {
			return 0, errors.Join(fmt.Errorf("the output of pod %s has ended, and it has not", pod), lost, err)
		}
	}
}

// lineWriter hands lines on.
type lineWriter struct {
	line func(string)
	rest string
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.rest += string(p)
	for {
		line, rest, whole := strings.Cut(l.rest, "\n")
		if !whole {
			return len(p), nil
		}
		l.line(line)
		l.rest = rest
	}
}

// serveShard is the program in a shard's pod: it reads what to run, runs it,
// and copies what it writes to its output.
func serveShard(in io.Reader, out io.Writer) (status int, err error) {
	lines := json.NewDecoder(in)
	var told shardTold
	silent := endUnlessTold(startLimit + firstWord) // outer speaks when all shards run
	if err := lines.Decode(&told); err != nil {
		return 0, fmt.Errorf("nobody said what to run: %w", err)
	}
	silent.Stop()
	for _, f := range told.Files {
		if err := f.write(shardDir); err != nil {
			return 0, err
		}
	}
	if err := os.MkdirAll(ShardOut, 0o755); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_ = lines.Decode(&struct{}{}) // nothing follows: its end is that of who started us
		cancel()
	}()
	to := &agent.Lines{Out: out}
	m := mirror{dir: ShardOut, sent: map[string]sentFile{}, send: func(f chunk) error { return to.Say(f) }}
	mirroring, over := context.WithCancel(context.Background())
	var kept error
	var copying sync.WaitGroup
	copying.Go(func() { kept = m.keep(mirroring) })
	status, err = runSelf(ctx, told.Args, &lineWriter{line: func(text string) {
		fmt.Fprintln(to, text) // if nobody listens any more, our input has ended, too
	}})
	over()
	copying.Wait()
	return status, errors.Join(err, kept)
}

// Below tells where an input lies in a shard's pod.
func Below(name string) string { return filepath.Join(shardDir, name) }
