package io.github.lockchaos.junit;

/** lockchaos could not do what it was asked, which says nothing of the lock: its own words. */
public class LockchaosException extends RuntimeException {
    private static final long serialVersionUID = 1;

    LockchaosException(String message) {
        super(message);
    }

    LockchaosException(String message, Throwable cause) {
        super(message, cause);
    }
}
