package io.github.lockchaos.junit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as lockchaos writes and reads it: a dependency would meet the one of the program under test. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Reads one object, which is all of the text. */
    @SuppressWarnings("unchecked") // an object is a map
    static Map<String, Object> read(String text) {
        Json json = new Json(text);
        Object value = json.value();
        if (json.peek() != 0 || !(value instanceof Map)) {
            throw json.wrong("one object");
        }
        return (Map<String, Object>) value;
    }

    private IllegalArgumentException wrong(String wanted) {
        return new IllegalArgumentException("column " + (at + 1) + ": " + wanted + " was expected in " + text);
    }

    /** The next character that is no space, 0 at the end. */
    private char peek() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private boolean found(char c) {
        if (peek() != c) {
            return false;
        }
        at++;
        return true;
    }

    private void expect(char c) {
        if (!found(c)) {
            throw wrong("'" + c + "'");
        }
    }

    private Object value() {
        switch (peek()) {
            case '{':
                return object();
            case '[':
                return list();
            case '"':
                return string();
            default:
                return word();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> members = new LinkedHashMap<>();
        expect('{');
        if (found('}')) {
            return members;
        }
        do {
            peek();
            String name = string();
            expect(':');
            members.put(name, value());
        } while (found(','));
        expect('}');
        return members;
    }

    private List<Object> list() {
        List<Object> values = new ArrayList<>();
        expect('[');
        if (found(']')) {
            return values;
        }
        do {
            values.add(value());
        } while (found(','));
        expect(']');
        return values;
    }

    private Object word() {
        int from = at;
        while (at < text.length() && (Character.isLetterOrDigit(text.charAt(at)) || "+-.".indexOf(text.charAt(at)) >= 0)) {
            at++;
        }
        String word = text.substring(from, at);
        switch (word) {
            case "true":
                return true;
            case "false":
                return false;
            case "null":
                return null;
            default:
                try {
                    return word.matches("-?[0-9]{1,18}") ? (Object) Long.valueOf(word) : (Object) Double.valueOf(word);
                } catch (NumberFormatException e) {
                    throw wrong("a value");
                }
        }
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        expect('"');
        while (at < text.length()) {
            char c = text.charAt(at++);
            if (c == '"') {
                return out.toString();
            }
            out.append(c == '\\' ? escaped() : c);
        }
        throw wrong("'\"'");
    }

    private char escaped() {
        if (at >= text.length()) {
            throw wrong("an escape");
        }
        char c = text.charAt(at++);
        if (c == 'u' && at + 4 <= text.length()) {
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 4, at), 16);
        }
        int known = "\"\\/bfnrt".indexOf(c);
        if (known < 0) {
            throw wrong("an escape");
        }
        return "\"\\/\b\f\n\r\t".charAt(known);
    }

    /** Writes a value: a map, a list, a text, a number, true or false. */
    static String write(Object value) {
        if (value instanceof Map) {
            List<String> members = new ArrayList<>();
            ((Map<?, ?>) value).forEach((name, v) -> members.add(quoted((String) name) + ":" + write(v)));
            return "{" + String.join(",", members) + "}";
        }
        if (value instanceof List) {
            List<String> values = new ArrayList<>();
            ((List<?>) value).forEach(v -> values.add(write(v)));
            return "[" + String.join(",", values) + "]";
        }
        return value instanceof String ? quoted((String) value) : String.valueOf(value);
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || c > '~') { // what is not ASCII, whatever the machine's character set
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }
}
