//go:build linux

package netfault

import (
	"errors"
	"fmt"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// Sweep removes what a killed lockchaos has left in a network namespace that outlived it,
// such as a container's, and reports whether it found anything. netns is a descriptor of
// the namespace. What belongs to a lockchaos that lives is left alone, except on kernels
// before Linux 5.12, which cannot tell. Nothing is ever left in namespaces of our own.
func Sweep(netns int) (found bool, err error) {
	conn, err := nftables.New(nftables.WithNetNSFd(netns))
	if err != nil {
		return false, fmt.Errorf("sweep: open nf_tables: %w", err)
	}
	tables, err := conn.ListTablesOfFamily(nftables.TableFamilyIPv4)
	if err != nil {
		return false, fmt.Errorf("sweep: list tables: %w", err)
	}
	for _, t := range tables {
		if t.Name != tableName {
			continue
		}
		conn.DelTable(t)
		switch err := conn.Flush(); {
		case errors.Is(err, unix.EPERM): // its owner lives
		case errors.Is(err, unix.ENOENT): // its owner has just ended
		case err != nil:
			return found, fmt.Errorf("sweep: remove table %s: %w", t.Name, err)
		default:
			found = true
		}
	}
	return found, nil
}
