package backends

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/internal/logins"
)

// The ports on which the nodes of a Galera cluster speak to each other: about
// the group, and to hand over what a node has missed.
const (
	galeraPort       = 4567
	galeraMissedPort = 4568
)

// galeraSize is how many nodes the cluster has.
const galeraSize = 3

// galeraProvider is the library that replicates, in Debian's packages and in
// the project's own image.
const galeraProvider = "/usr/lib/galera/libgalera_smm.so"

var galera = Kind{
	Name:  "mariadb-galera",
	About: "three MariaDB servers that replicate synchronously by Galera, as installed on this machine",
	Nodes: []NodeSpec{galeraNode(1), galeraNode(2), galeraNode(3)},
	Notes: []string{
		"MariaDB's data lies in memory; the private network is trusted, without passwords.",
		"It sends a keepalive when it has heard nothing for 2 s, and ends a connection after two that are not answered, a second apart.",
		"A transaction is replicated when it commits. What a transaction locks before that, and GET_LOCK, is known to one node alone.",
		"The cluster gives a node up that it has not heard of for 5 s, as Galera is set up unless it is told otherwise.",
	},
	WallClock: true, // as mariadb
	expirer:   expirer{end: expireMariaDB},
	refuser:   mariadbRefuser, // of clients only: a node applies what the others have committed
	task:      galeraTask,
	ready:     each((*Node).awaitGalera),
	back:      (*Node).awaitGalera,
}

func galeraNode(i int) NodeSpec {
	return NodeSpec{Name: fmt.Sprintf("galera-%d", i), Program: mariadbProgram, Port: mariadbPort}
}

// galeraMember is the name of a node in the group. Names are compared by their
// first part, so they differ in that.
func galeraMember(i int) string {
	return fmt.Sprintf("a%db2c3d4-6c6f-11f0-8000-6368616f730%d", i+1, i+1)
}

// galeraState is the cluster's place in its history, the same on each node:
// nothing has happened yet.
const galeraState = "# GALERA saved state\nversion: 2.1\nuuid:    6c6f636b-6368-11f0-8000-000000000000\nseqno:   0\nsafe_to_bootstrap: 0\n"

// galeraView is what a node remembers of the group after a power failure. Nodes that
// have all remembered the same view go on where they were, and nobody needs
// another's data (https://galeracluster.com/library/documentation/pc-recovery.html).
// So three new nodes are a cluster at once.
func galeraView(own int, nodes []NodeSpec) string {
	view := fmt.Sprintf("my_uuid: %s\n#vwbeg\nview_id: 3 %s 1\nbootstrap: 0\n", galeraMember(own), galeraMember(0))
	for i := range nodes {
		view += fmt.Sprintf("member: %s 0\n", galeraMember(i))
	}
	return view + "#vwend\n"
}

func galeraTask(k Kind, n NodeSpec, p Place) (Task, error) {
	t, err := mariadbTask(k, n, p)
	if err != nil {
		return t, err
	}
	if _, err := os.Stat(galeraProvider); err != nil && !p.Contained {
		return Task{}, &Lack{"the library of Galera was not found on this machine", "apt-get install galera-4"}
	}
	// Who hands a node what it has missed needs more than the users of locks may do.
	self, donor := p.Peers[n.Name], mariadbAdmin
	if p.Contained {
		donor = logins.MariaDBUser
	}
	var group []string
	for _, other := range k.Nodes {
		group = append(group, fmt.Sprintf("%s:%d", p.Peers[other.Name], galeraPort))
	}
	own := slices.IndexFunc(k.Nodes, func(other NodeSpec) bool { return other.Name == n.Name })
	// The folder of the database is made by mariadb-install-db, so what Galera
	// is to find there is copied later.
	t.Files["grastate.dat"], t.Files["gvwstate.dat"] = galeraState, galeraView(own, k.Nodes)
	// The account is each node's own: it is made by each.
	t.Files["account.sql"] = "SET SESSION wsrep_on=OFF;\n" + t.Files["account.sql"]
	t.Before = append(t.Before, []string{"cp", p.Data + "/grastate.dat", p.Data + "/gvwstate.dat", p.Data + "/files/"})
	options := []string{
		fmt.Sprintf("gmcast.listen_addr=tcp://%s:%d", p.Listen, galeraPort),
		fmt.Sprintf("ist.recv_addr=%s:%d", self, galeraMissedPort), "gcache.size=8M",
	}
	t.Args = append(t.Args, "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON",
		"--wsrep-provider="+galeraProvider,
		"--wsrep-cluster-name=lockchaos", "--wsrep-cluster-address=gcomm://"+strings.Join(group, ","),
		"--wsrep-node-name="+n.Name, fmt.Sprintf("--wsrep-node-address=%s:%d", self, galeraPort),
		// By a dump, through the server's own port: rsync's server refuses what belongs to root.
		"--wsrep-sst-method=mysqldump", "--wsrep-sst-auth="+donor+":",
		fmt.Sprintf("--wsrep-sst-receive-address=%s:%d", self, mariadbPort),
		"--wsrep-provider-options="+strings.Join(options, ";"))
	return t, nil
}

// awaitGalera returns when a node takes statements, as one of a cluster in
// which all are, and has caught up with the others.
func (n *Node) awaitGalera(ctx context.Context) error {
	if err := n.awaitMariaDB(ctx); err != nil {
		return err
	}
	return n.await(ctx, func(ctx context.Context) error {
		db, err := openMariaDB(n.Addr)
		if err != nil {
			return err
		}
		defer db.Close()
		for variable, want := range map[string]string{"wsrep_cluster_status": "Primary",
			"wsrep_local_state_comment": "Synced", "wsrep_ready": "ON",
			"wsrep_cluster_size": strconv.Itoa(galeraSize)} {
			switch is, err := wsrep(ctx, db, variable); {
			case err != nil:
				return fmt.Errorf("%s: %w", variable, err)
			case is != want:
				return fmt.Errorf("%s is %q, not %q", variable, is, want)
			}
		}
		return nil
	})
}

// wsrep asks for a variable of the replication
// (https://mariadb.com/kb/en/galera-cluster-status-variables/).
func wsrep(ctx context.Context, db *sql.DB, variable string) (value string, err error) {
	var name string
	err = db.QueryRowContext(ctx, "SHOW STATUS LIKE '"+variable+"'").Scan(&name, &value)
	return value, err
}
