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
 * java -cp classes Laplace exact ../../law.json ../../calibration.json    (or naive)
 * </pre>
 */
final class Laplace implements Vectors.Implementation {
    private static final BigInteger ONE = BigInteger.ONE, TWO = BigInteger.TWO;
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

    /** Noise with probabilities in proportion to (n/d)^|x|: failures are counted. */
    private BigInteger twoSidedGeometric(BigInteger n, BigInteger d, Vectors.Bits random) {
        return signed(random, () -> {
            BigInteger magnitude = BigInteger.ZERO;
            while (random.coin(n, d)) magnitude = magnitude.add(ONE);
            return magnitude;
        });
    }

    /** The least double that is at least a quotient of positive doubles. The flaw: the nearest one. */
    private double divided(double numerator, double denominator) {
        double nearest = numerator / denominator;
        boolean isEnough = new BigDecimal(nearest).multiply(new BigDecimal(denominator)).compareTo(new BigDecimal(numerator)) >= 0;
        return isNaive || isEnough ? nearest : Math.nextUp(nearest);
    }

    @Override
    public Object answer(Vectors.Question question, Vectors.Bits random) {
        String name = question.type() + " " + question.mechanism();
        switch (name) {
            case "calibration laplace_scale" -> {
                double sensitivity = Vectors.real(question.get("parameters/sensitivity"));
                double epsilon = Vectors.real(question.get("parameters/epsilon"));
                return divided(sensitivity, epsilon);
            }
            case "law bernoulli_exp" -> {
                BigInteger[] gamma = Vectors.rational(question.get("parameters/gamma"));
                return bernoulliExp(gamma[0], gamma[1], random);
            }
            case "law two_sided_geometric" -> {
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
