package io.github.lockchaos.junit;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Runs a lock of a test class for lockchaos: the protocol of adapters (docs/protocol.md) on the standard streams.
 *
 * <pre>java -cp … io.github.lockchaos.junit.Adapter CLASS METHOD</pre>
 *
 * <p>One process is one client.
 */
final class Adapter {
    private Adapter() {}

    public static void main(String[] args) {
        // What the test class prints is for people: the protocol has the standard output for itself.
        PrintStream protocol = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Consumer<Map<String, Object>> send = message -> {
            synchronized (protocol) {
                protocol.print(Json.write(message) + "\n");
                protocol.flush();
            }
        };
        try {
            serve(Class.forName(args[0]), args[1], new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)), send);
        } catch (Throwable e) {
            e.printStackTrace();
            System.err.flush();
            Runtime.getRuntime().halt(1);
        }
        Runtime.getRuntime().halt(0); // threads of the lock do not keep a client alive
    }

    /** The method of a test class that returns the lock. */
    static Method factory(Class<?> tests, String name) {
        for (Class<?> c = tests; c != null; c = c.getSuperclass()) {
            for (Method m : c.getDeclaredMethods()) {
                if (m.getName().equals(name) && m.isAnnotationPresent(LockExam.class)) {
                    return m;
                }
            }
        }
        throw new IllegalArgumentException(tests.getName() + " has no method " + name + " with @LockExam");
    }

    /** Answers requests until there are no more. */
    static void serve(Class<?> tests, String name, BufferedReader requests, Consumer<Map<String, Object>> send) throws Exception {
        Method factory = factory(tests, name);
        LockExam exam = factory.getAnnotation(LockExam.class);
        Client client = null;
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            Map<String, Object> request = Json.read(line);
            String op = (String) request.get("op");
            Map<String, Object> reply = new LinkedHashMap<>(Map.of("id", request.get("id"), "ok", true));
            if (op.equals("hello")) { // what goes wrong here ends the adapter, with its stack
                client = open(tests, factory, request, send);
                reply.putAll(client.declare());
            } else {
                try {
                    reply.putAll(client.answer(op, request));
                } catch (Throwable e) {
                    reply.put("ok", false);
                    reply.putAll(failed(op, e, exam));
                }
            }
            send.accept(reply);
        }
    }

    private static Client open(Class<?> tests, Method factory, Map<String, Object> hello, Consumer<Map<String, Object>> send)
            throws Exception {
        ExamClient context = new ExamClient(hello, (key, why) -> send.accept(Map.of("event", "lost", "key", key, "why", why)));
        return new Client(factory.getAnnotation(LockExam.class), factory.getName(), () -> lock(tests, factory, context));
    }

    /** Has the test class make the lock. */
    private static ExaminedLock lock(Class<?> tests, Method factory, ExamClient context) throws Exception {
        Object[] arguments = Arrays.stream(factory.getParameterTypes()).map(p -> {
            if (p != ExamClient.class) {
                throw new IllegalArgumentException(factory + " needs a " + p.getName() + ", which lockchaos does not give: it gives an ExamClient");
            }
            return context;
        }).toArray();
        Constructor<?> constructor = tests.getDeclaredConstructor();
        constructor.setAccessible(true);
        factory.setAccessible(true);
        Object lock = factory.invoke(constructor.newInstance(), arguments);
        if (lock instanceof ExaminedLock) {
            return (ExaminedLock) lock;
        }
        throw new IllegalArgumentException(factory + " returned " + lock + ", which is no ExaminedLock");
    }

    /** The members of a reply that tell a failure. What is not known to be definite is open. */
    static Map<String, Object> failed(String op, Throwable error, LockExam exam) throws IOException {
        if (error instanceof UnsupportedOperationException && op.equals(error.getMessage())) {
            return Map.of("error", "unsupported");
        }
        if (op.equals("acquire")) {
            if (error instanceof Busy || named(exam.busy(), error)) {
                return Map.of("error", "busy");
            }
        } else if (error instanceof NotHeld || named(exam.notHeld(), error)) {
            return Map.of("error", "not_held");
        }
        System.err.print(op + ": ");
        error.printStackTrace();
        return Map.of("error", "unknown", "text", error.toString());
    }

    private static boolean named(Class<? extends Throwable>[] kinds, Throwable error) {
        return !(error instanceof Client.Open) && Arrays.stream(kinds).anyMatch(k -> k.isInstance(error));
    }
}
