package clockskew

import _ "embed"

// arch names the processor that is not supported; empty where it is.
const arch = ""

// code is what is put into a target, probeProgram the program that Supported
// patches: both from asm/build.sh.
var (
	//go:embed asm/skew_amd64.bin
	code []byte
	//go:embed asm/probe_amd64.bin
	probeProgram []byte
)
