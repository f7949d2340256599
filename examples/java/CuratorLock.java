// Apache Curator's InterProcessMutex on ZooKeeper, as an adapter for lockchaos.
//
//     lockchaos adapter test "sh examples/java/curator.sh" --service zookeeper
//     lockchaos run quick --lock-cmd "sh examples/java/curator.sh" --service zookeeper
//
// Needs Curator: Debian's libcurator-recipes-java. docs/locks/curator.md tells what was found.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** One client of the lock. */
public class CuratorLock {
    /** A failure that is definite. */
    static class Failure extends Exception {
        Failure(String word) {
            super(word);
        }
    }

    /** What says which node is its own. */
    interface Node {
        String node();
    }

    /** A mutex that does. */
    static class Mutex extends InterProcessMutex implements Node {
        Mutex(CuratorFramework client, String path) {
            super(client, path);
        }

        @Override
        public String node() {
            return getLockPath();
        }
    }

    /** A grant, and the thread that owns it: Curator's mutex belongs to a thread. */
    record Held(InterProcessMutex mutex, ExecutorService thread) {}

    final CuratorFramework client;
    final Map<String, Held> held = new ConcurrentHashMap<>();
    final AtomicLong disturbances = new AtomicLong(); // how often the connection was not what it should be

    CuratorLock(String nodes, int ttlMs) throws InterruptedException {
        // The retry policy is that of Curator's own examples.
        client = CuratorFrameworkFactory.builder().connectString(nodes).sessionTimeoutMs(ttlMs).connectionTimeoutMs(ttlMs)
                .retryPolicy(new ExponentialBackoffRetry(1000, 3)).build();
        // Curator's documentation: who holds a lock must watch for SUSPENDED and LOST, and must not rely on the lock then.
        client.getConnectionStateListenable().addListener((c, state) -> {
            if (state == ConnectionState.SUSPENDED || state == ConnectionState.LOST) {
                disturbances.incrementAndGet();
                held.keySet().forEach(key -> send("{\"event\":\"lost\",\"key\":" + quote(key) + ",\"why\":\"the connection is " + state + "\"}"));
            }
        });
        client.start();
        if (!client.blockUntilConnected(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no connection to " + nodes);
        }
    }

    /** The member that names the lock, with the library's version. */
    static String name(String recipe) {
        String version = String.valueOf(CuratorFramework.class.getPackage().getImplementationVersion());
        return "\"name\":\"Curator " + recipe + " " + (version.equals("null") ? System.getProperty("curator.version", "5") : version) + "\"";
    }

    String declare() {
        return name("InterProcessMutex")
                + ",\"validity\":\"session\""
                + ",\"sessions\":true"
                + ",\"token\":\"fencing\""; // the transaction that made the mutex's node: ZooKeeper grants in the order of the nodes
        // An ok of release proves nothing: a node that is gone already is no error to it.
    }

    /** The mutex of a key, which is also a Node; mode is that of the acquire, of a lock with readers and writers. */
    InterProcessMutex make(String key, String mode) {
        return new Mutex(client, "/lockchaos/" + key);
    }

    /** The member that tells the present session. */
    String session() throws Exception {
        ZooKeeper connection = client.getZookeeperClient().getZooKeeper();
        String session = "0x" + Long.toHexString(connection.getSessionId()) + ":" + HexFormat.of().formatHex(connection.getSessionPasswd());
        return "\"session\":" + quote(session);
    }

    /**
     * The state of a grant's node. Curator's recipes take no note of what happened to the connection within the acquire. A node of the
     * present session is ours; a session that died meanwhile has taken its node along, which a server that lags behind may still show.
     */
    Stat ours(String node) throws Exception {
        Stat stat = client.checkExists().forPath(node);
        if (stat == null || stat.getEphemeralOwner() != client.getZookeeperClient().getZooKeeper().getSessionId()) {
            throw new IllegalStateException("the lock's node is gone, or of an older session: the session has ended since");
        }
        return stat;
    }

    String acquire(String key, String mode, long timeoutMs) throws Exception {
        InterProcessMutex mutex = make(key, mode);
        Held h = new Held(mutex, Executors.newSingleThreadExecutor(r -> {
            Thread t = new Thread(r);
            t.setDaemon(true);
            return t;
        }));
        long before = disturbances.get(), first = System.nanoTime();
        AtomicBoolean abandoned = new AtomicBoolean();
        boolean taken;
        try {
            // While there is no connection it takes longer than it is told to.
            taken = within(h, timeoutMs + 500, () -> {
                boolean got = mutex.acquire(timeoutMs, TimeUnit.MILLISECONDS);
                if (got && abandoned.get()) {
                    mutex.release();
                }
                return got;
            }, abandoned);
        } catch (Exception e) {
            h.thread().shutdown();
            throw e;
        }
        if (!taken) {
            h.thread().shutdown();
            if (disturbances.get() == before) {
                throw new Failure("busy");
            }
            throw new TimeoutException("the connection was suspended meanwhile");
        }
        held.put(key, h);
        try {
            Stat stat = within(h, 1000, () -> ours(((Node) mutex).node()), new AtomicBoolean());
            return "\"token\":" + stat.getCzxid() + ",\"first_ns\":" + first + "," + session();
        } catch (Exception e) {
            release(key, 1000);
            throw e;
        }
    }

    String release(String key, long timeoutMs) throws Exception {
        Held h = held.remove(key);
        if (h == null) {
            throw new Failure("not_held");
        }
        try {
            within(h, timeoutMs, () -> {
                h.mutex().release();
                return true;
            }, new AtomicBoolean());
        } finally {
            h.thread().shutdown();
        }
        return "";
    }

    /** Runs a call on the grant's own thread. One that takes too long goes on, and is told that nobody waits for it. */
    static <T> T within(Held h, long timeoutMs, Callable<T> call, AtomicBoolean abandoned) throws Exception {
        Future<T> result = h.thread().submit(call);
        try {
            return result.get(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            abandoned.set(true);
            if (result.isDone()) { // it ended just now, and may not have seen that it was given up
                h.thread().submit(() -> {
                    if (h.mutex().isOwnedByCurrentThread()) {
                        h.mutex().release();
                    }
                    return null;
                });
            }
            throw new TimeoutException("no answer within the time limit");
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    String answer(String op, String key, String mode, long timeoutMs) throws Exception {
        return switch (op) {
            case "acquire" -> acquire(key, mode, timeoutMs);
            case "release" -> release(key, timeoutMs);
            case "close" -> {
                client.close();
                yield "";
            }
            default -> throw new Failure("unsupported");
        };
    }

    static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    static synchronized void send(String line) {
        OUT.print(line + "\n");
        OUT.flush();
    }

    /** Makes a lock of the hello's nodes and TTL. */
    interface Opener {
        CuratorLock open(String nodes, int ttlMs) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        serve(CuratorLock::new);
    }

    /** Answers requests until there are no more. */
    static void serve(Opener opener) throws Exception {
        System.setOut(System.err); // what a library prints does not belong among the replies
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        CuratorLock lock = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String op = text(line, "op");
            String reply = "{\"id\":" + number(line, "id") + ",\"ok\":";
            try {
                String more;
                if (op.equals("hello")) {
                    lock = opener.open(String.join(",", list(line, "nodes")), (int) number(line, "ttl_ms"));
                    more = lock.declare();
                } else {
                    more = lock.answer(op, text(line, "key"), text(line, "mode"), number(line, "timeout_ms"));
                }
                send(reply + "true" + (more.isEmpty() ? "" : ",") + more + "}");
            } catch (Failure e) {
                send(reply + "false,\"error\":" + quote(e.getMessage()) + "}");
            } catch (Exception e) { // whatever it was: it may have happened, or not
                send(reply + "false,\"error\":\"unknown\",\"text\":" + quote(e.toString()) + "}");
            }
        }
        System.exit(0); // Curator's threads would keep the process alive
    }

    // Requests are flat, and their strings hold no escapes, so this reads them.

    static String text(String line, String name) {
        Matcher m = Pattern.compile("\"" + name + "\":\"([^\"]*)\"").matcher(line);
        return m.find() ? m.group(1) : "";
    }

    static long number(String line, String name) {
        Matcher m = Pattern.compile("\"" + name + "\":([0-9]+)").matcher(line);
        return m.find() ? Long.parseLong(m.group(1)) : 0;
    }

    static List<String> list(String line, String name) {
        List<String> out = new ArrayList<>();
        Matcher all = Pattern.compile("\"" + name + "\":\\[([^\\]]*)\\]").matcher(line);
        if (all.find()) {
            Matcher one = Pattern.compile("\"([^\"]*)\"").matcher(all.group(1));
            while (one.find()) {
                out.add(one.group(1));
            }
        }
        return out;
    }

    static String quote(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ") + "\"";
    }
}
