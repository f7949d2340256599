// An instance of an order service that locks each order by Redisson, as an adapter for lockchaos.
//
//     java … orders.OrderService RLock|RFencedLock MEGABYTES INSTANCES
//
// The instances named (c1,c2) keep a cache of so many megabytes of orders, as long-lived services
// do. README.md beside pom.xml says how to run it, and what comes out.

package orders;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** One instance of the service. All that a lock's owner does it does on one thread, as Redisson asks for. */
public final class OrderService {
    /** An order as the service remembers it: 100 bytes of heap, in two objects, and its place in the cache. */
    private static final class Order {
        final long number;
        final byte[] details = new byte[48];
        final Order previous; // of the same customer

        Order(long number, Order previous) {
            this.number = number;
            this.previous = previous;
        }
    }

    /** What an order takes (bytes). */
    private static final int ORDER_BYTES = 100;

    private static final int CUSTOMERS = 1_000_000;

    private static final Pattern TEXT = Pattern.compile("\"(\\w+)\":\"([^\"]*)\"");
    private static final Pattern NUMBER = Pattern.compile("\"(\\w+)\":(\\d+)");
    private static final Pattern NODE = Pattern.compile("\"nodes\":\\[\"([^\"]+)\"");

    private final RedissonClient redis;
    private final boolean fenced;

    private OrderService(String node, long ttlMs, boolean fenced) {
        Config config = new Config();
        // The watchdog renews every third of this time, for as long as the process lives.
        config.setLockWatchdogTimeout(ttlMs);
        config.useSingleServer().setAddress("redis://" + node).setConnectionMinimumIdleSize(2).setConnectionPoolSize(4);
        redis = Redisson.create(config);
        this.fenced = fenced;
    }

    private String declare() {
        String version = Redisson.class.getPackage().getImplementationVersion();
        return "\"name\":\"Redisson " + (fenced ? "RFencedLock " : "RLock ") + version + "\""
                // Of RLock's documentation: the watchdog "prolongs lock expiration while lock holder Redisson instance is alive".
                + ",\"validity\":\"session\""
                // unlock() asks Redis who holds the lock, in one script, and throws if it is another.
                + ",\"confirms\":[\"release\"]"
                // Of RFencedLock's documentation: "fencing token is a monotonically increasing number".
                + (fenced ? ",\"token\":\"fencing\"" : "");
    }

    private String acquire(String key, long timeoutMs) throws InterruptedException {
        if (fenced) {
            Long token = redis.getFencedLock(key).tryLockAndGetToken(timeoutMs, TimeUnit.MILLISECONDS);
            return token == null ? open("the lock was not granted in time") : ",\"ok\":true,\"token\":" + token;
        }
        return redis.getLock(key).tryLock(timeoutMs, TimeUnit.MILLISECONDS) ? ",\"ok\":true" : open("the lock was not granted in time");
    }

    private String release(String key) {
        RLock lock = fenced ? redis.getFencedLock(key) : redis.getLock(key);
        try {
            lock.unlock();
        } catch (IllegalMonitorStateException e) { // "not locked by current thread"
            return ",\"ok\":false,\"error\":\"not_held\"";
        }
        return ",\"ok\":true";
    }

    /** An answer that leaves open what happened. */
    private static String open(String why) {
        return ",\"ok\":false,\"error\":\"unknown\",\"text\":\"" + why.replaceAll("[\"\\\\\\p{Cntrl}]", " ") + "\"";
    }

    private static Order[] cache(long megabytes) {
        Order[] cache = new Order[(int) (megabytes * 1024 * 1024 / ORDER_BYTES)];
        Order[] latest = new Order[CUSTOMERS];
        Random random = new Random(1);
        for (int n = 0; n < cache.length; n++) {
            int customer = random.nextInt(CUSTOMERS);
            cache[n] = latest[customer] = new Order(n, latest[customer]);
        }
        return cache;
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // for what a library may print
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        OrderService service = null;
        Order[] cache = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, String> request = new HashMap<>();
            for (Pattern p : new Pattern[] {TEXT, NUMBER}) {
                for (Matcher m = p.matcher(line); m.find();) {
                    request.put(m.group(1), m.group(2));
                }
            }
            if (!request.containsKey("id")) {
                continue; // a cancel, which is not declared
            }
            String answer;
            try {
                switch (request.get("op")) {
                    case "hello":
                        Matcher node = NODE.matcher(line);
                        node.find();
                        service = new OrderService(node.group(1), Long.parseLong(request.get("ttl_ms")), args[0].equals("RFencedLock"));
                        if (Arrays.asList(args[2].split(",")).contains(request.get("client"))) {
                            cache = cache(Long.parseLong(args[1]));
                            System.err.println(cache.length + " orders are in the cache");
                        }
                        answer = ",\"ok\":true," + service.declare();
                        break;
                    case "acquire":
                        answer = service.acquire(request.get("key"), Long.parseLong(request.get("timeout_ms")));
                        break;
                    case "release":
                        answer = service.release(request.get("key"));
                        break;
                    case "close":
                        service.redis.shutdown(0, 2, TimeUnit.SECONDS);
                        answer = ",\"ok\":true";
                        break;
                    default:
                        answer = ",\"ok\":false,\"error\":\"unsupported\"";
                }
            } catch (Exception e) {
                System.err.println(request.get("op") + ": " + e);
                answer = open(e.toString());
            }
            out.println("{\"id\":" + request.get("id") + answer + "}");
        }
        if (cache != null) { // it is in use until here
            System.err.println(cache.length + " orders were in the cache");
        }
    }
}
