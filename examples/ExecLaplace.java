/* The textbook's Laplace mechanism in Java, for `attacklab audit --exec`. Its outputs are those of exec_laplace.py, but
 * for the last bit of a logarithm; docs/reference/protocol.md describes the protocol. It runs from source, or compiled:
 *
 *     attacklab audit --exec "java ExecLaplace.java" --kind noise --epsilon 1
 *
 * The fields of a request are in a fixed order and spacing, so no JSON library is needed.
 */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class ExecLaplace {
    private static final double SCALE = 1.0;
    private static final Pattern NOISE = Pattern.compile(
            "\"kind\": \"noise\", \"input\": \"?([^\",]+)\"?, \"trials\": (\\d+), \"seed\": (\\d+)");

    private long state;

    private ExecLaplace(long seed) {
        state = seed;
    }

    /** SplitMix64 (Steele, Lea and Flood 2014). */
    private long nextWord() {
        long mixed = state += 0x9E3779B97F4A7C15L;
        mixed = (mixed ^ mixed >>> 30) * 0xBF58476D1CE4E5B9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94D049BB133111EBL;
        return mixed ^ mixed >>> 31;
    }

    private double laplace(double answer) {
        long word = nextWord();
        double uniform = ((word >>> 11) + 1) * 0x1p-53;
        double noise = -SCALE * Math.log(uniform);
        return (word & 1) == 1 ? answer + noise : answer - noise;
    }

    /** A double as the protocol writes it: Java has other words for the infinities. */
    private static String hex(double value) {
        return Double.isInfinite(value) ? (value > 0 ? "inf" : "-inf") : Double.toHexString(value);
    }

    private static double number(String text) {
        return Double.parseDouble(text.replace("inf", "Infinity").replace("nan", "NaN"));
    }

    private static String answer(String line) {
        Matcher request = NOISE.matcher(line);
        if (!request.find()) {
            return "{\"error\": \"the Laplace mechanism adds noise; it does not answer other requests\"}";
        }
        double answer = number(request.group(1));
        ExecLaplace mechanism = new ExecLaplace(Long.parseLong(request.group(3)));
        int trials = Integer.parseInt(request.group(2));
        StringBuilder outputs = new StringBuilder("{\"outputs\": [");
        for (int trial = 0; trial < trials; trial++) {
            outputs.append(trial == 0 ? "\"" : ", \"").append(hex(mechanism.laplace(answer))).append('"');
        }
        return outputs.append("]}").toString();
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            System.out.println(answer(line));
        }
    }
}
