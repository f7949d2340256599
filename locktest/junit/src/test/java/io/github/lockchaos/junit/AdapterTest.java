package io.github.lockchaos.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.BufferedReader;
import java.io.StringReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The adapter, asked as lockchaos asks it. */
@Execution(ExecutionMode.SAME_THREAD) // the locks of a test class are made without arguments, so their answers are static
class AdapterTest {
    private static final String HELLO =
            "{\"id\":1,\"op\":\"hello\",\"ttl_ms\":500,\"client\":\"c\\u0031\",\"service\":\"none\",\"nodes\":[\"h:1\"],\"timeout_ms\":1000}";

    private static Callable<Boolean> acquire = () -> true;
    private static Callable<Boolean> release = () -> true;
    private static Grant grant = new Grant();
    private static final List<String> LOG = Collections.synchronizedList(new ArrayList<>());

    /** A lock whose answers are given. */
    private static class Given extends ExaminedLock {
        @Override
        public boolean acquire(String key, Duration timeout) throws Exception {
            LOG.add("acquire " + key);
            return acquire.call();
        }

        @Override
        public boolean release(String key) throws Exception {
            LOG.add("release " + key);
            return release.call();
        }

        @Override
        public Grant grant(String key) {
            return grant;
        }
    }

    static class Locks {
        @LockExam(service = "none", busy = Exception.class, notHeld = IllegalStateException.class)
        ExaminedLock plain(ExamClient client) {
            assertEquals(List.of("h:1", "c1", Duration.ofMillis(500)), List.of(client.nodes().get(0), client.name(), client.ttl()));
            return new Given();
        }

        @LockExam(service = "none", falseIsBusy = true, validity = "library", token = "fencing", confirms = {"release", "renew"}, lostGraceMs = 0)
        ExaminedLock claiming() {
            return new Given() {
                @Override
                public boolean renew(String key) {
                    return true;
                }

                @Override
                public boolean held(String key) {
                    return false;
                }
            };
        }

        @LockExam(service = "none")
        ExaminedLock concurrent() {
            return ExaminedLock.of(key -> new ReentrantLock());
        }

        @LockExam(service = "none")
        ExaminedLock needy(String host) {
            return new Given();
        }
    }

    /** The replies to a hello and to these operations, as lines. */
    private static List<Map<String, Object>> asked(String method, String... ops) throws Exception {
        StringBuilder lines = new StringBuilder(HELLO);
        for (int i = 0; i < ops.length; i++) {
            lines.append("\n{\"id\":").append(i + 2).append(",\"op\":\"").append(ops[i]).append("\",\"key\":\"k0\",\"timeout_ms\":100}");
        }
        List<Map<String, Object>> said = Collections.synchronizedList(new ArrayList<>());
        Adapter.serve(Locks.class, method, new BufferedReader(new StringReader(lines.toString())), m -> said.add(Json.read(Json.write(m))));
        return said;
    }

    private static Object error(String method, String op) throws Exception {
        return asked(method, op).get(1).get("error");
    }

    private static <T> T thrown(Exception e) throws Exception {
        throw e;
    }

    @Test
    void onlyWhatIsDefiniteIsSaidToBe() throws Exception {
        acquire = () -> true;
        assertEquals(Map.of("id", 2L, "ok", true), asked("plain", "acquire").get(1));
        acquire = () -> false;
        assertEquals("unknown", error("plain", "acquire"));
        assertEquals("busy", error("claiming", "acquire"));
        acquire = () -> thrown(new IllegalStateException());
        assertEquals("busy", error("plain", "acquire"));
        assertEquals("unknown", error("claiming", "acquire"));
        acquire = () -> thrown(new NotHeld());
        assertEquals("unknown", error("claiming", "acquire"));
        release = () -> false;
        assertEquals("not_held", error("plain", "release"));
        release = () -> thrown(new IllegalStateException());
        assertEquals("not_held", error("plain", "release"));
        assertEquals("unknown", error("claiming", "release"));
        release = () -> thrown(new Busy());
        assertEquals("unknown", error("plain", "release"));
        assertEquals("unsupported", error("plain", "renew"));
        assertEquals("not_held", error("claiming", "held"));
    }

    @Test
    void aGrantSaysWhatIsClaimed() throws Exception {
        acquire = () -> true;
        grant = new Grant().token(1L << 60).validFor(Duration.ofMillis(400)).attempt(5);
        assertEquals(Map.of("id", 2L, "ok", true, "attempt_ns", "5"), asked("plain", "acquire").get(1));
        List<Map<String, Object>> said = asked("claiming", "acquire", "renew");
        assertEquals(Map.of("id", 2L, "ok", true, "attempt_ns", "5", "valid_for_ms", 400.0, "token", "1152921504606846976"), said.get(1));
        assertEquals(Map.of("id", 3L, "ok", true, "attempt_ns", "5", "valid_for_ms", 400.0), said.get(2));
        grant = new Grant();
    }

    @Test
    void claims() throws Exception {
        assertEquals(Map.of("id", 1L, "ok", true, "name", "plain"), asked("plain").get(0));
        assertEquals(Map.of("id", 1L, "ok", true, "name", "claiming", "validity", "library", "token", "fencing",
                "confirms", List.of("release", "renew"), "can", List.of("held"), "lost_grace_ms", 0.0), asked("claiming").get(0));
        Exception e = assertThrows(IllegalArgumentException.class, () -> asked("needy"));
        assertEquals(true, e.getMessage().contains("needs a java.lang.String, which lockchaos does not give"), e.getMessage());
    }

    /** Such a lock belongs to the thread that took it. */
    @Test
    void locksOfJavaUtilConcurrent() throws Exception {
        List<Map<String, Object>> said = asked("concurrent", "acquire", "release", "release", "renew");
        assertNull(said.get(1).get("error"));
        assertNull(said.get(2).get("error"));
        assertEquals("not_held", said.get(3).get("error"));
        assertEquals("unsupported", said.get(4).get("error"));
    }

    @Test
    void theTimeLimitIsKeptAndALateGrantGivenBack() throws Exception {
        LOG.clear();
        acquire = () -> {
            Thread.sleep(Client.GRACE.toMillis() + 1000);
            return true;
        };
        release = () -> true;
        List<Map<String, Object>> said = asked("plain", "acquire");
        assertEquals("unknown", said.get(1).get("error"));
        for (long end = System.nanoTime() + 60_000_000_000L; LOG.size() < 2 && System.nanoTime() < end;) {
            Thread.sleep(5);
        }
        assertEquals(List.of("acquire k0", "release k0"), LOG);
    }

    @Test
    void json() {
        String text = "{\"a\":[1,-2.5,true,null,\"\\\"\\u000a\\u00fc\"],\"b\":{}}";
        Map<String, Object> read = Json.read(" " + text + "\n");
        assertEquals(text, Json.write(read));
        for (String wrong : List.of("", "[]", "{\"a\":}", "{\"a\":1", "{\"a\":\"", "{} {}", "{\"a\":nul}", "{\"a\":\"\\x\"}")) {
            assertThrows(IllegalArgumentException.class, () -> Json.read(wrong), wrong);
        }
    }
}
