package sim

import (
	"bytes"
	"context"
	"crypto/sha256"
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

// unixNames is the file that is added to the package syscall: names that packages expect of every
// system but Windows.
//
//go:embed overlay/syscall_sim.go.txt
var unixNames []byte

// dialHook is where it is called, in net_fake.go of the standard library.
const (
	dialPlace = "\tif raddr == nil {\n\t\tif err := fakeListen"
	dialHook  = "\tif raddr != nil && sotype == syscall.SOCK_STREAM {\n\t\tif _, ok := sockets.Load(fakeAddr(raddr)); !ok {\n\t\t\treturn simSocket(ctx, net, laddr, raddr)\n\t\t}\n\t}\n\n"
)

// Build compiles the Go program in a folder to wasip1. Nothing of it is changed; the standard library
// is, by an overlay, so that net.Dial works and etcd's client compiles. The folder's own module and go
// command are used.
func Build(ctx context.Context, dir string) (wasm []byte, err error) {
	return build(ctx, dir, "it is no program (package main)", "build")
}

// BuildTest compiles the tests of the package in a folder, as Build does a program. tags are those of
// the build, after -tags.
func BuildTest(ctx context.Context, dir, tags string) (wasm []byte, err error) {
	return build(ctx, dir, "it has no tests that are built for wasip1", "test", "-c", "-race=false", "-tags", tags)
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
	last := lastBuild(dir, verb[0])
	before, _ := os.ReadFile(last)
	if err := os.WriteFile(out, before, 0o644); err != nil {
		return nil, err
	}
	said, err := goTool(ctx, dir, append(verb, "-trimpath", "-buildvcs=false", "-overlay", overlay, "-ldflags=-s -w", "-o", out, ".")...)
	if err != nil {
		return nil, fmt.Errorf("build %s for the simulation (GOOS=wasip1): %w", dir, err)
	}
	if wasm, err = os.ReadFile(out); err != nil {
		return nil, err
	}
	if strings.HasSuffix(said, "[no test files]") || !bytes.HasPrefix(wasm, []byte("\x00asm")) {
		return nil, fmt.Errorf("build %s for the simulation: %s", dir, none)
	}
	if !bytes.Equal(wasm, before) {
		keep(wasm, last)
	}
	return wasm, nil
}

// lastBuild is where the last program of a folder is kept: the go command links only what has
// changed. "": nowhere.
func lastBuild(dir, verb string) string {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	last, err := CacheEntry(Programs, fmt.Sprintf("%s-%s-%.8x.wasm", filepath.Base(whole), verb, sha256.Sum256([]byte(whole))))
	if err != nil {
		return ""
	}
	return last
}

// keep writes it in the place of the one before, whole. Without it the next build takes longer.
func keep(wasm []byte, last string) {
	if last == "" {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(last), "new-")
	if err != nil {
		return
	}
	_, err = f.Write(wasm)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), last)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it is in the way of nobody
	}
}

// writeOverlay writes the changed files of the standard library, and returns the file that says so.
func writeOverlay(ctx context.Context, dir, work string) (string, error) {
	root, err := goTool(ctx, dir, "env", "GOROOT")
	if err != nil {
		return "", fmt.Errorf("the simulation compiles the lock, and needs Go: %w", err)
	}
	net := filepath.Join(root, "src", "net")
	old, err := os.ReadFile(filepath.Join(net, "net_fake.go"))
	if err != nil {
		return "", fmt.Errorf("read the standard library: %w", err)
	}
	if bytes.Count(old, []byte(dialPlace)) != 1 {
		return "", fmt.Errorf("the simulation does not know this version of Go: %s has changed; use Go 1.26", filepath.Join(net, "net_fake.go"))
	}
	files := map[string][]byte{
		filepath.Join(net, "net_fake.go"):                    bytes.Replace(old, []byte(dialPlace), []byte(dialHook+dialPlace), 1),
		filepath.Join(net, "net_sim.go"):                     dialing,
		filepath.Join(root, "src", "syscall", "unix_sim.go"): unixNames,
	}
	replace := map[string]string{}
	for path, text := range files {
		replace[path] = filepath.Join(work, filepath.Base(path))
		if err := os.WriteFile(replace[path], text, 0o644); err != nil {
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

// goTool runs the go command in a folder, for wasip1, and returns what it said.
func goTool(ctx context.Context, dir string, args ...string) (said string, err error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	said = strings.TrimSpace(stdout.String())
	if complaint := strings.TrimSpace(stderr.String() + stdout.String()); err != nil && complaint != "" {
		err = fmt.Errorf("%w:\n%s", err, complaint)
	}
	return said, err
}
