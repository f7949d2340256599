package backends

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/zkurl"
)

// ZooKeeper's timing. A member is cut off after zooSyncLimit ticks of silence,
// which must be less than the shortest session: a member that nobody hears would
// else still tell its clients that all is well when their sessions have ended.
const (
	zooTick       = 100 * time.Millisecond
	zooInitLimit  = 100 // ticks, for the first sync with a leader
	zooSyncLimit  = 8   // ticks
	zooMinSession = time.Second
	zooMaxSession = 2 * time.Minute

	zooPort     = 2181
	zooPeerPort = 2888
	zooVotePort = 3888
)

// zooJVM makes the Java machine start fast and stay small: three of them share
// two cores with everything else.
var zooJVM = []string{"-Xmx96m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
	"-XX:-UsePerfData",
	"-Djava.net.preferIPv4Stack=true", "-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024",
	"-Dorg.slf4j.simpleLogger.log." + zooQuestions + "=warn", "-Dlogback.configurationFile=" + zooLogback}

// zooQuestions is the logger that notes every command of four letters: until the ensemble
// serves, there would be little in the log but our own questions. Debian's package logs
// with slf4j-simple, which takes settings as properties; releases since 3.8 with logback,
// which takes a file, and without one logs whatever there is down to DEBUG.
const (
	zooQuestions = "org.apache.zookeeper.server.NIOServerCnxn"
	zooLogback   = "logback.xml" // in the folder for data, where the server runs
	zooLogging   = `<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{ISO8601} [%t] %-5p %c{1} - %m%n</pattern></encoder>
  </appender>
  <logger name="` + zooQuestions + `" level="WARN"/>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
`
)

const zooMain = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

var zookeeperProgram = &Program{
	Name: "zookeeper", Image: "zookeeper:3.9",
	Fix: "apt-get install zookeeper openjdk-17-jre-headless, or set ZOOKEEPER_HOME and JAVA_HOME to the folders of releases",
	// It runs Java, which takes long to be of use, and looks for ZooKeeper's classes.
	found: func(ctx context.Context) (string, error) {
		java, err := FindJava()
		if err != nil {
			return "", err
		}
		classes, err := FindZooKeeper()
		if err != nil {
			return "", err
		}
		version, err := says(ctx, java, "-version")
		return classes + " with " + version, err
	},
	requests: zookeeperRequests,
	speech: speech{"srvr", func(answer []byte) error {
		switch {
		case bytes.HasPrefix(answer, []byte("Zookeeper version")):
			return nil
		case bytes.Contains(answer, []byte("whitelist")):
			return errors.New("it does not answer srvr, which tells whether it serves: let 4lw.commands.whitelist in its zoo.cfg have that word")
		case bytes.Contains(answer, []byte("not currently serving")):
			return errors.New(firstLine(answer))
		}
		return errForeign
	}},
}

var zookeeper = Kind{
	Name:  "zookeeper",
	About: "an ensemble of three, ZooKeeper and Java as installed on this machine",
	Alone: true,
	TTL:   2 * time.Second,
	Slack: zooMinSession + 10*zooTick, // the shortest session, and expiry by ticks
	Nodes: []NodeSpec{zooNode(1), zooNode(2), zooNode(3)},
	Notes: []string{
		fmt.Sprintf("ZooKeeper's tick is %v, so that it grants sessions of %v; a member without leader for %v serves nobody.", zooTick, zooMinSession, zooSyncLimit*zooTick),
		"ZooKeeper does not force its writes to disk; its data lies in memory.",
	},
	office:   office{"leader", voteZooKeeper},
	expirer:  expirer{expireZooKeeper, true},
	election: Election{Lost: "PeerState set to LOOKING", Led: "LEADER ELECTION TOOK"},
	task:     zooTask,
	ready:    awaitZooKeeper,
	back:     (*Node).serves,
}

func zooNode(i int) NodeSpec {
	return NodeSpec{Name: fmt.Sprintf("zookeeper-%d", i), Program: zookeeperProgram, Port: zooPort}
}

func zooTask(k Kind, n NodeSpec, p Place) (Task, error) {
	files := map[string]string{"zoo.cfg": zooConfig(k, n, p), "myid": strconv.Itoa(k.index(n.Name)+1) + "\n",
		zooLogback: zooLogging}
	config := p.Data + "/zoo.cfg"
	if p.Contained {
		return Task{Args: []string{"sh", "-c", zooScript, "zookeeper", config}, Files: files}, nil
	}
	java, err := FindJava()
	if err != nil {
		return Task{}, err
	}
	classes, err := FindZooKeeper()
	if err != nil {
		return Task{}, err
	}
	args := append([]string{java}, zooJVM...)
	return Task{Args: append(args, "-Djava.io.tmpdir="+p.Data, "-cp", classes, zooMain, config), Files: files}, nil
}

// zooScript finds ZooKeeper in an image: the project's own, where it is
// unpacked at the root, or a distribution's packages.
var zooScript = `set -e
for home in "$ZOOKEEPER_HOME" /apache-zookeeper-* /opt/zookeeper* /opt/apache-zookeeper-*; do
	if [ -n "$home" ] && ls "$home"/lib/zookeeper-*.jar >/dev/null 2>&1; then classes="$home/*:$home/lib/*"; break; fi
done
if [ -z "$classes" ] && [ -e ` + zooDebian + ` ]; then classes=` + zooDebian + `:` + zooDebianLog + `; fi
if [ -z "$classes" ]; then echo "no ZooKeeper in this image: its jar is neither in /apache-zookeeper-*, /opt/zookeeper* nor /usr/share/java" >&2; exit 1; fi
exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" ` + strings.Join(zooJVM, " ") + ` -cp "$classes" ` + zooMain + ` "$1"`

func zooConfig(k Kind, n NodeSpec, p Place) string {
	lines := []string{
		fmt.Sprintf("tickTime=%d", zooTick.Milliseconds()),
		fmt.Sprintf("initLimit=%d", zooInitLimit),
		fmt.Sprintf("syncLimit=%d", zooSyncLimit),
		fmt.Sprintf("minSessionTimeout=%d", zooMinSession.Milliseconds()),
		fmt.Sprintf("maxSessionTimeout=%d", zooMaxSession.Milliseconds()),
		"maxClientCnxns=0",
		"dataDir=" + p.Data,
		fmt.Sprintf("clientPort=%d", n.Port),
		"clientPortAddress=" + p.Listen,
		fmt.Sprintf("quorumListenOnAllIPs=%t", p.Contained),
		"admin.enableServer=false",
		"4lw.commands.whitelist=srvr,ruok,mntr,wchp",
	}
	for i, other := range k.Nodes {
		lines = append(lines, fmt.Sprintf("server.%d=%s:%d:%d", i+1, p.Peers[other.Name], zooPeerPort, zooVotePort))
	}
	return strings.Join(lines, "\n") + "\n"
}

// Where Debian's packages zookeeper and libslf4j-java have their jars; the
// first names all others but what writes its log.
const (
	zooDebian    = "/usr/share/java/zookeeper.jar"
	zooDebianLog = "/usr/share/java/slf4j-simple.jar"
)

// FindZooKeeper returns the class path of the ZooKeeper on this machine: of
// ZOOKEEPER_HOME, of an unpacked release, or of Debian's package.
func FindZooKeeper() (classes string, err error) {
	home := os.Getenv("ZOOKEEPER_HOME")
	homes := []string{home}
	if home == "" {
		for _, pattern := range []string{"/opt/zookeeper*", "/opt/apache-zookeeper-*", "/apache-zookeeper-*"} {
			found, _ := filepath.Glob(pattern) // the patterns are well-formed
			homes = append(homes, found...)
		}
	}
	for _, dir := range homes {
		if jars, _ := filepath.Glob(dir + "/lib/zookeeper-*.jar"); dir != "" && len(jars) > 0 {
			return dir + "/*:" + dir + "/lib/*", nil
		}
	}
	if home != "" {
		return "", fmt.Errorf("ZOOKEEPER_HOME=%s has no lib/zookeeper-*.jar: give the folder of an unpacked release, or unset it", home)
	}
	if _, err := os.Stat(zooDebian); err != nil {
		return "", &Lack{"ZooKeeper was not found on this machine",
			"apt-get install zookeeper, or unpack a release and set ZOOKEEPER_HOME to its folder"}
	}
	return zooDebian + ":" + zooDebianLog, nil
}

// FindJava returns the path of the Java to run: that of JAVA_HOME, or the one on PATH.
func FindJava() (string, error) {
	program := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		program = filepath.Join(home, "bin", "java")
	}
	path, err := exec.LookPath(program)
	const fix = "apt-get install openjdk-17-jre-headless, or set JAVA_HOME to the folder of one"
	switch {
	case err == nil:
		return path, nil
	case program == "java":
		return "", &Lack{"ZooKeeper needs Java, which was not found on this machine", fix}
	}
	return "", fmt.Errorf("ZooKeeper needs Java: %w; %s", err, fix)
}

// awaitZooKeeper returns when every member serves, one of them as leader, and a
// write has gone through the ensemble.
func awaitZooKeeper(ctx context.Context, nodes []*Node) error {
	for leaders := 0; leaders != 1; {
		modes := make([]string, len(nodes))
		ask := func(n *Node, ctx context.Context) error {
			return n.await(ctx, func(ctx context.Context) (err error) {
				for i := range nodes {
					if nodes[i] == n {
						modes[i], err = n.askZooKeeper(ctx)
					}
				}
				return err
			})
		}
		if err := each(ask)(ctx, nodes); err != nil {
			return err
		}
		if !slices.ContainsFunc(modes, func(m string) bool { return m != zooAlone }) {
			break
		}
		leaders = strings.Count(strings.Join(modes, " "), "leader")
	}
	return nodes[0].await(ctx, nodes[0].writesZooKeeper)
}

// serves returns when one member serves, as leader or follower.
func (n *Node) serves(ctx context.Context) error {
	return n.await(ctx, func(ctx context.Context) error {
		_, err := n.askZooKeeper(ctx)
		return err
	})
}

// zooAlone is the mode of a server that is no member of an ensemble: somebody's own.
const zooAlone = "standalone"

// askZooKeeper asks a member for its version and its mode: leader or follower, once it serves.
func (n *Node) askZooKeeper(ctx context.Context) (mode string, err error) {
	text, err := zkurl.FourLetters(ctx, n.Addr, nil, "srvr", maxBulk)
	if err != nil {
		return "", err
	}
	mode = field(text, "Mode:")
	if mode != "leader" && mode != "follower" && mode != zooAlone {
		return "", fmt.Errorf("it does not serve yet: %s", strings.TrimSpace(text))
	}
	version, _, _ := strings.Cut(field(text, "Zookeeper version:"), "-")
	if n.Version = version; version == "" {
		return "", errors.New("srvr tells no version")
	}
	return mode, nil
}

// writesZooKeeper creates a znode that is gone with its session, and waits
// until this member knows what the leader knows.
func (n *Node) writesZooKeeper(ctx context.Context) error {
	at, err := endpoint.Parse(n.Addr)
	if err != nil {
		return err
	}
	servers, err := zkurl.Open([]string{n.Addr}, nil)
	if err != nil {
		return err
	}
	conn, _, err := servers.Connect(zooMinSession, servers.Dial, nil)
	if err != nil {
		return err
	}
	result := make(chan error, 1)
	go func() { result <- writesReady(conn, servers, at.Scheme() != "") }()
	defer conn.Close()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writesReady writes what is gone with the session. Where the address is a URL, locks may have no
// right but under their own znode: lockchaos has written there when it met the server.
func writesReady(conn *zk.Conn, servers *zkurl.Servers, met bool) error {
	if servers.LogsIn() {
		if err := servers.LogIn(conn); err != nil {
			return err
		}
	}
	const ready = "/" + readyKey
	if !met {
		if _, err := conn.Create(ready, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
			return err
		}
	}
	_, err := conn.Sync(ready)
	return err
}
