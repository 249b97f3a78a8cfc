// SPDX-License-Identifier: Apache-2.0
import Foundation
import PrivateMail

@main
struct CrowdExample {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4 else {
            print("usage: privatemail-crowd-example PACK BUDGET BUNDLE")
            exit(2)
        }
        let pack = try Pack(contentsOf: URL(fileURLWithPath: arguments[1]))

        // The policy is the app's: ε = 0.1 for one message, if the relay mixes and does not join the server, and half of
        // 100,000 clients are honest.
        let cells = pack.slots * pack.cells
        let use = Crowd.Use(cells: cells, floor: 8)
        let plan = try Crowd.plan(.init(use: use, epsilon: 0.1, delta: 1e-9, noise: .clients(100_000)))
        let crowd = try plan.crowd.promising(cells: cells, delta0: 1e-9)
        print("\(plan.fakes) fakes per client and epoch")

        let budget = try Budget(
            owner: Array("account 4711 ...".utf8),  // 16 bytes, for example of a hash
            limits: .init(response: 0, floor: 80, crowd: 1, crowdDelta: 1e-6),
            store: FileBudgetStore(url: URL(fileURLWithPath: arguments[2])))

        let client = try Client(pack: pack, options: .crowd(floor: 8, crowd))
        try client.armBundle(budget, for: .query)  // early; in an epoch without a query: .idle, and idleBundle()
        var features = (0..<pack.features).map { Float($0 % 7) - 2.5 }  // from your model
        let bundle = try client.bundle(features: features, label: 0)
        try bundle.bytes.write(to: URL(fileURLWithPath: arguments[3]))  // hand it to the relay as a whole
        print("\(bundle.bytes.count) bytes for the relay")

        // Fetch the answers to all messages; rank those with own > 0 by client.answer(…). Keep bundle.kept with the
        // photo: it asks for the photo again, by armBundle(budget, for: .kept) and bundle(kept:), without the floor.
        wipe(&features)
    }
}
