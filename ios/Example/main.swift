// SPDX-License-Identifier: Apache-2.0
import Foundation
import PrivateMail

let arguments = CommandLine.arguments
guard arguments.count >= 3 else {
    print("usage: privatemail-example PACK BUDGET [ANSWER]")
    exit(2)
}

// The pack is public: device and server hold the same one. The file is mapped, not read.
let pack = try Pack(contentsOf: URL(fileURLWithPath: arguments[1]))
let client = try Client(pack: pack, options: .response(epsilon: 4))

// What this person may ever spend; created at the first launch, restored from the file at all others.
let budget = try Budget(
    owner: Array("account 4711 ...".utf8),  // 16 bytes, for example of a hash
    limits: .init(response: 20),
    store: FileBudgetStore(url: URL(fileURLWithPath: arguments[2])))

try client.arm(budget)  // early, when idle: pays, draws the randomness
var features = (0..<pack.features).map { Float($0 % 7) - 2.5 }  // from your model
let release = try client.release(features: features, label: 0)
print("\(release.bytes.count) bytes to send; when the network fails, send the same again")

if arguments.count > 3 {  // what came back
    let reply = try Data(contentsOf: URL(fileURLWithPath: arguments[3]))
    for match in try client.answer(reply, features: features, label: 0).matches {
        print("item \(match.item), score \(match.score), \(match.payload(in: reply).count) bytes to show")
    }
}
wipe(&features)
