package io.github.lockchaos.junit;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/** One client: the lock, on a thread of its own, and what lockchaos asks of it. */
final class Client {
    /** How long a call may go on after its time, so that a lock that has waited for all of it can still say what came of it. */
    static final Duration GRACE = Duration.ofSeconds(1);

    /** It is open what happened, whatever exceptions the lock has names for. */
    static final class Open extends Exception {
        private static final long serialVersionUID = 1;

        Open(String message) {
            super(message);
        }
    }

    private static final Set<String> STAMPS = Set.of("attempt_ns", "first_ns", "enqueued_ns");

    private final LockExam exam;
    private final String name;
    // One thread, since many locks belong to the thread that took them.
    private final ExecutorService thread = Executors.newSingleThreadExecutor(r -> {
        Thread made = new Thread(r, "lock");
        made.setDaemon(true);
        return made;
    });
    private final ExaminedLock lock;

    Client(LockExam exam, String name, Callable<ExaminedLock> factory) throws Exception {
        this.exam = exam;
        this.name = name;
        this.lock = within(Duration.ofSeconds(30), factory, () -> {});
    }

    /** The reply to the hello: the claims, and what the lock can besides. */
    Map<String, Object> declare() throws NoSuchMethodException {
        Map<String, Object> claims = new LinkedHashMap<>();
        claims.put("name", exam.name().isEmpty() ? name : exam.name());
        claim(claims, "validity", exam.validity(), !exam.validity().isEmpty());
        claim(claims, "token", exam.token(), !exam.token().isEmpty());
        claim(claims, "confirms", List.of(exam.confirms()), exam.confirms().length > 0);
        claim(claims, "can", can(), !can().isEmpty());
        claim(claims, "lost_grace_ms", exam.lostGraceMs(), exam.lostGraceMs() >= 0);
        claim(claims, "notices", exam.notices(), !exam.notices().isEmpty());
        claim(claims, "tolerates", exam.tolerates(), !exam.tolerates().isEmpty());
        claim(claims, "abandons_ms", exam.abandonsMs(), exam.abandonsMs() != 0);
        claim(claims, "lease_ms", exam.leaseMs(), exam.leaseMs() != 0);
        claim(claims, "permits", exam.permits(), exam.permits() != 0);
        claim(claims, "permits_per_acquire", exam.permitsPerAcquire(), exam.permitsPerAcquire() != 0);
        claim(claims, "multi_key", exam.multiKey(), exam.multiKey() != 0);
        claim(claims, "fair", true, exam.fair());
        claim(claims, "no_expiry", true, exam.noExpiry());
        claim(claims, "reentrant", true, exam.reentrant());
        claim(claims, "read_write", true, exam.readWrite());
        return claims;
    }

    private static void claim(Map<String, Object> claims, String claim, Object value, boolean made) {
        if (made) {
            claims.put(claim, value);
        }
    }

    private List<String> can() throws NoSuchMethodException {
        List<String> can = new ArrayList<>(List.of(exam.can()));
        for (String op : List.of("held", "renew")) {
            boolean has = lock.getClass().getMethod(op, String.class).getDeclaringClass() != ExaminedLock.class;
            if (has && !can.contains(op) && !List.of(exam.confirms()).contains(op)) {
                can.add(op);
            }
        }
        return can;
    }

    /** Carries out an operation, and returns what its reply says besides. */
    Map<String, Object> answer(String op, Map<String, Object> request) throws Exception {
        Duration timeout = Duration.ofMillis(((Number) request.get("timeout_ms")).longValue());
        Duration limit = timeout.plus(GRACE);
        String key = (String) request.get("key");
        switch (op) {
            case "acquire":
                return within(limit, () -> acquire(key, new Wanted(request, timeout)), () -> lock.release(key));
            case "renew":
                return within(limit, () -> {
                    confirmed(lock.renew(key));
                    return said(key, false);
                }, () -> {});
            case "held":
                return within(limit, () -> confirmed(lock.held(key)), () -> {});
            case "release":
                return within(limit, () -> confirmed(lock.release(key)), () -> {});
            case "close":
                return within(timeout, () -> {
                    lock.close();
                    return Map.of();
                }, () -> {});
            default:
                throw new UnsupportedOperationException(op);
        }
    }

    private Map<String, Object> acquire(String key, Wanted wanted) throws Exception {
        if (lock.acquire(wanted)) {
            return said(key, true);
        }
        if (exam.falseIsBusy()) {
            throw new Busy();
        }
        throw new Open("acquire returned false, which leaves open whether it took the key (falseIsBusy says that it did not)");
    }

    private static Map<String, Object> confirmed(boolean held) {
        if (!held) {
            throw new NotHeld();
        }
        return Map.of();
    }

    /** What the lock says of a grant. A renewal has neither a token nor a place in a queue. */
    private Map<String, Object> said(String key, boolean granted) throws Exception {
        Map<String, Object> members = new LinkedHashMap<>(lock.grant(key).members());
        if (!granted) {
            members.keySet().retainAll(Set.of("valid_for_ms", "attempt_ns"));
        }
        boolean tokens = !exam.token().isEmpty() && !exam.token().equals("none");
        members.keySet().removeIf(m -> !(STAMPS.contains(m) || m.equals("token") && tokens || m.equals("valid_for_ms") && exam.validity().equals("library")));
        return members;
    }

    /** What is done if a call succeeds when nobody waits for it any more. */
    private interface TooLate {
        void run() throws Exception;
    }

    /** Waits for a call that keeps to its time. One that has not begun by then never does. */
    private <T> T within(Duration limit, Callable<T> call, TooLate tooLate) throws Exception {
        CompletableFuture<T> result = new CompletableFuture<>();
        AtomicBoolean settled = new AtomicBoolean();
        thread.execute(() -> {
            if (!settled.get()) {
                carryOut(call, result, settled, tooLate);
            }
        });
        try {
            return result.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            if (settled.compareAndSet(false, true)) {
                throw new Open("no answer within the time limit");
            }
            return value(result); // it ended just now
        } catch (ExecutionException e) {
            return value(result);
        }
    }

    private static <T> void carryOut(Callable<T> call, CompletableFuture<T> result, AtomicBoolean settled, TooLate tooLate) {
        try {
            T made = call.call();
            if (settled.compareAndSet(false, true)) {
                result.complete(made);
            } else {
                tooLate.run();
            }
        } catch (Throwable e) {
            settled.set(true);
            result.completeExceptionally(e);
        }
    }

    /** The result of a call that is over, or what it threw. */
    private static <T> T value(CompletableFuture<T> result) throws Exception {
        try {
            return result.get();
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            if (cause instanceof java.lang.reflect.InvocationTargetException) {
                cause = cause.getCause();
            }
            if (cause instanceof Error) {
                throw (Error) cause;
            }
            throw (Exception) cause;
        }
    }
}
