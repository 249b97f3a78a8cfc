// SPDX-License-Identifier: Apache-2.0
// Searches in a crowd, through the real relay and gateway.
#if os(Linux) || os(macOS)
    import Foundation
    import PrivateMail
    import XCTest

    final class RelayServiceTests: ServiceCase {
        private let floor = 16.0  // draws another cell than the true one once in a million times

        private func device(
            _ name: String, _ relay: URL, _ pinned: [UInt8], keys: Data?, longest: TimeInterval = 30
        ) throws -> (search: Search, budget: Budget) {
            let folder = place.appendingPathComponent(name), crowd = Crowd(
                clients: 3, clusters: 0.5, copies: 4, own: 2, delta0: 1e-9, mu: 0.05)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let budget = try Budget(
                owner: owner, limits: .init(response: 0, floor: 10 * floor, crowd: 8, crowdDelta: 1e-6),
                store: FileBudgetStore(url: folder.appendingPathComponent("budget")))
            let packs = try PackSource(server: relay, folder: folder, model: model) { pinned }  // by the relay, too
            let search = try Search(
                through: try Relay(address: relay, keys: keys, longest: longest), packs: packs,
                options: .crowd(floor: floor, crowd), budget: budget, folder: folder)
            return (search, budget)
        }

        func testThreeDevices() async throws {
            try run("keys", "--out", path("gateway.keys"), "--public", path("gateway.ohttp-keys"))
            let gateway = try serve(["old"], ["--ohttp-key", path("gateway.keys")]), old = try id("old")
            let relay = try listen(["relay", "--gateway", gateway.absoluteString, "--epoch", "1", "--clients", "3"])
            let rows = try queries(), keys = try Data(contentsOf: place.appendingPathComponent("gateway.ohttp-keys"))
            let devices = try (0..<3).map { try device("device \($0)", relay, old, keys: $0 == 0 ? keys : nil) }

            for round in 1...2 {
                let searches = devices.enumerated().map { number, device in
                    Task { try await device.search.search("photo", features: rows[number], label: number) }
                }
                for (number, task) in searches.enumerated() {
                    let found = try await task.value
                    XCTAssertGreaterThan(found.answer.matches.count, 0)
                    XCTAssertTrue(found.answer.matches.allSatisfy { $0.label == number })
                    XCTAssertEqual(found.paid == nil, round == 2)
                    for match in found.answer.matches {
                        let file = path("shapes/images/gallery") + String(format: "/%04llu.png", match.item)
                        XCTAssertEqual(found.payload(of: match), try Data(contentsOf: URL(fileURLWithPath: file)))
                    }
                    XCTAssertEqual(try devices[number].budget.account().floorSpent, floor)
                }
            }

            let hasty = try device("device 3", relay, old, keys: keys, longest: 3)
            do {
                _ = try await hasty.search.search("photo", features: rows[3], label: 3)
                XCTFail("a crowd of one")
            } catch SearchError.crowdNotFilled {
            }
            for device in devices.dropFirst() {
                let took = try await device.search.idle()
                XCTAssertTrue(took)
            }
            var late = 0  // on a busy machine the answers take longer than it waits
            func insist() async throws -> Search.Found {
                while true {
                    do {
                        return try await hasty.search.search("photo", features: rows[3], label: 3)
                    } catch SearchError.crowdNotFilled where late < 20 {
                        late += 1
                    }
                }
            }
            let found = try await insist()
            XCTAssertGreaterThan(found.answer.matches.count, 0)
            XCTAssertEqual(try hasty.budget.account().floorSpent, floor)

            var foreign = keys
            foreign[10] ^= 1
            do {
                _ = try await device("device 4", relay, old, keys: foreign).search.search(
                    "photo", features: rows[0], label: 0)
                XCTFail("was not refused")
            } catch let error as PrivateMailError {
                XCTAssertEqual(error.status, .keys)
            }
        }
    }
#endif
