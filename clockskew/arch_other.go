//go:build !amd64

package clockskew

import "runtime"

const arch = "not supported on " + runtime.GOARCH

var code, probeProgram []byte
