package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// members asks the cluster for its voting members, and each of these, where it is announced,
// whether it is that member. A cluster of one has none.
func (e *etcdServer) members(ctx context.Context, found endpoint.Endpoint, dial endpoint.Dial) ([]Member, error) {
	list, err := e.client.MemberList(ctx)
	if err != nil {
		return []Member{{At: found.HostPort(), Unmet: fmt.Errorf("it does not tell its members: %w", err)}}, nil
	}
	voting := slices.DeleteFunc(list.Members, func(m *etcdserverpb.Member) bool { return m.IsLearner })
	if len(voting) < 2 {
		return nil, nil
	}
	all := make([]Member, len(voting))
	var asked sync.WaitGroup
	for i, v := range voting {
		asked.Go(func() {
			m := announced(v)
			if m.Unmet == nil {
				m.Unmet = is(ctx, found.At(m.At), dial, list.Header.ClusterId, v.ID)
			}
			all[i] = m
		})
	}
	asked.Wait()
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.At, b.At) })
	return all, nil
}

// announced reads where a member says that clients reach it. The private network, on which they
// are, has no addresses of IPv6.
func announced(v *etcdserverpb.Member) (m Member) {
	for _, text := range v.ClientURLs {
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" || u.Port() == "" {
			continue
		}
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !ip.Is4() {
			continue
		}
		m.Also = append(m.Also, net.JoinHostPort(u.Hostname(), u.Port()))
	}
	if len(m.Also) == 0 {
		m.At, m.Unmet = v.Name, fmt.Errorf("it announces no address that clients could use (%q)", v.ClientURLs)
		return m
	}
	m.At, m.Also = m.Also[0], m.Also[1:]
	return m
}

// memberLimit bounds how long a member is waited for.
const memberLimit = 3 * time.Second

// is reports whether the member of the cluster answers at the address. Members that were not told
// what to announce are all at localhost:2379.
func is(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial, cluster, member uint64) error {
	ctx, over := context.WithTimeout(ctx, memberLimit)
	defer over()
	one, err := openEtcd(ctx, at, dial)
	if err != nil {
		return etcdService.Explain(at, err)
	}
	defer one.close()
	e := one.(*etcdServer)
	status, err := e.client.Status(ctx, e.at)
	switch {
	case err != nil:
		return etcdService.Explain(at, err)
	case status.Header.ClusterId != cluster || status.Header.MemberId != member:
		return errors.New("another member answers there")
	}
	return nil
}
