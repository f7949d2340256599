package netfault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/hosts"
)

// The checks of Probe, in their order.
const (
	checkFilter = "packet filter"
	checkOwner  = "rules go with lockchaos"
	checkReset  = "connection reset"
	checkQueue  = "packet queue"
	checkNetem  = "netem"
)

// probePrefix is where the probe makes its network: addresses that are reserved for tests of networks (RFC 2544), so in nobody's way.
var probePrefix = netip.MustParsePrefix("198.18.0.0/29")

// probeLimit bounds a probe.
const probeLimit = 10 * time.Second

// prober is what the checks share: two hosts, a connection between them, and the filter of the one that is connected to.
type prober struct {
	net          *hosts.Network
	client, peer *hosts.Host
	filter       *Filter
}

// probes are tried in this order. Only netem is not needed.
var probes = []struct {
	name string
	try  func(*prober, context.Context) (detail string, err error)
	fix  string
}{
	{checkFilter, (*prober).tryFilter, "sudo modprobe nf_tables"},
	{checkOwner, (*prober).tryOwner, "use Linux 5.12 or later"},
	{checkReset, (*prober).tryReset, "use a kernel with CONFIG_INET_DIAG_DESTROY"},
	{checkQueue, (*prober).tryQueue, "sudo modprobe -a nfnetlink_queue nft_queue"},
	{checkNetem, (*prober).tryNetem, "sudo modprobe -a sch_htb sch_netem; without them user space does the same, at a higher cost a packet"},
}

// Probe tries the faults of this package on a throw-away network, and returns every check, always the same ones in the same order. It works in a sandbox only.
func Probe(ctx context.Context) []hosts.Check {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	p := &prober{}
	defer p.close()
	err := p.open(ctx)
	var checks []hosts.Check
	for _, probe := range probes {
		c := hosts.Check{Name: probe.name}
		if err == nil {
			var failure error
			c.Detail, failure = probe.try(p, ctx)
			c.OK = failure == nil
			if failure != nil {
				c.Detail, c.Fix = failure.Error(), probe.fix
			}
		} else {
			c.Detail = fmt.Sprintf("not tried: %v", err)
		}
		checks = append(checks, c)
	}
	return checks
}

// WriteProbe probes and writes the checks as JSON, one a line: what a program does whom ProbeOutside calls.
func WriteProbe(ctx context.Context, w io.Writer) error {
	out := json.NewEncoder(w)
	for _, c := range Probe(ctx) {
		if err := out.Encode(c); err != nil {
			return err
		}
	}
	return nil
}

// ProbeOutside runs this program with the given arguments in a throw-away sandbox, where it must do WriteProbe, and returns the checks.
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
	for _, missing := range probes[len(checks):] {
		why := errors.Join(err, errors.New(strings.TrimSpace(errOut.String())))
		checks = append(checks, hosts.Check{Name: missing.name, Detail: fmt.Sprintf("not tried: %v", why)})
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

func (p *prober) close() {
	if p.filter != nil {
		_ = p.filter.Close()
	}
	if p.net != nil {
		_ = p.net.Close()
	}
}

// fromClient matches what the client sends, on the server's side.
func (p *prober) fromClient() Match { return Match{Dir: In, Peer: p.client.Addr} }

func (p *prober) tryFilter(ctx context.Context) (string, error) {
	begun := time.Now()
	var err error
	if p.filter, err = Open(context.WithoutCancel(ctx), p.peer); err != nil {
		return "", err
	}
	rule, err := p.filter.Reject("probe", p.fromClient())
	if err != nil {
		return "", err
	}
	if conn, err := p.client.Dial(ctx, "tcp", netip.AddrPortFrom(p.peer.Addr, 1)); err == nil {
		conn.Close()
		return "", errors.New("a connection came about in spite of a rule")
	}
	counts, err := rule.Remove()
	if packets, _ := Total(counts); err == nil && packets == 0 {
		err = errors.New("a rule has met no packet: something filters before us")
	}
	return fmt.Sprintf("rules in a host's own namespace, tried and healed in %v", time.Since(begun).Round(100*time.Microsecond)), err
}

// errNoFilter says that a check needs the filter that could not be made.
var errNoFilter = errors.New("not tried: there is no packet filter")

func (p *prober) tryOwner(context.Context) (string, error) {
	switch {
	case p.filter == nil:
		return "", errNoFilter
	case p.filter.Outlived():
		return "", errors.New("this kernel knows no owner of rules: they outlive a killed lockchaos in namespaces that go on, as a container's do")
	}
	return "the kernel removes them when lockchaos is killed, in containers too", nil
}

// connected makes a connection from the client to the server.
func (p *prober) connected(ctx context.Context) (client, server net.Conn, err error) {
	l, err := p.peer.Listen(0)
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if client, err = p.client.Dial(ctx, "tcp", netip.MustParseAddrPort(l.Addr().String())); err != nil {
		return nil, nil, err
	}
	if server, err = l.Accept(); err != nil {
		client.Close()
		return nil, nil, err
	}
	deadline, _ := ctx.Deadline()
	return client, server, errors.Join(client.SetDeadline(deadline), server.SetDeadline(deadline))
}

func (p *prober) tryReset(ctx context.Context) (string, error) {
	if p.filter == nil {
		return "", errNoFilter
	}
	client, server, err := p.connected(ctx)
	if err != nil {
		return "", err
	}
	defer client.Close()
	defer server.Close()
	hit, err := p.filter.Reset(Match{Peer: p.client.Addr})
	if err != nil {
		return "", err
	}
	if _, err := client.Read(make([]byte, 1)); len(hit) != 1 || err == nil || errors.Is(err, io.EOF) {
		return "", fmt.Errorf("%d connections were hit, and the client sees %w", len(hit), err)
	}
	return "a connection was aborted, and its other end learned of it", nil
}

func (p *prober) tryQueue(ctx context.Context) (string, error) {
	if p.filter == nil {
		return "", errNoFilter
	}
	client, server, err := p.connected(ctx)
	if err != nil {
		return "", err
	}
	defer client.Close()
	defer server.Close()
	d, err := p.filter.Divert("probe", Hold(Contains("probe"), 0), p.fromClient())
	if err != nil {
		return "", err
	}
	defer d.Remove()
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
	by := "nft_queue"
	if p.filter.compat {
		by = "xt_NFQUEUE (the kernel has no nft_queue)"
	}
	return "a packet was held and released, by " + by, nil
}

func (p *prober) tryNetem(ctx context.Context) (string, error) {
	f, err := Open(context.WithoutCancel(ctx), p.client)
	if err != nil {
		return "", errNoFilter
	}
	defer f.Close()
	const delay = 20 * time.Millisecond
	_, err = f.Degrade("probe", Netem, Conditions{Delay: delay}, nil, Match{Dir: Out, Peer: p.peer.Addr})
	if err != nil {
		return "", err
	}
	begun := time.Now()
	client, server, err := p.connected(ctx)
	if err != nil {
		return "", err
	}
	client.Close()
	server.Close()
	if took := time.Since(begun); took < delay {
		return "", fmt.Errorf("a connection came about in %v in spite of a delay of %v", took, delay)
	}
	return fmt.Sprintf("a connection was delayed by %v", delay), nil
}
