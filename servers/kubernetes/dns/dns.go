// Package dns answers for the names of a cluster's services and pods.
package dns

import (
	"context"
	"net"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// Serve answers queries for IPv4 addresses of services and of the pods behind headless
// ones, over UDP at an address (10.0.0.1:53), by what the API server of a kubeconfig
// says: https://github.com/kubernetes/dns/blob/master/docs/specification.md. It knows
// no other names and no other records. It returns when it can't go on.
func Serve(kubeconfig, address string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	socket, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, time.Hour)
	records := records{factory.Core().V1().Services().Lister(), factory.Discovery().V1().EndpointSlices().Lister()}
	factory.Start(nil)
	factory.WaitForCacheSync(context.Background().Done())
	for query := make([]byte, 1500); ; {
		n, from, err := socket.ReadFrom(query)
		if err != nil {
			return err
		}
		if reply := records.answer(query[:n]); reply != nil {
			_, _ = socket.WriteTo(reply, from) // who misses it asks again
		}
	}
}

type records struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
}

// answer is nil for what is no query.
func (r records) answer(query []byte) []byte {
	var parser dnsmessage.Parser
	head, err := parser.Start(query)
	if err != nil || head.Response {
		return nil
	}
	question, err := parser.Question()
	if err != nil {
		return nil
	}
	addresses, known := r.lookup(strings.ToLower(question.Name.String()))
	head.Response, head.Authoritative, head.RecursionAvailable = true, true, true
	if !known {
		head.RCode = dnsmessage.RCodeNameError
	}
	reply := dnsmessage.Message{Header: head, Questions: []dnsmessage.Question{question}}
	for _, address := range addresses {
		if ip := net.ParseIP(address).To4(); ip != nil && question.Type == dnsmessage.TypeA {
			reply.Answers = append(reply.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class,
					TTL: 1},
				Body: &dnsmessage.AResource{A: [4]byte(ip)}})
		}
	}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// lookup finds SERVICE.NAMESPACE and POD.SERVICE.NAMESPACE, each followed by .svc.cluster.local.
func (r records) lookup(name string) (addresses []string, known bool) {
	labelled, ours := strings.CutSuffix(name, ".svc.cluster.local.")
	parts := strings.Split(labelled, ".")
	pod := ""
	if len(parts) == 3 {
		pod, parts = parts[0], parts[1:]
	}
	if !ours || len(parts) != 2 {
		return nil, false
	}
	service, err := r.services.Services(parts[1]).Get(parts[0])
	if err != nil {
		return nil, false
	}
	if pod == "" && service.Spec.ClusterIP != corev1.ClusterIPNone {
		return []string{service.Spec.ClusterIP}, true
	}
	slices, err := r.slices.EndpointSlices(parts[1]).List(labels.SelectorFromSet(labels.Set{discovery.LabelServiceName: parts[0]}))
	if err != nil {
		return nil, false
	}
	for _, slice := range slices {
		for _, endpoint := range slice.Endpoints {
			if isReady(endpoint) && (pod == "" || endpoint.Hostname != nil && *endpoint.Hostname == pod) {
				addresses = append(addresses, endpoint.Addresses...)
			}
		}
	}
	return addresses, pod == "" || len(addresses) > 0
}

func isReady(e discovery.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }
