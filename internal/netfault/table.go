//go:build linux

package netfault

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// tableName names our table in every network namespace; Sweep knows leftovers by it.
const tableName = "lockchaos"

// copyMark is carried by the copies that a queue sends: they must not be diverted again.
const copyMark = 0x1cc

// kernelLimit bounds how long the kernel may take to answer. It takes a fraction of a millisecond,
// but has taken ten seconds where namespaces came and went beside work for many more processors.
const kernelLimit = 30 * time.Second

// table is our nf_tables table in one network namespace, with two base chains for
// each direction: first rules that cut, then those that divert to the queue or to
// a class. A packet that comes back from the queue has both behind it. Base chains
// stay as long as the table does: when one is removed, the kernel drops every
// packet that waits in any queue of the namespace. Not safe for concurrent use.
type table struct {
	conn   *nftables.Conn
	socket *netlink.Conn // the same connection, for what the library does not offer
	table  *nftables.Table
	cut    [2]*nftables.Chain // by direction
	divert [2]*nftables.Chain
	// the kernel removes the table when the socket closes, so also when this program is killed
	owned bool
}

// tableOwner is NFT_TABLE_F_OWNER (linux/netfilter/nf_tables.h, since Linux 5.12).
const tableOwner = 2

// errInUse says that somebody else's rules are in the namespace.
var errInUse = errors.New("the packet filter is in use by another lockchaos, or one has left its rules behind: Sweep removes those")

// hooks are where packets are met, by direction.
type hooks [2]*nftables.ChainHook

var (
	ends    = hooks{In: nftables.ChainHookInput, Out: nftables.ChainHookOutput}
	gateway = hooks{In: nftables.ChainHookPrerouting, Out: nftables.ChainHookPostrouting}
)

func openTable(netns int, at hooks) (*table, error) {
	t := &table{table: &nftables.Table{Name: tableName, Family: nftables.TableFamilyIPv4}}
	var err error
	t.conn, err = nftables.New(nftables.WithNetNSFd(netns), nftables.AsLasting(),
		nftables.WithSockOptions(func(c *netlink.Conn) error { t.socket = c; return nil }))
	if err != nil {
		return nil, fmt.Errorf("open nf_tables (kernel module nf_tables, CAP_NET_ADMIN?): %w", err)
	}
	if err := t.create(); err != nil {
		return nil, errors.Join(err, t.conn.CloseLasting())
	}
	if err := t.addChains(at); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// create makes the table as its owner; as anybody, where the kernel does not know owners.
func (t *table) create() error {
	err := t.newTable(tableOwner)
	t.owned = err == nil
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		err = t.newTable(0)
	}
	switch {
	case errors.Is(err, unix.EEXIST), errors.Is(err, unix.EPERM) && t.present():
		return errInUse
	case err != nil:
		return fmt.Errorf("make nf_tables table %s: %w", tableName, err)
	}
	return nil
}

// newTable makes the table with flags, which the library does not set. It fails if there is one.
func (t *table) newTable(flags uint32) error {
	attrs, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.NFTA_TABLE_NAME, Data: []byte(tableName + "\x00")},
		{Type: unix.NFTA_TABLE_FLAGS, Data: binaryutil.BigEndian.PutUint32(flags)},
	})
	if err != nil {
		return err
	}
	t.limit()
	message := func(kind uint16, flags netlink.HeaderFlags, family byte, subsystem byte, data []byte) netlink.Message {
		return netlink.Message{Header: netlink.Header{Type: netlink.HeaderType(kind), Flags: netlink.Request | flags},
			// struct nfgenmsg
			Data: append([]byte{family, unix.NFNETLINK_V0, 0, subsystem}, data...)}
	}
	_, err = t.socket.SendMessages([]netlink.Message{
		message(unix.NFNL_MSG_BATCH_BEGIN, 0, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES, nil),
		message(unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_NEWTABLE, netlink.Create|netlink.Excl|netlink.Acknowledge,
			unix.NFPROTO_IPV4, 0, attrs),
		message(unix.NFNL_MSG_BATCH_END, 0, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES, nil),
	})
	if err != nil {
		return err
	}
	_, err = t.socket.Receive() // the acknowledgement
	return err
}

// present reports whether there is a table of our name.
func (t *table) present() bool {
	t.limit()
	tables, err := t.conn.ListTablesOfFamily(nftables.TableFamilyIPv4)
	for _, other := range tables {
		if err == nil && other.Name == tableName {
			return true
		}
	}
	return false
}

// limit keeps the next answer of the kernel from being waited for without end.
func (t *table) limit() { _ = t.socket.SetDeadline(time.Now().Add(kernelLimit)) }

func (t *table) addChains(at hooks) error {
	accept := nftables.ChainPolicyAccept
	for dir, hook := range at {
		add := func(name string, later nftables.ChainPriority) *nftables.Chain {
			return t.conn.AddChain(&nftables.Chain{
				Name: Direction(dir).String() + "-" + name, Table: t.table, Type: nftables.ChainTypeFilter,
				Hooknum:  hook,
				Priority: nftables.ChainPriorityRef(*nftables.ChainPriorityFilter + later), Policy: &accept,
			})
		}
		t.cut[dir], t.divert[dir] = add("cut", 0), add("divert", 1)
	}
	t.conn.AddRule(&nftables.Rule{Table: t.table, Chain: t.divert[Out], Exprs: []expr.Any{
		&expr.Meta{Key: expr.MetaKeyMARK, Register: 1},
		&expr.Cmp{Register: 1, Data: binaryutil.NativeEndian.PutUint32(copyMark)},
		&expr.Verdict{Kind: expr.VerdictAccept},
	}})
	return t.commit("make the chains of table " + tableName)
}

// add adds a rule at the end of a chain; commit makes it effective. Its comment
// is shown by nft list ruleset.
func (t *table) add(chain *nftables.Chain, comment string, exprs ...expr.Any) {
	t.conn.AddRule(&nftables.Rule{Table: t.table, Chain: chain, Exprs: exprs,
		UserData: userdata.AppendString(nil, userdata.TypeComment, comment)})
}

// commit carries out what was added and deleted, in one transaction.
func (t *table) commit(what string) error {
	t.limit()
	if err := t.conn.Flush(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// each lists the rules of the given chains whose comments begin with a prefix.
func (t *table) each(chains []*nftables.Chain, prefix string,
	fn func(comment string, r *nftables.Rule, met Count) error) error {
	for _, chain := range chains {
		t.limit()
		rules, err := t.conn.GetRules(t.table, chain)
		if err != nil {
			return fmt.Errorf("list the rules of chain %s: %w", chain.Name, err)
		}
		for _, r := range rules {
			comment, _ := userdata.GetString(r.UserData, userdata.TypeComment)
			if !strings.HasPrefix(comment, prefix) {
				continue
			}
			var met Count
			for _, e := range r.Exprs {
				if c, ok := e.(*expr.Counter); ok {
					met.Packets, met.Bytes = c.Packets, c.Bytes
				}
			}
			r.Table, r.Chain = t.table, chain
			if err := fn(comment, r, met); err != nil {
				return err
			}
		}
	}
	return nil
}

// close removes the table and every rule in it. Packets that still wait in a
// queue are dropped by that.
func (t *table) close() error {
	t.conn.DelTable(t.table)
	return errors.Join(t.commit("remove table "+tableName), t.conn.CloseLasting())
}
