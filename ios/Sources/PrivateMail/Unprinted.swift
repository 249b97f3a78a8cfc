// SPDX-License-Identifier: Apache-2.0

/// For types that hold what was sought or found. An app that prints such a value, dumps it, or hands it to a crash
/// reporter shows the type's name alone. An app that wants to show a match takes its fields, one by one.
protocol Unprinted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Unprinted {
    public var description: String { "\(Self.self) (private)" }
    public var debugDescription: String { description }
    /// Without children, and without those of a superclass.
    public var customMirror: Mirror { Mirror(self, children: [], ancestorRepresentation: .suppressed) }
}
