// SPDX-License-Identifier: Apache-2.0
// The budget's file: at every moment the whole old or the whole new bytes, and never spent twice.
import Foundation
import PrivateMail
import XCTest

final class FileBudgetStoreTests: XCTestCase {
    private func bytes(_ value: UInt8) -> Data { Data(repeating: value, count: 112) }

    private func names(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    func testSavesLoadsAndLeavesNothingElse() throws {
        let folder = try temporaryFolder(), url = folder.appendingPathComponent("me.budget")
        let store = FileBudgetStore(url: url)
        XCTAssertNil(try store.load())
        try store.save(bytes(1))
        try store.save(bytes(2))
        XCTAssertEqual(try store.load(), bytes(2))
        XCTAssertEqual(try FileBudgetStore(url: url).load(), bytes(2))
        XCTAssertEqual(try names(in: folder), ["me.budget"])
        let mode = try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber
        XCTAssertEqual(mode?.intValue, 0o600)
    }

    func testAMissingFolderIsAnErrorAndNotAnEmptyStore() throws {
        let store = FileBudgetStore(url: try temporaryFolder().appendingPathComponent("gone/me.budget"))
        XCTAssertThrowsError(try store.load())
        expect(.persist) { _ = try plentyBudget(store) }
    }

    func testAHalfWrittenNewFileIsIgnoredAndReplaced() throws {
        let folder = try temporaryFolder(), url = folder.appendingPathComponent("me.budget")
        try FileBudgetStore(url: url).save(bytes(1))
        try Data([9, 9, 9]).write(to: folder.appendingPathComponent("me.budget.new"))  // a crash before the rename
        let store = FileBudgetStore(url: url)
        XCTAssertEqual(try store.load(), bytes(1))
        try store.save(bytes(2))
        XCTAssertEqual(try FileBudgetStore(url: url).load(), bytes(2))
        XCTAssertEqual(try names(in: folder), ["me.budget"])
    }

    func testADamagedFileIsRefusedAndKept() throws {
        for damaged in [Data(), Data(count: 10), Data(count: 64), Data(count: 100_000)] {
            let url = try temporaryFolder().appendingPathComponent("me.budget")
            try damaged.write(to: url)
            expect(.budget) { _ = try plentyBudget(FileBudgetStore(url: url)) }
            XCTAssertEqual(try Data(contentsOf: url), damaged)
        }
    }

    func testALinkInPlaceOfTheNewFileIsNotFollowed() throws {
        let folder = try temporaryFolder(), victim = folder.appendingPathComponent("victim")
        try Data([7]).write(to: victim)
        try FileManager.default.createSymbolicLink(
            at: folder.appendingPathComponent("me.budget.new"), withDestinationURL: victim)
        XCTAssertThrowsError(try FileBudgetStore(url: folder.appendingPathComponent("me.budget")).save(bytes(1)))
        XCTAssertEqual(try Data(contentsOf: victim), Data([7]))
    }

    func testALinkInPlaceOfTheFileIsNeitherFollowedNorReplaced() throws {
        let folder = try temporaryFolder(), url = folder.appendingPathComponent("me.budget")
        let target = folder.appendingPathComponent("target")
        try FileManager.default.createSymbolicLink(at: url, withDestinationURL: target)
        for before in [nil, bytes(1)] {  // a link to nothing is no empty store
            try before?.write(to: target)
            let store = FileBudgetStore(url: url)
            let error = expect(.persist) { _ = try plentyBudget(store) }
            XCTAssertEqual((error?.underlying as? POSIXError)?.code, .ELOOP)
            XCTAssertThrowsError(try store.save(bytes(2)))
            XCTAssertEqual(try FileManager.default.destinationOfSymbolicLink(atPath: url.path), target.path)
            XCTAssertEqual(try? Data(contentsOf: target), before)
        }
    }

    func testTwoStoresOnOneFileCannotSpendTwice() throws {
        let url = try temporaryFolder().appendingPathComponent("me.budget")
        let pack = try Vectors.golden.pack(Golden.one)
        let client = try Client(pack: pack, options: .response(epsilon: 1))
        let first = try plentyBudget(FileBudgetStore(url: url)), second = try plentyBudget(FileBudgetStore(url: url))
        try client.arm(first)
        try client.disarm()
        try client.arm(first)
        client.wipe()
        let error = expect(.persist) { try client.arm(second) }
        XCTAssertTrue(error?.underlying is Budget.Conflict)
        let fresh = try plentyBudget(FileBudgetStore(url: url))
        XCTAssertEqual(try fresh.account().epsilonSpent, 1)
        try client.arm(fresh)
        XCTAssertEqual(try plentyBudget(FileBudgetStore(url: url)).account().epsilonSpent, 2)
    }

    func testAStoreThatHasNotLookedDoesNotOverwrite() throws {
        let url = try temporaryFolder().appendingPathComponent("me.budget")
        try FileBudgetStore(url: url).save(bytes(1))
        XCTAssertThrowsError(try FileBudgetStore(url: url).save(bytes(2))) {
            XCTAssertTrue($0 is Budget.Conflict)
        }
        XCTAssertEqual(try Data(contentsOf: url), bytes(1))
    }

    func testAFullDiskKeepsTheOldBytesAndChargesNothing() throws {
        let folder = try temporaryFolder(), url = folder.appendingPathComponent("me.budget")
        let pack = try Vectors.golden.pack(Golden.one)
        let client = try Client(pack: pack, options: .response(epsilon: 1))
        let budget = try plentyBudget(FileBudgetStore(url: url))
        let before = try Data(contentsOf: url)

        // No file of this process may grow beyond 10 bytes: a write stops in the middle, as on a full disk.
        let resource = fileSizeResource
        var old = rlimit()
        XCTAssertEqual(getrlimit(resource, &old), 0)
        var tight = old
        tight.rlim_cur = 10
        let handler = signal(SIGXFSZ, SIG_IGN)
        setrlimit(resource, &tight)
        let result = Result { try client.arm(budget) }
        setrlimit(resource, &old)
        signal(SIGXFSZ, handler)

        let error = expect(.persist) { try result.get() }
        XCTAssertEqual((error?.underlying as? POSIXError)?.code, .EFBIG)
        XCTAssertEqual(try Data(contentsOf: url), before)
        XCTAssertEqual(try budget.account().epsilonSpent, 0)
        XCTAssertEqual(try names(in: folder), ["me.budget"])
        try client.arm(budget)
        XCTAssertNotEqual(try Data(contentsOf: url), before)
    }
}

#if canImport(Glibc)
    private let fileSizeResource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
#else
    private let fileSizeResource = RLIMIT_FSIZE
#endif
