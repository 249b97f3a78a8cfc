// SPDX-License-Identifier: Apache-2.0
import CPrivateMail
import CPrivateMailPlatform
import Foundation

/// A candidate of the answer that is near to the true query.
public struct Match: Sendable, Hashable, Unprinted {
    /// The server's number of the item.
    public let item: UInt64
    /// The item's class.
    public let label: Int
    /// The slot it came in.
    public let slot: Int
    /// Cosine of the sketches, -1 to 1: larger is nearer.
    public let score: Double
    /// Where its payload stands in the answer's bytes.
    public let payloadOffset: Int
    public let payloadSize: Int

    init(_ match: pml_match) {
        item = match.item
        label = Int(match.label)
        slot = Int(match.slot)
        score = Double(match.score) * 0x1p-30
        payloadOffset = Int(match.payload_offset)
        payloadSize = Int(match.payload_size)
    }

    /// The same in longer bytes, which so many others begin.
    func moved(by count: Int) -> Match {
        Match(
            item: item, label: label, slot: slot, score: score, payloadOffset: payloadOffset + count,
            payloadSize: payloadSize)
    }

    private init(item: UInt64, label: Int, slot: Int, score: Double, payloadOffset: Int, payloadSize: Int) {
        self.item = item
        self.label = label
        self.slot = slot
        self.score = score
        self.payloadOffset = payloadOffset
        self.payloadSize = payloadSize
    }

    /// The payload: a slice of the answer's bytes, which are not copied.
    public func payload(in answer: Data) -> Data {
        answer.dropFirst(payloadOffset).prefix(payloadSize)
    }
}

/// What the device found in an answer. What the app fetches, logs or shows to others afterwards must not depend on it.
public struct Answer: Sendable, Hashable, Unprinted {
    public enum Scope: Int32, Sendable {
        /// Candidates of the query's own slot.
        case ownSlot = 0
        /// Candidates of all slots.
        case allSlots = 1

        var number: pml_scope { self == .ownSlot ? PML_OWN_SLOT : PML_ALL_SLOTS }
    }

    /// Best first.
    public let matches: [Match]
    /// Candidates in the answer.
    public let carried: UInt64
    /// Items the server says it has.
    public let gallery: UInt64
    /// Length of the answer in bytes.
    public let bytes: UInt64

    static func check(limit: Int) throws(PrivateMailError) {
        guard (1...Int(PML_MATCHES_MAX)).contains(limit) else { throw PrivateMailError(.argument) }
    }
}

/// An answer that streams in: feed it in pieces of any length, then finish.
///
/// Works in fixed memory, and hands out nothing before the last byte was validated. Dropping it ends the answer and
/// wipes what was found so far.
public struct Ranking: ~Copyable, Sendable {
    private let client: Client
    private let matches: Matches

    fileprivate init(client: Client, matches: Matches) {
        self.client = client
        self.matches = matches
    }

    deinit {
        client.abandon(matches)
    }

    /// Takes the next piece of the answer: a `Data`, an array of bytes, a buffer. It is not kept.
    public func feed(_ bytes: some ContiguousBytes) throws(PrivateMailError) {
        try client.feed(bytes, to: matches)
    }

    /// Ends the answer. After an error ask the server for the same bytes again, never for a new release's.
    public consuming func finish() throws(PrivateMailError) -> Answer {
        try client.finish(matches)
    }
}

extension Client {
    /// Starts to rank an answer as it streams in; one at a time, in any state of the client.
    ///
    /// In a crowd it is the answer to one own message, which has one slot. Fetch the answers to all messages of the
    /// bundle, and rank those whose ``CrowdBundle/Message/own`` is above 0.
    ///
    /// - Parameters:
    ///   - features: The true query, as given to ``release(features:label:modality:)``.
    ///   - label: Its class.
    ///   - modality: Its modality.
    ///   - scope: Which candidates count.
    ///   - limit: How many matches to keep, 1 to 256.
    public func beginAnswer(
        features: some Collection<Float>, label: Int, modality: String? = nil, scope: Answer.Scope = .ownSlot,
        limit: Int = 20
    ) throws(PrivateMailError) -> Ranking {
        let label = try classNumber(label), modality = try pack.find(modality: modality)
        try Answer.check(limit: limit)
        let fresh = Matches(capacity: limit)
        try gate.run { () throws(PrivateMailError) in
            guard matches == nil else { throw PrivateMailError(.state) }
            var config = pml_ranking_config()
            config.matches = fresh.pointer
            config.capacity = fresh.capacity
            config.scope = scope.number
            config.substitute = options.substitute
            config.crowd = options.crowd != nil
            config.kernels = pml_platform_kernels()
            try check(
                withQuery(features, label, modality) {
                    pml_ranking_begin(&ranking, rankingMemory.baseAddress, rankingMemory.count, pack.view, $0, &config)
                })
            matches = fresh
        }
        return Ranking(client: self, matches: fresh)
    }

    /// Ranks a whole answer.
    public func answer(
        _ bytes: some ContiguousBytes, features: some Collection<Float>, label: Int, modality: String? = nil,
        scope: Answer.Scope = .ownSlot, limit: Int = 20
    ) throws(PrivateMailError) -> Answer {
        let ranking = try beginAnswer(
            features: features, label: label, modality: modality, scope: scope, limit: limit)
        try ranking.feed(bytes)
        return try ranking.finish()
    }

    /// Ranks an answer while it arrives in pieces. Throws what the sequence throws, or a ``PrivateMailError``.
    public func answer<Chunks: AsyncSequence>(
        from chunks: Chunks, features: some Collection<Float>, label: Int, modality: String? = nil,
        scope: Answer.Scope = .ownSlot, limit: Int = 20, isolation: isolated (any Actor)? = #isolation
    ) async throws -> Answer where Chunks.Element: ContiguousBytes {
        let ranking = try beginAnswer(
            features: features, label: label, modality: modality, scope: scope, limit: limit)
        for try await chunk in chunks {
            try ranking.feed(chunk)
        }
        return try ranking.finish()
    }

    /// Ranks an answer while it arrives byte by byte, as from `URLSession.bytes(for:)`. Throws what the sequence throws,
    /// or a ``PrivateMailError``.
    public func answer<Bytes: AsyncSequence>(
        from bytes: Bytes, features: some Collection<Float>, label: Int, modality: String? = nil,
        scope: Answer.Scope = .ownSlot, limit: Int = 20, isolation: isolated (any Actor)? = #isolation
    ) async throws -> Answer where Bytes.Element == UInt8 {
        let ranking = try beginAnswer(
            features: features, label: label, modality: modality, scope: scope, limit: limit)
        var piece: [UInt8] = []
        piece.reserveCapacity(1 << 14)
        for try await byte in bytes {
            piece.append(byte)
            guard piece.count == 1 << 14 else { continue }
            try ranking.feed(piece)
            piece.removeAll(keepingCapacity: true)
        }
        try ranking.feed(piece)
        return try ranking.finish()
    }

    // A ranking whose answer was wiped in the meantime must not touch the next one: it is known by its matches.

    fileprivate func feed(_ bytes: some ContiguousBytes, to open: Matches) throws(PrivateMailError) {
        try gate.run { () throws(PrivateMailError) in
            guard matches === open else { throw PrivateMailError(.state) }
            try check(bytes.withUnsafeBytes { pml_ranking_feed(ranking, $0.baseAddress, $0.count) })
        }
    }

    fileprivate func finish(_ open: Matches) throws(PrivateMailError) -> Answer {
        try gate.run { () throws(PrivateMailError) in
            guard matches === open else { throw PrivateMailError(.state) }
            matches = nil
            var summary = pml_answer_summary()
            try check(pml_ranking_finish(ranking, &summary))
            let found = UnsafeBufferPointer(start: open.pointer, count: summary.found)
            return Answer(
                matches: found.map(Match.init), carried: summary.carried, gallery: summary.gallery,
                bytes: summary.bytes)
        }
    }

    fileprivate func abandon(_ open: Matches) {
        try? gate.run { () throws(PrivateMailError) in
            guard matches === open else { return }
            matches = nil
            pml_ranking_wipe(ranking)
        }
    }
}

/// Memory that the library fills from begin to finish, and that tells what was sought: wiped before it is freed.
final class Matches: @unchecked Sendable {  // only touched inside the client's gate, and by its last owner
    let pointer: UnsafeMutablePointer<pml_match>
    let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
        pointer = .allocate(capacity: capacity)
        pointer.initialize(repeating: pml_match(), count: capacity)
    }

    deinit {
        wipe(UnsafeMutableRawBufferPointer(start: pointer, count: capacity * MemoryLayout<pml_match>.stride))
        pointer.deallocate()
    }
}
