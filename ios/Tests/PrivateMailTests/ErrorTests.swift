// SPDX-License-Identifier: Apache-2.0
// Every refusal that Swift code can meet, and that nothing is spent by it.
import Foundation
import PrivateMail
import XCTest

final class ErrorTests: XCTestCase {
    private let vectors = Vectors.golden

    /// That names and numbers are those of C: tests/check_status.py.
    func testEveryStatusHasATextOfItsOwn() {
        XCTAssertEqual(Set(Status.allCases.map(\.description)).count, Status.allCases.count)
        XCTAssertFalse(Status.allCases.contains { $0.description == "unknown status" })
    }

    /// What an alert box shows.
    func testLocalizedDescriptionsAreSentences() throws {
        let named = vectors.packs[Golden.named], name = try XCTUnwrap(named.model)
        func told(_ error: (any Error)?) -> String { error?.localizedDescription ?? "no error" }
        let short = expect(.packSize) { _ = try Pack(named.bytes.dropLast()) }
        XCTAssertEqual(told(short), "The pack is truncated or too long.")
        let mismatch = expect(.packModel) { _ = try Pack(named.bytes, model: "another model") }
        XCTAssertEqual(
            told(mismatch),
            "The pack is for another model: the app demands the model 'another model', the pack names '\(name)'.")
        XCTAssertNotNil(mismatch?.recoverySuggestion)

        let pack = try vectors.pack(Golden.one), store = MemoryStore()
        let budget = try Budget(owner: owner, limits: .init(response: 1), store: store)
        let client = try Client(pack: pack, options: .response(epsilon: 1))
        let stale = try Budget(owner: owner, limits: .init(response: 1), store: store)
        try client.arm(budget)
        let other = try Client(pack: pack, options: .response(epsilon: 1))
        let spent = expect(.spent) { try other.arm(budget) }
        XCTAssertEqual(told(spent), "The budget is spent.")
        XCTAssertNotNil(spent?.recoverySuggestion)
        let conflict = expect(.persist) { try other.arm(stale) }
        XCTAssertTrue(told(conflict).hasPrefix("The budget could not be stored: "), told(conflict))
        XCTAssertTrue(conflict?.recoverySuggestion?.contains("Budget") ?? false)

        let missing = expect(.argument) { _ = try Pack(contentsOf: root.appendingPathComponent("no such pack")) }
        XCTAssertTrue(told(missing).hasPrefix("The pack cannot be read: "), told(missing))
        XCTAssertTrue(told(missing).contains("No such file"), told(missing))
        XCTAssertNil(missing?.recoverySuggestion)
    }

    func testPacks() throws {
        let bytes = vectors.packs[Golden.classes].bytes
        func changed(at offset: Int, to value: UInt8) -> Data {
            var copy = bytes
            copy[offset] = value
            return copy
        }
        expect(.packVersion) { _ = try Pack(changed(at: 0, to: 0)) }
        expect(.packVersion) { _ = try Pack(changed(at: 4, to: 9)) }
        expect(.packHash) { _ = try Pack(changed(at: bytes.count - 1, to: bytes[bytes.count - 1] ^ 1)) }
        expect(.packSize) { _ = try Pack(bytes.dropLast()) }
        expect(.packSize) { _ = try Pack(bytes + [0]) }
        expect(.packSize) { _ = try Pack(Data(bytes.prefix(10))) }
        expect(.packID) { _ = try Pack(bytes, pinnedID: Array(vectors.packs[0].id)) }
        expect(.argument) { _ = try Pack(bytes, pinnedID: []) }
        for short in [Data(), Data([0x50])] {
            XCTAssertThrowsError(try Pack(short)) { XCTAssertTrue($0 is PrivateMailError) }
        }
        let missing = expect(.argument) { _ = try Pack(contentsOf: root.appendingPathComponent("no such pack")) }
        XCTAssertNotNil(missing?.underlying)
        XCTAssertTrue(missing?.description.contains(": ") ?? false)
    }

    func testAnAppGetsTheModelItDemandsOrAnErrorThatNamesBoth() throws {
        let named = vectors.packs[Golden.named], name = try XCTUnwrap(named.model)
        let file = try temporaryFolder().appendingPathComponent("named.pmpk")
        try named.bytes.write(to: file)
        XCTAssertEqual(try Pack(named.bytes, model: name).model, name)
        XCTAssertEqual(try Pack(contentsOf: file, model: name).model, name)
        let decomposed = name.decomposedStringWithCanonicalMapping  // equal to Swift, of other bytes
        for other in ["another model", "", name + " ", String(name.dropLast()), name + "\0", "\0", decomposed] {
            for error in [
                expect(.packModel) { _ = try Pack(named.bytes, model: other) },
                expect(.packModel) { _ = try Pack(contentsOf: file, pinnedID: Array(named.id), model: other) },
            ] {
                let mismatch = error?.underlying as? Pack.ModelMismatch
                XCTAssertEqual(mismatch.map { [$0.demanded, $0.found] }, [other, name])
                XCTAssertTrue(error?.description.contains("'\(other)'") ?? false)
                XCTAssertTrue(error?.description.contains("'\(name)'") ?? false)
            }
        }
        let nameless = vectors.packs[Golden.one]
        XCTAssertNil(try Pack(nameless.bytes).model)
        let error = expect(.packModel) { _ = try Pack(nameless.bytes, model: name) }
        let mismatch = error?.underlying as? Pack.ModelMismatch
        XCTAssertEqual(mismatch.map { [$0.demanded, $0.found] }, [name, nil])
        // Another pack is another pack first, whatever its model.
        expect(.packID) { _ = try Pack(named.bytes, pinnedID: Array(nameless.id), model: "another model") }
    }

    func testOptions() throws {
        let pack = try vectors.pack(Golden.classes)
        let cases: [(Options, Status)] = [
            (.response(epsilon: 0), .epsilon), (.response(epsilon: .nan), .epsilon),
            (.response(epsilon: 17), .epsilon), (.response(epsilon: -1), .epsilon),
            (.gaussian(epsilon: 1, delta: 0), .delta), (.gaussian(epsilon: 1, delta: 1), .delta),
            (.gaussian(epsilon: 1, delta: .nan), .delta),
            (.gaussian(epsilon: 1, delta: 1e-5, valueBytes: 3), .argument),
            (.gaussian(epsilon: 1, delta: 1e-5, valueBytes: -1), .argument),
            (.gaussian(epsilon: 0x1p-20, delta: 0x1p-50), .epsilon),
        ]
        for (options, status) in cases {
            expect(status) { _ = try Client(pack: pack, options: options) }
        }
        let gaussianOnly = try vectors.pack(Golden.gaussianOnly), responseOnly = try vectors.pack(Golden.responseOnly)
        expect(.section) { _ = try Client(pack: gaussianOnly, options: .response(epsilon: 1)) }
        expect(.section) { _ = try Client(pack: responseOnly, options: .gaussian(epsilon: 1, delta: 1e-5)) }
    }

    func testFeaturesAndLabels() throws {
        let pack = try vectors.pack(Golden.classes)
        let good = someFeatures(pack.features)
        var withNaN = good, withInfinity = good
        withNaN[2] = .nan
        withInfinity[0] = -.infinity
        let bad: [([Float], Int, Status)] = [
            (withNaN, Golden.label, .features), (withInfinity, Golden.label, .features),
            (good.map { _ in 0 }, Golden.label, .features), (good + [1], Golden.label, .dimension),
            (good.dropLast(), Golden.label, .dimension), ([], Golden.label, .dimension),
            (good, Golden.label - 1, .label), (good, Int(Int32.max) + 1, .argument), (good, .min, .argument),
            (good, Golden.label + 1 << 32, .argument),
        ]
        let budget = try plentyBudget()
        for options: Options in [.response(epsilon: 1), .gaussian(epsilon: 1, delta: 1e-5)] {
            let client = try Client(pack: pack, options: options)
            for (features, label, status) in bad {
                try client.arm(budget)
                expect(status) { _ = try client.release(features: features, label: label) }
                expect(status) { _ = try client.beginAnswer(features: features, label: label) }
                try client.disarm()  // still armed, so nothing is lost
            }
        }
        XCTAssertEqual(try budget.account().epsilonSpent, 0)
        XCTAssertEqual(try budget.account().mu2Spent, 0)
    }

    func testSubstituteSendsAllTheSame() throws {
        let pack = try vectors.pack(Golden.classes)
        let budget = try plentyBudget()
        for options: Options in [
            .response(epsilon: 1, substitute: true), .gaussian(epsilon: 1, delta: 1e-5, substitute: true),
        ] {
            let client = try Client(pack: pack, options: options)
            try client.arm(budget)
            let zero = [Float](repeating: 0, count: pack.features)
            XCTAssertEqual(try client.release(features: zero, label: 12345).bytes.count, client.receipt.bytes)
            let golden = vectors.answers.first { $0.pack == Golden.classes }!
            XCTAssertEqual(try client.answer(golden.bytes, features: zero, label: 12345).matches, [])
        }
    }

    func testFeaturesAreReadInPlaceOrRefused() throws {
        let pack = try vectors.pack(Golden.classes)
        let client = try Client(pack: pack, options: .response(epsilon: 1))
        let budget = try plentyBudget()
        let good = someFeatures(pack.features + 2)
        try client.arm(budget)
        let scattered = good.lazy.map { $0 * 2 }.dropLast(2)
        expect(.argument) { _ = try client.release(features: scattered, label: Golden.label) }
        _ = try client.release(features: good[1..<pack.features + 1], label: Golden.label)
        try client.arm(budget)
        try good.withUnsafeBufferPointer { floats in
            _ = try client.release(features: UnsafeBufferPointer(rebasing: floats.dropLast(2)), label: Golden.label)
        }
        try client.arm(budget)
        let none = UnsafeBufferPointer<Float>(start: nil, count: 0)
        expect(.dimension) { _ = try client.release(features: none, label: Golden.label) }
    }

    func testCallsOutOfOrder() throws {
        let pack = try vectors.pack(Golden.one)
        let client = try Client(pack: pack, options: .response(epsilon: 1))
        let features = someFeatures(pack.features), budget = try plentyBudget()
        expect(.state) { _ = try client.release(features: features, label: 0) }
        expect(.state) { try client.disarm() }
        try client.arm(budget)
        expect(.state) { try client.arm(budget) }
        _ = try client.release(features: features, label: 0)
        expect(.state) { _ = try client.release(features: features, label: 0) }
        expect(.state) { try client.disarm() }  // a release that left is not refunded
        try client.arm(budget)
        client.wipe()
        expect(.state) { _ = try client.release(features: features, label: 0) }
        expect(.state) { try client.disarm() }
        XCTAssertEqual(try budget.account().epsilonSpent, 2)
    }

    func testRowsOfForeignBytes() throws {
        let pack = try vectors.pack(Golden.classes)
        let own = vectors.releases.first { $0.pack == Golden.classes }!.bytes
        let foreign = vectors.releases.first { $0.pack == Golden.one }!.bytes
        XCTAssertEqual(try pack.rows(of: own).count, pack.slots * pack.dimensions)
        expect(.packID) { _ = try pack.rows(of: foreign) }
        expect(.release) { _ = try pack.rows(of: own.dropLast()) }
        expect(.release) { _ = try pack.rows(of: Data([1])) }
        let bare = vectors.releases.first { $0.pack == Golden.responseOnly }!
        expect(.section) { _ = try vectors.pack(bare.pack).rows(of: bare.bytes) }
    }

    func testEntropyThatFails() throws {
        let pack = try vectors.pack(Golden.one)
        let sources: [Client.Entropy] = [
            { _ in -1 }, { Int32($0.count) },
            { out in
                out.initializeMemory(as: UInt8.self, repeating: 0x5A)
                return 0
            },
        ]
        for source in sources {
            let store = MemoryStore(), budget = try plentyBudget(store)
            let client = try Client(pack: pack, options: .response(epsilon: 1), entropy: source)
            expect(.entropy) { try client.arm(budget) }
            XCTAssertEqual(try budget.account().epsilonSpent, 0)
            XCTAssertEqual(store.saves, 1)  // when it was created
        }
    }

    func testCurveAndVersion() {
        XCTAssertEqual(PrivateMail.curve(epsilon: 0, share: 0.25), 0.25, accuracy: 1e-12)
        XCTAssertEqual(PrivateMail.curve(epsilon: 4, share: 0.02), 0.527, accuracy: 1e-3)
        XCTAssertTrue(PrivateMail.curve(epsilon: -1, share: 0.5).isNaN)
        XCTAssertEqual(PrivateMail.curveEpsilon(share: 0.02, probability: 0.527), 4, accuracy: 1e-2)
        XCTAssertTrue(PrivateMail.curveEpsilon(share: 0.5, probability: 0.2).isNaN)
        let numbers = ["MAJOR", "MINOR", "PATCH"].map { part in
            text(of: "core/include/privatemail.h").split(separator: "\n")
                .first { $0.hasPrefix("#define PML_VERSION_\(part)") }!.split(separator: " ")[2]
        }
        XCTAssertEqual(PrivateMail.version, numbers.joined(separator: "."))
    }
}
