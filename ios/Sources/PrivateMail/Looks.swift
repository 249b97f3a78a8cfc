// SPDX-License-Identifier: Apache-2.0
import CPrivateMail

/// Several looks at one photo, such as crops, flips or a burst, become one query.
///
/// Their mean finds more than any of them, at the price of one release:
///
/// ```swift
/// let looks = try Looks(features: pack.features)
/// for crop in crops {
///     try looks.add(features(of: crop))
/// }
/// let release = try client.release(features: try looks.mean(), label: 3)
/// ```
///
/// Threads: calls are served one after the other. Memory: one block, wiped and freed by deinit.
public final class Looks: @unchecked Sendable {  // all calls go through the gate
    /// Most looks at one photo.
    public static let most = Int(PML_LOOKS_MAX)

    private let features: Int
    private let memory: UnsafeMutableRawBufferPointer
    private var sums: OpaquePointer?
    private let gate = Gate()

    /// No looks yet, of so many features each, 1 to a million. Throws ``Status/argument`` otherwise.
    public init(features: Int) throws(PrivateMailError) {
        let size = features > 0 ? pml_looks_size(features) : 0
        self.features = features
        memory = .allocate(byteCount: max(size, 1), alignment: 16)
        try check(pml_looks_begin(&sums, memory.baseAddress, size, max(features, 0)))
    }

    deinit {
        PrivateMail.wipe(memory)
        memory.deallocate()
    }

    /// Adds a look. Each counts the same, whatever its scale; one that is refused adds nothing.
    ///
    /// Throws ``Status/features`` when a number is not finite or all are zero, ``Status/dimension`` when there are not as
    /// many as were announced, ``Status/state`` after ``most`` looks.
    ///
    /// - Parameter look: In contiguous storage. Read in place and not kept; yours to wipe, see ``wipe(_:)``.
    public func add(_ look: some Collection<Float>) throws(PrivateMailError) {
        try gate.run { () throws(PrivateMailError) in
            try check(
                look.withContiguousStorageIfAvailable { pml_looks_add(sums, $0.baseAddress, $0.count) }
                    ?? PML_ERROR_ARGUMENT)
        }
    }

    /// The features of the mean, of no particular scale, for a query. More looks may be added afterwards.
    ///
    /// Throws ``Status/state`` before the first look, ``Status/features`` when the looks cancel each other.
    public func mean() throws(PrivateMailError) -> [Float] {
        try gate.run { () throws(PrivateMailError) in
            var mean = [Float](repeating: 0, count: features)
            try check(mean.withUnsafeMutableBufferPointer { pml_looks_mean(sums, $0.baseAddress, $0.count) })
            return mean
        }
    }
}
