package backends

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/logins"
)

const kubernetesPort = 6443

// kubernetesTokens is that token as --token-auth-file reads it: token, user, number, groups.
const kubernetesTokens = logins.KubernetesToken + `,lockchaos,1,"system:masters"` + "\n"

// builtKubernetes is the server that scripts/servers builds.
const builtKubernetes = built("kube-apiserver")

// kubernetesProgram is the API server. The project's own image has no shell, which would
// have to write the file of tokens, so containers need the image that scripts/images makes.
var kubernetesProgram = &Program{
	Name: "kube-apiserver", Image: "lockchaos-local/kube-apiserver", Fix: builtKubernetes.install(),
	found: func(ctx context.Context) (string, error) { return builtKubernetes.says(ctx, "--version") },
	// It serves TLS alone, which servers at given addresses can't be reached by.
	speech: speech{"GET / HTTP/1.0\r\n\r\n", func([]byte) error { return errForeign }},
}

// kubernetes has its own etcd, of three members: so a fault of etcd's leader is what it is in a
// cluster that is meant to last, an election during which the API server answers with errors.
var kubernetes = Kind{
	Name:  "kubernetes",
	About: "the real kube-apiserver on an etcd of three members; no kubelet, controllers or scheduler",
	Nodes: []NodeSpec{
		kubernetesMember(1), kubernetesMember(2), kubernetesMember(3),
		{Name: "kube-apiserver-1", Program: kubernetesProgram, Port: kubernetesPort},
	},
	Notes: append([]string{
		"The API server makes its own certificate, which clients do not verify; they log in with a bearer token.",
		"Nothing ends a Lease of Kubernetes: whoever waits for one has to see it unchanged for its whole duration first.",
	}, etcd.Notes...),
	TTL:      2 * time.Second, // a Lease says its duration in whole seconds
	Slack:    2 * time.Second,
	Doubles:  true, // who comes later watches for a TTL of his own
	office:   office{"leader", voteKubernetes},
	election: etcd.election,
	task:     kubernetesTask,
	next:     etcdNext,
	ready:    awaitKubernetes,
	back:     kubernetesBack,
}

// kubernetesMember is a member of the API server's etcd, which no client speaks to.
func kubernetesMember(i int) NodeSpec {
	n := etcdNode(i)
	n.Behind = true
	return n
}

func kubernetesTask(k Kind, n NodeSpec, p Place) (Task, error) {
	members := k
	members.Nodes = k.Nodes[:3]
	if n.Program == etcdProgram {
		return etcdTask(members, n, p)
	}
	var endpoints []string
	for _, m := range members.Nodes {
		endpoints = append(endpoints, fmt.Sprintf("http://%s:%d", p.Peers[m.Name], m.Port))
	}
	t := Task{
		Args: []string{"kube-apiserver", "--etcd-servers", strings.Join(endpoints, ","),
			"--bind-address", p.Listen, "--secure-port", strconv.Itoa(n.Port), "--cert-dir", p.Data,
			"--token-auth-file", p.Data + "/tokens.csv", "--authorization-mode", "RBAC",
			// The key of its own certificate, which it makes first, also signs
			// tokens of service accounts: nobody asks for one.
			"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-signing-key-file",
			p.Data + "/apiserver.key",
			"--service-account-key-file", p.Data + "/apiserver.key",
			"--service-cluster-ip-range", "10.96.0.0/16", "--profiling=false",
			// Without this one it looks for the default route, and there may be
			// none. Nobody is told of it.
			"--advertise-address", "127.0.0.1", "--endpoint-reconciler-type", "none"},
		Files: map[string]string{"tokens.csv": kubernetesTokens},
	}
	if p.Contained {
		return t, nil
	}
	program, err := builtKubernetes.find()
	t.Args[0] = program
	return t, err
}

// awaitKubernetes returns when etcd's members agree and the API server takes writes.
func awaitKubernetes(ctx context.Context, nodes []*Node) error {
	if err := awaitEtcd(ctx, nodes[:3]); err != nil {
		return err
	}
	for _, member := range nodes[:3] {
		member.Version = "etcd " + member.Version
	}
	return nodes[3].awaitAPIServer(ctx)
}

func kubernetesBack(n *Node, ctx context.Context) error {
	if n.spec.Program == etcdProgram {
		return n.awaitMember(ctx)
	}
	return n.awaitAPIServer(ctx)
}

func voteKubernetes(ctx context.Context, s *Service, n *Node) (string, error) {
	if n.spec.Program != etcdProgram {
		return "", nil
	}
	return voteEtcd(ctx, s, n)
}

// The requests that show that an API server works:
// https://kubernetes.io/docs/reference/using-api/health-checks/. To write a Lease
// that is there already is answered with a conflict, when etcd has been asked.
const (
	kubernetesReady = "readyz"
	kubernetesLease = "apis/coordination.k8s.io/v1/namespaces/default/leases"
	readyLease      = `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"lockchaos-ready"}}`
)

// awaitAPIServer returns when an API server says that it is ready, and a Lease
// has been written. It learns the version.
func (n *Node) awaitAPIServer(ctx context.Context) error {
	return n.await(ctx, func(ctx context.Context) error {
		if _, err := n.askKubernetes(ctx, http.MethodGet, kubernetesReady, ""); err != nil {
			return err
		}
		text, err := n.askKubernetes(ctx, http.MethodGet, "version", "")
		if err != nil {
			return err
		}
		var version struct{ GitVersion string }
		if err := json.Unmarshal(text, &version); err != nil {
			return fmt.Errorf("version: %w", err)
		}
		n.Version = strings.TrimPrefix(version.GitVersion, "v")
		_, err = n.askKubernetes(ctx, http.MethodPost, kubernetesLease, readyLease)
		return err
	})
}

// trusting asks over a connection of its own a server whose certificate nobody has signed.
var trusting = &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// askKubernetes asks an API server. That what is to be made is there already is no error.
func (n *Node) askKubernetes(ctx context.Context, method, what, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "https://"+n.Addr+"/"+what, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+logins.KubernetesToken)
	request.Header.Set("Content-Type", "application/json")
	reply, err := trusting.Do(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxBulk))
	if reply.StatusCode >= http.StatusBadRequest && reply.StatusCode != http.StatusConflict {
		err = errors.Join(fmt.Errorf("%s: %s: %s", request.URL, reply.Status, bytes.TrimSpace(text)), err)
	}
	return text, err
}
