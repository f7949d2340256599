// Package lockchaos is the root of the module; it holds no code. The command is
// cmd/lockchaos; package checker judges histories of locks and can be used on its own.
package lockchaos
