// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;

/** What one release costs and how it is made. All of it is public: a function of pack and options. */
public final class Receipt {
    /** Numbers that the native library hands over, in the order of the fields. */
    static final int NUMBERS = 9;

    private final double[] numbers;

    Receipt(double[] numbers) {
        this.numbers = numbers;
    }

    @NonNull
    public Mechanism mechanism() {
        return Mechanism.of((int) numbers[0]);
    }

    /** In a crowd: the floor ε₀ of a photo whose cell is drawn. */
    public double epsilon() {
        return numbers[1];
    }

    /** In a crowd: the δ₀ of one own message. */
    public double delta() {
        return numbers[2];
    }

    /** Gaussian: certified sensitivity of the pack, in units of the embedding; else 0. */
    public double sensitivity() {
        return numbers[3];
    }

    /** Gaussian: standard deviation of the noise, in units of the embedding; else 0. */
    public double sigma() {
        return numbers[4];
    }

    /** Gaussian: a release adds the square of it to the budget's Σμ². In a crowd: one own message does. Else 0. */
    public double mu() {
        return numbers[5];
    }

    /** Response: probability that the true cell is the one released; else 0. */
    public double keep() {
        return numbers[6];
    }

    /** Length of a release. */
    public int bytes() {
        return (int) numbers[7];
    }

    /** The most releases that one bundle can have; 1 without a crowd. */
    public int messages() {
        return (int) numbers[8];
    }
}
