// An adapter: an instance of a scheduler in Java that lockchaos can test.
//
// lockchaos starts this program once for every instance, and speaks JSON lines with it: a request on standard input, its
// reply on standard output. The instance decides by itself when it executes the job, and prints events that tell of it.
// lockchaos does the job's work. See docs/protocol.md#instances-of-a-scheduler.
//
// As it stands this is a complete scheduler on one Redis server, without any library: SET NX PX, with a key for each
// tick. Put your own scheduler in its place in this class, and say in `declare` what it promises.
//
//     javac Job.java
//     lockchaos adapter test "java -XX:-UsePerfData -cp . Job" --kind job --service redis      what is missing or wrong, with the exchange that shows it
//     lockchaos exam --job-cmd "java -XX:-UsePerfData -cp . Job" --service redis
//
// Without -XX:-UsePerfData a Java that finds its file in /tmp/hsperfdata_USER taken by another prints so on standard output, where nothing but replies belong.

INCLUDE imports.java

/** Your scheduler. One value is one instance. */
public class Job {
    static final long MEMORY_MS = 300_000; // for how long a tick is remembered: far longer than clocks differ

    final long every; // the job is due whenever the wall clock shows a whole multiple of it, in ms since 1970
    final String client; // "c3": for values that a human can read in the service
    final Redis redis;

    Job(String hello) {
        every = number(hello, "every_ms");
        // number(hello, "ttl_ms") is how long an execution is to be an instance's own, for a scheduler with leases.
        client = text(hello, "client");
        redis = new Redis(list(hello, "nodes").get(0)); // the service's addresses, "10.88.0.2:6379"
    }

    /** What may be concluded from the events, as JSON members. A claim that you do not make is not held against the scheduler. */
    String declare() {
        return "\"name\":\"my-scheduler 0.1\"" // with its version: it stands in the report
                // at-most-once: no tick is executed twice. at-least-once: one is executed again only when its first
                // instance has lost it.
                + ",\"job\":\"at-most-once\""
                + ",\"overlap\":true" // two executions may run at a time. Leave it out for no.
                // What becomes of a tick that no instance could execute in time: skip, once or all. Leave it out for no claim.
                + ",\"misfire\":\"skip\""
                + ",\"handover_ms\":1500"; // how long after the death of an instance a tick may find no other one
    }

    /** Executes the job again and again, on a thread of its own. Begin with the first tick after the hello. */
    void run() throws InterruptedException {
        long last = due();
        while (true) {
            long tick = due();
            if (tick <= last) {
                Thread.sleep(5);
                continue;
            }
            last = tick;
            long began = now();
            try {
                if (redis.eval(CLAIM, List.of("cron:" + tick), List.of(client, Long.toString(MEMORY_MS)), now() + SECOND) != 1) {
                    continue;
                }
            } catch (IOException | IllegalStateException e) {
                // No answer: the tick may be claimed. Nobody will know, so it is lost.
                System.err.println("claim tick " + tick + ": " + e);
                continue;
            }
            execute(tick, began);
        }
    }

    /** The latest tick that was due, in ms since 1970. */
    long due() {
        return System.currentTimeMillis() / every * every;
    }

    /** Executes a tick. Began is just before the request was sent that claimed it: leave out what you do not know. */
    void execute(long tick, long began) throws InterruptedException {
        Work work = new Work(",\"tick\":" + tick + ",\"attempt_ns\":" + began);
        work.over.await(); // lockchaos works now
        try {
            redis.eval(MARK, List.of("cron:" + tick), List.of("done by " + client), now() + SECOND);
        } catch (IOException | IllegalStateException e) {
            System.err.println("mark tick " + tick + ": " + e);
            return; // nobody knows whether it is marked as done, so say nothing
        }
        work.done();
        // A scheduler that finds that it has lost the execution says: work.lost("the lease was over")
    }

    static final String CLAIM = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0";
    static final String MARK = "if redis.call('SET', KEYS[1], ARGV[1], 'XX', 'KEEPTTL') then return 1 end return 0";

    static final long SECOND = 1_000_000_000;

    public static void main(String[] args) throws IOException {
        serve(hello -> {
            Job mine = new Job(hello);
            return new Served(mine.declare(), mine::run);
        });
    }

INCLUDE redis.java

INCLUDE events.java
}
