package sim

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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

// Build compiles the Go program in a folder to wasip1. Nothing of it is
// changed; the standard library is, by an overlay, so that net.Dial works and
// etcd's client compiles. The folder's own module and go command are used.
func Build(ctx context.Context, dir string) (wasm []byte, err error) {
	return build(ctx, dir, "it is no program (package main)", "build")
}

// BuildTest compiles the tests of the package in a folder, as Build does a
// program. tags are those of the build, after -tags.
func BuildTest(ctx context.Context, dir, tags string) (wasm []byte, err error) {
	return build(ctx, dir, "it has no tests that are built for wasip1", "test", "-c", "-race=false", "-tags", tags)
}

// build has the go command compile what is in a folder. none says what it is if
// nothing comes of it.
func build(ctx context.Context, dir, none string, verb ...string) (wasm []byte, err error) {
	if s, err := os.Stat(dir); err != nil || !s.IsDir() {
		return nil, fmt.Errorf("%s is no folder of a Go program", dir)
	}
	overlay, err := writeOverlay(ctx, dir)
	if err != nil {
		return nil, err
	}
	last, err := lastBuild(dir, verb[0])
	if err != nil {
		return nil, err
	}
	before, _ := os.ReadFile(last)
	if !whole(before) {
		before = nil
	}
	out, err := beside(last, before) // the go command links only what has changed
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(out) }() // gone if it has taken the place of the last
	said, err := Go(ctx, dir, wasip1, append(verb, "-trimpath", "-buildvcs=false", "-overlay", overlay,
		"-ldflags=-s -w", "-o", out, ".")...)
	if err != nil {
		return nil, fmt.Errorf("build %s for the simulation (GOOS=wasip1): %w", dir, err)
	}
	if wasm, err = os.ReadFile(out); err != nil {
		return nil, err
	}
	if strings.HasSuffix(said, "[no test files]") || !bytes.HasPrefix(wasm, []byte("\x00asm")) {
		return nil, fmt.Errorf("build %s for the simulation: %s", dir, none)
	}
	if !whole(wasm) { // the linker says nothing when its disk is full
		return nil, fmt.Errorf("build %s for the simulation: the program that was written is not whole: %w", dir,
			cmp.Or(noRoom(), io.ErrUnexpectedEOF))
	}
	if !bytes.Equal(wasm, before) {
		_ = os.Rename(out, last) // without it the next build takes longer
	}
	return wasm, nil
}

// whole reports whether a program in WebAssembly has all of its sections.
func whole(wasm []byte) bool {
	const head = 8 // magic and version
	if len(wasm) < head {
		return false
	}
	rest := wasm[head:]
	for len(rest) > 0 {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return false
		}
		rest = rest[1+n+int(size):]
	}
	return true
}

// lastBuild is where the last program of a folder is kept.
func lastBuild(dir, verb string) (string, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return CacheEntry(Programs, fmt.Sprintf("%s-%s-%.8x.wasm", filepath.Base(whole), verb,
		sha256.Sum256([]byte(whole))))
}

// beside makes a file with a name of its own in the folder of another.
func beside(file string, content []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(file), "new-")
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	return f.Name(), errors.Join(err, f.Close())
}

// writeOverlay writes the changed files of the standard library into the user's
// cache, where builds of the same Go find them, and returns the file that says
// so. Nothing has to be removed then, however a build ends.
func writeOverlay(ctx context.Context, dir string) (string, error) {
	root, err := Go(ctx, dir, wasip1, "env", "GOROOT")
	if err != nil {
		return "", fmt.Errorf("the simulation compiles the lock, and needs Go: %w", err)
	}
	net := filepath.Join(root, "src", "net")
	old, err := os.ReadFile(filepath.Join(net, "net_fake.go"))
	if err != nil {
		return "", fmt.Errorf("read the standard library: %w", err)
	}
	if bytes.Count(old, []byte(dialPlace)) != 1 {
		return "", fmt.Errorf("the simulation does not know this version of Go: %s has changed; use Go 1.26",
			filepath.Join(net, "net_fake.go"))
	}
	files := map[string][]byte{
		filepath.Join(net, "net_fake.go"): bytes.Replace(old, []byte(dialPlace),
			[]byte(dialHook+dialPlace), 1),
		filepath.Join(net, "net_sim.go"):                     dialing,
		filepath.Join(root, "src", "syscall", "unix_sim.go"): unixNames,
	}
	replace := map[string]string{}
	for path, text := range files {
		if replace[path], err = kept(filepath.Base(path), text); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return kept("overlay.json", text)
}

// kept is the file of the cache that has this content, whole.
func kept(name string, content []byte) (string, error) {
	file, err := CacheEntry(Overlays, fmt.Sprintf("%.8x-%s", sha256.Sum256(content), name))
	if err != nil {
		return "", err
	}
	if there, err := os.ReadFile(file); err == nil && bytes.Equal(there, content) {
		return file, nil
	}
	made, err := beside(file, content)
	if err == nil {
		err = os.Rename(made, file)
	}
	return file, err
}
