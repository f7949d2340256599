package orders;

import io.github.lockchaos.junit.ExamClient;
import io.github.lockchaos.junit.ExaminedLock;
import io.github.lockchaos.junit.LockExam;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.params.SetParams;

/**
 * A lock with Jedis, examined. To see it fall, let release delete the key without a look at its value, which frees the
 * key of whoever has it.
 */
class OrdersTest {
    /** The lock of the program under test: SET NX PX, and a release that compares. */
    static class OrderLock {
        private static final String FREE =
                "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

        private final JedisPooled redis;
        private final SetParams free;
        private final Map<String, String> values = new HashMap<>();

        OrderLock(String node, Duration ttl) {
            redis = new JedisPooled(HostAndPort.from(node));
            free = SetParams.setParams().nx().px(ttl.toMillis());
        }

        boolean tryLock(String key, Duration timeout) throws InterruptedException {
            String value = UUID.randomUUID().toString();
            for (long end = System.nanoTime() + timeout.toNanos(); redis.set(key, value, free) == null; Thread.sleep(10)) {
                if (System.nanoTime() > end) {
                    return false;
                }
            }
            values.put(key, value);
            return true;
        }

        boolean unlock(String key) {
            return redis.eval(FREE, List.of(key), List.of(values.getOrDefault(key, ""))).equals(1L);
        }
    }

    @LockExam(
            service = "redis",
            validity = "from_invocation", // SET NX PX: the lease counts from the request
            confirms = "release", // it compares the value that the key has
            falseIsBusy = true, // the server has refused every try; what it does not answer throws
            attacks = {"nothing-work", "stop-work", "stop-release", "kill-work"}) // leave it out for all
    ExaminedLock orders(ExamClient client) {
        OrderLock lock = new OrderLock(client.nodes().get(0), client.ttl());
        return new ExaminedLock() {
            @Override
            public boolean acquire(String key, Duration timeout) throws InterruptedException {
                return lock.tryLock(key, timeout);
            }

            @Override
            public boolean release(String key) {
                return lock.unlock(key);
            }
        };
    }
}
