// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Repeats an interrupted system call and throws the system's error.
func attempt<Result: SignedInteger>(_ call: () -> Result) throws -> Result {
    while true {
        let result = call()
        if result >= 0 { return result }
        if errno != EINTR { throw systemError() }
    }
}

/// What the last system call of this thread failed with.
func systemError() -> POSIXError {
    POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
}
