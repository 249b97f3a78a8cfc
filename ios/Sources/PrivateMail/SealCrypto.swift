// SPDX-License-Identifier: Apache-2.0
import CPrivateMailTransport

#if canImport(CryptoKit)
    import CryptoKit
    import Foundation
#endif

/// The primitives that messages are sealed with: CryptoKit's where there is one, else BearSSL's.
enum SealCrypto {
    /// Lives as long as the program.
    nonisolated(unsafe) static let table: UnsafePointer<pml_crypto> = {
        #if canImport(CryptoKit)
            let table = UnsafeMutablePointer<pml_crypto>.allocate(capacity: 1)
            table.initialize(to: cryptoKit)
            return UnsafePointer(table)
        #else
            return pml_crypto_bearssl()
        #endif
    }()
}

#if canImport(CryptoKit)
    extension SealCrypto {
        private static var cryptoKit: pml_crypto {
            var table = pml_crypto()
            table.x25519 = { out, scalar, point in
                succeeds {
                    let key = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes(scalar, 32))
                    let peer = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: bytes(point, 32))
                    try key.sharedSecretFromKeyAgreement(with: peer).withUnsafeBytes { secret in
                        guard secret.contains(where: { $0 != 0 }) else { throw CryptoKitError.authenticationFailure }
                        copy(secret, out, 32)
                    }
                }
            }
            table.x25519_base = { out, scalar in
                succeeds {
                    let key = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes(scalar, 32))
                    key.publicKey.rawRepresentation.withUnsafeBytes { copy($0, out, 32) }
                }
            }
            table.hkdf_extract = { out, salt, saltSize, pieces, count in
                // Zeros for an empty salt: HMAC takes them for the same key.
                let key = saltSize == 0 ? Data(count: 32) : bytes(salt, saltSize)
                return succeeds { authenticate(SymmetricKey(data: key), pieces, count).withUnsafeBytes { copy($0, out, 32) } }
            }
            table.hkdf_expand = { out, size, pseudorandom, pieces, count in
                guard size <= 255 * 32 else { return -1 }
                let key = SymmetricKey(data: bytes(pseudorandom, 32))
                var block = Data()
                for (number, start) in stride(from: 0, to: size, by: 32).enumerated() {
                    let code = authenticate(key, pieces, count, before: block, after: [UInt8(number + 1)])
                    code.withUnsafeBytes { copy($0, out.map { $0 + start }, min(32, size - start)) }
                    block = Data(code)
                }
                return 0
            }
            table.aead.0 = pml_aead(
                id: UInt16(PML_AEAD_CHACHA20_POLY1305), key_size: 32,
                seal: { key, nonce, associated, associatedSize, data, size, tag in
                    succeeds {
                        let box = try ChaChaPoly.seal(
                            bytes(data, size), using: SymmetricKey(data: bytes(key, 32)),
                            nonce: ChaChaPoly.Nonce(data: bytes(nonce, 12)),
                            authenticating: bytes(associated, associatedSize))
                        box.ciphertext.withUnsafeBytes { copy($0, data, size) }
                        box.tag.withUnsafeBytes { copy($0, tag, 16) }
                    }
                },
                open: { key, nonce, associated, associatedSize, data, size, tag in
                    succeeds {
                        let box = try ChaChaPoly.SealedBox(
                            nonce: ChaChaPoly.Nonce(data: bytes(nonce, 12)), ciphertext: bytes(data, size),
                            tag: bytes(tag, 16))
                        let plain = try ChaChaPoly.open(
                            box, using: SymmetricKey(data: bytes(key, 32)),
                            authenticating: bytes(associated, associatedSize))
                        plain.withUnsafeBytes { copy($0, data, size) }
                    }
                })
            table.aeads = 1
            return table
        }
    }

    // Outside of the type: a function for C captures nothing, not even that.

    private func succeeds(_ body: () throws -> Void) -> Int32 {
        do {
            try body()
            return 0
        } catch {
            return -1
        }
    }

    private func bytes(_ pointer: UnsafePointer<UInt8>?, _ size: Int) -> Data {
        pointer.map { Data(bytes: $0, count: size) } ?? Data()
    }

    private func copy(_ source: UnsafeRawBufferPointer, _ target: UnsafeMutablePointer<UInt8>?, _ size: Int) {
        guard let target, let start = source.baseAddress, size > 0 else { return }
        UnsafeMutableRawPointer(target).copyMemory(from: start, byteCount: size)
    }

    private func authenticate(
        _ key: SymmetricKey, _ pieces: UnsafePointer<pml_piece>?, _ count: Int, before: Data = Data(),
        after: [UInt8] = []
    ) -> HMAC<SHA256>.MAC {
        var code = HMAC<SHA256>(key: key)
        code.update(data: before)
        for piece in UnsafeBufferPointer(start: pieces, count: count) {
            code.update(data: UnsafeRawBufferPointer(start: piece.bytes, count: piece.size))
        }
        code.update(data: after)
        return code.finalize()
    }
#endif
