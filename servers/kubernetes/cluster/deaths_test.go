package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// healed is within which time after a death no fault may be in effect, and no agent may be left. One that has heard nothing yet of its run waits longer for it.
const (
	healed  = 15 * time.Second
	unheard = time.Minute
)

// TestDeathsHeal kills lockchaos and, in every other round, its agent, at random moments of a run with many faults on the example application. LOCKCHAOS_DEATHS says how
// many rounds there are (4 if it is not given), LOCKCHAOS_SEED by which seed.
func TestDeathsHeal(t *testing.T) {
	rounds, seed := number(t, "LOCKCHAOS_DEATHS", 4), number(t, "LOCKCHAOS_SEED", int(time.Now().UnixNano()%1e6))
	t.Logf("LOCKCHAOS_SEED=%d", seed)
	c := place(t)
	c.app("off")
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	struck := 0
	for round := range rounds {
		victim := []string{"lockchaos", "the agent"}[round%2]
		early := round%8 >= 6 // while pods start
		after := time.Duration(random.Int64N(int64(4 * time.Second)))
		if early {
			after /= 2
		}
		t.Run(fmt.Sprintf("%d of %s", round+1, strings.TrimPrefix(victim, "the ")), func(t *testing.T) {
			d := death{cluster: &cluster{t: t, config: c.config, client: c.client, namespace: c.namespace}, victim: victim, early: early}
			if d.round(after) {
				struck++
			}
		})
	}
	t.Logf("in %d of %d rounds a fault was in effect just before the death", struck, rounds)
}

// number is that of an environment variable.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// death is one round.
type death struct {
	*cluster
	victim string
	early  bool // before there was any fault
}

// round runs, kills and looks. It tells whether a fault was in effect just before.
func (d *death) round(after time.Duration) (struck bool) {
	d.t.Helper()
	var said bytes.Buffer
	run := exec.Command(program, "run", "testdata/deaths.yaml", "--runtime", "kubernetes", "--namespace", d.namespace, "--retries", "0", "--out", d.t.TempDir())
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		d.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	defer func() { // whatever failed before
		_ = run.Process.Kill()
	}()
	if !d.early {
		d.until("a fault is in effect", func(ctx context.Context) error {
			select {
			case err := <-ended:
				d.t.Fatalf("lockchaos has ended before it did anything: %v\n%s", err, said.Bytes())
			default:
			}
			if d.inEffect(ctx) != nil {
				return nil
			}
			return errors.New("none is")
		})
	}
	time.Sleep(after) // a random moment: it is what is tried, and nothing waits for it
	struck = d.inEffect(d.t.Context()) != nil
	killed := d.kill(run.Process, ended)
	d.t.Logf("%s was killed after %v more; a fault was in effect: %v", d.victim, after.Round(time.Millisecond), struck)
	d.heals(killed)
	select {
	case <-ended:
	case <-time.After(limit):
		d.t.Fatalf("lockchaos has not ended %v after the death of %s\n%s", limit, d.victim, said.Bytes())
	}
	if out, err := exec.Command(program, "clean", "--runtime", "kubernetes", "--namespace", d.namespace).CombinedOutput(); err != nil {
		d.t.Fatalf("lockchaos clean: %v\n%s", err, out)
	}
	pods, err := d.podsOf(d.t.Context())
	if err != nil || len(pods) > 0 {
		d.t.Errorf("after clean: %d pods, %v", len(pods), err)
	}
	if d.t.Failed() {
		d.t.Logf("lockchaos said:\n%s", said.Bytes())
	}
	return struck
}

// kill kills the victim, and tells when. An agent is waited for, until it is there.
func (d *death) kill(lockchaos *os.Process, ended <-chan error) time.Time {
	d.t.Helper()
	if d.victim == "lockchaos" {
		if err := lockchaos.Kill(); err != nil {
			d.t.Fatal(err)
		}
		return time.Now()
	}
	d.until("the agent's process is there, and killed", func(ctx context.Context) error {
		select {
		case err := <-ended:
			d.t.Fatalf("lockchaos has ended before its agent was killed: %v", err)
		default:
		}
		pods, err := d.client.CoreV1().Pods(d.namespace+"-agents").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, p := range pods.Items {
			for _, status := range p.Status.ContainerStatuses {
				if pid := mainProcess(status.ContainerID); pid != 0 {
					return syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}
		return errors.New("it is not")
	})
	return time.Now()
}

// heals polls until nothing is left of faults, nor an agent that lives.
func (d *death) heals(since time.Time) {
	d.t.Helper()
	within := healed
	if d.early {
		within = unheard
	}
	for {
		faults, agents := d.inEffect(d.t.Context()), d.agentLives(d.t.Context())
		took := time.Since(since).Round(100 * time.Millisecond)
		switch {
		case faults == nil && agents == nil:
			d.t.Logf("healed %v after the death", took)
			return
		case faults != nil && took > healed, took > within:
			d.t.Errorf("%v after the death of %s: %v", took, d.victim, errors.Join(faults, agents))
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// agentLives is an error for each agent's pod that has not ended.
func (d *death) agentLives(ctx context.Context) (all error) {
	pods, err := d.client.CoreV1().Pods(d.namespace+"-agents").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			all = errors.Join(all, fmt.Errorf("pod %s has not ended: %s", p.Name, p.Status.Phase))
		}
	}
	return all
}

// inEffect is an error for each process of the application that is stopped, and each pod whose network is filtered.
func (d *death) inEffect(ctx context.Context) (all error) {
	pods, err := d.client.CoreV1().Pods(shop).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		for _, status := range p.Status.ContainerStatuses {
			for _, pid := range processes(status.ContainerID) {
				if stopped(pid) {
					all = errors.Join(all, fmt.Errorf("process %d of pod %s is stopped", pid, p.Name))
				}
			}
			if pid := mainProcess(status.ContainerID); pid != 0 {
				tables, err := exec.CommandContext(ctx, "nsenter", "-t", strconv.Itoa(pid), "-n", "nft", "list", "tables").CombinedOutput()
				if err != nil {
					all = errors.Join(all, fmt.Errorf("list the tables of pod %s: %w: %s", p.Name, err, tables))
				}
				if bytes.Contains(tables, []byte("lockchaos")) {
					all = errors.Join(all, fmt.Errorf("the network of pod %s is filtered: %s", p.Name, tables))
				}
			}
		}
	}
	return all
}

// processes are those of a container: all of the cluster's are on this machine.
func processes(container string) (pids []int) {
	_, id, _ := strings.Cut(container, "://")
	if id == "" {
		return nil
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), id) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// mainProcess is the process of a container whose parent is not of it; 0: it has none.
func mainProcess(container string) int {
	all := map[int]bool{}
	for _, pid := range processes(container) {
		all[pid] = true
	}
	for pid := range all {
		if parent, _ := strconv.Atoi(statusLine(pid, "PPid:")); parent != 0 && !all[parent] {
			return pid
		}
	}
	return 0
}

// stopped tells whether one of a process's threads is.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	for _, thread := range threads {
		text, err := os.ReadFile(thread + "/status")
		if err == nil && bytes.Contains(text, []byte("\nState:\tT")) {
			return true
		}
	}
	return false
}

// statusLine is what /proc/PID/status (proc(5)) says behind a word.
func statusLine(pid int, word string) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "" // it has ended
	}
	_, rest, _ := strings.Cut("\n"+string(text), "\n"+word)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}
