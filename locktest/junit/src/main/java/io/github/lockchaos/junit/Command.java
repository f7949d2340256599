package io.github.lockchaos.junit;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The lockchaos command: where it is, and an exam by it as a stream of events (docs/schema/progress.json). */
final class Command {
    private static final String BIN = "LOCKCHAOS_BIN";
    /** How many seconds an exam that is interrupted may take to heal what it broke, and to write its report. */
    private static final int PATIENCE = 30;

    private Command() {}

    /** The path of the command: $LOCKCHAOS_BIN, else that of the jar for this machine, else one of $PATH. */
    static String find() {
        String named = System.getenv(BIN);
        if (named != null && !named.isEmpty()) {
            if (runs(Path.of(named))) {
                return named;
            }
            throw new LockchaosException(BIN + "=" + named + " is no program that can be run");
        }
        Path packaged = Packaged.command();
        if (packaged != null) {
            return packaged.toString();
        }
        return Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)).map(folder -> Path.of(folder, "lockchaos"))
                .filter(Command::runs).findFirst().map(Path::toString)
                .orElseThrow(() -> new LockchaosException("there is no lockchaos here: the jar with the classifier " + Packaged.MACHINE
                        + " is not on the class path, and lockchaos is not on PATH. Set " + BIN
                        + " to its path (it is built by `make build` in lockchaos's repository, and runs on Linux)"));
    }

    private static boolean runs(Path file) {
        return Files.isRegularFile(file) && Files.isExecutable(file);
    }

    /** A word as a POSIX shell reads it. */
    static String quoted(String word) {
        return word.matches("[\\w@%+=:,./-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
    }

    /** What an exam would make. */
    static final class Listing {
        /** What this machine lacks for all of it; null: nothing. */
        String lacking;
        /** The attacks that would be made, and those that would not, as events. */
        final List<Map<String, Object>> attacks = new ArrayList<>();
    }

    /** What an exam by these words would make. */
    static Listing listed(List<String> words) {
        Listing listing = new Listing();
        try {
            Path said = Files.createTempFile("lockchaos-", ".log");
            try {
                Process made = begun(words, List.of("--dry-run", "--json"), said);
                try (BufferedReader events = events(made)) {
                    for (String line = events.readLine(); line != null; line = events.readLine()) {
                        add(listing, Json.read(line));
                    }
                }
                int status = made.waitFor();
                if (listing.lacking == null && status != 0) {
                    throw new LockchaosException("lockchaos cannot examine the lock: " + words(said, status));
                }
            } finally {
                Files.delete(said);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LockchaosException("interrupted while lockchaos listed its attacks", e);
        }
        return listing;
    }

    private static void add(Listing listing, Map<String, Object> event) {
        if (event.get("event").equals("lacking")) {
            listing.lacking = (String) event.get("text");
        } else if (event.get("event").equals("attack")) {
            listing.attacks.add(event);
        }
    }

    private static Process begun(List<String> words, List<String> more, Path said) throws IOException {
        List<String> command = new ArrayList<>(List.of(find(), "exam"));
        command.addAll(words);
        command.addAll(more);
        Process made = new ProcessBuilder(command).redirectError(said.toFile()).start();
        made.getOutputStream().close();
        return made;
    }

    private static BufferedReader events(Process made) {
        return new BufferedReader(new InputStreamReader(made.getInputStream(), StandardCharsets.UTF_8));
    }

    /** The end of what the command said on its standard error, else its exit status. */
    private static String words(Path said, int status) throws IOException {
        try (Stream<String> lines = Files.lines(said, StandardCharsets.ISO_8859_1)) {
            List<String> all = lines.collect(Collectors.toList());
            String text = String.join("\n", all.subList(Math.max(0, all.size() - 40), all.size())).trim();
            return text.isEmpty() ? "exit status " + status : text;
        }
    }

    /** An exam that runs, and what its attacks have come to. */
    static final class Run {
        private final int attacks;
        private final Map<String, Map<String, Object>> ended = new HashMap<>();
        private final Path said;
        private final Process process;
        // A test process that ends has the command heal what it broke.
        private final Thread end = new Thread(this::interrupt);
        private boolean over;
        private String failed;

        Run(List<String> words, int attacks) throws IOException {
            this.attacks = attacks;
            said = Files.createTempFile("lockchaos-", ".log");
            process = begun(words, List.of("--json", "--no-mend"), said);
            Runtime.getRuntime().addShutdownHook(end);
            Thread reader = new Thread(this::read, "lockchaos");
            reader.setDaemon(true);
            reader.start();
        }

        private void interrupt() {
            process.destroy();
        }

        private void read() {
            String problem = null;
            try (BufferedReader events = events(process)) {
                for (String line = events.readLine(); line != null; line = events.readLine()) {
                    Map<String, Object> event = Json.read(line);
                    if (event.get("event").equals("ended")) {
                        noted(event);
                    }
                }
                problem = words(said, process.waitFor());
            } catch (IOException | InterruptedException | RuntimeException e) {
                problem = e.toString();
            }
            synchronized (this) {
                over = true;
                failed = problem;
                notifyAll();
            }
        }

        private synchronized void noted(Map<String, Object> event) {
            ended.put((String) event.get("attack"), event);
            notifyAll();
        }

        /** What the attack has come to, once it has. */
        synchronized Map<String, Object> result(String attack) throws InterruptedException {
            while (!ended.containsKey(attack) && !over) {
                wait();
            }
            if (!ended.containsKey(attack)) {
                throw new LockchaosException("lockchaos failed, which says nothing of the lock: " + failed);
            }
            return ended.get(attack);
        }

        /** Ends what is left of the exam, and waits until its report is written. */
        void finish() {
            boolean left;
            synchronized (this) {
                left = !over && ended.size() < attacks;
            }
            if (left) {
                interrupt();
            }
            try {
                if (!process.waitFor(PATIENCE, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                }
                Runtime.getRuntime().removeShutdownHook(end);
                Files.deleteIfExists(said);
            } catch (IllegalStateException e) {
                // the hook runs already
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
