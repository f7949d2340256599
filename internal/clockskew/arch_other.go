//go:build !amd64

package clockskew

import "runtime"

const arch = runtime.GOARCH

var code, probeProgram []byte
