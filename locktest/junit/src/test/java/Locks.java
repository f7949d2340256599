import io.github.lockchaos.junit.ExamClient;
import io.github.lockchaos.junit.ExaminedLock;
import io.github.lockchaos.junit.LockExam;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/**
 * The locks of the conformance suite, in Java: see ../../../../frontends_test.go for what each comes to. No library: a test
 * of the frontend tests nothing else. {@code mvn test} passes it by, since the broken locks fail: {@code -Dtest=Locks}.
 */
class Locks {
    private static final String FREE =
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

    /** One connection, which is made anew when a call failed: a late answer must not be taken for the next one. */
    static class Redis {
        private final InetSocketAddress address;
        private Socket socket;

        Redis(String node) {
            int colon = node.lastIndexOf(':');
            address = new InetSocketAddress(node.substring(0, colon), Integer.parseInt(node.substring(colon + 1)));
        }

        String ask(String... words) throws IOException {
            try {
                if (socket == null) {
                    socket = new Socket();
                    socket.setSoTimeout(1000);
                    socket.connect(address, 1000);
                }
                StringBuilder request = new StringBuilder("*" + words.length + "\r\n");
                for (String w : words) {
                    request.append("$").append(w.length()).append("\r\n").append(w).append("\r\n");
                }
                socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.US_ASCII));
                return line(socket.getInputStream());
            } catch (IOException e) {
                socket.close();
                socket = null;
                throw e;
            }
        }

        private static String line(InputStream in) throws IOException {
            StringBuilder line = new StringBuilder();
            while (!line.toString().endsWith("\r\n")) {
                int c = in.read();
                if (c < 0) {
                    throw new IOException("the server closed the connection");
                }
                line.append((char) c);
            }
            return line.toString().trim();
        }
    }

    /** SET NX PX, and a release that compares. */
    static class Correct extends ExaminedLock {
        final Redis redis;
        final String ttl;
        private final Map<String, String> values = new HashMap<>();

        Correct(ExamClient client) {
            redis = new Redis(client.nodes().get(0));
            ttl = String.valueOf(client.ttl().toMillis());
        }

        boolean take(String key, String value) throws IOException {
            return redis.ask("SET", key, value, "NX", "PX", ttl).equals("+OK");
        }

        @Override
        public boolean acquire(String key, Duration timeout) throws Exception {
            long end = System.nanoTime() + timeout.toNanos();
            String value = UUID.randomUUID().toString();
            while (!take(key, value)) {
                if (System.nanoTime() + 10_000_000 > end) {
                    return false; // each request was answered, or it had thrown
                }
                Thread.sleep(10);
            }
            values.put(key, value);
            return true;
        }

        @Override
        public boolean release(String key) throws IOException {
            String value = values.remove(key);
            return redis.ask("EVAL", FREE, "1", key, value == null ? "" : value).equals(":1");
        }
    }

    @LockExam(service = "redis", validity = "from_invocation", confirms = "release", falseIsBusy = true,
            attacks = {"stop-release", "stop-work", "stop-long"})
    ExaminedLock correct(ExamClient client) {
        return new Correct(client);
    }

    @LockExam(service = "redis", validity = "from_invocation", confirms = "release", falseIsBusy = true, attacks = "stop-work", inherent = true)
    ExaminedLock strict(ExamClient client) {
        return new Correct(client);
    }

    /** Frees the key, whoever has it. */
    @LockExam(service = "redis", validity = "from_invocation", confirms = "release", falseIsBusy = true, attacks = "stop-release")
    ExaminedLock careless(ExamClient client) {
        return new Correct(client) {
            @Override
            public boolean release(String key) throws IOException {
                redis.ask("DEL", key);
                return true;
            }
        };
    }

    /** Has no expiry. */
    @LockExam(service = "redis", validity = "from_invocation", confirms = "release", falseIsBusy = true, attacks = "kill-work")
    ExaminedLock forever(ExamClient client) {
        return new Correct(client) {
            @Override
            boolean take(String key, String value) throws IOException {
                return redis.ask("SET", key, value, "NX").equals("+OK");
            }
        };
    }

    /** Refuses nobody. */
    @LockExam(service = "redis", validity = "from_invocation", confirms = "release", falseIsBusy = true, attacks = "nothing-work")
    ExaminedLock anyone(ExamClient client) {
        return new Correct(client) {
            @Override
            boolean take(String key, String value) {
                return true;
            }
        };
    }
}
