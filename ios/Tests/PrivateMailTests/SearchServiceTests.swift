// SPDX-License-Identifier: Apache-2.0
// Searches against the real service.
#if os(Linux) || os(macOS)
    import Foundation
    import PrivateMail
    import XCTest

    final class SearchServiceTests: ServiceCase {
        /// Starts the service with these packs instead of the one that runs; returns where it listens.
        private func serve(_ packs: String...) throws -> URL {
            stop()
            return try serve(packs)
        }

        private func search(_ server: URL, pinned: [UInt8], _ budget: Budget) throws -> Search {
            let packs = try PackSource(server: server, folder: place.appendingPathComponent("packs"), model: model) {
                pinned
            }
            return Search(
                packs: packs, options: .response(epsilon: 4), budget: budget,
                folder: place.appendingPathComponent("search"))
        }

        /// What the command finds with the message that the search stored: the same, by another client.
        private func expectSame(
            _ found: Search.Found, row: Int, photo: String, pack: String, modality: String? = nil, _ server: URL,
            line: UInt = #line
        ) throws {
            let packID = try id(pack).map { String(format: "%02x", $0) }.joined()
            let name = photo.utf8.map { String(format: "%02x", $0) }.joined() + "-" + packID + ".cbor"
            let reply = try object(
                try run(
                    arguments: (modality.map { ["--modality", $0] } ?? []),
                    "query", "--server", server.absoluteString, "--pack", path("\(pack).pmpk"),
                    "--features", path("shapes/queries.npy"), "--labels", path("shapes/queries_labels.npy"),
                    "--row", "\(row)", "--resend", path("search/\(name)"), "--top", "20", "--json"))
            let results = try XCTUnwrap(reply["results"] as? [[String: Any]])
            func number(_ value: Any?) -> Double { (value as? NSNumber)?.doubleValue ?? -2 }
            XCTAssertEqual(
                found.answer.matches.map { [Int($0.item), $0.label, Int($0.score * 0x1p30)] },
                results.map { result in
                    let score = (number(result["score"]) * 0x1p30).rounded()  // Linux reads decimals not quite exactly
                    return [Int(number(result["id"])), Int(number(result["class"])), Int(score)]
                }, line: line)
            XCTAssertGreaterThan(found.answer.matches.count, 0, line: line)
            for match in found.answer.matches {
                let file = path("shapes/images/gallery/") + String(format: "/%04llu.png", match.item)
                XCTAssertEqual(found.payload(of: match), try Data(contentsOf: URL(fileURLWithPath: file)), line: line)
            }
        }

        func testSearchesThroughTheLifeOfTwoPacks() async throws {
            let budget = try plentyBudget(), rows = try queries(), old = try id("old"), new = try id("new")
            func spent() throws -> Double { try budget.account().epsilonSpent }

            var server = try serve("old")
            for (row, features) in rows.enumerated() {
                let search = try search(server, pinned: old, budget)
                let found = try await search.search("photo \(row)", features: features, label: row % 4)
                try expectSame(found, row: row, photo: "photo \(row)", pack: "old", server)
            }
            XCTAssertEqual(try spent(), 32)

            server = try serve("new", "old")  // both: old messages stay free, a new photo has the new pack
            var search = try search(server, pinned: new, budget)
            let free = try await search.search("photo 3", features: rows[3], label: 3)
            XCTAssertNil(free.paid)
            try expectSame(free, row: 3, photo: "photo 3", pack: "old", server)
            let fresh = try await search.search("photo 3, cropped", features: rows[3], label: 3)
            XCTAssertEqual(fresh.paid?.epsilon, 4)
            try expectSame(fresh, row: 3, photo: "photo 3, cropped", pack: "new", server)
            XCTAssertEqual(try spent(), 36)

            server = try serve("new")  // the old one is gone: nothing is paid a second time unless the app says so
            search = try self.search(server, pinned: new, budget)
            do {
                _ = try await search.search("photo 3", features: rows[3], label: 3)
                XCTFail("was not refused")
            } catch SearchError.paysAgain(let receipt) {
                XCTAssertEqual(receipt.epsilon, 4)
            }
            XCTAssertEqual(try spent(), 36)
            let again = try await search.search("photo 3", features: rows[3], label: 3, payAgain: true)
            XCTAssertEqual(again.paid?.epsilon, 4)
            try expectSame(again, row: 3, photo: "photo 3", pack: "new", server)
            XCTAssertEqual(try spent(), 40)

            server = try serve("old")  // too early, or too late
            search = try self.search(server, pinned: new, budget)
            do {
                _ = try await search.search("photo 4711", features: rows[0], label: 0)
                XCTFail("was not refused")
            } catch SearchError.packNotServed(let id) {
                XCTAssertEqual(id, new)
            }
        }

        /// A pack with two fronts: pictures as they are, and the same by another map, which stands for another model.
        func testQueriesOfTwoModalities() async throws {
            let rows = try queries(), inputs = String(rows[0].count)
            try run("train", "--method", "signs", "--inputs", inputs, "--dimensions", "64", "--out", path("signs.pmfr"))
            try run(
                "train", "--method", "gauss", "--features", path("shapes/public.npy"), "--dimensions", "64",
                "--out", path("gauss.pmfr"))
            try run(
                "pack", "--front", "image=\(path("signs.pmfr"))", "--front", "other=\(path("gauss.pmfr"))",
                "--features", path("shapes/public.npy"), "--labels", path("shapes/public_labels.npy"),
                "--slots", "class", "--cells", "4", "--response-only", "--model", model, "--out", path("fronts.pmpk"))
            try run(
                "index", "--pack", path("fronts.pmpk"), "--modality", "image", "--features", path("shapes/gallery.npy"),
                "--labels", path("shapes/gallery_labels.npy"), "--payloads", path("shapes/images/gallery"),
                "--share", "0.5", "--store", "sqlite:\(path("fronts.store"))")
            let server = try serve("fronts"), budget = try plentyBudget(), id = try id("fronts")
            let search = try search(server, pinned: id, budget)
            for modality in ["image", "other"] {
                let found = try await search.search(modality, features: rows[5], label: 1, modality: modality)
                try expectSame(found, row: 5, photo: modality, pack: "fronts", modality: modality, server)
            }
            XCTAssertEqual(try budget.account().epsilonSpent, 8)
            do {
                _ = try await search.search("words", features: rows[5], label: 1, modality: "text")
                XCTFail("was not refused")
            } catch let error as PrivateMailError {
                XCTAssertEqual(error.status, .modality)
            }
            XCTAssertEqual(try budget.account().epsilonSpent, 8)
        }

        func testAServiceThatIsNotThere() async throws {
            let budget = try plentyBudget(), rows = try queries(), old = try id("old")
            let server = try serve("old"), search = try search(server, pinned: old, budget)
            try await search.prepare()
            stop()
            do {
                _ = try await search.search("photo", features: rows[0], label: 0)
                XCTFail("was not refused")
            } catch SearchError.network {
            }
            XCTAssertEqual(try budget.account().epsilonSpent, 4)
            let later = try self.search(try serve("old"), pinned: old, budget)
            let found = try await later.search("photo", features: rows[0], label: 0)
            XCTAssertNil(found.paid)
            XCTAssertEqual(try budget.account().epsilonSpent, 4)
        }

        func testTheExample() throws {
            let server = try serve("old"), id = try id("old").map { String(format: "%02x", $0) }.joined()
            for first in ["paid ε = 4.0", "sent the stored message again"] {
                let output = try run(
                    server.absoluteString, id, model, path("search"), program: product("privatemail-search-example"))
                let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
                XCTAssertTrue(lines.first?.hasPrefix(first) ?? false, "\(lines)")
                XCTAssertGreaterThan(lines.filter { $0.hasPrefix("item ") }.count, 0)
            }
            let store = FileBudgetStore(url: place.appendingPathComponent("search/budget"))
            let budget = try Budget(owner: Array("account 4711 ...".utf8), limits: .init(response: 20), store: store)
            XCTAssertEqual(try budget.account().epsilonSpent, 4)
        }

        func testAForeignModelIsRefused() async throws {
            let old = try id("old"), folder = place.appendingPathComponent("packs")
            let packs = try PackSource(server: try serve("old"), folder: folder, model: "another model") { old }
            do {
                _ = try await packs.open()
                XCTFail("was not refused")
            } catch let error as PrivateMailError {
                XCTAssertEqual(error.status, .packModel)
                XCTAssertTrue(error.localizedDescription.contains(model))
            }
            XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.path), [])
        }
    }
#endif
