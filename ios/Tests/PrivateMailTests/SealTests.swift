// SPDX-License-Identifier: Apache-2.0
// Sealed messages, by CryptoKit's primitives on Apple systems and by BearSSL's elsewhere.
import CPrivateMail
import CPrivateMailTransport
import Foundation
import XCTest

@testable import PrivateMail

final class SealTests: XCTestCase {
    /// A line of tests/golden/sealed.txt, whose head explains the fields.
    private struct Golden {
        let id: UInt8, secret: Data, epoch: UInt64, pack: [UInt8], release: Data, ephemeral: Data, message: Data
        let status: Int, content: Data, answer: Data

        init(_ line: Substring) {
            let f = line.split(separator: "\t", omittingEmptySubsequences: false)
            id = UInt8(f[0])!
            secret = bytes(hex: f[1])
            epoch = UInt64(f[2])!
            pack = Array(bytes(hex: f[3]))
            release = bytes(hex: f[4])
            ephemeral = bytes(hex: f[5])
            message = bytes(hex: f[6])
            status = Int(f[8])!
            content = bytes(hex: f[9])
            answer = bytes(hex: f[10])
        }

        func key() throws -> SealKey { try SealKey(configuration: try configuration(id, secret)) }
    }

    private let golden = text(of: "tests/golden/sealed.txt").split(separator: "\n").filter { !$0.hasPrefix("#") }
        .map(Golden.init)

    // ---- primitives: RFC 7748, RFC 5869, RFC 8439 ----

    func testX25519() {
        let scalar = bytes(hex: "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
        let point = bytes(hex: "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
        var out = [UInt8](repeating: 0, count: 32)
        XCTAssertEqual(SealCrypto.table.pointee.x25519(&out, Array(scalar), Array(point)), 0)
        XCTAssertEqual(Data(out), bytes(hex: "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"))
        var base = [UInt8](repeating: 0, count: 32), same = base
        base[0] = 9
        XCTAssertEqual(SealCrypto.table.pointee.x25519(&out, Array(scalar), base), 0)
        XCTAssertEqual(SealCrypto.table.pointee.x25519_base(&same, Array(scalar)), 0)
        XCTAssertEqual(out, same)
        for small in ["00", "01"] {
            let low = Array(bytes(hex: small + String(repeating: "00", count: 31)))
            XCTAssertNotEqual(SealCrypto.table.pointee.x25519(&out, Array(scalar), low), 0)
        }
    }

    func testDerivation() {
        var key = [UInt8](repeating: 0, count: 32), out = [UInt8](repeating: 0, count: 42)
        let material = [UInt8](repeating: 0x0b, count: 22), salt = [UInt8](0...12), information = [UInt8](0xf0...0xf9)
        material.withUnsafeBytes { all in
            // In two pieces, which are one input.
            let pieces = [
                pml_piece(bytes: all.baseAddress, size: 9), pml_piece(bytes: all.baseAddress! + 9, size: 13),
            ]
            XCTAssertEqual(SealCrypto.table.pointee.hkdf_extract(&key, salt, salt.count, pieces, 2), 0)
        }
        XCTAssertEqual(Data(key), bytes(hex: "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"))
        information.withUnsafeBytes { all in
            let piece = pml_piece(bytes: all.baseAddress, size: all.count)
            XCTAssertEqual(SealCrypto.table.pointee.hkdf_expand(&out, 42, key, [piece], 1), 0)
        }
        XCTAssertEqual(
            Data(out),
            bytes(hex: "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"))
    }

    func testCipher() {
        let text = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
            + "sunscreen would be it."
        let key = [UInt8](0x80...0x9f), nonce = Array(bytes(hex: "070000004041424344454647"))
        let associated = Array(bytes(hex: "50515253c0c1c2c3c4c5c6c7"))
        var data = Array(text.utf8), tag = [UInt8](repeating: 0, count: 16)
        let aead = SealCrypto.table.pointee.aead.0
        XCTAssertEqual(aead.seal(key, nonce, associated, associated.count, &data, data.count, &tag), 0)
        XCTAssertEqual(Data(data.prefix(16)), bytes(hex: "d31a8d34648e60db7b86afbc53ef7ec2"))
        XCTAssertEqual(Data(tag), bytes(hex: "1ae10b594f09e26a7e902ecbd0600691"))
        var damaged = data, wrong = tag
        wrong[15] ^= 1
        XCTAssertNotEqual(aead.open(key, nonce, associated, associated.count, &damaged, damaged.count, wrong), 0)
        XCTAssertEqual(aead.open(key, nonce, associated, associated.count, &data, data.count, tag), 0)
        XCTAssertEqual(data, Array(text.utf8))
    }

    // ---- messages and answers ----

    func testGoldenMessagesAndAnswers() throws {
        XCTAssertGreaterThanOrEqual(golden.count, 5)
        for one in golden {
            let sealed = try one.key().seal(one.release, epoch: one.epoch, pack: one.pack, ephemeral: one.ephemeral)
            XCTAssertEqual(sealed.message, one.message)
            let opened = try sealed.opener.open(one.answer)
            XCTAssertEqual(opened.status, one.status)
            XCTAssertEqual(opened.content, one.content)
        }
    }

    func testRandomKeysDiffer() throws {
        let one = golden[0], key = try one.key()
        let first = try key.seal(one.release, epoch: one.epoch, pack: one.pack)
        let second = try key.seal(one.release, epoch: one.epoch, pack: one.pack)
        XCTAssertEqual(first.message.count, one.release.count + 104)
        XCTAssertNotEqual(first.message, second.message)
        expect(.sealed) { _ = try second.opener.open(one.answer) }
    }

    func testEveryCutAndFlippedBit() throws {
        let one = golden[0]
        let opener = try one.key().seal(one.release, epoch: one.epoch, pack: one.pack, ephemeral: one.ephemeral).opener
        for size in 0..<one.answer.count {
            expect(.sealed) { _ = try opener.open(one.answer.prefix(size)) }
        }
        for bit in 0..<8 * one.answer.count {
            var changed = one.answer
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            expect(.sealed) { _ = try opener.open(changed) }
        }
        expect(.sealed) { _ = try opener.open(one.answer + Data([0])) }
        let long = golden[2]
        let other = try long.key().seal(long.release, epoch: long.epoch, pack: long.pack, ephemeral: long.ephemeral).opener
        for size in stride(from: 0, to: long.answer.count, by: 61) {
            expect(.sealed) { _ = try other.open(long.answer.prefix(size)) }
            var changed = long.answer
            changed[size] ^= 0x10
            expect(.sealed) { _ = try other.open(changed) }
        }
    }

    func testKeyConfigurations() throws {
        let first = try configuration(1, Data(repeating: 5, count: 32))
        let second = try configuration(2, Data(repeating: 6, count: 32))
        let key = try SealKey(configuration: first)
        XCTAssertNoThrow(try key.require(in: second + first))
        expect(.keys) { try key.require(in: second) }
        for size in 0..<first.count {
            expect(.keys) { _ = try SealKey(configuration: first.prefix(size)) }
        }
        expect(.keys) { _ = try SealKey(configuration: first + Data([0])) }
        expect(.keys) { _ = try SealKey(configuration: Data(count: 5000)) }
        var small = first
        small.replaceSubrange(5..<37, with: Data(count: 32))
        expect(.keys) {
            _ = try SealKey(configuration: small).seal(Data([1]), epoch: 1, pack: [UInt8](repeating: 0, count: 16))
        }
        expect(.argument) { _ = try key.seal(Data([1]), epoch: 1, pack: []) }
    }

    func testRelays() throws {
        let keys = try configuration(1, Data(repeating: 5, count: 32))
        for good in ["https://relay.example/a", "http://127.0.0.1:80", "http://localhost"] {
            XCTAssertNoThrow(try Relay(address: URL(string: good)!, keys: keys, longest: 1))
        }
        for bad in ["http://relay.example", "ftp://127.0.0.1", "https://relay.example/?a", "http://127.0.0.1.example"] {
            expect(.argument) { _ = try Relay(address: URL(string: bad)!) }
        }
        expect(.argument) { _ = try Relay(address: URL(string: "https://relay.example")!, longest: 0.5) }
        expect(.keys) { _ = try Relay(address: URL(string: "https://relay.example")!, keys: Data()) }
    }
}

/// The key configuration of a gateway with this private key.
func configuration(_ id: UInt8, _ secret: Data) throws -> Data {
    var key = try privateKey(id, secret), out = Data(count: Int(PML_KEY_CONFIGURATION_SIZE))
    let status = out.withUnsafeMutableBytes { bytes in
        withUnsafeBytes(of: &key.public_key) {
            pml_keys_write(
                id, $0.baseAddress!.assumingMemoryBound(to: UInt8.self),
                bytes.baseAddress!.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
    }
    XCTAssertEqual(status, PML_OK)
    return out
}

func privateKey(_ id: UInt8, _ secret: Data) throws -> pml_private_key {
    var key = pml_private_key()
    key.id = id
    withUnsafeMutableBytes(of: &key.secret) { $0.copyBytes(from: secret) }
    XCTAssertEqual(pml_key_complete(SealCrypto.table, &key), PML_OK)
    return key
}
