package adapter

import "embed"

// Sources are the files of this package. They are part of what decides a simulated run: another
// version may run a seed differently (harness.SimulatorHash).
//
//go:embed *[^t].go
var Sources embed.FS
