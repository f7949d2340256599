package scenarios

import "embed"

// Sources are the files of this package. They are part of what decides a simulated run: another
// version may run a seed differently (harness.SimulatorHash).
//
//go:embed *[^t].go *[^s]t.go *[^t]est.go
var Sources embed.FS
