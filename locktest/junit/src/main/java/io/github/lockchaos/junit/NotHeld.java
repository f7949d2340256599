package io.github.lockchaos.junit;

/** The service says that the key is no longer this client's. */
public class NotHeld extends RuntimeException {
    private static final long serialVersionUID = 1;

    public NotHeld() {}

    public NotHeld(Throwable cause) {
        super(cause);
    }
}
