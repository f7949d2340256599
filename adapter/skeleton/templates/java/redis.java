    /** Just enough of a Redis client to send a script. Your library goes here. */
    static class Redis {
        final String host;
        final int port;
        Socket socket;

        Redis(String address) {
            int colon = address.lastIndexOf(':');
            host = address.substring(0, colon);
            port = Integer.parseInt(address.substring(colon + 1));
        }

        long eval(String script, List<String> keys, List<String> args, long end) throws IOException {
            List<String> words = new ArrayList<>(List.of("EVAL", script, Integer.toString(keys.size())));
            words.addAll(keys);
            words.addAll(args);
            StringBuilder text = new StringBuilder("*" + words.size() + "\r\n");
            for (String w : words) {
                text.append("$").append(w.getBytes(StandardCharsets.UTF_8).length).append("\r\n").append(w).append("\r\n");
            }
            String reply;
            try {
                if (socket == null) {
                    socket = new Socket();
                    socket.setTcpNoDelay(true);
                    socket.connect(new InetSocketAddress(host, port), left(end)); // a call without a time limit hangs when the network does
                }
                socket.getOutputStream().write(text.toString().getBytes(StandardCharsets.UTF_8));
                reply = line(end);
            } catch (IOException e) {
                close(); // a late answer must not be taken for that of the next call
                throw e;
            }
            if (!reply.startsWith(":")) {
                throw new IllegalStateException(reply);
            }
            return Long.parseLong(reply.substring(1));
        }

        private String line(long end) throws IOException {
            StringBuilder out = new StringBuilder();
            while (true) {
                socket.setSoTimeout(left(end));
                int c = socket.getInputStream().read();
                if (c < 0) {
                    throw new EOFException("the server closed the connection");
                }
                if (c == '\n') {
                    return out.toString().trim();
                }
                out.append((char) c);
            }
        }

        private static int left(long end) throws SocketTimeoutException {
            return (int) Math.max((end - now()) / 1_000_000, 1);
        }

        void close() {
            try {
                if (socket != null) {
                    socket.close();
                }
            } catch (IOException e) {
                System.err.println(e);
            }
            socket = null;
        }
    }
