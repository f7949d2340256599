//go:build linux

package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"
)

// The reserved first arguments that Stage serves by itself.
const (
	probeArg = "lockchaos-hosts-probe" // inner: make a network, print the checks
	idleArg  = "lockchaos-hosts-idle"  // a process that waits until its input ends
)

// The checks, in their order.
const (
	checkNamespaces = "namespaces without root"
	checkData       = "private data folders"
	checkNetwork    = "private network"
	checkTraffic    = "traffic between hosts"
	checkProcess    = "processes on a host"
)

// probeLimit bounds the part of a probe that runs inside.
const probeLimit = time.Minute

// Probe tries out what the package needs, in a throw-away sandbox, and returns every check,
// always the same ones in the same order. The program must call Stage first in main.
func Probe(ctx context.Context) []Check {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	begun := time.Now()
	var out, errOut bytes.Buffer
	in, err := Sandbox{Stdout: &out, Stderr: &errOut, Grace: time.Second}.Start(ctx, probeArg)
	if err != nil {
		return pad([]Check{failed(checkNamespaces, err)})
	}
	checks := []Check{{Name: checkNamespaces, OK: true,
		Detail: fmt.Sprintf("user, network, mount, PID, IPC and UTS namespaces made in %v",
			time.Since(begun).Round(100*time.Microsecond))}}
	err = in.Wait()
	for dec := json.NewDecoder(&out); ; {
		var c Check
		if dec.Decode(&c) != nil {
			break
		}
		checks = append(checks, c)
	}
	// it ended badly, and no check says why
	if last := checks[len(checks)-1]; err != nil && last.OK {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(errOut.String()))
		if len(checks) == len(probes)+1 {
			checks[len(checks)-1] = failed(last.Name, err)
		} else {
			checks = append(checks, failed(probes[len(checks)-1].name, err))
		}
	}
	return pad(checks)
}

// probes are tried inside, in this order; the first failure ends it.
var probes = []struct {
	name string
	try  func(*bench, context.Context) (detail string, err error)
	fix  string
}{
	{checkData, (*bench).tryData, "use a kernel with tmpfs"},
	{checkNetwork, (*bench).tryNetwork, "sudo modprobe -a bridge veth"},
	{checkTraffic, (*bench).tryTraffic, ""},
	{checkProcess, (*bench).tryProcess, ""},
}

// bench is what the probes share.
type bench struct {
	net  *Network
	a, b *Host
}

// pad adds the checks that were not reached.
func pad(checks []Check) []Check {
	for i := len(checks); i < len(probes)+1; i++ {
		checks = append(checks, Check{Name: probes[i-1].name, Detail: "not tried: a check before it failed"})
	}
	return checks
}

func failed(name string, err error) Check {
	c := Check{Name: name, Detail: err.Error()}
	if refusal, is := errors.AsType[*RefusedError](err); is {
		c.Detail = fmt.Sprintf("refused to %s: %v", refusal.Op, refusal.Err)
		var fixes []string
		for _, cause := range refusal.Causes {
			fixes = append(fixes, strings.TrimSpace(cause.Setting+" "+cause.Value)+": "+cause.Fix)
		}
		c.Fix = strings.Join(fixes, "; ")
	}
	return c
}

// probeInside is the inner program of a probe: it prints a check a line.
func probeInside() (status int) {
	ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
	defer cancel()
	out := json.NewEncoder(os.Stdout)
	b := &bench{}
	for _, p := range probes {
		detail, err := p.try(b, ctx)
		c := Check{Name: p.name, OK: err == nil, Detail: detail}
		if err != nil {
			c.Detail, c.Fix = err.Error(), p.fix
		}
		if out.Encode(c) != nil || err != nil {
			return 1
		}
	}
	if err := b.net.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err) // Probe reads it
		return 1
	}
	return 0
}

func (b *bench) tryData(context.Context) (string, error) {
	dir, err := DataDir("probe")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(dir+"/file", []byte("data"), 0o600); err != nil {
		return "", fmt.Errorf("write to a data folder: %w", err)
	}
	return "a tmpfs that only the sandbox sees", nil
}

func (b *bench) tryNetwork(ctx context.Context) (string, error) {
	begun := time.Now()
	var err error
	if b.net, err = NewNetwork(DefaultPrefix); err != nil {
		return "", err
	}
	if b.a, err = b.net.AddHost("a"); err != nil {
		return "", err
	}
	if b.b, err = b.net.AddHost("b"); err != nil {
		return "", err
	}
	if err := b.net.Await(ctx, b.a, b.b); err != nil {
		return "", err
	}
	return fmt.Sprintf("a bridge and two hosts at %s and %s, links up after %v", b.a.Addr, b.b.Addr,
		time.Since(begun).Round(100*time.Microsecond)), nil
}

func (b *bench) tryTraffic(ctx context.Context) (detail string, err error) {
	l, err := b.b.Listen(0)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	begun := time.Now()
	conn, err := b.a.Dial(ctx, "tcp", netip.MustParseAddrPort(l.Addr().String()))
	if err != nil {
		return "", err
	}
	took := time.Since(begun)
	return fmt.Sprintf("connected from %s to %s in %v", conn.LocalAddr(), conn.RemoteAddr(),
		took.Round(10*time.Microsecond)), conn.Close()
}

func (b *bench) tryProcess(ctx context.Context) (string, error) {
	cmd := exec.Command("/proc/self/exe", idleArg)
	input, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	defer input.Close() // a second time, where all went well
	p, err := b.a.Start(cmd)
	if err != nil {
		return "", err
	}
	pause, err := p.Stop(ctx)
	if err != nil {
		return "", err
	}
	if err := pause.Resume(); err != nil {
		return "", err
	}
	return "started, stopped (" + pause.Evidence() + "), resumed, ended", errors.Join(input.Close(), p.Wait(ctx))
}

// idle waits for the end of its input.
func idle() {
	_, _ = io.Copy(io.Discard, os.Stdin) // an error ends it as well
	os.Exit(0)
}
