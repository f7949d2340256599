package sim

import "embed"

// Sources are the files of this package: another simulator may run a seed differently.
//
//go:embed *[^t].go *[^s]t.go *[^e]st.go etcd/*[^t].go halt/*[^t].go halt/*[^s]t.go script/*[^t].go script/*[^s]t.go overlay
var Sources embed.FS
