/** Fills its heap, and prints the monotonic clock again and again: a program that shows when it ran. */
public class Ticks {
    static final class Node {
        final Node next;
        final long number;

        Node(Node next, long number) {
            this.next = next;
            this.number = number;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Node[] chains = new Node[1 << 16];
        java.util.Random random = new java.util.Random(1);
        for (long n = 0; n < Long.parseLong(args[0]); n++) {
            int chain = random.nextInt(chains.length);
            chains[chain] = new Node(chains[chain], n);
        }
        while (chains.length > 0) {
            System.out.println(System.nanoTime());
            Thread.sleep(1);
        }
    }
}
