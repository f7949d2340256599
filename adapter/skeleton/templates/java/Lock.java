// An adapter: a lock in Java that lockchaos can test.
//
// lockchaos starts this program once for every client, and speaks JSON lines with it: a request on standard input, its
// reply on standard output. It is one client, asked one thing at a time. See docs/protocol.md.
//
// As it stands this is a complete lock on one Redis server, without any library: SET NX PX, with a fencing token from a
// counter. Put your own lock in its place in this class, and say in `declare` what it promises.
//
//     javac Lock.java
//     lockchaos adapter test "java -XX:-UsePerfData -cp . Lock" --service redis      what is missing or wrong, with the exchange that shows it
//     lockchaos run quick --lock-cmd "java -XX:-UsePerfData -cp . Lock" --service redis
//
// Without -XX:-UsePerfData a Java that finds its file in /tmp/hsperfdata_USER taken by another prints so on standard output, where nothing but replies belong.

import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Your lock. One instance is one client. */
public class Lock {
    /**
     * A failure that is definite: nothing happened, and nothing will.
     *
     * <p>busy: another holds the key. not_held: the service says that it is no longer ours. unsupported: no such operation.
     * Anything else that goes wrong (a timeout, a broken connection) leaves open whether it happened: throw what you like.
     */
    static class Failure extends Exception {
        Failure(String word) {
            super(word);
        }
    }

    final long ttlMs; // how long a lease or session is to last
    final String client; // "c3": for values that a human can read in the service
    final Redis redis;
    final Map<String, String> values = new HashMap<>(); // the value under which each key is ours
    final SecureRandom random = new SecureRandom();

    Lock(List<String> nodes, long ttlMs, String client) {
        this.ttlMs = ttlMs;
        this.client = client;
        this.redis = new Redis(nodes.get(0)); // the service's addresses, "10.88.0.2:6379"
        // "account" in the hello is a user, password and database, for a library that insists on them (docs/protocol.md).
    }

    /** The clock that all processes of the machine share, in ns (CLOCK_MONOTONIC on Linux). Take stamps from this one only. */
    static long now() {
        return System.nanoTime();
    }

    /** What may be concluded from the answers, as JSON members. A claim that you do not make is not held against the lock. */
    String declare() {
        return "\"name\":\"my-lock 0.1\"" // with its version: it stands in the report
                // How long a grant is good for. from_invocation: the TTL, from the start of the attempt that succeeded.
                // session: until a lost-event. library: as long as valid_for_ms says. Leave it out for no claim.
                + ",\"validity\":\"from_invocation\""
                // fencing: a number that rises with every grant, so that a store can refuse older ones. Else "none".
                + ",\"token\":\"fencing\""
                // Ops whose ok proves that the lock was still held. Release here compares before it deletes, so its ok does.
                + ",\"confirms\":[\"release\",\"held\",\"renew\"]";
    }

    /** Takes the key before the end, or throws: Failure("busy") if another clearly holds it. */
    String acquire(String key, long end) throws Exception {
        byte[] bytes = new byte[8];
        random.nextBytes(bytes);
        String value = client + "-" + HexFormat.of().formatHex(bytes);
        long first = 0; // when the first attempt began that may have taken effect
        while (true) {
            long began = now();
            long token = 0;
            try {
                // An attempt that is under way when the time is over is given a moment more: cut off, it would be an open question.
                token = redis.eval(TAKE, List.of(key, key + ":token"), List.of(value, Long.toString(ttlMs)), end + 200_000_000);
            } catch (IOException e) {
                // No answer: the server may have taken the key for us, or may yet. Try again while there is time.
                first = first == 0 ? began : first;
            }
            if (token > 0 && now() - began < ttlMs * 1_000_000) {
                values.put(key, value);
                return "\"token\":" + token + ",\"attempt_ns\":" + began + ",\"first_ns\":" + (first == 0 ? began : first);
            }
            if (token > 0 && first == 0) {
                first = began; // an answer that came too late is no grant
            }
            if (now() + 10_000_000 >= end) {
                break;
            }
            Thread.sleep(10);
        }
        if (first == 0) {
            throw new Failure("busy");
        }
        throw new IOException("an attempt was not answered: it may hold the key until its TTL is over");
    }

    /** Returns if the key is still ours. If your lock can't be asked, throw Failure("unsupported"), and take "held" out of declare. */
    String held(String key, long end) throws Exception {
        return one(HAS, key, List.of(value(key)), end);
    }

    /** Lets the lease begin anew. If your lock renews itself, or never, throw Failure("unsupported"), and take "renew" out of declare. */
    String renew(String key, long end) throws Exception {
        long began = now();
        one(EXTEND, key, List.of(value(key), Long.toString(ttlMs)), end);
        return "\"attempt_ns\":" + began;
    }

    /** Gives the key back. */
    String release(String key, long end) throws Exception {
        one(FREE, key, List.of(value(key)), end);
        values.remove(key);
        return "";
    }

    /** Gives up connections, and the session if there is one. */
    String close() {
        redis.close();
        return "";
    }

    private String value(String key) {
        return values.getOrDefault(key, "");
    }

    /** Runs a script that answers 1 if the key is ours. */
    private String one(String script, String key, List<String> args, long end) throws Exception {
        if (redis.eval(script, List.of(key), args, end) != 1) {
            throw new Failure("not_held");
        }
        return "";
    }

    // A lock that notices by itself that it is lost says so, at any time, from any thread:
    //     send("{\"event\":\"lost\",\"key\":" + quote(key) + ",\"why\":\"session expired\"}");
    // Where grants rest on a session declare "sessions": true, and tell it with each: "session": "0x1f" (docs/protocol.md).
    // A lock that waits long can be told to give a wait up: declare "can": ["cancel"], and read standard input meanwhile (docs/protocol.md).

    static final String TAKE = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end return 0";
    static final String HAS = "if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end return 0";
    static final String EXTEND = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0";
    static final String FREE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

INCLUDE redis.java

    // What follows speaks the protocol; it can stay as it is.

    static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    /** Prints one line. */
    static synchronized void send(String line) {
        OUT.print(line + "\n");
        OUT.flush();
    }

    String answer(String op, String key, long end) throws Exception {
        return switch (op) {
            case "acquire" -> acquire(key, end);
            case "held" -> held(key, end);
            case "renew" -> renew(key, end);
            case "release" -> release(key, end);
            case "close" -> close();
            default -> throw new Failure("unsupported");
        };
    }

    public static void main(String[] args) throws IOException {
        System.setOut(System.err); // what a library prints does not belong among the replies
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Lock lock = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String op = text(line, "op");
            String reply = "{\"id\":" + number(line, "id") + ",\"ok\":";
            try {
                String more;
                if (op.equals("hello")) {
                    lock = new Lock(list(line, "nodes"), number(line, "ttl_ms"), text(line, "client"));
                    more = lock.declare();
                } else {
                    more = lock.answer(op, text(line, "key"), now() + number(line, "timeout_ms") * 1_000_000);
                }
                send(reply + "true" + (more.isEmpty() ? "" : ",") + more + "}");
            } catch (Failure e) {
                send(reply + "false,\"error\":" + quote(e.getMessage()) + "}");
            } catch (Exception e) { // whatever it was: it may have happened, or not
                e.printStackTrace();
                send(reply + "false,\"error\":\"unknown\",\"text\":" + quote(e.toString()) + "}");
            }
        }
        System.exit(0); // a library's threads would keep the process alive
    }

INCLUDE json.java
}
