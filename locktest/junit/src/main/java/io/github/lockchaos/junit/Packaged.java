package io.github.lockchaos.junit;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** The command in the jar for this machine, which has the machine as its classifier. */
final class Packaged {
    /** This machine, as Java calls it, so that a pom.xml can say {@code linux-${os.arch}}. */
    static final String MACHINE = "linux-" + System.getProperty("os.arch");

    private static final Set<PosixFilePermission> MINE = PosixFilePermissions.fromString("rwx------");

    private Packaged() {}

    /** The command, taken out of its jar into the user's cache; null: there is no such jar. */
    static Path command() {
        String folder = "/io/github/lockchaos/" + MACHINE + "/";
        try (InputStream sum = Packaged.class.getResourceAsStream(folder + "lockchaos.sha256")) {
            if (sum == null) {
                return null;
            }
            String name = "lockchaos-" + new String(sum.readAllBytes(), StandardCharsets.US_ASCII).trim();
            Path file = cache().resolve(name);
            if (!Files.isExecutable(file)) {
                take(folder + "lockchaos", file);
            }
            return file;
        } catch (IOException e) {
            throw new LockchaosException("lockchaos cannot be taken out of its jar: " + e, e);
        }
    }

    private static void take(String resource, Path file) throws IOException {
        Path part = Files.createTempFile(file.getParent(), "part-", "", PosixFilePermissions.asFileAttribute(MINE));
        try (InputStream command = Packaged.class.getResourceAsStream(resource)) {
            if (command == null) {
                throw new IOException("the jar lacks " + resource);
            }
            Files.copy(command, part, StandardCopyOption.REPLACE_EXISTING);
            Files.setPosixFilePermissions(part, MINE);
            Files.move(part, file, StandardCopyOption.ATOMIC_MOVE); // no other process sees half of it
        } finally {
            Files.deleteIfExists(part);
        }
    }

    /** A folder in which nobody else could have put a program. */
    private static Path cache() throws IOException {
        String given = System.getenv("XDG_CACHE_HOME");
        Path base = given == null || given.isEmpty() ? Path.of(System.getProperty("user.home"), ".cache") : Path.of(given);
        Files.createDirectories(base);
        Path folder = base.resolve("lockchaos-junit");
        if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
            Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(MINE));
        }
        Path probe = Files.createTempFile(folder, "owner-", "");
        Object me = Files.getOwner(probe);
        Files.delete(probe);
        boolean mine = Files.getOwner(folder, LinkOption.NOFOLLOW_LINKS).equals(me)
                && MINE.containsAll(Files.getPosixFilePermissions(folder, LinkOption.NOFOLLOW_LINKS));
        if (!mine) {
            throw new IOException(folder + " is not your own alone: delete it, or set XDG_CACHE_HOME to another folder");
        }
        return folder;
    }
}
