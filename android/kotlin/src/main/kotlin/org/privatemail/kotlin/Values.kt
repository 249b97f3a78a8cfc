// SPDX-License-Identifier: Apache-2.0
package org.privatemail.kotlin

import kotlin.math.ceil
import org.privatemail.Budget
import org.privatemail.Match
import org.privatemail.Mechanism
import org.privatemail.Modality
import org.privatemail.Pack
import org.privatemail.Ranking
import org.privatemail.Receipt

/** Bytes that are compared by what they are, as a value of a data class should be. Never changed. */
public class Bytes(bytes: ByteArray) {
    private val bytes = bytes.copyOf()

    public val size: Int get() = bytes.size

    public fun toByteArray(): ByteArray = bytes.copyOf()

    override fun equals(other: Any?): Boolean = other is Bytes && bytes.contentEquals(other.bytes)

    override fun hashCode(): Int = bytes.contentHashCode()

    /** How many there are. What they are may be private, so a log does not get them by this way. */
    override fun toString(): String = "$size bytes"
}

/**
 * One item that is near to the true query. Private, as which ones were found tells about the query: [toString] keeps it
 * to itself.
 *
 * @property item the server's number of the item
 * @property label the item's class
 * @property slot the slot that it came in
 * @property cosine of the sketches, -1 to 1
 * @property payload what the server sent with the item, such as a thumbnail
 */
public data class FoundItem(
    val item: ULong,
    val label: Int,
    val slot: Int,
    val cosine: Double,
    val payload: Bytes,
) {
    override fun toString(): String = "FoundItem(private)"
}

/** What one message costs: a function of pack and options, and public. */
public data class Price(val mechanism: Mechanism, val epsilon: Double, val delta: Double)

/** How a search ended, when neither the network nor the server failed. */
public sealed interface Outcome {
    /**
     * The nearest items, best first.
     *
     * @property carried candidates in the answer
     * @property gallery items that the server says it has
     * @property share carried / gallery
     * @property bytes length of the answer
     */
    public data class Found(
        val items: List<FoundItem>,
        val carried: Long,
        val gallery: ULong,
        val share: Double,
        val bytes: Long,
    ) : Outcome {
        override fun toString(): String = "Found(private)"
    }

    /**
     * Nothing was paid or sent. A message about this photo was made with a pack that is not served any more, and a new
     * one costs [price] a second time. Ask the person, and then search with `payAgain = true`.
     */
    public data class PaysAgain(val price: Price) : Outcome
}

/** What an ε of 1 has of the units that a budget counts in. */
private const val EPSILON_UNITS = 1048576.0

/** What a person has spent outside a crowd, and of how much. [spent] and [cap] are sums of ε of response releases. */
public data class Spent(val spent: Double, val cap: Double) {
    /** What is left. */
    public val left: Double get() = cap - spent

    /**
     * How many more response releases of this price the budget pays for. A budget counts ε in units of 2^-20 and rounds
     * every price up to whole ones, so a cap of 1 pays for nine releases of ε = 0.1. Returns 0 for the price of a
     * Gaussian release, and for one with a δ, as a crowd's message has: other caps pay for those, which these sums do
     * not tell.
     */
    public fun releasesLeft(price: Price): Int {
        val counted = price.mechanism == Mechanism.RESPONSE && price.delta == 0.0 && price.epsilon > 0.0
        return if (counted) (left * EPSILON_UNITS / ceil(price.epsilon * EPSILON_UNITS)).toInt() else 0
    }
}

/** What a pack is made for. [model] is null when the pack does not name one. */
public data class PackDescription(
    val id: Bytes,
    val model: String?,
    val features: Int,
    val slots: Int,
    val cells: Int,
    val modalities: List<ModalityDescription>,
)

/** A kind of query that a pack takes. */
public data class ModalityDescription(val name: String, val features: Int, val kind: Modality.Kind)

public fun Match.toFoundItem(): FoundItem = FoundItem(item().toULong(), label(), slot(), score(), Bytes(payload()))

public fun Ranking.toFound(): Outcome.Found =
    Outcome.Found(matches().map { it.toFoundItem() }, carried(), gallery().toULong(), share(), bytes())

public fun Receipt.toPrice(): Price = Price(mechanism(), epsilon(), delta())

/** What response releases have cost. */
public fun Budget.spent(): Spent = remaining().let { Spent(it.epsilonSpent(), it.epsilonCap()) }

public fun Pack.describe(): PackDescription =
    PackDescription(
        Bytes(id()), model(), features(), slots(), cells(),
        modalities().map { ModalityDescription(it.name(), it.features(), it.kind()) },
    )
