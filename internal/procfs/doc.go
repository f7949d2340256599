// Package procfs reads what /proc says of processes (proc(5)).
package procfs
