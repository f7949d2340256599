package io.github.lockchaos.junit;

/** Another client holds the key, and nothing of this acquire is left at the service. */
public class Busy extends RuntimeException {
    private static final long serialVersionUID = 1;

    public Busy() {}

    public Busy(Throwable cause) {
        super(cause);
    }
}
