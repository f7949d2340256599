package main

import (
	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/internal/hosts/kubernetes"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
)

// whereFlags are those that say where to run.
var whereFlags = []string{"runtime", "image", "project", "nodes", "context", "namespace", "cacert", "cert", "key",
	"connect-to", "failover-cmd"}

// addWhere adds the flags of every command that runs plans: where, how many at
// once, and where to write.
func (f *runFlags) addWhere(flags *pflag.FlagSet) {
	flags.StringVar(&f.Runtime, "runtime", runtimes.Default(), `where hosts live: "local" is a private network of namespaces, "docker" starts containers, "compose" joins a
project that runs, "kubernetes" makes pods, "external" uses servers at the addresses of --nodes, "sim" simulates all but the lock library of --lock-go, in virtual time; "auto" takes docker if an engine answers and has the images, else local`)
	flags.StringArrayVar(&f.Images, "image", nil, "image for a service's containers, as redis=IMAGE (may be repeated)")
	flags.StringVar(&f.Project, "project", "", "compose project, by its name or folder (default: that of this folder)")
	addCluster(flags, &f.Where)
	addNodes(flags, &f.Where,
		"which services of the project are which nodes, as redis-1=my-redis,…; of --runtime external the addresses of the nodes, as "+nodeForms)
	flags.StringVar(&f.FailoverCmd, "failover-cmd", "",
		"of --runtime external: `command` for a shell that has the service of --nodes fail over, for the fault failover (redis): 'redis-cli … CLUSTER FAILOVER'")
	flags.IntVar(&f.Parallel, "parallel", runs.DefaultParallel(), "how many scenarios run at once")
	addOut(flags, &f.Out, runsFolder)
	flags.BoolVar(&f.Trace, "trace", false,
		"of --runtime sim: write each call of an adapter, each command of a server and each segment on the wire to "+
			runs.TraceFile+" in a scenario's folder")
}

// nodeForms are addresses of nodes, as examples.
const nodeForms = "redis=127.0.0.1:6379 or 'redis=rediss://me:${MY_PASSWORD}@cache.example:6380'; @FILE is an address in a file"

// addNodes adds the flags that say where servers are that run already.
func addNodes(flags *pflag.FlagSet, where *runtimes.Where, meaning string) {
	flags.StringSliceVar(&where.Nodes, "nodes", nil, meaning)
	flags.StringVar(&where.Files.CACert, "cacert", "", "of --nodes with TLS: `file` with the certificates to trust (default: this machine's)")
	flags.StringVar(&where.Files.Cert, "cert", "", "of --nodes with TLS: `file` with the clients' certificate")
	flags.StringVar(&where.Files.Key, "key", "", "of --nodes with TLS: `file` with the key of --cert")
	flags.StringArrayVar(&where.ConnectTo, "connect-to", nil,
		"where a name of --nodes leads, as NAME:PORT=ADDRESS:PORT: the near end of a tunnel, say (may be repeated)")
}

// addCluster adds the flags that say which cluster.
func addCluster(flags *pflag.FlagSet, where *runtimes.Where) {
	flags.StringVar(&where.Context, "context", "",
		"of --runtime kubernetes: what kubectl's configuration calls the cluster (default: the current context)")
	flags.StringVar(&where.Namespace, "namespace", "",
		"of --runtime kubernetes: where pods are made (default: "+kubernetes.DefaultNamespace+
			"; the agents' namespace has -agents behind it)")
}

// addSeed adds the flag of every command whose draws follow a seed.
func addSeed(flags *pflag.FlagSet, seed *uint64) {
	flags.Uint64Var(seed, "seed", 0, "seed of every random draw (default: a new one, printed)")
}

// runsFolder is what --out means to most commands.
const runsFolder = "folder for the runs' folders"

// addOut adds the flag that says where runs are written, or were.
func addOut(flags *pflag.FlagSet, folder *string, meaning string) {
	flags.StringVar(folder, "out", "runs", meaning)
}

// addScale adds the flag of every command that can take the times of production for short ones.
func (f *runFlags) addScale(flags *pflag.FlagSet, meaning string) {
	flags.StringVar(&f.scale, "scale", scaleTest, meaning)
}
