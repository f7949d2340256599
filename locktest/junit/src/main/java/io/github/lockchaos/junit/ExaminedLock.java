package io.github.lockchaos.junit;

import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.junit.jupiter.api.DynamicNode;

/**
 * A lock as lockchaos uses it, by one thread, one call at a time. What {@code renew} and {@code held} are not
 * overridden, the lock cannot.
 *
 * <p>An exception leaves open what happened, unless it is {@link Busy}, {@link NotHeld}, or one that the
 * {@link LockExam} names.
 */
public abstract class ExaminedLock implements Iterable<DynamicNode> {
    /**
     * Takes the key, and waits for it for the timeout at most. False leaves open what happened, unless the exam has
     * {@code falseIsBusy}.
     */
    public abstract boolean acquire(String key, Duration timeout) throws Exception;

    /** Takes what is wanted, of a lock with modes, permits, or several keys in a grant. */
    public boolean acquire(Wanted wanted) throws Exception {
        return acquire(wanted.key(), wanted.timeout());
    }

    /** Gives the key back. False says that it was no longer this client's. */
    public abstract boolean release(String key) throws Exception;

    /** Starts the lease anew. False says that the key is no longer this client's. */
    public boolean renew(String key) throws Exception {
        throw new UnsupportedOperationException("renew");
    }

    /** Asks whether the key is still this client's. */
    public boolean held(String key) throws Exception {
        throw new UnsupportedOperationException("held");
    }

    /** What the lock says of the grant that it has just made or renewed: its token, how long it is valid, stamps. */
    public Grant grant(String key) throws Exception {
        return new Grant();
    }

    /** Ends sessions and connections. */
    public void close() throws Exception {}

    /** Locks of java.util.concurrent's kind, such as Redisson's: one for each key. */
    public static ExaminedLock of(Function<String, ? extends Lock> locks) {
        Map<String, Lock> known = new HashMap<>();
        return new ExaminedLock() {
            private Lock of(String key) {
                return known.computeIfAbsent(key, locks);
            }

            @Override
            public boolean acquire(String key, Duration timeout) throws InterruptedException {
                return of(key).tryLock(timeout.toMillis(), TimeUnit.MILLISECONDS);
            }

            @Override
            public boolean release(String key) {
                try {
                    of(key).unlock();
                    return true;
                } catch (IllegalMonitorStateException e) { // by the contract of unlock: the thread does not hold the lock
                    throw new NotHeld(e);
                }
            }
        };
    }

    /** There because Jupiter wants to see a container of tests. The tests are made by the {@link LockExam}. */
    @Override
    public final Iterator<DynamicNode> iterator() {
        throw new IllegalStateException("a method that returns an ExaminedLock is annotated with @LockExam, not with @TestFactory");
    }
}
