// SPDX-License-Identifier: Apache-2.0
package org.privatemail.kotlin

import java.io.IOException
import java.io.InputStream
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.withContext
import org.privatemail.Budget
import org.privatemail.BudgetStore
import org.privatemail.Client
import org.privatemail.Pack
import org.privatemail.PackSource
import org.privatemail.PaysAgainException
import org.privatemail.Query
import org.privatemail.Search

/*
 * The calls that write to the disk or wait for the network, as suspending functions. They run on [Dispatchers.IO]
 * unless told otherwise and may be called on the main thread.
 *
 * Cancellation is noticed before the work begins and after it has ended. The work itself is not interrupted: an
 * interrupt while a budget is written closes its file, and what was paid would be lost. A cancelled search has lost
 * nothing: its message is stored, and the next search for the same photo sends it again, free of charge.
 */

/** [Budget.open]: restores the stored budget, or creates and stores it at first use. */
public suspend fun openBudget(
    store: BudgetStore,
    owner: ByteArray,
    caps: Budget.Caps,
    dispatcher: CoroutineDispatcher = Dispatchers.IO,
): Budget = withContext(dispatcher) { Budget.open(store, owner, caps) }

/** [PackSource.open]: the pinned pack, which is fetched when the device lacks it. */
public suspend fun PackSource.awaitPack(dispatcher: CoroutineDispatcher = Dispatchers.IO): Pack =
    withContext(dispatcher) { open() }

/** [Search.prepare]: fetches the pack if need be, and pays for the next message. */
public suspend fun Search.awaitPrepared(dispatcher: CoroutineDispatcher = Dispatchers.IO): Unit =
    withContext(dispatcher) { prepare() }

/**
 * [Search.search]: what is nearest to a photo.
 *
 * @param photo a name of the photo, of 1 to 100 bytes in UTF-8, which stays on the device
 * @param features remain the caller's, who wipes them
 * @param label the class as the pack's maker numbered it; packs with one slot ignore it
 * @param modality one of the pack's, or null for its first
 * @param payAgain whether to pay once more when the photo's message was made with a pack that is gone
 * @throws java.io.IOException the network or the server fails at every attempt, or a file does
 * @throws org.privatemail.PrivateMailException as the Java method
 */
public suspend fun Search.awaitFound(
    photo: String,
    features: FloatArray,
    label: Int = 0,
    modality: String? = null,
    scope: Client.Scope = Client.Scope.OWN_SLOT,
    limit: Int = Search.DEFAULT_LIMIT,
    payAgain: Boolean = false,
    dispatcher: CoroutineDispatcher = Dispatchers.IO,
): Outcome =
    withContext(dispatcher) {
        try {
            search(photo, Query.of(features, label).modality(modality), scope, limit, payAgain).toFound()
        } catch (again: PaysAgainException) {
            Outcome.PaysAgain(again.receipt().toPrice())
        }
    }

/** [Search.idle]: takes part in the crowd's epoch without a query. Returns whether it did. */
public suspend fun Search.awaitIdle(dispatcher: CoroutineDispatcher = Dispatchers.IO): Boolean =
    withContext(dispatcher) { idle() }

/** [Search.isPaid]: whether a search for this photo sends a stored message. */
public suspend fun Search.awaitPaid(photo: String, dispatcher: CoroutineDispatcher = Dispatchers.IO): Boolean =
    withContext(dispatcher) { isPaid(photo) }

/** [Search.close], also when the calling coroutine is cancelled: what was prepared and not used is paid back. */
public suspend fun Search.awaitClosed(dispatcher: CoroutineDispatcher = Dispatchers.IO): Unit =
    withContext(NonCancellable) { withContext(dispatcher) { close() } }

/**
 * [Client.arm]: pays for one release of an app with networking of its own. [Client.release], which then makes it,
 * neither waits nor writes. When the coroutine is cancelled meanwhile, the client may be armed: [Client.disarm] pays
 * back.
 */
public suspend fun Client.awaitArmed(budget: Budget, dispatcher: CoroutineDispatcher = Dispatchers.IO): Unit =
    withContext(dispatcher) { arm(budget) }

/**
 * [Client.answer]: reads an answer to its end and keeps what is nearest. The stream is closed in any case; when the
 * coroutine is cancelled, perhaps twice.
 */
public suspend fun Client.awaitAnswer(
    stream: InputStream,
    query: Query,
    scope: Client.Scope = Client.Scope.OWN_SLOT,
    limit: Int = Search.DEFAULT_LIMIT,
    dispatcher: CoroutineDispatcher = Dispatchers.IO,
): Outcome.Found =
    try {
        withContext(dispatcher) { stream.use { answer(it, query, scope, limit) }.toFound() }
    } catch (cancelled: CancellationException) {
        closeCancelled(stream, dispatcher, cancelled) // the work may never have begun
        throw cancelled
    }

/** What closing throws must not hide the cancellation. */
private suspend fun closeCancelled(
    stream: InputStream,
    dispatcher: CoroutineDispatcher,
    cancelled: CancellationException,
): Unit =
    withContext(NonCancellable + dispatcher) {
        try {
            stream.close()
        } catch (failure: IOException) {
            cancelled.addSuppressed(failure)
        }
    }
