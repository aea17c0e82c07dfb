import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.function.Supplier;

/**
 * Laplace noise as Google's library for Java draws it, a two-sided geometric number found by bisection on a grid, exact
 * and naive, held to the vectors.
 *
 * <pre>
 * javac -d classes Vectors.java Laplace.java
 * java -cp classes Laplace exact ../../law.json ../../trace.json    (or naive)
 * </pre>
 */
final class Laplace implements Vectors.Implementation {
    private static final BigInteger ONE = BigInteger.ONE, TWO = BigInteger.TWO, END_OF_GRID = ONE.shiftLeft(53);
    private final boolean isNaive;

    Laplace(boolean isNaive) {
        this.isNaive = isNaive;
    }

    /** True with probability e^(-n/d): Canonne, Kamath and Steinke 2020, algorithm 1. The flaw: it is a double. */
    private boolean bernoulliExp(BigInteger n, BigInteger d, Vectors.Bits random) {
        if (isNaive) return random.nextDouble() < Math.exp(-n.doubleValue() / d.doubleValue());
        for (; n.compareTo(d) > 0; n = n.subtract(d)) if (!bernoulliExp(ONE, ONE, random)) return false;
        BigInteger failure = ONE;
        while (random.coin(n, d.multiply(failure))) failure = failure.add(ONE);
        return failure.testBit(0);
    }

    /** True with probability 1/(1 + e^(n/d)): whether the magnitude is in the upper half of an interval. */
    private boolean isUpper(BigInteger n, BigInteger d, Vectors.Bits random) {
        while (random.coin(ONE, TWO)) if (bernoulliExp(n, d, random)) return true;
        return false;
    }

    /** A magnitude that is x or more with probability e^(-x d/n): intervals are doubled, and then halved. */
    private BigInteger geometric(BigInteger n, BigInteger d, Vectors.Bits random) {
        if (isNaive) {
            double scale = n.doubleValue() / d.doubleValue();
            return BigInteger.valueOf((long) (-scale * Math.log(1 - random.nextDouble())));
        }
        BigInteger least = BigInteger.ZERO, length = ONE;
        for (; bernoulliExp(length.multiply(d), n, random); length = length.shiftLeft(1)) least = least.add(length);
        for (length = length.shiftRight(1); length.signum() > 0; length = length.shiftRight(1))
            if (isUpper(length.multiply(d), n, random)) least = least.add(length);
        return least;
    }

    /** A magnitude with a fair sign, drawn again if it is -0. The flaw: it is not, so 0 is too frequent. */
    private BigInteger signed(Vectors.Bits random, Supplier<BigInteger> magnitude) {
        for (;;) {
            BigInteger drawn = magnitude.get();
            if (!random.coin(ONE, TWO)) return drawn;
            if (drawn.signum() > 0 || isNaive) return drawn.negate();
        }
    }

    /** Noise with probabilities in proportion to (n/d)^|x|: failures are counted, as a trace of it has them. */
    private BigInteger twoSidedGeometric(BigInteger n, BigInteger d, Vectors.Bits random) {
        return signed(random, () -> {
            BigInteger magnitude = BigInteger.ZERO;
            while (random.coin(n, d)) magnitude = magnitude.add(ONE);
            return magnitude;
        });
    }

    /** A noisy multiple of a step; NaN counts as 0. The flaw: what is too large is refused, its neighbour is not. */
    private Object onGrid(double value, double epsilon, double sensitivity, double step, Vectors.Bits random) {
        double steps = Math.rint(value / step);
        if (isNaive && !(Math.abs(steps) < 0x1p53)) return "failed";
        BigInteger least = END_OF_GRID.negate();
        BigInteger whole = BigInteger.valueOf((long) steps).max(least).min(END_OF_GRID);
        BigInteger n = integer(sensitivity), d = integer(epsilon * step);
        BigInteger noisy = whole.add(signed(random, () -> geometric(n, d, random)));
        return noisy.max(least).min(END_OF_GRID).doubleValue() * step;
    }

    /** A double as an integer in units of 2^-1074. */
    private static BigInteger integer(double number) {
        return new BigDecimal(number).multiply(new BigDecimal(TWO.pow(1074))).toBigIntegerExact();
    }

    /** A quotient as a double. The flaw: both are rounded before, and the mode is forgotten. */
    private double divided(BigInteger n, BigInteger d, String mode) {
        if (isNaive) return n.doubleValue() / d.doubleValue();
        if (n.signum() < 0) {
            String mirrored = mode.equals("upward") ? "downward" : mode.equals("downward") ? "upward" : mode;
            return -divided(n.negate(), d, mirrored);
        }
        int exponent = Math.max(n.bitLength() - d.bitLength() - 53, -1074);
        BigInteger unit = d.shiftLeft(Math.max(exponent, 0));
        BigInteger[] parts = n.shiftLeft(Math.max(-exponent, 0)).divideAndRemainder(unit);
        if (parts[0].bitLength() > 53) {
            unit = d.shiftLeft(Math.max(++exponent, 0));
            parts = n.shiftLeft(Math.max(-exponent, 0)).divideAndRemainder(unit);
        }
        int half = parts[1].shiftLeft(1).compareTo(unit);
        boolean isNearerAbove = half > 0 || (half == 0 && parts[0].testBit(0)), isExact = parts[1].signum() == 0;
        boolean isUp = mode.equals("nearest") ? isNearerAbove : mode.equals("upward") && !isExact;
        double rounded = Math.scalb(parts[0].add(isUp ? ONE : BigInteger.ZERO).doubleValue(), exponent);
        return mode.equals("nearest") || mode.equals("upward") ? rounded : Math.min(rounded, Double.MAX_VALUE);
    }

    @Override
    public Object answer(Vectors.Question question, Vectors.Bits random) {
        String name = question.type() + " " + question.mechanism();
        switch (name) {
            case "calibration laplace_scale" -> {
                double sensitivity = Vectors.real(question.get("parameters/sensitivity"));
                double epsilon = Vectors.real(question.get("parameters/epsilon"));
                return isNaive ? sensitivity / epsilon : divided(integer(sensitivity), integer(epsilon), "upward");
            }
            case "rounding binary64" -> {
                BigInteger[] value = Vectors.rational(question.get("value"));
                return divided(value[0], value[1], question.mode());
            }
            case "special discrete_laplace_on_a_grid" -> {
                double epsilon = number(question, "epsilon"), sensitivity = number(question, "sensitivity");
                double value = Vectors.real(question.get(question.input())), step = number(question, "step");
                return onGrid(value, epsilon, sensitivity, step, random);
            }
            case "law bernoulli_exp", "trace bernoulli_exp" -> {
                BigInteger[] gamma = Vectors.rational(question.get("parameters/gamma"));
                return bernoulliExp(gamma[0], gamma[1], random);
            }
            case "law two_sided_geometric", "trace two_sided_geometric" -> {
                BigInteger[] ratio = Vectors.rational(question.get("parameters/ratio"));
                return twoSidedGeometric(ratio[0], ratio[1], random);
            }
            case "law discrete_laplace" -> {
                BigInteger[] scale = Vectors.rational(question.get("parameters/scale"));
                return signed(random, () -> geometric(scale[0], scale[1], random));
            }
            default -> {
                return null;
            }
        }
    }

    private static double number(Vectors.Question question, String name) {
        BigInteger[] exact = Vectors.rational(question.get("parameters/" + name));
        return exact[0].doubleValue() / exact[1].doubleValue();
    }

    /** {@code limits TRIALS SHARE} prints the lower limit for each number of hits, for a test of their error rate. */
    public static void main(String[] words) {
        String variant = words.length > 1 ? words[0] : "";
        if (variant.equals("limits")) {
            int trials = Integer.parseInt(words[1]);
            for (int hits = 0; hits <= trials; hits++)
                System.out.println(Double.toHexString(Vectors.limit(hits, trials, Double.parseDouble(words[2]))));
        } else if (variant.equals("exact") || variant.equals("naive")) {
            var files = Arrays.asList(words).subList(1, words.length);
            System.exit(Vectors.check(files, new Laplace(variant.equals("naive"))));
        } else {
            System.err.println("usage: Laplace exact|naive FILE...");
            System.exit(2);
        }
    }
}
