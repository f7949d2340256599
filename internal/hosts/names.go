//go:build linux

package hosts

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The files by which programs look names up.
const (
	hostsFile  = "/etc/hosts"
	switchFile = "/etc/nsswitch.conf"
)

// Names has the names lead to the addresses, for all programs in the sandbox from now on. Other
// names of the machine's /etc/hosts stay. No daemon of the machine is asked any more
// (nsswitch.conf): it would answer with the address in the user's own network.
//
// Only the sandbox sees the files: they are on its tmpfs, mounted in its own mount namespace.
func Names(names map[string]netip.Addr) error {
	if !inside.yes {
		return fmt.Errorf("give names to hosts: %w", ErrOutside)
	}
	dir, err := DataDir("names")
	if err != nil {
		return err
	}
	before, err := os.ReadFile(hostsFile)
	if err != nil {
		return fmt.Errorf("give names to hosts: this machine needs the file %s, which may be empty: %w", hostsFile, err)
	}
	if err := replace(hostsFile, dir, named(before, names)); err != nil {
		return err
	}
	lookups, err := os.ReadFile(switchFile)
	if os.IsNotExist(err) {
		return nil // then files come first
	}
	if err != nil {
		return fmt.Errorf("give names to hosts: %w", err)
	}
	return replace(switchFile, dir, filesOnly(lookups))
}

// replace puts a text in the place of a file.
func replace(file, dir string, text []byte) error {
	ours := filepath.Join(dir, filepath.Base(file))
	err := os.WriteFile(ours, text, 0o644)
	if err == nil {
		// a run of another user reads it, too
		err = os.Chmod(ours, 0o644)
	}
	if err == nil {
		err = unix.Mount(ours, file, "", unix.MS_BIND, "")
	}
	if err != nil {
		return fmt.Errorf("give names to hosts: put a file in the place of %s: %w", file, err)
	}
	return nil
}

// named is an /etc/hosts with the names. Lines that say otherwise lose them.
func named(before []byte, names map[string]netip.Addr) []byte {
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&out, "%s %s\n", names[name], name)
	}
	for line := range strings.Lines(string(before)) {
		line, _, _ = strings.Cut(line, "#")
		fields := slices.DeleteFunc(strings.Fields(line), func(field string) bool {
			_, ours := names[strings.ToLower(strings.TrimSuffix(field, "."))]
			return ours
		})
		if len(fields) > 1 {
			fmt.Fprintln(&out, strings.Join(fields, " "))
		}
	}
	return out.Bytes()
}

// filesOnly is an nsswitch.conf that looks names of hosts up in files alone.
func filesOnly(before []byte) []byte {
	var out bytes.Buffer
	for line := range strings.Lines(string(before)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "hosts:") {
			out.WriteString(line)
		}
	}
	return append(bytes.TrimRight(out.Bytes(), "\n"), "\nhosts: files\n"...)
}
