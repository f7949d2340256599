package backends

import (
	"context"
	"slices"
)

// nodeProgram is a server that runs as this program.
type nodeProgram struct {
	name string
	run  func(ctx context.Context, args []string) error
}

// isCompiled reports whether the server is part of this program, which the lite command lacks.
func isCompiled(server string) bool {
	return slices.ContainsFunc(compiled, func(n nodeProgram) bool { return n.name == server })
}

// compilable is a server that is compiled in, except into the lite command.
type compilable struct {
	name    string // as a node of this program
	program string // as a program of the machine, or of an image
	version string // the flag with which that tells its version
	install string // how the program comes onto the machine
}

// origin says where the server is from, as the end of a sentence.
func (c compilable) origin() string {
	if isCompiled(c.name) {
		return "compiled into lockchaos"
	}
	return "installed on this machine"
}

// fix is that of its Program.
func (c compilable) fix() string {
	if isCompiled(c.name) {
		return ""
	}
	return c.install
}

// found is that of its Program.
func (c compilable) found() func(context.Context) (string, error) {
	if isCompiled(c.name) {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		path, err := onPath(c.program, c.install)
		if err != nil {
			return "", err
		}
		return says(ctx, path, c.version)
	}
}

// started is the program of the image or of the machine, where the server is not compiled in.
func (c compilable) started(contained bool) (string, error) {
	if contained {
		return c.program, nil
	}
	return onPath(c.program, c.install)
}
