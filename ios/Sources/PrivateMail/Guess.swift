// SPDX-License-Identifier: Apache-2.0
import CPrivateMail
import CPrivateMailPlatform

/// A likely label of a query, from ``Pack/guess(features:modality:count:)``. As private as the query: nothing that leaves
/// the device may tell it.
public struct Guess: Sendable, Hashable, Unprinted {
    /// The label, as the head's maker numbered it.
    public let label: Int
    /// Larger is likelier; comparable only with other guesses of the same query.
    public let score: Int64
}

extension Pack {
    /// Labels that ``guess(features:modality:count:)`` knows; 0 when the pack has no head.
    public var labels: Int { Int(info.labels) }

    /// The likeliest labels of a query, the likeliest first, by the head of the pack.
    ///
    /// Show them to the device's owner, or take one as the query's label, and send them nowhere. Throws
    /// ``Status/section`` when the pack has no head.
    ///
    /// - Parameters:
    ///   - features: As given to ``Client/release(features:label:modality:)``.
    ///   - modality: One of ``modalities``; nil is the first.
    ///   - count: 1 to 64, and at most ``labels``.
    public func guess(
        features: some Collection<Float>, modality: String? = nil, count: Int = 1
    ) throws(PrivateMailError) -> [Guess] {
        let modality = try find(modality: modality)
        guard (1...Int(PML_GUESSES_MAX)).contains(count) else { throw PrivateMailError(.argument) }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(pml_guess_size(view), 1), alignment: 16)
        let found = UnsafeMutableBufferPointer<pml_guess>.allocate(capacity: count)
        defer {
            PrivateMail.wipe(UnsafeMutableRawBufferPointer(found))
            found.deallocate()
            memory.deallocate()
        }
        try check(
            withQuery(features, 0, modality) {
                pml_pack_guess(
                    view, pml_platform_kernels(), $0, memory.baseAddress, memory.count, found.baseAddress, count)
            })
        return found.map { Guess(label: Int($0.label), score: $0.score) }
    }
}
