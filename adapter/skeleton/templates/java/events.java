    /** The clock that all processes of the machine share, in ns (CLOCK_MONOTONIC on Linux). Take stamps from this one only. */
    static long now() {
        return System.nanoTime();
    }

    static String random() {
        byte[] bytes = new byte[8];
        new SecureRandom().nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    // What follows speaks the protocol; it can stay as it is.

    static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    /** Prints one line. Any thread may. */
    static synchronized void send(String line) {
        OUT.print(line + "\n");
        OUT.flush();
    }

    /** An execution of a job, or a term of a leader, which begins. What is done in it is lockchaos's. */
    static class Work {
        static final Map<String, Work> GOING = new ConcurrentHashMap<>(); // those whose work is not over

        final String run = random();
        final CountDownLatch over = new CountDownLatch(1);

        Work(String more) {
            GOING.put(run, this);
            send("{\"event\":\"run\",\"run\":" + quote(run) + more + "}");
        }

        /** Tells that it is marked as done, or that the leader has stepped down. */
        void done() {
            GOING.remove(run);
            send("{\"event\":\"done\",\"run\":" + quote(run) + "}");
        }

        /** Tells that it is no longer this client's. */
        void lost(String why) {
            GOING.remove(run);
            send("{\"event\":\"lost\",\"run\":" + quote(run) + ",\"why\":" + quote(why) + "}");
        }
    }

    interface Run {
        void run() throws InterruptedException;
    }

    /** What is declared, and what runs when that is told. */
    record Served(String declares, Run run) {}

    static void serve(Function<String, Served> make) throws IOException {
        System.setOut(System.err); // what a library prints does not belong among the replies
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String reply = "{\"id\":" + number(line, "id") + ",\"ok\":";
            switch (text(line, "op")) {
                case "hello" -> {
                    Served mine = make.apply(line);
                    send(reply + "true," + mine.declares() + "}");
                    new Thread(() -> {
                        try {
                            mine.run().run();
                        } catch (InterruptedException e) {
                            e.printStackTrace();
                        }
                    }).start();
                }
                case "go" -> {
                    Work work = Work.GOING.remove(text(line, "run"));
                    send(reply + (work == null ? "false,\"error\":\"not_held\"}" : "true}"));
                    if (work != null) {
                        work.over.countDown();
                    }
                }
                case "close" -> send(reply + "true}");
                default -> send(reply + "false,\"error\":\"unsupported\"}");
            }
        }
        System.exit(0); // threads would keep the process alive
    }

INCLUDE json.java
