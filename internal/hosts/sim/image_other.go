//go:build !linux

package sim

import "github.com/tetratelabs/wazero/experimental"

// images are of Linux only: elsewhere wazero lays out each instance's memory.
type images struct{}

func newImages([]byte, int64) (*images, error) { return nil, nil }

func (*images) Allocate(uint64, uint64) experimental.LinearMemory { return nil }

func (*images) close() error { return nil }
