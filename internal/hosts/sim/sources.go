package sim

import "embed"

// Sources are the files of this package: another simulator may run a seed differently.
//
//go:embed *.go overlay etcd halt script
var Sources embed.FS
