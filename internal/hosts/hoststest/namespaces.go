package hoststest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Namespaces are those that some processes had. The kernel gives the number of
// a namespace that is gone to the next one, on a busy machine at once: as long
// as these are kept open, theirs are given to no other.
type Namespaces struct {
	files map[string]*os.File // by name: net:[4026532000]
}

// KeepNamespaces keeps the namespaces of processes open until the test's end, or until
// Close; those of this process are not among them. Of a process that is gone there are none.
func KeepNamespaces(t testing.TB, pids ...int) *Namespaces {
	t.Helper()
	n := &Namespaces{files: map[string]*os.File{}}
	t.Cleanup(n.Close)
	own := map[string]bool{}
	for _, link := range links("self") {
		if name, err := os.Readlink(link); err == nil {
			own[name] = true
		}
	}
	for _, pid := range pids {
		for _, link := range links(fmt.Sprint(pid)) {
			n.keep(link, own)
		}
	}
	return n
}

// keep opens a namespace, unless it is known. Its name is that of what was
// opened, since its process may be gone before the next look.
func (n *Namespaces) keep(link string, own map[string]bool) {
	if name, err := os.Readlink(link); err != nil || own[name] || n.files[name] != nil {
		return
	}
	file, err := os.Open(link)
	if err != nil {
		return
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	if err != nil || own[name] || n.files[name] != nil {
		file.Close()
		return
	}
	n.files[name] = file
}

// Close lets the namespaces go.
func (n *Namespaces) Close() {
	for name, file := range n.files {
		file.Close()
		delete(n.files, name)
	}
}

// Inhabited lists the living processes that have one of the namespaces. One
// that has ended and waits for its parent does not live.
func (n *Namespaces) Inhabited() (found []string) {
	for _, link := range links("[0-9]*") {
		name, err := os.Readlink(link)
		if err != nil || n.files[name] == nil {
			continue
		}
		pid := strings.Split(link, "/")[2]
		if state := stateOf(pid); state != "" && state != "Z" {
			program, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
			found = append(found, fmt.Sprintf("%s of process %s (state %s, %.200q)", name, pid, state, program))
		}
	}
	return found
}

// links are the files of the namespaces of processes whose numbers match.
func links(pids string) []string {
	all, _ := filepath.Glob("/proc/" + pids + "/ns/*") // a fixed pattern, which is well formed
	return all
}

// stateOf is the letter of a process's state, "" if it is gone; see proc_pid_stat(5).
func stateOf(pid string) string {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return ""
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return string(fields[0])
}
