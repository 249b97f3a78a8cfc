// SPDX-License-Identifier: Apache-2.0
import CPrivateMail

/// How releases are made: a mechanism and its promise. ε and δ are the app's choice, never the pack's.
public struct Options: Sendable, Hashable {
    public enum Mechanism: Int32, Sendable {
        /// Pure ε, for retrieval.
        case response = 1
        /// (ε, δ), a noisy embedding.
        case gaussian = 2
        /// What a message of a crowd says when the pack has several slots. A client of a crowd has ``response`` and
        /// ``Options/crowd``.
        case crowd = 3
    }

    public let mechanism: Mechanism
    /// Privacy of one release, 2^-20 … 16; in a crowd the floor ε₀, 2^-16 … 16.
    public let epsilon: Double
    /// 0 for response, 2^-50 … below 1 for the Gaussian.
    public let delta: Double
    /// Gaussian: bytes of a released coordinate, 1 or 2. Response: 0.
    public let valueBytes: Int
    /// false: bad features and unknown labels are errors, and then the *absence* of a message tells that the input was
    /// bad. true: they are replaced by a public default and the release is sent all the same.
    public let substitute: Bool
    /// The policy of the crowd, or nil without one.
    public let crowd: Crowd?

    /// Randomized response: the default choice.
    public static func response(epsilon: Double, substitute: Bool = false) -> Options {
        Options(mechanism: .response, epsilon: epsilon, delta: 0, valueBytes: 0, substitute: substitute, crowd: nil)
    }

    /// Asks in a crowd: ``Client/armBundle(_:for:)`` and bundles, not ``Client/arm(_:)`` and releases.
    ///
    /// The promise of the policy holds if the relay mixes and does not join the server, and at least ``Crowd/clients``
    /// clients are honest; the floor holds in any case.
    public static func crowd(floor: Double, _ crowd: Crowd, substitute: Bool = false) -> Options {
        Options(mechanism: .response, epsilon: floor, delta: 0, valueBytes: 0, substitute: substitute, crowd: crowd)
    }

    /// The Gaussian mechanism, for work in the embedding itself.
    public static func gaussian(
        epsilon: Double, delta: Double, valueBytes: Int = 1, substitute: Bool = false
    ) -> Options {
        Options(
            mechanism: .gaussian, epsilon: epsilon, delta: delta, valueBytes: valueBytes, substitute: substitute,
            crowd: nil)
    }

    /// The same with ``substitute`` set.
    var substituting: Options {
        Options(
            mechanism: mechanism, epsilon: epsilon, delta: delta, valueBytes: valueBytes, substitute: true,
            crowd: crowd)
    }

    var config: pml_config {
        var config = pml_config()
        config.mechanism = mechanism == .gaussian ? PML_GAUSSIAN : PML_RESPONSE
        config.epsilon = epsilon
        config.delta = delta
        config.value_bytes = UInt32(exactly: valueBytes) ?? .max  // refused there, with the right status
        config.substitute = substitute
        return config
    }
}

/// What one release costs and how it is made. All of it is public.
public struct Receipt: Sendable, Hashable {
    public let mechanism: Options.Mechanism
    /// In a crowd: the floor ε₀ of a photo whose cell is drawn.
    public let epsilon: Double
    /// In a crowd: the δ₀ of one own message.
    public let delta: Double
    /// Gaussian: certified sensitivity of this pack, in embedding units; else 0.
    public let sensitivity: Double
    /// Gaussian: standard deviation of the noise, in embedding units; else 0.
    public let sigma: Double
    /// Gaussian: what a release adds to the budget's Σμ² is its square. In a crowd: of one own message. Else 0.
    public let mu: Double
    /// Response: probability that the true cell is the one released; else 0.
    public let keep: Double
    /// Length of a release.
    public let bytes: Int
    /// The most releases that one bundle can have; 1 without a crowd.
    public let messages: Int

    init(_ receipt: pml_receipt) {
        mechanism = Options.Mechanism(rawValue: Int32(receipt.mechanism.rawValue))!  // there are no others
        epsilon = receipt.epsilon
        delta = receipt.delta
        sensitivity = receipt.sensitivity
        sigma = receipt.sigma
        mu = receipt.mu
        keep = receipt.keep
        bytes = receipt.bytes
        messages = receipt.messages
    }
}
