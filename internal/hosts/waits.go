//go:build linux

package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/internal/procfs"
	"golang.org/x/sys/unix"
)

// Waits notices hosts whose processes wait for a processor, as on a machine that is too busy.
//
// The kernel's scheduler counts how long each thread was ready to run and did
// not (the second number of /proc/PID/task/TID/schedstat, proc(5)). A thread
// that sleeps or is stopped is not ready, so a pause is no wait. Threads are
// counted one by one, since the wait of one is easily hidden in the sum of all.
type Waits struct {
	bound   int64
	proc    string                       // where /proc is mounted
	homeOf  func(pid int) (*Host, error) // nil: on none of the hosts
	now     func() int64                 // monotime.Now
	looks   int
	looked  int64        // when the look before began
	homes   map[int]home // by process
	threads map[int]*waited
	told    map[*Host]int64 // until when a host's waits have been told
	buf     [256]byte
}

// home is where a process lives; look numbers the last look that saw it.
type home struct {
	*Host
	look int
}

// waited is what is known of a thread's waits. Its window begins with a wait,
// and ends when it has waited for the bound, or not in twice that time.
type waited struct {
	fd          int   // its schedstat
	total, base int64 // its waits so far, and when the window began
	from        int64 // before the first wait of the window
	look        int   // 0: none yet
}

// WatchWaits watches the processes of the hosts for waits of bound or longer.
// What they have waited so far is not counted.
func WatchWaits(bound time.Duration, hosts ...*Host) (*Waits, error) {
	w := &Waits{bound: int64(bound), proc: "/proc", now: monotime.Now}
	w.homeOf = func(pid int) (*Host, error) {
		ino, err := inode(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil {
			return nil, err
		}
		for _, h := range hosts {
			if h.inode == ino {
				return h, nil
			}
		}
		return nil, nil
	}
	_, err := w.Look()
	return w, err
}

// Close lets go of the threads.
func (w *Waits) Close() {
	w.looks++
	w.forget()
}

// Look returns the waits that have come to an end since the look before: of
// each host the longest, if it reaches the bound. No time is told twice.
func (w *Waits) Look() (long []Wait, err error) {
	if w.threads == nil {
		w.homes, w.threads, w.told = map[int]home{}, map[int]*waited{}, map[*Host]int64{}
	}
	began := w.now()
	w.looks++
	worst := map[*Host]Wait{}
	err = w.processes(func(h *Host, pid, tid int) error {
		total, err := w.waitOf(pid, tid)
		if err != nil {
			return err
		}
		if found, ok := w.add(tid, total); ok {
			found.Host, found.PID, found.TID = h, pid, tid
			if found.For > worst[h].For {
				worst[h] = found
			}
		}
		return nil
	})
	w.looked = began
	w.forget()
	for h, found := range worst {
		found.From = max(found.From, w.told[h])
		if found.To-found.From >= w.bound {
			w.told[h] = found.To
			// the rest has been told with another thread's
			found.For = min(found.For, time.Duration(found.To-found.From))
			long = append(long, found)
		}
	}
	return long, err
}

// add takes what a thread has waited in its life. It returns the waits of its
// window, and whether they reach the bound.
func (w *Waits) add(tid int, total int64) (Wait, bool) {
	t := w.threads[tid]
	if t.look == 0 && w.looks == 1 { // else all waits of a new one came since the look before
		t.total, t.base = total, total
	}
	t.look = w.looks
	fresh := total - t.total
	if fresh > 0 && t.total == t.base {
		t.from = w.looked - fresh // it may have been waiting at the look before
	}
	t.total = total
	now := w.now()
	sum := total - t.base
	switch {
	case sum >= w.bound:
		t.base = total
		return Wait{From: t.from, To: now, For: time.Duration(sum)}, true
	case now-t.from >= 2*w.bound:
		t.base = total
	}
	return Wait{}, false
}

// processes calls look for every thread of every process on the hosts. What is
// gone by then is left out.
func (w *Waits) processes(look func(h *Host, pid, tid int) error) error {
	pids, err := numbers(w.proc)
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	for _, pid := range pids {
		at, known := w.homes[pid]
		if !known {
			if at.Host, err = w.homeOf(pid); procfs.Gone(err) || errors.Is(err, fs.ErrPermission) {
				continue // somebody else's process is on none of our hosts
			} else if err != nil {
				return fmt.Errorf("find the host of process %d: %w", pid, err)
			}
		}
		at.look = w.looks
		w.homes[pid] = at
		if at.Host == nil {
			continue
		}
		tids, err := numbers(w.proc + "/" + strconv.Itoa(pid) + "/task")
		for _, tid := range tids {
			if err = look(at.Host, pid, tid); err != nil && !procfs.Gone(err) {
				break
			}
		}
		if err != nil && !procfs.Gone(err) {
			return fmt.Errorf("read the waits of process %d: %w", pid, err)
		}
	}
	return nil
}

// waitOf is how long a thread has waited for a processor in its life. Its file
// stays open: that costs a third of opening it at each look, many times a
// second, and when the thread ends the kernel need not clear away what was
// looked up anew meanwhile, which on a busy machine takes a second at times.
func (w *Waits) waitOf(pid, tid int) (int64, error) {
	path := w.proc + "/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/schedstat"
	t := w.threads[tid]
	if t == nil {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		t = &waited{fd: fd}
		w.threads[tid] = t
	}
	n, err := unix.Pread(t.fd, w.buf[:], 0)
	if err != nil { // if the thread has ended, its number may be another's by now
		w.drop(tid)
		return 0, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	fields := bytes.Fields(w.buf[:n])
	if len(fields) < 2 {
		return 0, fmt.Errorf("%s: no waits in %q", path, w.buf[:n])
	}
	return strconv.ParseInt(string(fields[1]), 10, 64)
}

// drop forgets a thread.
func (w *Waits) drop(tid int) {
	unix.Close(w.threads[tid].fd)
	delete(w.threads, tid)
}

// forget drops what was not seen at this look.
func (w *Waits) forget() {
	for pid, at := range w.homes {
		if at.look != w.looks {
			delete(w.homes, pid)
		}
	}
	for tid, t := range w.threads {
		if t.look != w.looks {
			w.drop(tid)
		}
	}
}

// numbers lists the entries of a folder that are numbers, in no order.
func numbers(dir string) (all []int, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			all = append(all, n)
		}
	}
	return all, err
}
