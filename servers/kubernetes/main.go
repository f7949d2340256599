// Command kubernetes is all of Kubernetes and its etcd in one static binary: the first argument
// says which program to be. It is built from source since a machine without a registry has no
// other way to them, and in one binary since they share nearly all of their code.
//
//	kubernetes etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kube-proxy|kubectl|dns [flags]
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/servers/kubernetes/dns"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() { run(controllers.NewControllerManagerCommand()) },
	"kube-scheduler":          func() { run(scheduler.NewSchedulerCommand()) },
	"kubelet":                 func() { run(kubelet.NewKubeletCommand(context.Background())) },
	"kube-proxy":              func() { run(proxy.NewProxyCommand()) },
	"kubectl":                 func() { kubectlutil.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand())) },
	"dns":                     serveDNS,
}

// serveDNS takes a kubeconfig and the address to serve at.
func serveDNS() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: kubernetes dns KUBECONFIG ADDRESS:53")
		os.Exit(64)
	}
	fmt.Fprintln(os.Stderr, "dns:", dns.Serve(os.Args[1], os.Args[2]))
	os.Exit(1)
}

func run(command *cobra.Command) { os.Exit(cli.Run(command)) }

func main() {
	name := ""
	if len(os.Args) > 1 {
		name, os.Args = os.Args[1], os.Args[1:] // each program reads os.Args[1:] by itself
	}
	program := programs[name]
	if program == nil {
		fmt.Fprintf(os.Stderr, "usage: kubernetes %s [flags]\n", strings.Join(slices.Sorted(maps.Keys(programs)), "|"))
		os.Exit(64)
	}
	program()
}
