import java.io.*;
import java.util.concurrent.locks.LockSupport;

/** Answers each line with its clocks: wall ms, monotonic ns, and how long what the line asked for took on the latter. */
class Clock {
	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		Object nobody = new Object();
		for (String line; (line = in.readLine()) != null; ) {
			long began = System.nanoTime();
			switch (line) {
			case "sleep" -> Thread.sleep(50);
			case "long" -> Thread.sleep(2000);
			case "until" -> {
				// parkUntil may return early, for no reason.
				for (long until = System.currentTimeMillis() + 50; System.currentTimeMillis() < until; ) LockSupport.parkUntil(until);
			}
			case "wait" -> {
				synchronized (nobody) { nobody.wait(50); }
			}
			default -> { }
			}
			System.out.println(System.currentTimeMillis() + " " + System.nanoTime() + " " + (System.nanoTime() - began));
		}
	}
}
