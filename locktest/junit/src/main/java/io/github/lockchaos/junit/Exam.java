package io.github.lockchaos.junit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/** The exam of one lock: its attacks as tests, which are made by one run of the command, several at once. */
final class Exam {
    private static final String INHERENT = "fell: inherent";
    /** What an attack may come to without failing its test. */
    private static final Set<String> HARMLESS = Set.of("stood", "fell: what it relies on broke", INHERENT);

    private final LockExam options;
    private final Class<?> tests;
    private final Method method;
    private final String seed;
    private Command.Listing listing;
    private List<String> together = List.of();
    private Command.Run run;
    private Path folder;
    private boolean kept;
    private final Set<String> standIns = new HashSet<>();

    Exam(Class<?> tests, Method method) {
        this.tests = tests;
        this.method = method;
        this.options = method.getAnnotation(LockExam.class);
        String given = System.getenv("LOCKCHAOS_SEED");
        this.seed = given == null ? String.valueOf(ThreadLocalRandom.current().nextInt(1, 1_000_000)) : given;
    }

    /** What this machine lacks, null if it lacks nothing. */
    String lacking() {
        String system = System.getProperty("os.name");
        if (!system.equals("Linux")) {
            return "lockchaos runs on Linux, and this is " + system;
        }
        return listing().lacking;
    }

    private Command.Listing listing() {
        if (listing == null) {
            List<String> words = words();
            if (options.shortExam() || "1".equals(System.getenv("LOCKCHAOS_SHORT"))) {
                words.add("--short");
            }
            if (!options.budget().isEmpty()) {
                words.addAll(List.of("--budget", options.budget()));
            }
            listing = Command.listed(words);
        }
        return listing;
    }

    /** The words of {@code lockchaos exam} that say which lock it is. */
    private List<String> words() {
        String path = Stream.of("java.class.path", "jdk.module.path").map(System::getProperty).filter(p -> p != null && !p.isEmpty())
                .collect(Collectors.joining(System.getProperty("path.separator")));
        // Without -XX:-UsePerfData Java may print on the standard output. The other two let a client start early.
        String adapter = Stream.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:-UsePerfData", "-Xshare:auto",
                "-XX:TieredStopAtLevel=1", "-cp", path, Adapter.class.getName(), tests.getName(), method.getName())
                .map(Command::quoted).collect(Collectors.joining(" "));
        List<String> words = new ArrayList<>(List.of("--lock-cmd", adapter, "--service", options.service()));
        if (options.ttlMs() != 0) {
            words.addAll(List.of("--ttl", options.ttlMs() + "ms"));
        }
        return words;
    }

    /** A test of each attack. */
    List<DynamicTest> tests() {
        List<Map<String, Object>> chosen = chosen();
        together = chosen.stream().filter(e -> why(e) == null).map(e -> (String) e.get("attack")).collect(Collectors.toList());
        return chosen.stream().map(e -> DynamicTest.dynamicTest(method.getName() + ": " + e.get("attack"), () -> attack(e))).collect(Collectors.toList());
    }

    /** The attacks to make a test of: those that are named, else those that make sense. */
    private List<Map<String, Object>> chosen() {
        List<Map<String, Object>> all = listing().attacks;
        String given = System.getenv("LOCKCHAOS_ATTACKS");
        List<String> named = given == null ? List.of(options.attacks()) : Arrays.asList(given.split(","));
        if (named.isEmpty()) {
            return all.stream().filter(e -> e.containsKey("scenario") || e.containsKey("fix")).collect(Collectors.toList());
        }
        for (String name : named) {
            if (all.stream().noneMatch(e -> name.equals(e.get("attack")))) {
                throw new IllegalArgumentException("there is no attack " + Json.write(name) + " (lockchaos exam --dry-run lists them; docs/exam.md explains them)");
            }
        }
        return all.stream().filter(e -> named.contains(e.get("attack"))).collect(Collectors.toList());
    }

    /** Why an attack is not made; null: it is. */
    private static String why(Map<String, Object> event) {
        return event.containsKey("fix") ? event.get("why") + ": " + event.get("fix") : (String) event.get("why");
    }

    private void attack(Map<String, Object> event) throws IOException, InterruptedException {
        if (why(event) != null) {
            throw new TestAbortedException("not applicable: " + why(event));
        }
        Map<String, Object> ended = begun().result((String) event.get("attack"));
        say(ended.getOrDefault("stand_ins", List.of()));
        if (ended.containsKey("skipped")) {
            throw new TestAbortedException((String) ended.get("skipped"));
        }
        String fate = (String) ended.get("fate");
        boolean asked = options.inherent() || "1".equals(System.getenv("LOCKCHAOS_INHERENT"));
        if (!HARMLESS.contains(fate) || (asked && fate.equals(INHERENT))) {
            kept = true;
            AssertionFailedError fell = new AssertionFailedError(story(event, ended));
            fell.setStackTrace(new StackTraceElement[0]); // where in this package it is thrown tells nobody anything
            throw fell;
        }
        if (!fate.equals("stood")) {
            System.out.println("lockchaos: " + method.getName() + ": " + event.get("attack") + ": " + ended.get("told"));
        }
    }

    /** Says once what was not the real service. */
    private synchronized void say(Object texts) {
        for (Object text : (List<?>) texts) {
            if (standIns.add((String) text)) {
                System.out.println("lockchaos: STAND-IN: " + text);
            }
        }
    }

    /** The run of all attacks, which the first test begins. */
    private synchronized Command.Run begun() throws IOException {
        if (run == null) {
            String named = System.getenv("LOCKCHAOS_RUNS");
            folder = named == null ? Files.createTempDirectory("lockchaos-") : Path.of(named).toAbsolutePath();
            kept = named != null;
            List<String> words = words();
            words.addAll(List.of("--attack", String.join(",", together), "--seed", seed, "--out", folder.toString()));
            run = new Command.Run(words, together.size());
        }
        return run;
    }

    /** What a framework prints of an attack that failed its test. */
    private String story(Map<String, Object> event, Map<String, Object> ended) {
        List<String> lines = new ArrayList<>(List.of(method.getName() + ": " + ended.get("told"), "attack " + event.get("attack") + ": " + event.get("text")));
        if (ended.containsKey("shortest")) {
            lines.add("");
            ((List<?>) ended.get("shortest")).forEach(line -> lines.add((String) line));
            lines.add("");
        }
        if (ended.containsKey("report")) {
            lines.add("report: " + ended.get("report"));
        }
        boolean gradle = System.getProperty("org.gradle.test.worker") != null;
        lines.add("again: LOCKCHAOS_SEED=" + ended.get("seed") + " LOCKCHAOS_ATTACKS=" + event.get("attack")
                + (gradle ? " gradle test --tests " : " mvn test -Dtest=")
                + Command.quoted(tests.getName() + (gradle ? "." : "#") + method.getName()));
        return String.join("\n", lines);
    }

    /** Ends what is left of the run, and deletes reports that nobody needs. */
    synchronized void close() {
        if (run != null) {
            run.finish();
        }
        if (folder == null || kept) {
            return;
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : (Iterable<Path>) files.sorted(Comparator.reverseOrder())::iterator) {
                Files.delete(file);
            }
        } catch (IOException | UncheckedIOException e) {
            System.err.println("lockchaos: reports that are not needed are left in " + folder + ": " + e);
        }
    }
}
