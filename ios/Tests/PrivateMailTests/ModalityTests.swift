// SPDX-License-Identifier: Apache-2.0
import PrivateMail
import XCTest

/// Packs with fronts: what they take, by which name, and what they refuse.
final class ModalityTests: XCTestCase {
    private let label = 4, text = someFeatures(7)  // of the golden pack with fronts

    func testAPackListsItsModalities() throws {
        let pack = try Vectors.golden.pack(Golden.fronts), modalities = pack.modalities
        XCTAssertEqual(
            modalities.map(\.kind), [.none, .none, .signs, .signs, .matrix, .matrix, .kernels, .kernels])
        XCTAssertEqual(modalities.map(\.root), (0..<8).map { $0 % 2 == 1 })
        XCTAssertEqual(modalities.map(\.name).suffix(4), ["image", "image_root", "text", "0123456789abcde"])
        XCTAssertEqual(modalities.map(\.features), [13, 13, 31, 40, 9, 10, 7, 8])
        XCTAssertEqual(pack.features, 13)
    }

    /// Packs of the versions 0.1 and 0.2.
    func testAPackWithoutFrontsHasOneWithoutAName() throws {
        for index in [Golden.classes, Golden.named] {
            let pack = try Vectors.golden.pack(index), features = someFeatures(pack.features)
            XCTAssertEqual(pack.modalities.map(\.name), [""])
            XCTAssertEqual(pack.modalities.map(\.features), [pack.features])
            XCTAssertEqual(pack.modalities.map(\.kind), [.none])
            let client = try Client(pack: pack, options: .response(epsilon: 1))
            try client.arm(try plentyBudget())
            expect(.modality) {
                _ = try client.release(features: features, label: Golden.label, modality: "text")
            }
            _ = try client.release(features: features, label: Golden.label, modality: nil)
        }
    }

    func testUnknownNamesAndWrongLengths() throws {
        let pack = try Vectors.golden.pack(Golden.fronts)
        let client = try Client(pack: pack, options: .response(epsilon: 1))
        let crowd = Crowd(clients: 1000, clusters: 0.5, copies: 8, delta0: 1e-12, mu: 0.03)
        let inCrowd = try Client(pack: pack, options: .crowd(floor: 1, crowd))
        try client.arm(try plentyBudget())
        try inCrowd.armBundle(try plentyBudget(), for: .query)
        for name in ["", "audio", "Text", "text ", "text\0", "0123456789abcdef"] {
            let refusal = expect(.modality) { _ = try client.release(features: text, label: label, modality: name) }
            let unknown = refusal?.underlying as? Pack.UnknownModality
            XCTAssertEqual(unknown?.named, name)
            XCTAssertTrue("\(refusal!)".contains("'image_root', 'text'"), "\(refusal!)")
            expect(.modality) { _ = try inCrowd.bundle(features: text, label: label, modality: name) }
            expect(.modality) { _ = try client.beginAnswer(features: text, label: label, modality: name) }
        }
        for length in [0, 6, 8, 13, 31] {  // 13 is what the collection is made of
            let other = someFeatures(length)
            expect(.dimension) { _ = try client.release(features: other, label: label, modality: "text") }
            expect(.dimension) { _ = try inCrowd.bundle(features: other, label: label, modality: "text") }
            expect(.dimension) { _ = try client.beginAnswer(features: other, label: label, modality: "text") }
        }
        expect(.dimension) { _ = try client.release(features: text, label: label) }  // the first modality has 13
        expect(.features) {
            _ = try client.release(features: [Float](repeating: 0, count: 7), label: label, modality: "text")
        }
        _ = try client.release(features: text, label: label, modality: "text")  // none of that used the arm up
        _ = try inCrowd.bundle(features: text, label: label, modality: "text")
    }

    /// Two modalities with as many features: which one it is must arrive.
    func testAnAnswerIsRankedByTheModality() throws {
        let pack = try Vectors.golden.pack(Golden.fronts), features = someFeatures(13)
        let client = try Client(pack: pack, options: .response(epsilon: 1))
        let bytes = try XCTUnwrap(Vectors.golden.answers.first { $0.pack == Golden.fronts }).bytes
        func scores(_ modality: String?) throws -> [Double] {
            try client.answer(bytes, features: features, label: label, modality: modality, scope: .allSlots)
                .matches.map(\.score)
        }
        XCTAssertGreaterThan(try scores(nil).count, 4)
        XCTAssertEqual(try scores(nil), try scores("as-is"))
        XCTAssertNotEqual(try scores(nil), try scores("as-is_root"))
    }
}
