package backends

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockchaos/lockchaos/internal/logins"
)

// refuser has a node answer writes with errors, and take them again; the zero
// value: it can't be made to.
type refuser struct {
	set func(ctx context.Context, n *Node, on bool) error
	// write returns the error with which the node refuses a write of ours; "": it took it.
	write func(ctx context.Context, n *Node) (refusal string, err error)
}

// Refuses reports whether its nodes can be made to refuse writes.
func (k Kind) Refuses() bool { return k.refuser.set != nil }

// RefuseWrites has the node refuse writes from now on, or take them again: a Redis
// because it lacks replicas, etcd because it has no space left, PostgreSQL because
// transactions are read-only, MariaDB because it is read-only itself. Reads are
// answered, and leases run out. With etcd all members refuse, whichever is asked.
func (n *Node) RefuseWrites(ctx context.Context, on bool) error {
	switch {
	case n.guest:
		return n.failed(errors.New("lockchaos did not start it, and leaves its settings alone: --runtime local"))
	case n.kind.refuser.set == nil:
		return n.failed(fmt.Errorf("a node of %s can't be made to refuse writes", n.kind.Name))
	}
	return n.askOnce(ctx, func(ctx context.Context) error { return n.kind.refuser.set(ctx, n, on) })
}

// TryWrite writes something that no lock uses, and returns the error with which
// the node refuses it; "": it took it.
func (n *Node) TryWrite(ctx context.Context) (refusal string, err error) {
	err = n.askOnce(ctx, func(ctx context.Context) (err error) {
		refusal, err = n.kind.refuser.write(ctx, n)
		return err
	})
	return refusal, err
}

// askOnce does one thing with the node, in the time that an answer may take.
func (n *Node) askOnce(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if err := do(ctx); err != nil {
		return n.failed(err)
	}
	return nil
}

// redisRefuser asks for more replicas than there are
// (https://redis.io/docs/latest/operate/oss_and_stack/management/replication/,
// "Allow writes only with N attached replicas").
var redisRefuser = refuser{
	set: func(ctx context.Context, n *Node, on bool) error {
		replicas := 0
		if on {
			replicas = 1
		}
		_, err := askRedis(ctx, n.Addr, fmt.Sprintf("CONFIG SET min-replicas-to-write %d", replicas))
		return err
	},
	write: func(ctx context.Context, n *Node) (string, error) {
		_, err := askRedis(ctx, n.Addr, "SET "+readyKey+" x PX 1")
		if said, is := errors.AsType[redisError](err); is && strings.HasPrefix(string(said), "NOREPLICAS") {
			return string(said), nil
		}
		return "", err
	},
}

// etcdRefuser raises the alarm that etcd raises itself when its database is
// full (https://etcd.io/docs/latest/op-guide/maintenance/#space-quota): puts
// and new leases are refused, while keys are deleted and leases are renewed.
var etcdRefuser = refuser{
	set: func(ctx context.Context, n *Node, on bool) error {
		client, err := newEtcdClient(n.Addr)
		if err != nil {
			return err
		}
		defer client.Close()
		status, err := client.Status(ctx, n.Addr)
		if err != nil {
			return err
		}
		alarm := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: status.Header.MemberId,
			Alarm: pb.AlarmType_NOSPACE}
		if !on {
			alarm.Action = pb.AlarmRequest_DEACTIVATE
		}
		_, err = pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(ctx, alarm)
		return err
	},
	write: func(ctx context.Context, n *Node) (string, error) {
		client, err := newEtcdClient(n.Addr)
		if err != nil {
			return "", err
		}
		defer client.Close()
		if _, err = clientv3.NewKV(client).Put(ctx, readyKey, ""); errors.Is(err, rpctypes.ErrNoSpace) {
			return err.Error(), nil
		}
		return "", err
	},
}

// postgresReadOnly is the code of the error that a write in a read-only transaction
// gets (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const postgresReadOnly = "25006"

// postgresRefuser makes transactions read-only unless they ask for more, in all
// sessions from their next statement on
// (https://www.postgresql.org/docs/current/runtime-config-client.html#GUC-DEFAULT-TRANSACTION-READ-ONLY).
var postgresRefuser = refuser{
	set: func(ctx context.Context, n *Node, on bool) error {
		setting := "ALTER SYSTEM RESET default_transaction_read_only"
		if on {
			setting = "ALTER SYSTEM SET default_transaction_read_only = on"
		}
		return n.postgresSays(ctx, setting, "SELECT pg_reload_conf()")
	},
	write: func(ctx context.Context, n *Node) (string, error) {
		err := n.postgresSays(ctx, "CREATE TABLE IF NOT EXISTS lockchaos_ready ()")
		if said, is := errors.AsType[*pgconn.PgError](err); is && said.Code == postgresReadOnly {
			return said.Error(), nil
		}
		return "", err
	},
}

// postgresSays sends statements on a connection of their own.
func (n *Node) postgresSays(ctx context.Context, statements ...string) error {
	conn, err := dialPostgres(ctx, n.Addr)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s, pgx.QueryExecModeExec); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// mariadbReadOnly is the number of the error that a write to a read-only server
// gets (https://mariadb.com/kb/en/e1290/).
const mariadbReadOnly = 1290

// mariadbRefuser makes the server read-only (https://mariadb.com/kb/en/read-only/): all who
// may not make it so are refused writes, locked rows, and commits of what they wrote before.
var mariadbRefuser = refuser{
	set: func(ctx context.Context, n *Node, on bool) error {
		return n.mariadbSays(ctx, mariadbAdmin, fmt.Sprintf("SET GLOBAL read_only = %t", on))
	},
	write: func(ctx context.Context, n *Node) (string, error) {
		err := n.mariadbSays(ctx, logins.MariaDBUser, "CREATE TABLE IF NOT EXISTS lockchaos_ready (x INT)")
		if said, is := errors.AsType[*mysql.MySQLError](err); is && said.Number == mariadbReadOnly {
			return said.Error(), nil
		}
		return "", err
	},
}

// mariadbSays sends a statement on a connection of its own.
func (n *Node) mariadbSays(ctx context.Context, user, statement string) error {
	db, err := openMariaDBAs(user, n.Addr)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
