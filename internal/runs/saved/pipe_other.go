//go:build !linux

package saved

import "io"

// growPipe does something on Linux only.
func growPipe(io.Reader) {}
