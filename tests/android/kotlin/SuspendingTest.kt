// SPDX-License-Identifier: Apache-2.0
// The layer for Kotlin against two servers that run: each serves one pack, the second its successor.
//
//   SuspendingTest SERVER PACK SERVER PACK MODEL FEATURES LABELS FOLDER
//
// FEATURES and LABELS are the gallery's, as .npy. The last line is 'N passed, N failed'.
package org.privatemail.kotlin.test

import java.io.File
import java.io.IOException
import java.io.InputStream
import java.net.HttpURLConnection
import java.net.URL
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.concurrent.CountDownLatch
import java.util.concurrent.Executors
import kotlin.system.exitProcess
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancel
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import org.privatemail.Budget
import org.privatemail.Client
import org.privatemail.FileBudgetStore
import org.privatemail.Mechanism
import org.privatemail.Options
import org.privatemail.PackSource
import org.privatemail.PrivateMailException
import org.privatemail.Query
import org.privatemail.Search
import org.privatemail.Status
import org.privatemail.kotlin.Bytes
import org.privatemail.kotlin.FoundItem
import org.privatemail.kotlin.Outcome
import org.privatemail.kotlin.Price
import org.privatemail.kotlin.Spent
import org.privatemail.kotlin.awaitAnswer
import org.privatemail.kotlin.awaitArmed
import org.privatemail.kotlin.awaitClosed
import org.privatemail.kotlin.awaitFound
import org.privatemail.kotlin.awaitPack
import org.privatemail.kotlin.awaitPaid
import org.privatemail.kotlin.awaitPrepared
import org.privatemail.kotlin.describe
import org.privatemail.kotlin.openBudget
import org.privatemail.kotlin.spent
import org.privatemail.kotlin.toPrice

/** Fails to release the true cell once in a million times: an item of the gallery finds itself. */
private const val EPSILON = 16.0
private const val ITEM = 200

private var passed = 0
private var failed = 0

private fun check(name: String, good: Boolean) {
    println((if (good) "ok      " else "FAILED  ") + name)
    if (good) passed++ else failed++
}

private inline fun <reified T : Throwable> thrown(action: () -> Unit): T? =
    try {
        action()
        null
    } catch (failure: Throwable) {
        failure as? T
    }

/** What a .npy file of version 1 holds, little-endian. */
private fun array(path: String): ByteBuffer {
    val file = ByteBuffer.wrap(File(path).readBytes()).order(ByteOrder.LITTLE_ENDIAN)
    file.position(10 + file.getShort(8))
    return file.slice().order(ByteOrder.LITTLE_ENDIAN)
}

/** The id of a pack in a file: the first half of the hash at byte 8. */
private fun idOf(path: String): ByteArray = File(path).readBytes().copyOfRange(8, 24)

private class Case(arguments: Array<String>) {
    val servers = listOf(URL(arguments[0]), URL(arguments[2]))
    val ids = listOf(idOf(arguments[1]), idOf(arguments[3]))
    val model = arguments[4]
    val folder = File(arguments[7])
    val label = array(arguments[6]).getInt(4 * ITEM)
    private val rows = array(arguments[5]).asFloatBuffer()

    fun features(count: Int): FloatArray = FloatArray(count) { rows.get(ITEM * count + it) }

    fun packs(which: Int, pin: () -> ByteArray = { ids[which] }) = PackSource(servers[which], folder, model) { pin() }

    suspend fun budget(name: String, cap: Double): Budget =
        openBudget(FileBudgetStore(File(folder, name)), ByteArray(16), Budget.Caps.of(cap, 0.0, 0.0))

    fun search(packs: PackSource, budget: Budget) = Search(packs, Options.response(EPSILON), budget, folder)
}

private fun testValues() {
    val item = FoundItem(ULong.MAX_VALUE, 1, 2, 0.5, Bytes(byteArrayOf(7)))
    check("items are compared by their values, payloads too", item == item.copy(payload = Bytes(byteArrayOf(7))) &&
        item != item.copy(payload = Bytes(byteArrayOf(8))) && item.hashCode() == item.copy().hashCode())
    val found = Outcome.Found(listOf(item), 10, 1000u, 0.01, 99)
    check("what was found does not get into a log", listOf(item, found, item.payload).none { "$it".contains("7") ||
        "$it".contains("${item.item}") || "$it".contains("0.5") })
    val bytes = byteArrayOf(1, 2)
    val kept = Bytes(bytes)
    bytes[0] = 9
    kept.toByteArray()[1] = 9
    check("bytes cannot be changed from outside", kept == Bytes(byteArrayOf(1, 2)) && kept.size == 2)
    val price = Price(Mechanism.RESPONSE, 4.0, 0.0)
    check("a budget says how many releases are left", Spent(5.0, 20.0).releasesLeft(price) == 3)
    check("as many as it pays for: a price is rounded up to 2^-20", listOf(0.0 to 9, 0.9 to 0, 1.0 to 0).all {
        Spent(it.first, 1.0).releasesLeft(Price(Mechanism.RESPONSE, 0.1, 0.0)) == it.second
    })
    check("it pays for response releases alone", listOf(Price(Mechanism.GAUSSIAN, 1.0, 1e-5),
        Price(Mechanism.CROWD, 1.0, 0.0), Price(Mechanism.RESPONSE, 1.0, 1e-9), Price(Mechanism.RESPONSE, 0.0, 0.0))
        .all { Spent(0.0, 20.0).releasesLeft(it) == 0 })
}

private suspend fun testSearch(case: Case) {
    val budget = case.budget("budget", 3 * EPSILON)
    check("a new budget has spent nothing", budget.spent() == Spent(0.0, 3 * EPSILON))
    val pack = case.packs(0).awaitPack()
    val description = pack.describe()
    check("the pack is fetched, and describes itself", description.id == Bytes(case.ids[0]) &&
        description.model == case.model && description.features == description.modalities.first().features &&
        description == pack.describe())
    val features = case.features(description.features)
    val search = case.search(case.packs(0), budget)
    check("nothing is stored of a new photo", !search.awaitPaid("itself"))
    search.awaitPrepared()
    val outcome = search.awaitFound("itself", features, case.label, limit = 8)
    val found = outcome as? Outcome.Found
    check("an item of the gallery finds itself", found != null && found.items.first().item == ITEM.toULong() &&
        found.items.first().label == case.label && found.items.size <= 8 && found.items.first().cosine > 0.99 &&
        found.share in 0.0..1.0)
    check("the same photo again is free", search.awaitFound("itself", features, case.label, limit = 8) == outcome &&
        budget.spent().spent == EPSILON && search.awaitPaid("itself"))
    check("features of a wrong number are refused, and cost nothing",
        thrown<PrivateMailException> { search.awaitFound("other", FloatArray(3)) }?.status() == Status.DIMENSION &&
            budget.spent().spent == EPSILON)
    search.awaitClosed()

    val later = case.search(case.packs(1), budget)
    val asks = later.awaitFound("itself", features, case.label)
    val price = Price(Mechanism.RESPONSE, EPSILON, 0.0)
    check("a replaced pack asks for a second price",
        asks == Outcome.PaysAgain(price) && budget.spent().spent == EPSILON)
    check("and finds for it", later.awaitFound("itself", features, case.label, payAgain = true) is Outcome.Found &&
        budget.spent().spent == 2 * EPSILON)
    later.awaitClosed()
}

private suspend fun testThreads(case: Case) {
    val budget = case.budget("budget of threads", 2 * EPSILON)
    val own = Executors.newSingleThreadExecutor { Thread(it, "the app's own") }.asCoroutineDispatcher()
    val threads = mutableListOf<String>()
    val packs = case.packs(0) { threads += Thread.currentThread().name; case.ids[0] }
    val search = case.search(packs, budget)
    val caller = Thread.currentThread().name
    search.awaitPrepared()
    check("the work is done on another thread than the caller's", threads.isNotEmpty() && caller !in threads)
    threads.clear()
    search.awaitPrepared(own)
    check("or on the one that was asked for", threads.isNotEmpty() && threads.all { it == "the app's own" })
    check("preparing twice pays once", budget.spent().spent == EPSILON)
    search.awaitClosed()
    check("closing pays back", budget.spent().spent == 0.0)
    own.close()
}

/** A photo's search is cancelled while it runs. */
private suspend fun testCancellation(case: Case): Unit = withContext(Dispatchers.Default) {
    val budget = case.budget("budget of cancelled", 2 * EPSILON)
    val begun = CountDownLatch(1)
    val go = CountDownLatch(1)
    val search = case.search(case.packs(0) { begun.countDown(); go.await(); case.ids[0] }, budget)
    val features = case.features(case.packs(0).awaitPack().features())
    val job = async { search.awaitFound("cancelled", features, case.label) }
    withContext(Dispatchers.IO) { begun.await() }
    job.cancel()
    go.countDown()
    check("a cancelled search ends as cancelled", thrown<CancellationException> { job.await() } != null)
    check("its message is stored", search.awaitPaid("cancelled") && budget.spent().spent == EPSILON)
    check("and is sent again, free of charge", search.awaitFound("cancelled", features, case.label) is Outcome.Found &&
        budget.spent().spent == EPSILON)
    search.awaitPrepared()
    check("the next message is paid for", budget.spent().spent == 2 * EPSILON)
    val running = CompletableDeferred<Unit>()
    val closing = launch {
        try {
            running.complete(Unit)
            awaitCancellation()
        } finally {
            search.awaitClosed()
        }
    }
    running.await()
    closing.cancel()
    closing.join()
    check("a cancelled coroutine closes all the same, and is paid back", budget.spent().spent == EPSILON)
}

/** An app with networking of its own. */
private suspend fun testClient(case: Case) {
    val budget = case.budget("budget of a client", EPSILON)
    val pack = case.packs(0).awaitPack()
    Client(pack, Options.response(EPSILON)).use { client ->
        val query = Query.of(case.features(pack.features()), case.label)
        client.awaitArmed(budget)
        val price = client.receipt().toPrice()
        check("arming pays the price that the receipt tells", budget.spent().spent == price.epsilon)
        val message = client.release(query).bytes()
        val stream = withContext(Dispatchers.IO) {
            val connection = URL(case.servers[0], "/v1/query").openConnection() as HttpURLConnection
            connection.doOutput = true
            connection.setRequestProperty("Content-Type", "application/cbor")
            connection.outputStream.use { it.write(message) }
            connection.inputStream
        }
        val found = client.awaitAnswer(stream, query)
        check("an answer is ranked as it streams in", found.items.first().item == ITEM.toULong() && found.bytes > 0)
        check("its stream is closed", thrown<IOException> { stream.read() } != null)
        check("a second arm is not paid for", thrown<PrivateMailException> { client.awaitArmed(budget) }?.status() ==
            Status.SPENT)
    }
}

/** Arms until the budget is spent. */
private suspend fun testReleasesLeft(case: Case) {
    val budget = case.budget("budget of tenths", 1.0)
    Client(case.packs(0).awaitPack(), Options.response(0.1)).use { client ->
        val price = client.receipt().toPrice()
        var armed = 0
        var right = true
        do {
            val left = budget.spent().releasesLeft(price)
            val refusal = thrown<PrivateMailException> { client.awaitArmed(budget) }
            right = right && (refusal == null) == (left > 0) && left == 9 - armed
            client.wipe() // its price is lost
            armed++
        } while (refusal == null)
        check("as many releases are paid for as were said to be left", right && armed == 10)
    }
}

/** Empty, and counts. */
private class CountedStream(private val closing: () -> Unit = {}) : InputStream() {
    @Volatile var reads = 0
    @Volatile var closed = 0

    override fun read(): Int {
        reads++
        return -1
    }

    override fun close() {
        closed++
        closing()
    }
}

/** An answer whose coroutine is cancelled before its dispatcher comes to it. */
private suspend fun testClosing(case: Case): Unit = withContext(Dispatchers.Default) {
    val pack = case.packs(0).awaitPack()
    val query = Query.of(case.features(pack.features()), case.label)
    Client(pack, Options.response(EPSILON)).use { client ->
        val early = CountedStream()
        val job = launch {
            coroutineContext.cancel()
            client.awaitAnswer(early, query)
        }
        job.join()
        check("an answer that was cancelled before is not read, and closed", job.isCancelled && early.reads == 0 &&
            early.closed > 0)

        val own = Executors.newSingleThreadExecutor().asCoroutineDispatcher()
        val go = CountDownLatch(1)
        val busy = launch(own) { go.await() }
        val queued = CountedStream { throw IOException("of the test") }
        val waiting = async(Dispatchers.Unconfined) { client.awaitAnswer(queued, query, dispatcher = own) }
        waiting.cancel()
        go.countDown()
        busy.join()
        check("so is one that waits for its thread, also when closing fails",
            thrown<CancellationException> { waiting.await() } != null && queued.reads == 0 && queued.closed > 0)
        own.close()

        val failing = CountedStream()
        check("and one that is no answer",
            thrown<PrivateMailException> { client.awaitAnswer(failing, query) }?.status() == Status.ANSWER &&
                failing.reads > 0 && failing.closed > 0)
    }
}

fun main(arguments: Array<String>) {
    val case = Case(arguments)
    testValues()
    runBlocking {
        testSearch(case)
        testThreads(case)
        testCancellation(case)
        testClient(case)
        testReleasesLeft(case)
        testClosing(case)
    }
    println("$passed passed, $failed failed")
    exitProcess(if (failed == 0) 0 else 1)
}
