// SPDX-License-Identifier: Apache-2.0
import CPrivateMail
import CPrivateMailPlatform
import CPrivateMailTransport
import Foundation

/// A key of a gateway that messages can be sealed for: the first of a key configuration that can be used (SPEC 10.1).
package struct SealKey: Sendable {
    /// Longest configuration that is read: more keys than any operator has.
    static let longest = 4096

    private var value: pml_seal_key

    /// Throws ``Status/keys`` when the configuration has no such key.
    package init(configuration: Data) throws(PrivateMailError) {
        var key = pml_seal_key()
        guard configuration.count <= Self.longest else { throw PrivateMailError(.keys) }
        try check(configuration.withUnsafeBytes { pml_keys_choose(SealCrypto.table, $0.baseAddress, $0.count, &key) })
        value = key
    }

    /// Throws ``Status/keys`` when the configuration lacks this key.
    func require(in configuration: Data) throws(PrivateMailError) {
        var key = value
        guard configuration.count <= Self.longest else { throw PrivateMailError(.keys) }
        try check(configuration.withUnsafeBytes { pml_keys_hold($0.baseAddress, $0.count, &key) })
    }

    /// A message of an epoch (SPEC 10.3), and what opens its answer.
    ///
    /// - Parameter ephemeral: For tests: 32 bytes instead of random ones.
    package func seal(
        _ release: Data, epoch: UInt64, pack: [UInt8], ephemeral: Data? = nil
    ) throws(PrivateMailError) -> (message: Data, opener: Opener) {
        guard pack.count == Int(PML_ID_SIZE), ephemeral?.count ?? 32 == 32 else { throw PrivateMailError(.argument) }
        var key = value, message = Data(count: pml_message_size(release.count))
        let opener = Opener()
        let status = release.withUnsafeBytes { release in
            message.withUnsafeMutableBytes { out -> pml_status in
                let target = out.baseAddress?.assumingMemoryBound(to: UInt8.self)
                guard let ephemeral else {
                    return pml_message_seal(
                        SealCrypto.table, &key, epoch, pack, release.baseAddress, release.count, pml_platform_entropy,
                        nil, target, out.count, &opener.value)
                }
                return ephemeral.withUnsafeBytes { given in
                    pml_message_seal(
                        SealCrypto.table, &key, epoch, pack, release.baseAddress, release.count,
                        { context, out, size in
                            out!.update(from: context!.assumingMemoryBound(to: UInt8.self), count: size)
                            return 0
                        }, UnsafeMutableRawPointer(mutating: given.baseAddress), target, out.count, &opener.value)
                }
            }
        }
        try check(status)
        return (message, opener)
    }
}

/// What opens the answer to one message. Wiped when nobody holds it any more.
package final class Opener: Unprinted, @unchecked Sendable {  // nothing of it changes after it was filled
    fileprivate(set) var value = pml_opener()

    deinit {
        pml_opener_wipe(&value)
    }

    /// The status of HTTP and the content inside an answer (SPEC 10.4). Everything is checked before anything is
    /// returned; throws ``Status/sealed`` when something is not as it must be.
    package func open(_ answer: Data) throws(PrivateMailError) -> (status: Int, content: Data) {
        var opening = pml_open(), opener = value, content = Data(), status: UInt32 = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(PML_OPEN_BUFFER), alignment: 8)
        defer {
            wipe(buffer)
            buffer.deallocate()
            pml_opener_wipe(&opener)
        }
        try check(
            pml_open_begin(
                &opening, SealCrypto.table, &opener, buffer.baseAddress, buffer.count, UInt64(answer.count)))
        let fed = answer.withUnsafeBytes { bytes in
            withUnsafeMutablePointer(to: &content) { content in
                pml_open_feed(
                    &opening, bytes.baseAddress, bytes.count,
                    { context, piece, size in
                        context!.assumingMemoryBound(to: Data.self).pointee.append(piece!, count: size)
                        return PML_OK
                    }, content)
            }
        }
        let ended = pml_open_end(&opening, &status)
        try check(fed)
        try check(ended)
        return (Int(status), content)
    }
}
