import java.io.*;
import java.math.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.security.SecureRandom;
import java.util.*;
import java.util.regex.*;

/**
 * Holds an implementation to the test vectors and prints TAP: one test for each mechanism of each file. Call {@code
 * check}; vectors/clients/README.md has an example, and docs/reference/vectors.md describes the files.
 */
public final class Vectors {
    /** What is held to the vectors. */
    public interface Implementation {
        /**
         * Returns a Double; any other value as the files write it, such as a BigInteger or a Boolean; "failed" if it
         * refuses the input; or null if there is no such mechanism. What it throws is a wrong answer.
         */
        Object answer(Question question, Bits random);
    }

    /** What is asked. */
    public record Question(String type, String mechanism, Map<String, String> fields, String path) {
        /** A field of the case, such as "parameters/scale"; empty if there is none. */
        public String get(String name) { return fields.getOrDefault(path + "/" + name, ""); }
    }

    /** Pseudorandom numbers, which are for tests alone: a source for code that takes one. */
    public static final class Bits extends java.util.Random {
        private long state;

        private Bits(long state) { this.state = state; }

        /** 64 fair bits: SplitMix64 (Steele, Lea and Flood 2014). */
        public long word() {
            long mixed = state += 0x9E3779B97F4A7C15L;
            mixed = (mixed ^ mixed >>> 30) * 0xBF58476D1CE4E5B9L;
            mixed = (mixed ^ mixed >>> 27) * 0x94D049BB133111EBL;
            return mixed ^ mixed >>> 31;
        }

        @Override
        protected int next(int count) { return (int) (word() >>> (64 - count)); }

        /** An integer uniform below a bound of at least 1. */
        public BigInteger below(BigInteger bound) {
            BigInteger drawn;
            do drawn = new BigInteger(bound.subtract(BigInteger.ONE).bitLength(), this);
            while (drawn.compareTo(bound) >= 0);
            return drawn;
        }

        /** True with probability n/d. */
        public boolean coin(BigInteger n, BigInteger d) { return below(d).compareTo(n) < 0; }
    }

    /** What is wrong with an answer, or no reason if there is no answer. */
    private static final class Fault extends RuntimeException {
        Fault(String reason) { super(reason); }
    }
    private static void require(boolean isRight, String reason) { if (!isRight) throw new Fault(reason); }
    private static final Pattern TOKEN = Pattern.compile("\\G[ \t\r\n]*([{}\\[\\],:]|(?:0|[1-9][0-9]{0,8})\\b|true|"
            + "false|null|\"(?:[^\"\\\\\\x00-\\x1f]++|\\\\[\"\\\\/bfnrtu])*+\")[ \t\r\n]*");

    private static String next(Matcher tokens) {
        require(tokens.find(), "this is not JSON");
        return tokens.group(1);
    }
    private static String unquoted(String token) { return token.replaceAll("^\"|\"$", ""); }
    /** Reads JSON, with integers of at most nine digits, by path: "groups/0/cases/3/parameters/scale" and "1/2". */
    private static void parse(String open, String path, Matcher tokens, Map<String, String> fields) {
        require(path.length() < 200 && !"]}:,".contains(open), "this is not JSON");
        boolean isObject = open.equals("{"), isValue = !isObject && !open.equals("[");
        if (isValue) fields.put(path.replaceFirst("/", ""), unquoted(open));
        String token = isValue ? "]" : next(tokens);
        for (int index = 0; !token.equals(isObject ? "}" : "]"); index++) {
            require(index == 0 || token.equals(","), "this is not JSON");
            String first = index == 0 ? token : next(tokens), name = isObject ? unquoted(first) : "" + index;
            require(!isObject || (first.startsWith("\"") && next(tokens).equals(":")), "this is not JSON");
            parse(isObject ? next(tokens) : first, path + "/" + name, tokens, fields);
            token = next(tokens);
        }
    }

    private static Map<String, String> read(String path) {
        Map<String, String> fields = new HashMap<>();
        try {
            String text = Files.readString(Path.of(path));
            Matcher tokens = TOKEN.matcher(text);
            parse(next(tokens), "", tokens, fields);
            require(tokens.end() == text.length() && "1".equals(fields.get("version")), "this is another version");
        } catch (IOException | RuntimeException fault) {
            throw new Fault(path + " is not a file of vectors of version 1");
        }
        return fields;
    }

    /** A float, from its bits in hexadecimal; null if it is something else. */
    public static Double real(String text) {
        if (text.matches("-?inf|nan")) return Double.valueOf(text.replace("inf", "Infinity").replace("nan", "NaN"));
        return text.matches("-?0x[01]\\.[0-9a-f]{1,13}p[+-][0-9]{1,4}") ? Double.valueOf(text) : null;
    }
    private static String written(Object value) {
        if (!(value instanceof Double number)) return value.toString();
        String text = Double.toHexString(number).replace("Infinity", "inf").replace("NaN", "nan");
        return text.replaceFirst("p(?=\\d)", "p+");
    }
    /** Types count, and so does the sign of zero. */
    private static boolean isSame(String first, String second) {
        return first.equals(second) || (real(first) != null && real(first).equals(real(second)));
    }

    private static boolean isAtLeast(String output, String least) {
        return output.matches("-?[0-9]+") && new BigInteger(output).compareTo(new BigInteger(least)) >= 0;
    }

    /** The numerator and denominator of "n/d" or "n"; NumberFormatException if it is something else. */
    public static BigInteger[] rational(String text) {
        String[] parts = (text.contains("/") ? text : text + "/1").split("/", 2);
        return new BigInteger[] {new BigInteger(parts[0]), new BigInteger(parts[1])};
    }

    /** The lower or upper end of a probability as a double, and a part in 10^9 further out. */
    private static double end(Question question, String name, String end) {
        BigInteger[] exact = rational(question.get(name) + question.get(name + "/" + end));
        BigDecimal numerator = new BigDecimal(exact[0]), denominator = new BigDecimal(exact[1]);
        double ratio = numerator.divide(denominator, MathContext.DECIMAL64).doubleValue();
        if (end.equals("lower")) return ratio * (1 - 1e-9);
        return numerator.signum() == 0 ? 0 : Math.max(ratio * (1 + 1e-9), Double.MIN_NORMAL);
    }

    /**
     * A lower confidence limit of the probability of what happened in some trials, too high with probability share/2 at
     * most: Hoeffding 1963, 'Probability Inequalities for Sums of Bounded Random Variables', theorem 1, (2.1). An upper
     * limit is 1 less the lower limit of what did not happen. A millionth covers the rounding of the logarithms.
     */
    public static double limit(double hits, double trials, double share) {
        double low = 0, high = hits / trials, misses = trials - hits;
        for (int step = 0; hits > 0 && step < 100; step++) {
            double middle = low + (high - low) / 2, loss = hits * Math.log(hits / trials / middle);
            if (misses > 0) loss += misses * Math.log(misses / trials / (1 - middle));
            if (loss > Math.log(2 / share) + 1e-6) low = middle;
            else high = middle;
        }
        return low;
    }

    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private static final String SKIP = " # SKIP it is not answered, or this client does not have the type";

    private record Judge(Implementation implementation, Bits random, int trials, double share) {
        String ask(Question question) {
            try {
                Object answer = implementation.answer(question, random);
                require(answer != null, null);
                return written(answer);
            } catch (RuntimeException | Error thrown) {
                throw thrown instanceof Fault fault ? fault : new Fault("it throws " + thrown);
            }
        }
        void fit(Question question, double hits, String name, double share) {
            double low = limit(hits, trials, share), high = 1 - limit(trials - hits, trials, share);
            double lower = end(question, name, "lower"), upper = end(question, name, "upper");
            boolean isRight = low <= upper && (high >= lower || name.equals("rest"));
            require(isRight, "P lies in [" + low + ", " + high + "], not at " + upper + ": " + name);
        }

        /** Whether outputs fit each outcome's probability, each tail's (all integers from one on), and all others'. */
        void law(Question question) {
            Map<String, Integer> outputs = new TreeMap<>();
            for (int trial = 0; trial < trials; trial++) outputs.merge(ask(question), 1, Integer::sum);
            require(!outputs.containsKey("failed"), "it fails");
            List<String> rows = new ArrayList<>();
            for (String list : List.of("law/", "tails/"))
                for (int row = 0; !question.get(list + row + "/0").isEmpty(); row++) rows.add(list + row);
            double others = trials;
            for (String row : rows) {
                String place = question.get(row + "/0");
                boolean isTail = row.startsWith("tails");
                int hits = 0;
                for (String output : outputs.keySet())
                    if (isTail ? isAtLeast(output, place) : isSame(output, place)) hits += outputs.get(output);
                others -= isTail ? 0 : hits;
                fit(question, hits, row + "/1", share / (rows.size() + 1));
            }
            fit(question, others, "rest", share / (rows.size() + 1));
        }

        void judge(Question question) {
            switch (question.type()) {
                case "law" -> law(question);
                case "calibration" -> {
                    String answer = ask(question), unsafe = question.get("unsafe");
                    Double number = answer.matches("-?[0-9]+") ? Double.valueOf(answer) : real(answer);
                    require(number != null, null); // a formula may refuse arguments
                    double limit = real(question.get("limit"));
                    boolean isRight = unsafe.equals("too small") ? number >= limit : number <= limit;
                    require(isRight, "its value " + number + " is " + unsafe + ": the limit is " + limit);
                }
                default -> throw new Fault(null);
            }
        }

        /** The column of a case: right, wrong, skipped. */
        int column(Question question) {
            String flag;
            try {
                judge(question);
                return 0;
            } catch (Fault fault) {
                if (fault.getMessage() == null) return 2;
                String about = question.get("id") + " (" + question.get("comment") + "): " + fault.getMessage();
                OUT.println("# case " + about.replaceAll("\\p{Cntrl}", " "));
                for (int index = 0; !(flag = question.get("flags/" + index)).isEmpty(); index++)
                    OUT.println("#   " + flag + ": " + question.fields().get("notes/" + flag + "/effect"));
                return 1;
            }
        }

        int checked(List<Map<String, String>> files) {
            int tests = 0, right = 0, wrong = 0;
            for (Map<String, String> fields : files) {
                String mechanism, type = fields.getOrDefault("type", ""), group = "groups/0";
                for (int next = 1; (mechanism = fields.get(group + "/mechanism")) != null; group = "groups/" + next++) {
                    int[] counts = new int[3];
                    for (int row = 0; fields.containsKey(group + "/cases/" + row + "/id"); row++)
                        counts[column(new Question(type, mechanism, fields, group + "/cases/" + row))]++;
                    String line = (counts[1] > 0 ? "not ok " : "ok ") + ++tests + " - " + type + " " + mechanism;
                    String skip = counts[0] + counts[1] > 0 ? "" : SKIP;
                    OUT.printf("%s: %d right, %d wrong, %d skipped%s%n", line, counts[0], counts[1], counts[2], skip);
                    right += counts[0];
                    wrong += counts[1];
                }
            }
            OUT.println("1.." + tests);
            return wrong > 0 ? 1 : right > 0 ? 0 : 2;
        }
    }

    private static String setting(String name, String usual) { return System.getenv().getOrDefault(name, usual); }

    /**
     * Checks files. VECTORS_SEED replays a run, VECTORS_TRIALS says how often a law is sampled, VECTORS_ALPHA how often
     * any law may fail a sound sampler. Returns 0 if nothing fails, 1 if a case does, 2 if it cannot read a file.
     */
    public static int check(List<String> paths, Implementation implementation) {
        String alpha = setting("VECTORS_ALPHA", "1e-9"), trials = setting("VECTORS_TRIALS", "10000");
        String seed = setting("VECTORS_SEED", Long.toUnsignedString(new SecureRandom().nextLong()));
        OUT.println("# VECTORS_SEED=" + seed + ", " + trials + " samples, alpha " + alpha);
        try {
            List<Map<String, String>> files = paths.stream().map(Vectors::read).toList();
            var laws = files.stream().filter(fields -> "law".equals(fields.get("type")));
            double cases = laws.mapToInt(fields -> Integer.parseInt(fields.get("cases"))).sum();
            double level = Double.parseDouble(alpha);
            require(level > 0 && level < 1, "VECTORS_ALPHA lies between 0 and 1");
            require(Integer.parseInt(trials) > 0, "VECTORS_TRIALS is at least 1");
            Bits random = new Bits(Long.parseUnsignedLong(seed));
            return new Judge(implementation, random, Integer.parseInt(trials), level / cases).checked(files);
        } catch (RuntimeException fault) {
            OUT.println("Bail out! " + fault.getMessage());
            return 2;
        }
    }
}
