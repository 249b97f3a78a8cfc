// SPDX-License-Identifier: Apache-2.0
import CPrivateMail
import Foundation

/// What a client of a crowd hands to the relay in one epoch: own messages and fakes, in random order, of one length.
///
/// Hand over ``bytes`` as a whole; what may be resent are the same bytes, in the same epoch. Which messages are the
/// app's own stays on the device.
public struct CrowdBundle: Sendable, Unprinted {
    /// What a bundle is about, and what it costs.
    public enum Kind: Sendable {
        /// A photo's cell is drawn and sent: costs the floor ε₀ and the own messages of the crowd.
        case query
        /// A photo's kept cell is sent again: costs the own messages of the crowd.
        case kept
        /// No query in this epoch: fakes, and cover when the policy says so. Costs nothing.
        case idle

        var number: pml_bundle {
            switch self {
            case .query: PML_BUNDLE_QUERY
            case .kept: PML_BUNDLE_KEPT
            case .idle: PML_BUNDLE_IDLE
            }
        }
    }

    public struct Message: Sendable, Unprinted {
        /// What the server sees.
        public let bytes: Data
        /// Private: 0 for a fake, else 1 to ``Crowd/own``; the answer to it is worth ranking.
        public let own: Int
    }

    public let kind: Kind
    /// In the order in which they are sent. May be empty; then nothing is sent.
    public let messages: [Message]
    /// What it cost, at most: a kept bundle does not pay the floor, an idle one pays nothing.
    public let receipt: Receipt

    /// What to hand to the relay: all messages, one after the other.
    public var bytes: Data { messages.reduce(into: Data()) { $0.append($1.bytes) } }

    /// The message to keep for the photo, for ``Client/bundle(kept:)``; nil for an idle one. Private.
    public var kept: Data? { kind == .idle ? nil : messages.first { $0.own == 1 }?.bytes }
}

extension Client {
    /// The bundle that ``armBundle(_:for:)`` paid for as ``CrowdBundle/Kind/query``.
    ///
    /// When the query is refused the client stays armed. Armed for another kind, it throws ``Status/argument``.
    /// Features, label and modality are those of ``release(features:label:modality:)``.
    public func bundle(
        features: some Collection<Float>, label: Int, modality: String? = nil
    ) throws(PrivateMailError) -> CrowdBundle {
        let label = try classNumber(label), modality = try pack.find(modality: modality)
        return try write(.query) {
            withQuery(features, label, modality) { query in
                var content = pml_crowd_content()
                content.query = query
                return pml_crowd_begin(handle, &content)
            }
        }
    }

    /// The bundle that ``armBundle(_:for:)`` paid for as ``CrowdBundle/Kind/kept``.
    ///
    /// - Parameter message: ``CrowdBundle/kept`` of the photo's earlier bundle. Anything else is refused with
    ///   ``Status/release`` or ``Status/packID``.
    public func bundle(kept message: Data) throws(PrivateMailError) -> CrowdBundle {
        guard !message.isEmpty else { throw PrivateMailError(.release) }  // it may have no address
        return try write(.kept) {
            message.withUnsafeBytes { bytes in
                var content = pml_crowd_content()
                content.kept = bytes.baseAddress
                content.kept_size = bytes.count
                return pml_crowd_begin(handle, &content)
            }
        }
    }

    /// The bundle of an epoch without a query, armed as ``CrowdBundle/Kind/idle``; often empty.
    public func idleBundle() throws(PrivateMailError) -> CrowdBundle {
        try write(.idle) { pml_crowd_begin(handle, nil) }
    }

    private func write(
        _ kind: CrowdBundle.Kind, _ begin: () -> pml_status
    ) throws(PrivateMailError) -> CrowdBundle {
        try gate.run { () throws(PrivateMailError) in
            try check(begin())
            var messages: [CrowdBundle.Message] = []
            while pml_crowd_left(handle) > 0 {
                var bytes = Data(count: receipt.bytes), own: UInt32 = 0
                try check(
                    bytes.withUnsafeMutableBytes { out in
                        pml_crowd_next(handle, out.baseAddress?.assumingMemoryBound(to: UInt8.self), out.count, &own)
                    })
                messages.append(CrowdBundle.Message(bytes: bytes, own: Int(own)))
            }
            return CrowdBundle(kind: kind, messages: messages, receipt: receipt)
        }
    }
}
