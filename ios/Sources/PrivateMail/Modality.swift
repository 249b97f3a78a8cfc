// SPDX-License-Identifier: Apache-2.0
import CPrivateMail

/// A sort of query that a pack takes, such as pictures or words.
///
/// Its *front* maps features of this sort to those that the collection is made of: so words find pictures.
public struct Modality: Sendable, Hashable {
    /// How a front maps features.
    public enum Kind: UInt32, Sendable {
        /// Features are used as they are.
        case none = 1
        /// Sums of features with signs from a seed.
        case signs = 2
        /// A matrix and an offset.
        case matrix = 3
        /// A sum of Gaussian kernels.
        case kernels = 4
    }

    /// As its maker named it, for queries; empty for the one modality of a pack without fronts.
    public let name: String
    /// Numbers in a feature vector of this modality.
    public let features: Int
    public let kind: Kind
    /// Whether roots of the features are taken first, as for histograms.
    public let root: Bool

    init(_ modality: pml_modality) {
        name = String(cString: modality.name)
        features = Int(modality.features)
        kind = Kind(rawValue: UInt32(modality.kind.rawValue))!  // the library has checked it
        root = modality.root
    }
}
