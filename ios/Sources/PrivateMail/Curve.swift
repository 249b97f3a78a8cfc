// SPDX-License-Identifier: Apache-2.0
import CPrivateMail

/// The library's version, as in "0.9.0".
public var version: String { String(cString: pml_version()) }

/// The best chance that any ε-private method has to bring the right cell when the answer carries the share of the
/// gallery given; one cell per slot reaches it.
///
/// - Returns: NaN for arguments out of range (0 ≤ share ≤ 1, 0 ≤ epsilon ≤ 64).
public func curve(epsilon: Double, share: Double) -> Double {
    pml_recall_ceiling(epsilon, share)
}

/// The ε that reaches a chance at a share of the gallery, rounded up: the inverse of ``curve(epsilon:share:)``.
///
/// - Returns: NaN unless 0 < share ≤ probability < 1, and for a share below 1e-100.
public func curveEpsilon(share: Double, probability: Double) -> Double {
    pml_epsilon_for(probability, share)
}
