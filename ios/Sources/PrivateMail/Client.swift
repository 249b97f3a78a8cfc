// SPDX-License-Identifier: Apache-2.0
import CPrivateMail
import CPrivateMailPlatform
import Foundation

/// What leaves the device, once per ``Client/arm(_:)``.
///
/// When the network fails, send the same ``bytes`` again: that is free. Keep the bytes of a photo and reuse them:
/// n releases about one photo cost n times ε.
public struct Release: Sendable {
    /// The message to send.
    public let bytes: Data
    /// What it cost.
    public let receipt: Receipt
    let pack: Pack

    /// What the server sees of it, ``Pack/slots`` × ``Pack/dimensions`` numbers; nil when the pack has no codes.
    public var rows: [Float]? { try? pack.rows(of: bytes) }
}

/// Makes releases and ranks answers, on one pack with one set of options.
///
/// ```swift
/// try client.arm(budget)                                          // early: pays, draws all randomness
/// let release = try client.release(features: x, label: 3)         // send release.bytes
/// let answer = try client.answer(data, features: x, label: 3)     // what came back, best first
/// ```
///
/// In a crowd (``Options/crowd(floor:_:substitute:)``) it makes bundles: ``armBundle(_:for:)``,
/// ``bundle(features:label:modality:)``. Calls of the other sort are refused with ``Status/crowd``.
///
/// Threads: calls are serialised; a second thread waits, in ``arm(_:)`` and ``disarm()`` also for those of other
/// clients. Memory: one block, allocated by init, wiped and freed by deinit. A call from inside a ``BudgetStore`` that
/// works for this client is refused with ``Status/state``.
public final class Client: @unchecked Sendable {  // everything mutable is only touched inside the gate
    /// Fills a buffer with random bytes and returns 0; anything else is a failure.
    package typealias Entropy = (UnsafeMutableRawBufferPointer) -> Int32

    public let pack: Pack
    public let options: Options
    /// What one release of this client costs.
    public let receipt: Receipt

    let gate = Gate()
    let handle: OpaquePointer
    private let memory: UnsafeMutableRawBufferPointer
    /// The crowd's policy, at which the client looks; empty without a crowd. For tests: an app cannot change it.
    package let policy: UnsafeMutableRawBufferPointer
    private let free: (UnsafeMutableRawBufferPointer) -> Void
    private let callbacks: Callbacks
    /// Armed the client last, and gets the price back from disarm.
    private var payer: Budget?
    /// The answer under way, and what ranks it.
    var matches: Matches?
    var ranking: OpaquePointer?
    let rankingMemory: UnsafeMutableRawBufferPointer

    /// Does all that depends on pack and options only. Slow for large Gaussian packs: make a client once and keep it.
    public convenience init(pack: Pack, options: Options) throws(PrivateMailError) {
        try self.init(pack: pack, options: options, entropy: nil)
    }

    /// For tests: scripted entropy, and a look at the memory before it is freed.
    package init(
        pack: Pack, options: Options, entropy: Entropy?,
        free: @escaping (UnsafeMutableRawBufferPointer) -> Void = { $0.deallocate() }
    ) throws(PrivateMailError) {
        let callbacks = Callbacks(entropy: entropy)
        var config = options.config
        callbacks.install(in: &config)
        config.kernels = pml_platform_kernels()
        let policy = UnsafeMutableBufferPointer<pml_crowd>.allocate(capacity: options.crowd == nil ? 0 : 1)
        if let crowd = options.crowd {
            policy.initialize(repeating: crowd.policy)
            config.crowd = UnsafePointer(policy.baseAddress)
        }
        // Zero for a pack that lacks what the mechanism needs; init then says which error that is.
        let clientSize = max(1, pml_client_size(pack.view, &config))
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: clientSize + pml_ranking_size(pack.view), alignment: 8)
        var handle: OpaquePointer?
        var receipt = pml_receipt()
        do throws(PrivateMailError) {
            try check(pml_client_init(&handle, memory.baseAddress, clientSize, pack.view, &config))
            try check(pml_client_receipt(handle, &receipt))
        } catch {
            memory.deallocate()
            policy.deallocate()
            throw error
        }
        self.pack = pack
        self.options = options
        self.receipt = Receipt(receipt)
        self.handle = handle!  // never null after success
        self.memory = memory
        self.policy = UnsafeMutableRawBufferPointer(policy)
        rankingMemory = UnsafeMutableRawBufferPointer(rebasing: memory[clientSize...])
        self.free = free
        self.callbacks = callbacks
    }

    deinit {
        pml_client_wipe(handle)
        PrivateMail.wipe(memory)
        free(memory)
        policy.deallocate()
    }

    /// Pays for one release and draws all its randomness.
    ///
    /// Do it early, before private data is in memory: how long it takes depends on the noise. When the random generator
    /// or the store fails nothing is charged, and ``PrivateMailError/underlying`` is what the store threw, or
    /// ``Budget/Conflict``.
    public func arm(_ budget: Budget) throws(PrivateMailError) {
        try change { () throws(PrivateMailError) in
            try pay(budget) { pml_client_arm(handle, $0) }
            payer = budget
        }
    }

    /// Pays for one bundle of a crowd and draws all that does not depend on the query. Do it early, as ``arm(_:)``.
    ///
    /// Throws ``Status/spent`` also when the policy makes no promise and the budget keeps one.
    public func armBundle(_ budget: Budget, for kind: CrowdBundle.Kind) throws(PrivateMailError) {
        try change { () throws(PrivateMailError) in
            try pay(budget) { pml_crowd_arm(handle, $0, kind.number) }
            payer = budget
        }
    }

    /// Gives up what the client is armed with and takes the price back.
    ///
    /// The noise is gone also when storing the refund fails; the price is then lost.
    public func disarm() throws(PrivateMailError) {
        try change { () throws(PrivateMailError) in
            guard let budget = payer else { throw PrivateMailError(.state) }
            try pay(budget) { pml_client_disarm(handle, $0) }
        }
    }

    /// The stores' gate first: a store that uses some client never waits for a thread that waits for the stores.
    private func change(_ body: () throws(PrivateMailError) -> Void) throws(PrivateMailError) {
        try Budget.stores.run { () throws(PrivateMailError) in try gate.run(body) }
    }

    private func pay(
        _ budget: Budget, _ call: (UnsafeMutablePointer<pml_budget>) -> pml_status
    ) throws(PrivateMailError) {
        try budget.lend { bytes throws(PrivateMailError) in
            try callbacks.storing(budget) { call(bytes) }
        }
    }

    /// Turns a query into the bytes to send. Uses up what ``arm(_:)`` paid for.
    ///
    /// When the query is refused the client stays armed: release another, or ``disarm()``.
    ///
    /// - Parameters:
    ///   - features: As many finite numbers as the modality has, not all zero, of any scale, in contiguous storage (an
    ///     array, a slice, a buffer). Read in place and not kept; yours to wipe, see ``wipe(_:)``.
    ///   - label: The class, as the pack's maker numbered it; ignored by packs with one slot. A number beyond 32 bits
    ///     is the app's mistake, and refused with ``Status/argument`` by every pack and with every option.
    ///   - modality: One of ``Pack/modalities``, by its name; nil for the first. A name that the pack lacks is refused
    ///     with ``Status/modality``. It is not hidden: time depends on it. The release's bytes do not tell it.
    public func release(
        features: some Collection<Float>, label: Int, modality: String? = nil
    ) throws(PrivateMailError) -> Release {
        let label = try classNumber(label), modality = try pack.find(modality: modality)
        return try gate.run { () throws(PrivateMailError) -> Release in
            var bytes = Data(count: receipt.bytes)
            try check(
                bytes.withUnsafeMutableBytes { out in
                    withQuery(features, label, modality) {
                        pml_client_release(
                            handle, $0, out.baseAddress?.assumingMemoryBound(to: UInt8.self), out.count)
                    }
                })
            return Release(bytes: bytes, receipt: receipt, pack: pack)
        }
    }

    /// Forgets everything private at once: noise, query, an answer under way. The price is not refunded; the client may
    /// be armed again. Without effect from inside a callback.
    public func wipe() {
        try? gate.run { () throws(PrivateMailError) in
            pml_client_wipe(handle)
            pml_ranking_wipe(ranking)
            matches = nil
        }
    }
}

/// A class as packs number them.
func classNumber(_ label: Int) throws(PrivateMailError) -> Int32 {
    guard let number = Int32(exactly: label) else { throw PrivateMailError(.argument) }
    return number
}

/// Lends a query of contiguous features to a call; those that are not are refused rather than copied.
func withQuery(
    _ features: some Collection<Float>, _ label: Int32, _ modality: UInt32,
    _ body: (UnsafePointer<pml_query>) -> pml_status
) -> pml_status {
    features.withContiguousStorageIfAvailable { floats in
        guard let first = floats.baseAddress else { return PML_ERROR_DIMENSION }
        var query = pml_query()
        query.features = first
        query.count = floats.count
        query.label = label
        query.modality = modality
        return body(&query)
    } ?? PML_ERROR_ARGUMENT
}

/// What the C callbacks reach through their context. Owned by the client, so it outlives every call of them.
private final class Callbacks {
    private let entropy: Client.Entropy?
    private var budget: Budget?
    private var failure: (any Error)?

    init(entropy: Client.Entropy?) {
        self.entropy = entropy
    }

    func install(in config: inout pml_config) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        config.persist_context = context
        config.persist = { context, bytes, size in
            let callbacks = Unmanaged<Callbacks>.fromOpaque(context!).takeUnretainedValue()
            do {
                try callbacks.budget!.replaceStored(with: Data(bytes: bytes!, count: size))
                return 0
            } catch {
                callbacks.failure = error
                return -1
            }
        }
        guard entropy != nil else {
            config.entropy = pml_platform_entropy
            return
        }
        config.entropy_context = context
        config.entropy = { context, out, size in
            let callbacks = Unmanaged<Callbacks>.fromOpaque(context!).takeUnretainedValue()
            return callbacks.entropy!(UnsafeMutableRawBufferPointer(start: out, count: size))
        }
    }

    /// Runs a call that may store the budget, and throws what the store threw along with its status.
    func storing(_ budget: Budget, _ call: () -> pml_status) throws(PrivateMailError) {
        self.budget = budget
        defer {
            self.budget = nil
            failure = nil
        }
        try check(call(), underlying: failure)
    }
}
