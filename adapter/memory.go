package adapter

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// MemoryVar sets how much memory one client's adapter may use: "512MB", "4GB".
// Every process of a run inherits it.
const MemoryVar = "LOCKCHAOS_ADAPTER_MEMORY"

// usualMemory is the limit where MemoryVar says nothing.
const usualMemory = 1 << 30

// memoryEvery is how often the memory is looked at: an adapter that runs wild
// takes some hundred megabytes in this time.
const memoryEvery = 100 * time.Millisecond

// MemoryLimit is how much memory an adapter may use (bytes): what MemoryVar says, else what its own
// scenario does, such as "3GB"; "": it says nothing.
func MemoryLimit(own string) (int64, error) {
	source, text := "$"+MemoryVar, os.Getenv(MemoryVar)
	if text == "" {
		source, text = "adapter.memory", own
	}
	if text == "" {
		return usualMemory, nil
	}
	for suffix, unit := range map[string]int64{"MB": 1 << 20, "GB": 1 << 30} {
		if number, is := strings.CutSuffix(strings.ToUpper(strings.TrimSpace(text)), suffix); is {
			if n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32); err == nil && n > 0 {
				return n * unit, nil
			}
		}
	}
	return 0, fmt.Errorf("%s is %q: give a size such as 512MB or 4GB", source, text)
}

// WatchMemory looks at the memory of a process and all that comes of it until ended is closed.
// When they use more than the limit, it calls over with how it broke the protocol, and returns.
func WatchMemory(pid int, limit int64, ended <-chan struct{}, over func(what string)) {
	t := time.NewTicker(memoryEvery)
	defer t.Stop()
	for {
		select {
		case <-ended:
			return
		case <-t.C:
		}
		if used := memoryOf(pid); used > limit {
			over(fmt.Sprintf("used %d MB of memory, and may use %d MB: it was killed ($%s, or adapter.memory of its scenario, is the limit)", used>>20,
				limit>>20, MemoryVar))
			return
		}
	}
}

// memoryOf is the memory that a process and its descendants have to themselves
// (bytes). One that has ended has none.
func memoryOf(pid int) (sum int64) {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	text, err := os.ReadFile(folder + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && (f[0] == "RssAnon:" || f[0] == "RssShmem:" || f[0] == "VmSwap:") {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			sum += n << 10
		}
	}
	lists, _ := filepath.Glob(folder + "/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread that has ended has no children
		for _, child := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(child); err == nil {
				sum += memoryOf(n)
			}
		}
	}
	return sum
}
