package io.github.lockchaos.junit;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** What a client wants of an acquire (docs/protocol.md, Requests). */
public final class Wanted {
    private final Map<String, Object> request;
    private final Duration timeout;

    Wanted(Map<String, Object> request, Duration timeout) {
        this.request = request;
        this.timeout = timeout;
    }

    /** The key; of several the first. */
    public String key() {
        return (String) request.get("key");
    }

    /** How long to wait at most. */
    public Duration timeout() {
        return timeout;
    }

    /** "read" or "write" of a lock that claims {@code readWrite}, else null. */
    public String mode() {
        return (String) request.get("mode");
    }

    /** How many permits. 1 of a lock that does not claim {@code permitsPerAcquire}. */
    public int permits() {
        return ((Number) request.getOrDefault("permits", 1)).intValue();
    }

    /** All keys, of which there are several only if the lock claims {@code multiKey}. */
    @SuppressWarnings("unchecked") // the protocol says so
    public List<String> keys() {
        return (List<String>) request.getOrDefault("keys", List.of(key()));
    }
}
