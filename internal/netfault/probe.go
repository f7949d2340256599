//go:build linux

package netfault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

// The checks of Probe, in their order.
const (
	checkFilter = "packet filter"
	checkOwner  = "rules go with lockchaos"
	checkReset  = "connection reset"
	checkQueue  = "packet queue"
)

// probePrefix is where the probe makes its network: addresses that are reserved
// for tests of networks (RFC 2544), so in nobody's way.
var probePrefix = netip.MustParsePrefix("198.18.0.0/29")

// probeLimit bounds a probe.
const probeLimit = time.Minute

// prober is what the checks share: a network of two hosts. Each check closes what it has opened,
// and an error of that is a failure of the check: in a run it would be one of the scenario.
type prober struct {
	net          *hosts.Network
	client, peer *hosts.Host
}

// probes are tried in this order.
var probes = []struct {
	name string
	try  func(*prober, context.Context) (detail string, err error)
	fix  string
}{
	{checkFilter, (*prober).tryFilter, "sudo modprobe nf_tables"},
	{checkOwner, (*prober).tryOwner, "use Linux 5.12 or later"},
	{checkReset, (*prober).tryReset, "use a kernel with CONFIG_INET_DIAG_DESTROY"},
	{checkQueue, (*prober).tryQueue, "sudo modprobe -a nfnetlink_queue nft_queue"},
}

// Probe tries the faults of this package on a throw-away network, and returns
// every check, always the same ones in the same order. It works in a sandbox only.
func Probe(ctx context.Context) []hosts.Check {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	p := &prober{}
	opened := p.open(ctx)
	var checks []hosts.Check
	for _, probe := range probes {
		c := hosts.Check{Name: probe.name}
		if opened != nil {
			c.Detail, c.Open = fmt.Sprintf("not tried: %v", opened), cutShort(opened)
		} else if detail, err := probe.try(p, ctx); err != nil {
			c.Detail, c.Fix, c.Open = err.Error(), fixFor(err, probe.fix), cutShort(err)
		} else {
			c.OK, c.Detail = true, detail
		}
		checks = append(checks, c)
	}
	if err := p.close(); err != nil && opened == nil {
		spoil(checks, err)
	}
	return checks
}

// spoil fails every check that was well: what comes after them, and is part of each, has failed.
func spoil(checks []hosts.Check, err error) {
	for i, c := range checks {
		if c.OK {
			checks[i] = hosts.Check{Name: c.Name, Detail: fmt.Sprintf("%s; but then: %v", c.Detail, err),
				Fix: fixFor(err, ""), Open: cutShort(err)}
		}
	}
}

// cutShort reports whether an error says that a try did not end in its time, or was interrupted.
func cutShort(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// fixFor is what to do about an error: a kernel that lacks something is mended
// by fix, a refusal is not.
func fixFor(err error, fix string) string {
	if fix != "" && !errors.Is(err, fs.ErrPermission) {
		return fix
	}
	return "something on this machine refuses it (a seccomp filter, AppArmor, SELinux?): run lockchaos where that does not apply, or as root"
}

// WriteProbe probes and writes the checks as JSON, one a line: what a program
// does whom ProbeOutside calls.
func WriteProbe(ctx context.Context, w io.Writer) error {
	out := json.NewEncoder(w)
	for _, c := range Probe(ctx) {
		if err := out.Encode(c); err != nil {
			return err
		}
	}
	return nil
}

// ProbeOutside runs this program with the given arguments in a throw-away
// sandbox, where it must do WriteProbe, and returns the checks.
func ProbeOutside(ctx context.Context, args ...string) []hosts.Check {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	var out, errOut bytes.Buffer
	in, err := hosts.Sandbox{Stdout: &out, Stderr: &errOut, Grace: time.Second}.Start(ctx, args...)
	if err == nil {
		err = in.Wait()
	}
	var checks []hosts.Check
	for dec := json.NewDecoder(&out); len(checks) < len(probes); {
		var c hosts.Check
		if dec.Decode(&c) != nil {
			break
		}
		checks = append(checks, c)
	}
	if err != nil {
		spoil(checks, err)
	}
	for _, missing := range probes[len(checks):] {
		why := errors.Join(err, errors.New(strings.TrimSpace(errOut.String())))
		checks = append(checks, hosts.Check{Name: missing.name, Detail: fmt.Sprintf("not tried: %v", why),
			Open: cutShort(err) || ctx.Err() != nil})
	}
	return checks
}

func (p *prober) open(ctx context.Context) (err error) {
	if p.net, err = hosts.NewNetwork(probePrefix); err != nil {
		return err
	}
	if p.client, err = p.net.AddHost("client"); err != nil {
		return err
	}
	if p.peer, err = p.net.AddHost("server"); err != nil {
		return err
	}
	return p.net.Await(ctx, p.client, p.peer)
}

func (p *prober) close() error {
	if p.net == nil {
		return nil
	}
	return p.net.Close()
}

// withFilter opens the filter of a host, tries something with it and closes it.
func withFilter(ctx context.Context, h *hosts.Host, try func(*Filter) (string, error)) (detail string, err error) {
	f, err := Open(context.WithoutCancel(ctx), h)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return try(f)
}

// fromClient matches what the client sends, on the server's side.
func (p *prober) fromClient() Match { return Match{Dir: In, Peer: p.client.Addr} }

func (p *prober) tryFilter(ctx context.Context) (string, error) {
	begun := time.Now()
	_, err := withFilter(ctx, p.peer, func(f *Filter) (string, error) {
		rule, err := f.Reject("probe", p.fromClient())
		if err != nil {
			return "", err
		}
		if conn, err := p.client.Dial(ctx, "tcp", netip.AddrPortFrom(p.peer.Addr, 1)); err == nil {
			return "", errors.Join(errors.New("a connection came about in spite of a rule"), conn.Close())
		}
		counts, err := rule.Remove()
		if packets, _ := Total(counts); err == nil && packets == 0 {
			err = errors.New("a rule has met no packet: something filters before us")
		}
		return "", err
	})
	return fmt.Sprintf("rules in a host's own namespace, tried and healed in %v",
		time.Since(begun).Round(100*time.Microsecond)), err
}

func (p *prober) tryOwner(ctx context.Context) (string, error) {
	return withFilter(ctx, p.peer, func(f *Filter) (string, error) {
		if f.Outlived() {
			return "", errors.New("this kernel knows no owner of rules: they outlive a killed lockchaos in namespaces that go on, as a container's do")
		}
		return "the kernel removes them when lockchaos is killed, in containers too", nil
	})
}

// connected makes a connection from the client to the server.
func (p *prober) connected(ctx context.Context) (client, server net.Conn, err error) {
	l, err := p.peer.Listen(0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if client, err = p.client.Dial(ctx, "tcp", netip.MustParseAddrPort(l.Addr().String())); err != nil {
		return nil, nil, err
	}
	if server, err = l.Accept(); err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	deadline, _ := ctx.Deadline()
	return client, server, errors.Join(client.SetDeadline(deadline), server.SetDeadline(deadline))
}

func (p *prober) tryReset(ctx context.Context) (string, error) {
	return withFilter(ctx, p.peer, func(f *Filter) (string, error) {
		client, server, err := p.connected(ctx)
		if err != nil {
			return "", err
		}
		defer client.Close() // it is aborted
		defer server.Close()
		hit, err := f.Reset(Match{Peer: p.client.Addr})
		if err != nil {
			return "", err
		}
		if _, err := client.Read(make([]byte, 1)); len(hit) != 1 || err == nil || errors.Is(err, io.EOF) {
			return "", fmt.Errorf("%d connections were hit, and the client sees %w", len(hit), err)
		}
		return "a connection was aborted, and its other end learned of it", nil
	})
}

func (p *prober) tryQueue(ctx context.Context) (string, error) {
	return withFilter(ctx, p.peer, func(f *Filter) (by string, err error) {
		client, server, err := p.connected(ctx)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, client.Close(), server.Close()) }()
		d, err := f.Divert("probe", Hold(Contains("probe"), 0), p.fromClient())
		if err != nil {
			return "", err
		}
		if _, err := client.Write([]byte("probe")); err != nil {
			return "", err
		}
		if _, err := d.Await(ctx, func(s Stats) bool { return s.Held == 1 }); err != nil {
			return "", err
		}
		d.Release()
		if _, err := io.ReadFull(server, make([]byte, len("probe"))); err != nil {
			return "", err
		}
		by = "nft_queue"
		if f.compat {
			by = "xt_NFQUEUE (the kernel has no nft_queue)"
		}
		_, err = d.Remove()
		return "a packet was held and released, by " + by, err
	})
}
