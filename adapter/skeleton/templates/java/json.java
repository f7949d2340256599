    // Requests are flat, and their strings hold no escapes, so this reads them. Use a JSON library if you have one.

    static String text(String line, String name) {
        Matcher m = Pattern.compile("\"" + name + "\":\"([^\"]*)\"").matcher(line);
        return m.find() ? m.group(1) : "";
    }

    static long number(String line, String name) {
        Matcher m = Pattern.compile("\"" + name + "\":([0-9]+)").matcher(line);
        return m.find() ? Long.parseLong(m.group(1)) : 0;
    }

    static List<String> list(String line, String name) {
        List<String> out = new ArrayList<>();
        Matcher all = Pattern.compile("\"" + name + "\":\\[([^\\]]*)\\]").matcher(line);
        if (all.find()) {
            Matcher one = Pattern.compile("\"([^\"]*)\"").matcher(all.group(1));
            while (one.find()) {
                out.add(one.group(1));
            }
        }
        return out;
    }

    static String quote(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ") + "\"";
    }
