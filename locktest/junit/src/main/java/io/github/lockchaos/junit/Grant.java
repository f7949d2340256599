package io.github.lockchaos.junit;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** What a lock says of a grant, besides that there is one (docs/protocol.md, Replies). */
public final class Grant {
    private final Map<String, Object> members = new LinkedHashMap<>();

    private Grant with(String name, Object value) {
        members.put(name, value);
        return this;
    }

    /** Its token, if the lock claims to have one. */
    public Grant token(long token) {
        return with("token", Long.toString(token));
    }

    /** How long it is valid, counted from the attempt. For locks that claim the validity "library". */
    public Grant validFor(Duration time) {
        return with("valid_for_ms", time.toNanos() / 1e6);
    }

    /** System.nanoTime() just before the request that took the lock. */
    public Grant attempt(long nanoTime) {
        return with("attempt_ns", Long.toString(nanoTime));
    }

    /** System.nanoTime() before the first request that may have been this grant. */
    public Grant first(long nanoTime) {
        return with("first_ns", Long.toString(nanoTime));
    }

    /** System.nanoTime() after the service had put the waiter into its queue. */
    public Grant enqueued(long nanoTime) {
        return with("enqueued_ns", Long.toString(nanoTime));
    }

    /** The members of the protocol's reply. */
    Map<String, Object> members() {
        return members;
    }
}
