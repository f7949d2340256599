package dns

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// known has a service with an address, and a headless one with two pods that
// are ready and one that is not.
func known(t *testing.T) records {
	t.Helper()
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	services, endpoints := cache.NewIndexer(cache.MetaNamespaceKeyFunc, byNamespace),
		cache.NewIndexer(cache.MetaNamespaceKeyFunc, byNamespace)
	add := func(to cache.Indexer, object any) {
		if err := to.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	add(services, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "locks", Name: "any"},
		Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.9"}})
	add(services, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "locks", Name: "redis"},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}})
	yes, no := true, false
	pod := func(name, address string, ready *bool) discovery.Endpoint {
		return discovery.Endpoint{Hostname: &name, Addresses: []string{address}, Conditions: discovery.EndpointConditions{Ready: ready}}
	}
	add(endpoints, &discovery.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "locks", Name: "redis-x", Labels: map[string]string{discovery.LabelServiceName: "redis"}},
		Endpoints: []discovery.Endpoint{pod("redis-0", "10.244.1.2", &yes), pod("redis-1", "10.244.2.2", nil),
			pod("redis-2", "10.244.2.3", &no)},
	})
	return records{corelisters.NewServiceLister(services), discoverylisters.NewEndpointSliceLister(endpoints)}
}

func TestAnswers(t *testing.T) {
	records := known(t)
	for _, test := range []struct {
		name  string
		kind  dnsmessage.Type
		want  []string
		rcode dnsmessage.RCode
	}{
		{"any.locks.svc.cluster.local.", dnsmessage.TypeA, []string{"10.96.0.9"}, dnsmessage.RCodeSuccess},
		{"Redis.locks.svc.Cluster.local.", dnsmessage.TypeA, []string{"10.244.1.2", "10.244.2.2"}, dnsmessage.RCodeSuccess},
		{"redis-1.redis.locks.svc.cluster.local.", dnsmessage.TypeA, []string{"10.244.2.2"}, dnsmessage.RCodeSuccess},
		// there is such a name, so asking for IPv4 is worth it
		{"redis-1.redis.locks.svc.cluster.local.", dnsmessage.TypeAAAA, nil, dnsmessage.RCodeSuccess},
		// not ready
		{"redis-2.redis.locks.svc.cluster.local.", dnsmessage.TypeA, nil, dnsmessage.RCodeNameError},
		{"redis.other.svc.cluster.local.", dnsmessage.TypeA, nil, dnsmessage.RCodeNameError},
		{"a.redis-1.redis.locks.svc.cluster.local.", dnsmessage.TypeA, nil, dnsmessage.RCodeNameError},
		{"example.com.", dnsmessage.TypeA, nil, dnsmessage.RCodeNameError},
	} {
		query := dnsmessage.Message{Header: dnsmessage.Header{ID: 7},
			Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(test.name), Type: test.kind, Class: dnsmessage.ClassINET}}}
		packed, err := query.Pack()
		if err != nil {
			t.Fatal(err)
		}
		var reply dnsmessage.Message
		if err := reply.Unpack(records.answer(packed)); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		var got []string
		for _, answer := range reply.Answers {
			address := netip.AddrFrom4(answer.Body.(*dnsmessage.AResource).A)
			got = append(got, address.String())
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) || reply.RCode != test.rcode || reply.ID != 7 || !reply.Response {
			t.Errorf("%s, %v: %v, %v, header %+v; want %v, %v", test.name, test.kind, got, reply.RCode, reply.Header, test.want, test.rcode)
		}
	}
}

func TestWhatIsNoQueryIsNotAnswered(t *testing.T) {
	records := known(t)
	reply, err := (&dnsmessage.Message{Header: dnsmessage.Header{Response: true}}).Pack()
	if err != nil {
		t.Fatal(err)
	}
	empty, err := (&dnsmessage.Message{}).Pack()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{nil, []byte("GET / HTTP/1.0\r\n\r\n"), reply, empty} {
		if got := records.answer(text); got != nil {
			t.Errorf("%q was answered by %q", text, got)
		}
	}
}
