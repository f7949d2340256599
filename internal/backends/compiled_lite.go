//go:build lite

package backends

// compiled is empty: the lite command takes all servers from the machine.
var compiled []nodeProgram
