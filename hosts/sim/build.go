package sim

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// dialing is the file that is added to the standard library's package net: net.Dial of an address
// on which nobody in the program listens asks the host.
//
//go:embed overlay/net_sim.go.txt
var dialing []byte

// dialHook is where it is called, in net_fake.go of the standard library.
const (
	dialPlace = "\tif raddr == nil {\n\t\tif err := fakeListen"
	dialHook  = "\tif raddr != nil && sotype == syscall.SOCK_STREAM {\n\t\tif _, ok := sockets.Load(fakeAddr(raddr)); !ok {\n\t\t\treturn simSocket(ctx, net, laddr, raddr)\n\t\t}\n\t}\n\n"
)

// Build compiles the Go program in a folder to wasip1. Nothing of it is changed; one file of the
// standard library is, by an overlay, so that net.Dial works. The folder's own module and go
// command are used.
func Build(ctx context.Context, dir string) (wasm []byte, err error) {
	return build(ctx, dir, "it is no program (package main)", "build")
}

// BuildTest compiles the tests of the package in a folder, as Build does a program. tags are those of
// the build, after -tags.
func BuildTest(ctx context.Context, dir, tags string) (wasm []byte, err error) {
	return build(ctx, dir, "it has no tests", "test", "-c", "-race=false", "-tags", tags)
}

// build has the go command compile what is in a folder. none says what it is if nothing comes of it.
func build(ctx context.Context, dir, none string, verb ...string) (wasm []byte, err error) {
	if s, err := os.Stat(dir); err != nil || !s.IsDir() {
		return nil, fmt.Errorf("%s is no folder of a Go program", dir)
	}
	work, err := os.MkdirTemp("", "lockchaos-build-")
	if err != nil {
		return nil, fmt.Errorf("make a folder to build in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	overlay, err := writeOverlay(ctx, dir, work)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(work, "program.wasm")
	if err := goTool(ctx, dir, nil, append(verb, "-trimpath", "-buildvcs=false", "-overlay", overlay, "-ldflags=-s -w", "-o", out, ".")...); err != nil {
		return nil, fmt.Errorf("build %s for the simulation (GOOS=wasip1): %w", dir, err)
	}
	if wasm, err = os.ReadFile(out); err != nil {
		return nil, fmt.Errorf("build %s for the simulation: %s: %w", dir, none, err)
	}
	return wasm, nil
}

// writeOverlay writes the changed files of the standard library, and returns the file that says so.
func writeOverlay(ctx context.Context, dir, work string) (string, error) {
	var root bytes.Buffer
	if err := goTool(ctx, dir, &root, "env", "GOROOT"); err != nil {
		return "", fmt.Errorf("the simulation compiles the lock, and needs Go: %w", err)
	}
	net := filepath.Join(strings.TrimSpace(root.String()), "src", "net")
	old, err := os.ReadFile(filepath.Join(net, "net_fake.go"))
	if err != nil {
		return "", fmt.Errorf("read the standard library: %w", err)
	}
	if bytes.Count(old, []byte(dialPlace)) != 1 {
		return "", fmt.Errorf("the simulation does not know this version of Go: %s has changed; use Go 1.26", filepath.Join(net, "net_fake.go"))
	}
	files := map[string][]byte{"net_fake.go": bytes.Replace(old, []byte(dialPlace), []byte(dialHook+dialPlace), 1), "net_sim.go": dialing}
	replace := map[string]string{}
	for name, text := range files {
		replace[filepath.Join(net, name)] = filepath.Join(work, name)
		if err := os.WriteFile(filepath.Join(work, name), text, 0o644); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(work, "overlay.json")
	return file, os.WriteFile(file, text, 0o644)
}

// goTool runs the go command in a folder, for wasip1.
func goTool(ctx context.Context, dir string, stdout *bytes.Buffer, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if stdout != nil {
		cmd.Stdout = stdout
	} else {
		cmd.Stdout = &complaint
	}
	err := cmd.Run()
	if said := strings.TrimSpace(complaint.String()); err != nil && said != "" {
		return fmt.Errorf("%w:\n%s", err, said)
	}
	return err
}
