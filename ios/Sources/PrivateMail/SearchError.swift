// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Why a ``Search`` found nothing. Calling it again costs nothing unless the case says otherwise.
public enum SearchError: LocalizedError {
    /// The network failed, at every attempt.
    case network(any Error)
    /// The server cannot serve now (a status of 5xx), at every attempt. `retryAfter`: seconds that it asks to wait, if it
    /// asks; when they are more than half a minute there is only one attempt.
    case unavailable(status: Int, retryAfter: TimeInterval?)
    /// The server refuses the request, with a status of 4xx or a redirection, which is not followed. Not tried again:
    /// the same bytes would be refused again.
    case refused(status: Int)
    /// What the server sent is no answer to this message, at every attempt.
    case unsound
    /// What the server sent is longer than the limit.
    case tooLong(limit: Int)
    /// The server does not serve the pack that the app pins. It may be the first to know of a new pack, or the last to
    /// serve an old one: try again later.
    case packNotServed(id: [UInt8])
    /// A message of this photo was made and paid for before, but with a pack that the server no longer serves, or the
    /// app no longer uses. A new message costs the price of the receipt *again*, because it tells about the same photo
    /// again. Call with `payAgain: true` if that is worth it.
    case paysAgain(Receipt)
    /// In a crowd: the epoch has not ended within the time that the ``Relay`` allows to wait. The drawn cell of the photo
    /// is kept, so calling again waits on, or sends it again without paying the floor.
    case crowdNotFilled
    /// A file could not be read or written. When it was the new message, then that was not sent, its price is lost, and
    /// calling again pays anew.
    case storage(any Error)

    public var errorDescription: String? {
        switch self {
        case .network(let error): sentence("the server cannot be reached: \(error.localizedDescription)")
        case .unavailable(let status, _): "The server cannot serve at the moment (status \(status))."
        case .refused(let status): "The server refuses the search (status \(status))."
        case .unsound: "The server sends no sound answer."
        case .tooLong(let limit): "The server sends more than \(limit) bytes."
        case .packNotServed: "The server does not serve the collection that this app uses."
        case .paysAgain(let receipt):
            "The collection changed: searching for this again spends \(receipt.epsilon.formattedPrice) of the budget."
        case .crowdNotFilled: "Too few people search at present."
        case .storage(let error): sentence("a file could not be read or written: \(error.localizedDescription)")
        }
    }

    public var recoverySuggestion: String? {
        switch self {
        case .crowdNotFilled: "Try again later: that does not spend the photo's price again."
        case .network, .unavailable, .unsound, .packNotServed: "Try again later: that costs nothing."
        case .refused, .tooLong: nil
        case .paysAgain: "Search again only if it is worth the price."
        case .storage: "See that the device has storage left."
        }
    }

    /// Whether the same bytes may fare better a little later, and after how many seconds at the earliest.
    var earliestRetry: TimeInterval? {
        switch self {
        case .network, .unsound: 0
        case .unavailable(_, let retryAfter): (retryAfter ?? 0) <= Exchange.longestPause ? retryAfter ?? 0 : nil
        default: nil
        }
    }
}

extension Double {
    /// Without the digits that nobody pays in.
    fileprivate var formattedPrice: String { "ε = " + String(format: "%.4g", self) }
}
