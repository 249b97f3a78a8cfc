// SPDX-License-Identifier: Apache-2.0
import Foundation
import PrivateMail

@main
struct SearchExample {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let server = URL(string: arguments[1]), let id = Pack.id(hexadecimal: arguments[2])
        else {
            print("usage: privatemail-search-example SERVER PACK-ID MODEL FOLDER")
            exit(2)
        }
        let folder = URL(fileURLWithPath: arguments[4], isDirectory: true)

        // In an app the id is a constant, or comes from a configuration that all users get alike.
        let packs = try PackSource(server: server, folder: folder, model: arguments[3]) { id }

        // What this person may ever spend; created at the first launch, restored from the file at all others.
        let budget = try Budget(
            owner: Array("account 4711 ...".utf8),  // 16 bytes, for example of a hash
            limits: .init(response: 20),
            store: FileBudgetStore(url: folder.appendingPathComponent("budget")))

        let search = Search(packs: packs, options: .response(epsilon: 4), budget: budget, folder: folder)
        try await search.prepare()  // early, when idle: fetches the pack, pays, draws the randomness

        var features = (0..<(try await packs.open().features)).map { Float($0 % 7) - 2.5 }  // from your model
        defer { wipe(&features) }
        do {
            let found = try await search.search("photo 4711", features: features, label: 0)
            print(found.paid.map { "paid ε = \($0.epsilon)" } ?? "sent the stored message again, which is free")
            for match in found.answer.matches {
                print("item \(match.item), cosine \(match.score), \(found.payload(of: match).count) bytes to show")
            }
        } catch SearchError.paysAgain(let receipt) {
            // The collection has a new pack. Ask the person, and then call search with payAgain: true.
            print("searching for this photo again would cost ε = \(receipt.epsilon) again")
        }
        try await search.close()  // what was prepared and not used is given back
    }
}
