package io.github.lockchaos.junit;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/** One client of an exam: what a lock is made of (docs/protocol.md, Requests). */
public final class ExamClient {
    private final Map<String, Object> hello;
    private final BiConsumer<String, String> lost;

    ExamClient(Map<String, Object> hello, BiConsumer<String, String> lost) {
        this.hello = hello;
        this.lost = lost;
    }

    /** The service's addresses, as host:port. */
    @SuppressWarnings("unchecked") // the protocol says so
    public List<String> nodes() {
        return (List<String>) hello.getOrDefault("nodes", List.of());
    }

    /** The lease to ask for. */
    public Duration ttl() {
        return Duration.ofMillis(((Number) hello.get("ttl_ms")).longValue());
    }

    /** The client's name. */
    public String name() {
        return (String) hello.get("client");
    }

    /** The service's name. */
    public String service() {
        return (String) hello.get("service");
    }

    /** A folder that all clients share, for locks on files. */
    public Path dir() {
        return Path.of((String) hello.get("dir"));
    }

    /** For what the lock draws at random, but not for the values that identify its grants. */
    public long seed() {
        return ((Number) hello.getOrDefault("seed", 0)).longValue();
    }

    /** User, password and database, where the service has accounts. */
    @SuppressWarnings("unchecked") // the protocol says so
    public Map<String, String> account() {
        return (Map<String, String>) hello.getOrDefault("account", Map.of());
    }

    /** Tells that the lock has noticed the loss of a key. Any thread may do so. */
    public void lost(String key, String why) {
        lost.accept(key, why);
    }
}
