// More recipes of Apache Curator on ZooKeeper.
//
//     sh ../../examples/java/curator.sh CuratorRecipes.java read-write | semaphore | leader-latch

import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.zookeeper.data.Stat;

/** Starts the adapter of one recipe. */
public class CuratorRecipes {
    public static void main(String[] args) throws Exception {
        CuratorLock.serve(switch (args[0]) {
            case "read-write" -> ReadWrite::new;
            case "semaphore" -> Semaphore::new;
            case "leader-latch" -> Latch::new;
            default -> throw new IllegalArgumentException(args[0]);
        });
    }
}

/** InterProcessReadWriteLock. */
class ReadWrite extends CuratorLock {
    static class Write extends InterProcessReadWriteLock.WriteLock implements Node {
        Write(CuratorFramework client, String path) {
            super(client, path, null);
        }

        @Override
        public String node() {
            return getLockPath();
        }
    }

    static class Read extends InterProcessReadWriteLock.ReadLock implements Node {
        Read(CuratorFramework client, String path) {
            super(client, path, null, new Write(client, path)); // as InterProcessReadWriteLock makes its two
        }

        @Override
        public String node() {
            return getLockPath();
        }
    }

    ReadWrite(String nodes, int ttlMs) throws InterruptedException {
        super(nodes, ttlMs);
    }

    @Override
    String declare() {
        return name("InterProcessReadWriteLock")
                + ",\"validity\":\"session\",\"sessions\":true,\"token\":\"fencing\",\"read_write\":true";
    }

    @Override
    InterProcessMutex make(String key, String mode) {
        String path = "/lockchaos/" + key;
        return mode.equals("read") ? new Read(client, path) : new Write(client, path);
    }
}

/** What is not bound to a thread: each acquire is a call beside a clock. */
abstract class Unbound<G> extends CuratorLock {
    final Map<String, G> grants = new ConcurrentHashMap<>();
    final ExecutorService calls = Executors.newCachedThreadPool(r -> {
        Thread t = new Thread(r);
        t.setDaemon(true);
        return t;
    });

    Unbound(String nodes, int ttlMs) throws InterruptedException {
        super(nodes, ttlMs);
    }

    /** Takes the key: null, if the time is over and all that was asked was answered. */
    abstract G take(String key, long timeoutMs) throws Exception;

    abstract void giveBack(G grant) throws Exception;

    /** Further members of the reply of a grant. */
    abstract String members(G grant) throws Exception;

    @Override
    String acquire(String key, String mode, long timeoutMs) throws Exception {
        G lost = grants.remove(key); // of a grant that was given up; a latch would lead again by itself
        if (lost != null) {
            calls.submit(() -> {
                giveBack(lost);
                return null;
            }).get(timeoutMs, TimeUnit.MILLISECONDS);
        }
        long before = disturbances.get(), first = System.nanoTime();
        Future<G> call = calls.submit(() -> take(key, timeoutMs));
        G grant;
        try {
            grant = call.get(timeoutMs + 1000, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            calls.submit(() -> {
                G late = call.get();
                if (late != null) {
                    giveBack(late);
                }
                return null;
            });
            throw e;
        }
        if (grant == null && disturbances.get() == before) {
            throw new Failure("busy");
        }
        if (grant == null) {
            throw new TimeoutException("the connection was suspended meanwhile");
        }
        grants.put(key, grant);
        held.put(key, new Held(null, null)); // its loss is told
        try {
            return members(grant) + "\"first_ns\":" + first + "," + session();
        } catch (Exception e) {
            release(key, 1000);
            throw e;
        }
    }

    @Override
    String release(String key, long timeoutMs) throws Exception {
        held.remove(key);
        G grant = grants.remove(key);
        if (grant == null) {
            throw new Failure("not_held");
        }
        calls.submit(() -> {
            giveBack(grant);
            return null;
        }).get(timeoutMs, TimeUnit.MILLISECONDS);
        return "";
    }
}

/** InterProcessSemaphoreV2. */
class Semaphore extends Unbound<Lease> {
    static final int PERMITS = 2;

    Semaphore(String nodes, int ttlMs) throws InterruptedException {
        super(nodes, ttlMs);
    }

    @Override
    String declare() {
        return name("InterProcessSemaphoreV2")
                + ",\"validity\":\"session\",\"sessions\":true,\"token\":\"none\",\"permits\":" + PERMITS;
    }

    String path(String key) {
        return "/lockchaos/" + key;
    }

    @Override
    Lease take(String key, long timeoutMs) throws Exception {
        Lease lease = new InterProcessSemaphoreV2(client, path(key), PERMITS).acquire(timeoutMs, TimeUnit.MILLISECONDS);
        try {
            if (lease != null) {
                ours(path(key) + "/leases/" + lease.getNodeName());
            }
            return lease;
        } catch (Exception e) {
            lease.close();
            throw e;
        }
    }

    @Override
    void giveBack(Lease lease) throws Exception {
        lease.close();
    }

    @Override
    String members(Lease lease) {
        return "";
    }
}

/** LeaderLatch: who leads holds the key. */
class Latch extends Unbound<LeaderLatch> {
    Latch(String nodes, int ttlMs) throws InterruptedException {
        super(nodes, ttlMs);
    }

    @Override
    String declare() {
        return name("LeaderLatch") + ",\"validity\":\"session\",\"sessions\":true,\"token\":\"fencing\"";
    }

    @Override
    LeaderLatch take(String key, long timeoutMs) throws Exception {
        LeaderLatch latch = new LeaderLatch(client, "/lockchaos/" + key, UUID.randomUUID().toString());
        latch.addListener(new LeaderLatchListener() {
            @Override
            public void isLeader() {}

            @Override
            public void notLeader() {
                if (grants.get(key) == latch) {
                    send("{\"event\":\"lost\",\"key\":" + quote(key) + ",\"why\":\"notLeader\"}");
                }
            }
        });
        latch.start();
        if (latch.await(timeoutMs, TimeUnit.MILLISECONDS)) {
            return latch;
        }
        // A latch that was not answered yet is silent, too.
        String leader = latch.getLeader().getId();
        boolean otherLeads = !leader.isEmpty() && !leader.equals(latch.getId()) && latch.getOurPath() != null;
        giveBack(latch);
        if (!otherLeads) {
            throw new IllegalStateException("not told that another leads");
        }
        return null;
    }

    @Override
    void giveBack(LeaderLatch latch) throws Exception {
        String node = latch.getOurPath();
        latch.close(); // it deletes the node in the background: what is asked next is answered after that
        if (node != null && client.checkExists().forPath(node) != null) {
            throw new IllegalStateException("the latch's node is still there");
        }
    }

    @Override
    String members(LeaderLatch latch) throws Exception {
        Stat stat = ours(latch.getOurPath());
        if (!latch.hasLeadership()) {
            throw new IllegalStateException("not the leader any more");
        }
        return "\"token\":" + stat.getCzxid() + ",";
    }
}
