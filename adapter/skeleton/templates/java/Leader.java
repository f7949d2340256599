// An adapter: a candidate for leadership in Java that lockchaos can test.
//
// lockchaos starts this program once for every replica, and speaks JSON lines with it: a request on standard input, its
// reply on standard output. The candidate stands for election by itself, and prints events that tell of its terms.
// lockchaos does the leader's work. See docs/protocol.md#candidates-for-leadership.
//
// As it stands this is a complete election on one Redis server, without any library: a key with an expiry, which the
// leader renews. Put your own in its place in this class, and say in `declare` what it promises.
//
//     javac Leader.java
//     lockchaos adapter test "java -XX:-UsePerfData -cp . Leader" --kind leader --service redis      what is missing or wrong, with the exchange that shows it
//     lockchaos exam --leader-cmd "java -XX:-UsePerfData -cp . Leader" --service redis
//
// Without -XX:-UsePerfData a Java that finds its file in /tmp/hsperfdata_USER taken by another prints so on standard output, where nothing but replies belong.

INCLUDE imports.java

/** Your election. One value is one replica. */
public class Leader {
    final long ttlMs; // how long a lease or session is to last
    final long ttl; // the same in ns
    final String client; // "c3": for values that a human can read in the service
    final Redis redis;

    Leader(String hello) {
        ttlMs = number(hello, "ttl_ms");
        ttl = ttlMs * 1_000_000;
        client = text(hello, "client");
        redis = new Redis(list(hello, "nodes").get(0)); // the service's addresses, "10.88.0.2:6379"
    }

    /** What may be concluded from the events, as JSON members. A claim that you do not make is not held against the election. */
    String declare() {
        return "\"name\":\"my-election 0.1\"" // with its version: it stands in the report
                + ",\"leader\":true"
                + ",\"validity\":\"session\"" // a term lasts until its loss is told. Leave it out for no claim.
                // Within which time a loss is told: the pause between two renewals, and the time that it takes to be heard.
                + ",\"lost_grace_ms\":" + (ttlMs / 3 + 500);
    }

    /** Stands for election again and again, on a thread of its own. */
    void run() throws InterruptedException {
        while (true) {
            String value = client + "-" + random(); // one for each term
            long began = now();
            if (ask(TAKE, value, began + ttl) == 1 && now() < began + ttl) {
                lead(value, began);
            }
            Thread.sleep(ttlMs / 20); // after a term, too: others are to have a chance
        }
    }

    /** Leads. Began is just before the request was sent that won the election. */
    void lead(String value, long began) throws InterruptedException {
        Work term = new Work(",\"attempt_ns\":" + began);
        long until = began + ttl; // by this machine's clock
        while (now() < until) {
            if (term.over.await(Math.min(until - now(), ttl / 3), TimeUnit.NANOSECONDS)) { // an orderly stop
                ask(FREE, value, until);
                term.done();
                return;
            }
            long asked = now();
            long kept = ask(EXTEND, value, until);
            if (kept == 0) {
                break;
            }
            if (kept == 1 && now() < until) {
                until = asked + ttl;
            }
        }
        term.lost("the lease is over");
    }

    /** 1 or 0 as the service says, before that instant; -1: it has not answered. */
    long ask(String script, String value, long until) {
        try {
            return redis.eval(script, List.of("leader"), List.of(value, Long.toString(ttlMs)), until);
        } catch (IOException | IllegalStateException e) {
            System.err.println(client + ": " + e);
            return -1;
        }
    }

    static final String TAKE = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0";
    static final String EXTEND = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0";
    static final String FREE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

    public static void main(String[] args) throws IOException {
        serve(hello -> {
            Leader mine = new Leader(hello);
            return new Served(mine.declare(), mine::run);
        });
    }

INCLUDE redis.java

INCLUDE events.java
}
