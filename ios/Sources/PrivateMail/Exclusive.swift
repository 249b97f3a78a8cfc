// SPDX-License-Identifier: Apache-2.0
import Foundation

/// One caller at a time. A second thread waits; a call from inside a callback of the first is refused, because it would
/// see (and could spend) a budget in the middle of a change.
final class Gate: @unchecked Sendable {  // `entered` is only touched with the lock held
    private let lock = NSRecursiveLock()
    private var entered = false

    func run<Result>(_ body: () throws(PrivateMailError) -> Result) throws(PrivateMailError) -> Result {
        lock.lock()
        defer { lock.unlock() }
        guard !entered else { throw PrivateMailError(.state) }
        entered = true
        defer { entered = false }
        return try body()
    }
}

/// Zeroes memory in a way the compiler may not leave out.
func wipe(_ memory: UnsafeMutableRawBufferPointer) {
    guard let start = memory.baseAddress else { return }
    #if canImport(Darwin)
        memset_s(start, memory.count, 0, memory.count)
    #else
        explicit_bzero(start, memory.count)
    #endif
}

/// Zeroes features after use, so that they do not linger in freed memory.
///
/// Only this array's storage is zeroed: a copy that shares it keeps its own from then on.
public func wipe(_ features: inout [Float]) {
    features.withUnsafeMutableBytes { wipe($0) }
}
