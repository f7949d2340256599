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

// healed is within which time after a death no fault may be in effect, and no
// agent may be left. One that has heard nothing yet of its run waits longer for
// it, and one whose run is silent waits first whether it is.
const (
	healed  = 15 * time.Second
	silent  = 2 * healed
	unheard = time.Minute
)

const manyFaults = "testdata/deaths.yaml"

// TestDeathsHeal kills lockchaos and, in every other round, its agent, at random
// moments of a run with many faults on the example application. LOCKCHAOS_DEATHS says
// how many rounds there are (4 if it is not given), LOCKCHAOS_SEED by which seed.
func TestDeathsHeal(t *testing.T) {
	rounds, seed := number(t, "LOCKCHAOS_DEATHS", 4), number(t, "LOCKCHAOS_SEED", int(time.Now().UnixNano()%1e6))
	t.Logf("LOCKCHAOS_SEED=%d", seed)
	s := open(t)
	what := s.file(manyFaults)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	struck := 0
	for round := range rounds {
		victim := []string{"lockchaos", "the agent"}[round%2]
		early := round%8 == 3 || round%8 == 6 // while pods start
		after := time.Duration(random.Int64N(int64(4 * time.Second)))
		if early {
			after /= 2
		}
		t.Run(fmt.Sprintf("%d of %s", round+1, strings.TrimPrefix(victim, "the ")), func(t *testing.T) {
			here := *s.cluster
			here.t = t
			d := death{cluster: &here, app: s.app, what: what, victim: victim, early: early}
			if d.round(after) {
				struck++
			}
		})
	}
	t.Logf("in %d of %d rounds a fault was in effect just before the death", struck, rounds)
}

// TestSilenceHeals stops lockchaos, whose connections stay: the agent must not
// wait for a word for ever.
func TestSilenceHeals(t *testing.T) {
	s := open(t)
	d := death{cluster: s.cluster, app: s.app, what: s.file(manyFaults), victim: "lockchaos, which was only stopped"}
	d.start()
	d.untilStruck()
	if err := d.run.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	d.heals(time.Now(), silent)
}

// TestDeletedAgentHeals has somebody delete the agent's pod, as an eviction or
// the drain of a node does.
func TestDeletedAgentHeals(t *testing.T) {
	s := open(t)
	d := death{cluster: s.cluster, app: s.app, what: s.file(manyFaults), victim: "the agent's pod"}
	d.start()
	d.untilStruck()
	agents := d.client.CoreV1().Pods(d.namespace + "-agents")
	pods, err := agents.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("%d agents, %v", len(pods.Items), err)
	}
	if err := agents.Delete(t.Context(), pods.Items[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	d.heals(time.Now(), healed)
}

// TestCleanSparesTheLiving runs clean beside a run with servers of its own,
// which it must not touch, and once more after that was killed.
func TestCleanSparesTheLiving(t *testing.T) {
	d := death{cluster: place(t), what: "etcd-lease/pause-holder/fenced", victim: "lockchaos"}
	d.start()
	d.until("all pods run", func(ctx context.Context) error {
		d.goesOn()
		pods, err := d.podsOf(ctx)
		for _, p := range pods {
			if p.Status.Phase != corev1.PodRunning {
				err = errors.Join(err, fmt.Errorf("%s: %s", p.Name, p.Status.Phase))
			}
		}
		if err == nil && len(pods) < 5 { // etcd's three, the agent, and a seat or more
			err = fmt.Errorf("there are %d", len(pods))
		}
		return err
	})
	d.goesOn()
	if said := d.clean(); said != "nothing to clean\n" {
		t.Errorf("clean beside a living run said %q", said)
	}
	d.goesOn()
	d.kill()
	d.until("the agent has ended", d.agentLives)
	if said := d.clean(); !strings.Contains(said, "removed") {
		t.Errorf("clean after the run said %q", said)
	}
	d.noPods()
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
	app    string // the application's namespace
	what   string // it runs
	victim string
	early  bool          // before there was any fault
	run    *exec.Cmd     // lockchaos
	said   bytes.Buffer  // by it, to be read when it has ended
	ended  chan struct{} // is closed then
}

// round runs, kills and looks. It reports whether a fault was in effect just before.
func (d *death) round(after time.Duration) (struck bool) {
	d.t.Helper()
	d.start()
	within := unheard
	if !d.early {
		d.untilStruck()
		within = healed
	}
	time.Sleep(after) // a random moment: it is what is tried, and nothing waits for it
	struck = d.inEffect(d.t.Context()) != nil
	killed := d.kill()
	d.t.Logf("%s was killed after %v more; a fault was in effect: %v", d.victim, after.Round(time.Millisecond), struck)
	d.heals(killed, within)
	select {
	case <-d.ended:
	case <-time.After(limit):
		d.t.Fatalf("lockchaos has not ended %v after the death of %s", limit, d.victim)
	}
	d.clean()
	if pods, err := d.podsOf(d.t.Context()); err != nil || len(pods) > 0 {
		d.t.Errorf("after clean: %d pods, %v", len(pods), err)
	}
	return struck
}

// clean runs lockchaos clean, and returns what that says.
func (d *death) clean() string {
	d.t.Helper()
	out, err := exec.Command(program, "clean", "--runtime", "kubernetes", "--namespace", d.namespace).CombinedOutput()
	if err != nil {
		d.t.Fatalf("lockchaos clean: %v\n%s", err, out)
	}
	return string(out)
}

// untilStruck waits until a fault is in effect.
func (d *death) untilStruck() {
	d.t.Helper()
	d.until("a fault is in effect", func(ctx context.Context) error {
		d.goesOn()
		if d.inEffect(ctx) != nil {
			return nil
		}
		return errors.New("none is")
	})
}

// start starts lockchaos, which ends with the test.
func (d *death) start() {
	d.t.Helper()
	d.ended = make(chan struct{})
	d.run = exec.Command(program, "run", d.what, "--runtime", "kubernetes", "--namespace", d.namespace, "--retries",
		"0", "--out", d.t.TempDir())
	d.run.Stdout, d.run.Stderr = &d.said, &d.said
	if err := d.run.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		_ = d.run.Wait() // it is killed, or says that its agent was
		close(d.ended)
	}()
	d.t.Cleanup(func() {
		_ = d.run.Process.Kill()
		<-d.ended
		if d.t.Failed() {
			d.t.Logf("lockchaos said:\n%s", d.said.Bytes())
		}
	})
}

// goesOn fails the test if lockchaos has ended.
func (d *death) goesOn() {
	d.t.Helper()
	select {
	case <-d.ended:
		d.t.Fatalf("lockchaos has ended by itself: %v", d.run.ProcessState)
	default:
	}
}

// kill kills the victim, and tells when. An agent is waited for, until it is there.
func (d *death) kill() time.Time {
	d.t.Helper()
	d.goesOn()
	if d.victim == "lockchaos" {
		if err := d.run.Process.Kill(); err != nil {
			d.t.Fatal(err)
		}
		return time.Now()
	}
	d.until("the agent's process is there, and killed", func(ctx context.Context) error {
		d.goesOn()
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

// heals polls until nothing is left of faults, nor an agent that lives. within is
// how long agents may take; faults are over earlier, but those of a silent run.
func (d *death) heals(since time.Time, within time.Duration) {
	d.t.Helper()
	var free time.Duration // of faults
	for {
		faults, agents := d.inEffect(d.t.Context()), d.agentLives(d.t.Context())
		took := time.Since(since).Round(100 * time.Millisecond)
		if faults != nil || free == 0 {
			free = took
		}
		switch {
		case faults == nil && agents == nil:
			d.t.Logf("healed %v after the death; the agent's pod had ended after %v", free, took)
			return
		case faults != nil && took > healed && within != silent, took > within:
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

// inEffect is an error for each process of the application that is stopped, and
// each pod whose network is filtered.
func (d *death) inEffect(ctx context.Context) (all error) {
	pods, err := d.client.CoreV1().Pods(d.app).List(ctx, metav1.ListOptions{})
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

// stopped reports whether one of a process's threads is.
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
