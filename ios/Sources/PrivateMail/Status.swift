// SPDX-License-Identifier: Apache-2.0
import CPrivateMail
import Foundation

/// Why a call was refused: the library's own numbers, one case each.
public enum Status: Int32, Sendable, CaseIterable, CustomStringConvertible {
    /// An argument is out of range.
    case argument = -1
    /// The client's memory is too small. Does not occur in Swift: the client asks how much it needs.
    case memory = -2
    /// The output buffer is too small. Does not occur in Swift, for the same reason.
    case buffer = -3
    /// The call does not fit the client's state: arm, then release; or it came from inside a callback.
    case state = -4
    /// ε is not a number, out of range, or so small that the noise does not fit.
    case epsilon = -5
    /// δ must be 0 for response and between 2^-50 and 1 for the Gaussian.
    case delta = -6
    /// The mechanism was left out of this build. Does not occur in Swift: the package builds both.
    case mechanism = -7
    /// The vector has not as many features as the pack, or the query's modality.
    case dimension = -8
    /// A feature is NaN or infinite, or all are zero.
    case features = -9
    /// The pack knows no such class.
    case label = -10
    /// A field of the pack is out of its range or contradicts another.
    case pack = -11
    /// Not a pack, or a version this library does not read.
    case packVersion = -12
    /// The pack is truncated, or longer than it says.
    case packSize = -13
    /// The pack is damaged: its hash does not fit.
    case packHash = -14
    /// A sound pack, release or answer, but of another pack than the one expected.
    case packID = -15
    /// The pack lacks a section that this mechanism or call needs.
    case section = -16
    /// The pack's codes give a sensitivity of zero or beyond 2^20.
    case sensitivity = -17
    /// The system's random generator failed.
    case entropy = -18
    /// The budget store could not load or save, or holds what somebody else spent: not armed, nothing charged in
    /// memory.
    case persist = -19
    /// The budget is damaged or belongs to another owner.
    case budget = -20
    /// The budget cannot pay for one more release.
    case spent = -21
    /// The bytes are not a release of this pack.
    case release = -22
    /// The bytes are not an answer: truncated, lying lengths, or beyond a limit.
    case answer = -23
    /// The pack names another model than the one demanded, or none.
    case packModel = -24
    /// The crowd's policy is out of range or too small for what is asked, no policy reaches the goal of a plan, or the
    /// call is not for a client with a crowd, or not for one without.
    case crowd = -25
    /// The bytes are not a key configuration, or hold no key that can be used, or lack the key that is pinned.
    case keys = -26
    /// The sealed bytes cannot be opened: damaged, cut short, or not for this key, epoch and pack.
    case sealed = -27
    /// The pack has no modality of this name; ``PrivateMailError/underlying`` is a ``Pack/UnknownModality``.
    case modality = -28
    /// The front is not sound. Does not occur in Swift, whose fronts are those of packs.
    case front = -29

    /// What happened in a few English words, the library's own.
    public var description: String { String(cString: pml_status_text(rawValue)) }
}

/// What every call of this library throws; ``Search`` throws ``SearchError`` too.
///
/// An error says nothing about the private query beyond what its ``status`` says. Its `localizedDescription` is a
/// sentence that can be shown to a person.
public struct PrivateMailError: LocalizedError, CustomStringConvertible {
    public let status: Status
    /// What the budget store or the file system threw, where one of them is the cause; or ``Pack/ModelMismatch`` or
    /// ``Pack/UnknownModality``.
    public let underlying: (any Error)?

    init(_ status: Status, underlying: (any Error)? = nil) {
        self.status = status
        self.underlying = underlying
    }

    public var description: String {
        guard let underlying else { return status.description }
        return "\(status): \(underlying)"
    }

    public var errorDescription: String? {
        guard let underlying else { return sentence(status.description) }
        let what = status == .argument ? "the pack cannot be read" : status.description  // there is no other such case
        return sentence("\(what): \(underlying.localizedDescription)")
    }

    /// What to do; nil where the app itself must be mended.
    public var recoverySuggestion: String? {
        switch status {
        case .packVersion: "Update the app, or fetch the pack that it pins."
        case .packSize, .packHash: "Fetch the pack again."
        case .packID: "Fetch the pack whose id the app pins."
        case .packModel: "Fetch the pack that was made for the app's model."
        case .entropy: "Try again: nothing was paid."
        case .persist where underlying is Budget.Conflict: "Make a new Budget on the same store and try again."
        case .persist: "See that the device has storage left, and try again."
        case .spent: "Search again for what was searched for before: sending the same message costs nothing."
        case .answer: "Send the same message again: that costs nothing."
        default: nil
        }
    }
}

/// Words as a sentence: with a capital letter and a full stop.
func sentence(_ words: String) -> String {
    words.prefix(1).uppercased() + words.dropFirst() + (words.hasSuffix(".") ? "" : ".")
}

/// Throws unless the status is success.
func check(_ code: pml_status, underlying: (any Error)? = nil) throws(PrivateMailError) {
    guard code != PML_OK else { return }
    guard let status = Status(rawValue: code.rawValue) else { preconditionFailure("\(code) is not in Status") }
    throw PrivateMailError(status, underlying: underlying)
}
