// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A ``Client`` for tasks: its calls run on the actor and never block the caller's thread, such as the main one.
///
/// Paying writes to the disk and takes as long as the noise does. A release is paid for and made in one step, so tasks
/// that share the actor cannot take each other's arm. Each answer has memory of its own, so that several may be ranked
/// at the same time. For an app with networking of its own; ``Search`` does the rest too.
///
/// ```swift
/// let client = try ClientActor(pack: pack, options: .response(epsilon: 4))
/// try await client.prepare(budget)  // early, when idle
/// let release = try await client.release(features: features, label: 0, paidBy: budget)
/// let answer = try await client.answer(reply, features: features, label: 0)
/// ```
public actor ClientActor {
    public nonisolated let pack: Pack
    /// What every release costs.
    public nonisolated let receipt: Receipt

    private let options: Options
    private let client: Client
    private var payer: Budget?  // of the release that is paid for and not yet made

    /// Lays out the client's memory and calibrates its noise. A crowd's options are of no use here: ``Search`` makes
    /// bundles.
    public init(pack: Pack, options: Options) throws(PrivateMailError) {
        client = try Client(pack: pack, options: options)
        self.pack = pack
        self.options = options
        receipt = client.receipt
    }

    /// Pays for the next release and draws its randomness, as ``Client/arm(_:)``. Calling it twice pays once.
    public func prepare(_ budget: Budget) throws(PrivateMailError) {
        guard payer !== budget else { return }
        try cancel()
        try client.arm(budget)
        payer = budget
    }

    /// Takes back what ``prepare(_:)`` paid and no release has used.
    public func cancel() throws(PrivateMailError) {
        guard payer != nil else { return }
        payer = nil
        try client.disarm()
    }

    /// Turns a query into the bytes to send, as ``Client/release(features:label:modality:)``. Pays first, unless
    /// ``prepare(_:)`` did. When the query is refused, the next release uses what was paid; or ``cancel()``.
    ///
    /// Store the bytes before you send them. A second release about the same photo costs again.
    public func release(
        features: [Float], label: Int, modality: String? = nil, paidBy budget: Budget
    ) throws(PrivateMailError) -> Release {
        try prepare(budget)
        let release = try client.release(features: features, label: label, modality: modality)
        payer = nil
        return release
    }

    /// Ranks a whole answer, as ``Client/answer(_:features:label:modality:scope:limit:)``.
    public func answer(
        _ bytes: Data, features: [Float], label: Int, modality: String? = nil, scope: Answer.Scope = .ownSlot,
        limit: Int = 20
    ) throws(PrivateMailError) -> Answer {
        try Client(pack: pack, options: options).answer(
            bytes, features: features, label: label, modality: modality, scope: scope, limit: limit)
    }
}
