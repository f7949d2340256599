package io.github.lockchaos.junit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Has lockchaos examine the lock that the method returns. Each attack on it is a dynamic test.
 *
 * <pre>{@code
 * @LockExam(service = "redis", validity = "from_invocation", confirms = "release")
 * ExaminedLock orders(ExamClient client) {
 *     OrderLock lock = new OrderLock(client.nodes().get(0), client.ttl());
 *     return new ExaminedLock() {
 *         public boolean acquire(String key, Duration timeout) { return lock.tryLock(key, timeout); }
 *         public boolean release(String key) { return lock.unlock(key); }
 *     };
 * }
 * }</pre>
 *
 * <p>The method is never called in the test run. lockchaos calls it in a process for each client, on a new instance of
 * the class, without JUnit. Claims that are not made are not held against the lock. See docs/frameworks.md of lockchaos.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@TestFactory
@ExtendWith(LockExamExtension.class)
public @interface LockExam {
    /** What the lock needs: "redis", "etcd", … ({@code lockchaos list services}), or "none". */
    String service();

    /** The lease in milliseconds. 0: lockchaos chooses one. */
    int ttlMs() default 0;

    /** The names of the attacks to make. None: all that make sense. */
    String[] attacks() default {};

    /** Make the most telling third of the attacks. */
    boolean shortExam() default false;

    /** Make what fits into this time, such as "10m". */
    String budget() default "";

    /** Fail also by what no lease prevents. */
    boolean inherent() default false;

    /**
     * False of {@code acquire} says that another client holds the key, and that nothing of the attempt is left at the
     * service. Otherwise false leaves open what happened.
     */
    boolean falseIsBusy() default false;

    /** The exceptions of {@code acquire} that say the same. Every other one leaves open what happened. */
    Class<? extends Throwable>[] busy() default {};

    /** The exceptions of the other methods that say that the key is no longer this client's. */
    Class<? extends Throwable>[] notHeld() default {};

    // The claims of a hello (docs/protocol.md, Declaration). The values that stand here make no claim.

    /** What the report calls the lock. Empty: the method's name. */
    String name() default "";

    /** Until when a grant is promised: "from_invocation", "library" or "session". */
    String validity() default "";

    /** What the tokens of grants mean: "fencing", "version", "owner" or "none". */
    String token() default "";

    /** The operations whose success proves that the hold still stood: "release", "held", "renew". */
    String[] confirms() default {};

    /** The operations that prove nothing. Methods that the lock has are added. */
    String[] can() default {};

    /** The lock notices a loss within this time. */
    double lostGraceMs() default -1;

    /** How the lock learns of a loss: "undisturbed" or "alone". */
    String notices() default "";

    /** The faults of nodes that the lock withstands: "minority". */
    String tolerates() default "";

    /** After this time nothing is left of an acquire that failed. */
    double abandonsMs() default 0;

    /** The lease, if it cannot be chosen. */
    int leaseMs() default 0;

    /** Waiters are granted in the order in which they came. */
    boolean fair() default false;

    /** How many clients may hold a key at once. */
    int permits() default 0;

    /** How many permits an acquire may take. */
    int permitsPerAcquire() default 0;

    /** How many keys an acquire may take. */
    int multiKey() default 0;

    /** Grants have no expiry. */
    boolean noExpiry() default false;

    /** A client may acquire a key again that it holds. */
    boolean reentrant() default false;

    /** There are readers and writers. */
    boolean readWrite() default false;
}
